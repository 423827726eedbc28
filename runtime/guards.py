"""A `guard.set` as a Python function.

The predicate has the parameters of the compiled function, so that Python itself binds a call's arguments.  It returns -1 when all guards hold, else
the number of the first that does not (`RAISED` when reading a source failed).  It is built as a syntax tree from the operations; no text is evaluated.

Live objects are held weakly where Python allows it, so that a guard keeps nothing alive; a dead reference holds for nothing.
"""

from __future__ import annotations

import ast
import builtins
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import torch

from lect.dialects.fx.modes import autocast_state
from lect.dialects.fx.python_values import decode, dtype_of
from lect.dialects.fx.types import ObjectRef, OperandRef
from lect.dialects.guard import ops as guard
from lect.dialects.guard.arithmetic import FUNCTIONS
from lect.dialects.guard.builtin_names import OWN
from lect.dialects.guard.containers import count, has, own_item, redefines, value_at
from lect.frontends.capture.objects import describe
from lect.frontends.capture.tensor_methods import OWN as OF_TENSORS
from lect.ir import LectError, Operation, Value, literal_key
from lect.runtime import guard_checks as checks
from lect.runtime import syntax
from lect.runtime.guard_reader import Reader
from lect.runtime.guard_sizes import BoundSizes, number_tests, symbolic_tests, tensor_tests
from lect.runtime.kept_objects import KeptObjects

SKIPPED = "_lect_skipped"
HOLDS = -1
RAISED = -2


class Predicate:
    """A compiled guard set.  `holds(*args, **kwargs)` takes the arguments of the function itself."""

    def __init__(self, holds: Callable[..., int], conditions: list[Operation], names: dict[str, Any], function: FunctionType) -> None:
        self.holds = holds
        self.conditions = conditions
        self.names = names
        self.function = function
        self.statements: list[ast.stmt] = []
        self.kept: Mapping[tuple[str, Any], tuple[Any, bool]] = {}
        self.texts: Mapping[int, str] = {}
        self.parameters = ast.arguments([], [], None, [], [], None, [])

    @property
    def objects(self) -> KeptObjects:
        """The objects that the guards name, by number."""
        return KeptObjects(self.kept, self.texts)

    def object(self, root: str, key: Any) -> Any:
        """The object that paths begin at, for the roots M and O.  Raises `KeyError` for one that no guard names, or that has gone."""
        found, weakly = self.kept[root, key]
        value = found() if weakly else found
        if weakly and value is None:
            raise KeyError((root, key))
        return value

    def piece(self, numbers: frozenset[int]) -> Callable[..., int] | None:
        """The predicate of some of the guards, for calls for which the others hold; None for no guard."""
        if not numbers:
            return None
        kept: list[ast.stmt] = []
        needed: set[str] = set()
        precedes = False  # what stands in front of a read says that it may be made
        for statement in reversed(self.statements):
            if isinstance(statement, ast.Assign):
                (target,) = statement.targets
                wanted = precedes = target.id in needed  # type: ignore[attr-defined]
            else:
                number = statement.body[0].value.value  # type: ignore[attr-defined]
                wanted = precedes if number == RAISED else number in numbers
            if wanted:
                kept.append(statement)
                needed |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        function, whole = self.function, self.holds
        made = _function(self.names, function, self.parameters, kept[::-1])
        made.__defaults__, made.__kwdefaults__ = whole.__defaults__, whole.__kwdefaults__  # type: ignore[attr-defined]
        return made

    @property
    def length(self) -> int:
        """Number of conditions."""
        return len(self.conditions)


def build_predicate(guards: Operation, function: FunctionType, parameters: Mapping[str, Any], objects: Sequence[Any], bound: Mapping[str, Any]) -> Predicate:
    """The predicate of a `guard.set`.

    `parameters` are the attributes of the residual `pyframe.func` that name its parameters, `objects` what `#fx.object<n>` refers to, `bound` the
    arguments of the call that was traced: a read of a module's parameter, buffer or child there is written as the look-ups it consists of.  Raises
    `LectError` for an operation that is no guard.
    """
    writer = _Writer(function, parameters, objects, Reader(function, bound, objects))
    writer.condition(_unequal(syntax.attribute(writer.held(function), "__defaults__"), writer.held(function.__defaults__)), RAISED)
    if function.__code__.co_kwonlyargcount:
        # The predicate shares this dictionary, so guards see what changes in it; of a new one they would see nothing.
        writer.condition(_unequal(syntax.attribute(writer.held(function), "__kwdefaults__"), writer.held(function.__kwdefaults__)), RAISED)
    conditions = _write_all(writer, guards)
    arguments = _parameters(parameters)
    holds = _function(writer.names, function, arguments, writer.body)
    holds.__defaults__ = function.__defaults__
    holds.__kwdefaults__ = function.__kwdefaults__
    predicate = Predicate(holds, conditions, writer.names, function)
    predicate.statements, predicate.parameters, predicate.kept = writer.body, arguments, writer.kept
    predicate.texts = writer.texts
    return predicate


def build_frame_guard(
    guards: Operation, function: FunctionType, parameters: Mapping[str, Any], objects: Sequence[Any], bound: Mapping[str, Any], pinned: bool
) -> Callable[..., int]:
    """The predicate of a `guard.set` as the frame hook asks it: `guard(called, *flat)` with the function that is called and its flat arguments.

    It is for all functions of the code object and globals of `function`, or with `pinned` for `function` alone; it keeps none of them alive.  The
    other arguments and errors are those of `build_predicate`.
    """
    writer = _Writer(function, parameters, objects, Reader(function, bound, objects))
    called = writer.make_argument(function)
    if pinned:
        writer.condition(_unequal(called, syntax.call(writer.held(weakref.ref(function)))), RAISED)
    writer.condition(_unequal(syntax.attribute(called, "__globals__"), writer.held(function.__globals__)), RAISED)
    if any(isinstance(op, guard.BuiltinsOp) for op in guards.body):
        writer.condition(_unequal(syntax.attribute(called, "__builtins__"), writer.held(function.__builtins__)), RAISED)  # type: ignore[attr-defined]
    _write_all(writer, guards)
    names = [called.id, *_names_of(parameters)]
    return _function(writer.names, function, ast.arguments([], [syntax.parameter(name) for name in names], None, [], [], None, []), writer.body)


def _names_of(parameters: Mapping[str, Any]) -> list[str]:
    """The names of all parameters."""
    names = [*parameters.get("args", ()), *parameters.get("keyword_only", ())]
    return names + [parameters[name] for name in ("varargs", "varkw") if parameters.get(name)]


def _write_all(writer: _Writer, guards: Operation) -> list[Operation]:
    """Write each guard of a set; the guards, in the order of their numbers."""
    conditions: list[Operation] = []
    for op in guards.body:
        if isinstance(op, guard.SourceOp | guard.ApplyOp):
            continue
        writer.write(op, len(conditions))
        conditions.append(op)
    return conditions


def _parameters(parameters: Mapping[str, Any]) -> ast.arguments:
    """The parameters of a function, without their defaults."""
    names = list(parameters.get("args", ()))
    positional = parameters.get("positional_only", 0)
    varargs, varkw = parameters.get("varargs"), parameters.get("varkw")
    return ast.arguments(
        posonlyargs=[syntax.parameter(name) for name in names[:positional]],
        args=[syntax.parameter(name) for name in names[positional:]],
        vararg=syntax.parameter(varargs) if varargs else None,
        kwonlyargs=[syntax.parameter(name) for name in parameters.get("keyword_only", ())],
        kw_defaults=[None for _ in parameters.get("keyword_only", ())],
        kwarg=syntax.parameter(varkw) if varkw else None,
        defaults=[],
    )


def _function(namespace: dict[str, Any], function: FunctionType, arguments: ast.arguments, body: Sequence[ast.stmt]) -> FunctionType:
    """Statements as a function with these parameters and globals."""
    tree = syntax.function("guards", arguments, [*body, syntax.give(HOLDS)], syntax.give(RAISED))
    namespace["Exception"] = Exception
    namespace["__builtins__"] = vars(builtins)  # the program's, which guards look at
    exec(compile(tree, f"<guards of {function.__qualname__}>", "exec"), namespace)
    made: FunctionType = namespace.pop("guards")
    return made


def _unequal(left: ast.expr, right: ast.expr) -> ast.expr:
    return syntax.compare(left, syntax.IS_NOT, right)


def _weak(value: Any) -> tuple[bool, Any]:
    """True and a weak reference to a value, or False and the value where there can be none."""
    if issubclass(type(value), ModuleType | BuiltinFunctionType):
        return False, value
    try:
        return True, weakref.ref(value)
    except TypeError:
        return False, value


class _Writer:
    """Collects the statements of one predicate; `names` are its globals."""

    def __init__(self, function: FunctionType, parameters: Mapping[str, Any], objects: Sequence[Any], live: Reader) -> None:
        self.function = function
        self.objects = objects
        self.live = live
        self.taken = {"Exception", *_names_of(parameters)}  # the names that are no builtins in the predicate
        self.body: list[ast.stmt] = []
        self.sizes = BoundSizes()
        self.names: dict[str, Any] = {}
        self.texts: dict[int, str] = {}  # what the objects are that may go
        self.kept: dict[tuple[str, Any], tuple[Any, bool]] = {}  # where paths begin: the object, or what gives it
        self._held: dict[int, str] = {}
        self._paths: dict[Any, str] = {}
        self._numbers: dict[Operation, str] = {}

    # ---- expressions -------------------------------------------------------------------------------------------------

    def make_argument(self, value: Any) -> ast.Name:
        """From here on `value` is an argument of the predicate, whose name this is."""
        self._held[id(value)] = "_lect_called"
        return syntax.name("_lect_called")

    def held(self, value: Any) -> ast.expr:
        """A value of the predicate's globals."""
        name = self._held.get(id(value))
        if name is None:
            name = self._held[id(value)] = f"_lect_{len(self.names)}"
            self.names[name] = value
        return syntax.name(name)

    def object(self, ref: ObjectRef) -> ast.expr:
        """A live object: a call of its weak reference, or the object where there can be none."""
        weak, value = _weak(self.objects[ref.number])
        if weak and ref.number not in self.texts:
            self.texts[ref.number] = describe(self.objects[ref.number])
        self.kept["O", ref.number] = (value, weak)
        return syntax.call(self.held(value)) if weak else self.held(value)

    def call(self, function: Any, *args: ast.expr) -> ast.expr:
        """A call of a live function."""
        return syntax.call(self.held(function), list(args))

    def temporary(self, value: ast.expr) -> ast.Name:
        """A variable that holds the value of an expression."""
        name = f"_lect_value_{len(self._paths)}"
        self._paths[name, None, None] = name
        self.body.append(syntax.assign(name, value))
        return syntax.name(name)

    def value(self, value: Value) -> ast.expr:
        """The variable that holds the object of a `guard.source`."""
        source = value.owner
        if isinstance(source, guard.ApplyOp):
            return self._computed(source)
        if not isinstance(source, guard.SourceOp):
            raise LectError("a guard is on a 'guard.source'", op=source if isinstance(source, Operation) else None)
        path = source.path
        return syntax.name(self._path(path.root, path.key, path.steps))

    def _computed(self, op: guard.ApplyOp) -> ast.expr:
        """The variable that holds the number of a `guard.apply`."""
        name = self._numbers.get(op)
        if name is None:
            args = [self.value(op.operands[arg.number]) if isinstance(arg, OperandRef) else syntax.const(arg) for arg in op.args]
            name = self._numbers[op] = f"_lect_number_{len(self._numbers)}"
            self.body.append(syntax.assign(name, self.call(FUNCTIONS[op.function], *args)))
        return syntax.name(name)

    def _path(self, root: str, key: Any, steps: tuple[Any, ...], known: Any = None) -> str:
        """The variable that holds the object at a path; `known` is the key of its steps, where that was made before."""
        known = literal_key(steps) if known is None else known
        name = self._paths.get((root, key, known))
        if name is None:
            if steps:
                read = self._step((root, key, steps[:-1], known[:-1]), *steps[-1])
            else:
                read = self._root(root, key)
            if isinstance(read, ast.Name):
                name = read.id
            else:
                name = f"_lect_value_{len(self._paths)}"
                self.body.append(syntax.assign(name, read))
            self._paths[root, key, known] = name
        return name

    def key(self, key: Any) -> ast.expr:
        """The key of a look-up: a literal or a kept object."""
        return self.object(key) if type(key) is ObjectRef else syntax.const(key)

    def _root(self, root: str, key: Any) -> ast.expr:
        if root == "L":
            return syntax.name(key)
        if root == "R":
            return self.held(self.function)
        if root == "M":
            self.kept[root, key] = (sys.modules[key], False)
            return self.held(sys.modules[key])
        return self.object(ObjectRef(key, ""))

    def instance_dict(self, root: str, key: Any, steps: tuple[Any, ...], known: Any = None) -> ast.expr:
        """The variable that holds the instance dictionary of an object."""
        known = literal_key(steps) if known is None else known
        place = (root, key, (*known, ("dict", None)))
        name = self._paths.get(place)
        if name is None:
            base = syntax.name(self._path(root, key, steps, known))
            plain = self.live.plain_dict(root, key, steps, known)
            read = syntax.attribute(base, "__dict__") if plain else self.call(object.__getattribute__, base, syntax.const("__dict__"))
            name = self._paths[place] = f"_lect_value_{len(self._paths)}"
            self.body.append(syntax.assign(name, read))
        return syntax.name(name)

    def _step(self, place: tuple[str, Any, tuple[Any, ...], Any], kind: str, key: Any) -> ast.expr:
        if kind == "attr":
            part = self.live.module_part(key, *place)
            if part is not None:
                members = self.instance_dict(*place)
                self.condition(syntax.compare(syntax.const(key), syntax.IN, members), RAISED)
                return syntax.item(syntax.item(members, syntax.const(part)), syntax.const(key))
        if kind == "dict":
            return self.instance_dict(*place)
        base = syntax.name(self._path(*place))
        if kind == "attr":
            if key.isidentifier():
                return syntax.attribute(base, key)
            return self.call(getattr, base, syntax.const(key))
        if kind == "item":
            return syntax.item(base, self.key(key))
        if kind == "own":
            return self.call(own_item, base, self.key(key))
        if kind in checks.PLAIN_READS:
            return self.call(checks.PLAIN_READS[kind], base)
        if kind in ("nth", "key"):
            return self.call(checks.nth, base, syntax.const(key))
        if kind == "value":
            return self.call(value_at, base, syntax.const(key))
        if kind == "element":
            return self.call(torch.Tensor.item, base)
        if kind == "size":
            return self.call(torch.Tensor.size, base, syntax.const(key))
        if kind == "part":
            return self.call(checks.part, base, syntax.const(key))
        return syntax.call(base)

    # ---- statements --------------------------------------------------------------------------------------------------

    def condition(self, fails: ast.expr, number: int) -> None:
        """Return `number` when the expression is true."""
        self.body.append(syntax.give_if(fails, number))

    def number_condition(self, fails: ast.expr, number: int) -> None:
        """`condition` for a guard on the value of a number, which `failing_numbers` can leave out."""
        self.names[SKIPPED] = frozenset()
        kept = syntax.compare(syntax.const(number), syntax.NOT_IN, syntax.name(SKIPPED))
        self.body.append(syntax.give_if(syntax.all_of([fails, kept]), number))

    def write(self, op: Operation, number: int) -> None:
        """The statements of one guard."""
        maker = _MAKERS.get(type(op))
        if maker is None:
            raise LectError(f"'{op.name}' cannot be evaluated as a guard", op=op)
        write = self.number_condition if guards_number(op) else self.condition
        for fails in maker(self, op):
            write(fails, number)

    def literal(self, value: Any) -> Any:
        """The Python value that a guard's attribute stands for."""
        if type(value) is ObjectRef:
            return self.objects[value.number]
        return decode(value, ())


def guards_number(op: Operation) -> bool:
    """True for a guard on the value of an int or float, or of elements that may be such."""
    if isinstance(op, guard.ItemsOp):
        return any(type(item) in (int, float) for item in op.items)
    return isinstance(op, guard.EqualsOp) and type(op.value) in (int, float)


def failing_numbers(predicate: Predicate, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Operation]:
    """The guards on values of numbers that do not hold for a call, when these are the only ones that do not; else nothing.

    Raises TypeError when the arguments do not fit the function.
    """
    found: list[int] = []
    holds = predicate.holds
    while True:
        asked = FunctionType(holds.__code__, {**predicate.names, SKIPPED: frozenset(found)}, None, holds.__defaults__)  # type: ignore[attr-defined]
        asked.__kwdefaults__ = holds.__kwdefaults__  # type: ignore[attr-defined]
        failed = asked(*args, **kwargs)
        if failed == HOLDS:
            return [predicate.conditions[number] for number in found]
        if failed < 0 or failed in found or not guards_number(predicate.conditions[failed]):
            return []
        found.append(failed)


def _not(value: ast.expr) -> ast.expr:
    return syntax.negated(value)


def _differs(left: ast.expr, right: ast.expr) -> ast.expr:
    return syntax.compare(left, syntax.NOT_EQUAL, right)


def _equals(w: _Writer, op: Any) -> list[ast.expr]:
    value, found = w.literal(op.value), w.value(op.object)
    if value is None or value is True or value is False or value is ... or type(value) in (torch.dtype, torch.layout, torch.memory_format):
        return [_unequal(found, w.held(value))]
    if type(value) in (int, str, bytes, torch.device) or (type(value) is float and value == value and value != 0.0):
        return [syntax.any_of([_unequal(w.call(type, found), w.held(type(value))), _differs(found, w.held(value))])]
    return [_not(w.call(checks.same_number, found, w.held(value)))]


def _type_is(w: _Writer, op: Any) -> list[ast.expr]:
    return [_unequal(w.call(type, w.value(op.object)), w.object(op.type))]


def _is(w: _Writer, op: Any) -> list[ast.expr]:
    found, wanted = w.value(op.object), w.object(op.is_object)
    differs = _unequal(found, wanted)
    if isinstance(wanted, ast.Call):  # a reference that has died gives None, which must not hold for None
        return [syntax.any_of([differs, syntax.compare(found, syntax.IS, syntax.const(None))])]
    return [differs]


def _same(w: _Writer, op: Any) -> list[ast.expr]:
    return [_unequal(w.value(op.first), w.value(op.second))]


def _distinct(w: _Writer, op: Any) -> list[ast.expr]:
    first = w.value(op.first)
    return [syntax.compare(first, syntax.IS, w.value(other)) for other in op.others]


def _all_distinct(w: _Writer, op: Any) -> list[ast.expr]:
    return [_not(w.call(checks.all_distinct, *[w.value(each) for each in op.objects]))]


def _not_none(w: _Writer, op: Any) -> list[ast.expr]:
    return [syntax.compare(w.value(op.object), syntax.IS, syntax.const(None))]


_NOWHERE = object()


def _present(w: _Writer, op: Any) -> list[ast.expr]:
    """Reading is all there is to it, in a condition so that a piece of the predicate reads too."""
    return [syntax.compare(w.value(op.object), syntax.IS, w.held(_NOWHERE))]


def _truth(w: _Writer, op: Any) -> list[ast.expr]:
    value = w.value(op.object)
    return [_not(value) if op.value else value]


def _no_attr(w: _Writer, op: Any) -> list[ast.expr]:
    path = op.object.owner.path
    members = w.instance_dict(path.root, path.key, path.steps)
    tests: list[ast.expr] = [syntax.compare(syntax.const(name), syntax.IN, members) for name in op.names]
    if op.parts:
        tests.append(w.call(checks.has_member, w.value(op.object), w.held(frozenset(op.names))))
    return [tests[0] if len(tests) == 1 else syntax.any_of(tests)]


def _no_hooks(w: _Writer, op: Any) -> list[ast.expr]:
    path = op.object.owner.path
    members = w.instance_dict(path.root, path.key, path.steps)
    tests: list[ast.expr] = [syntax.item(members, syntax.const(name)) for name in checks.HOOK_TABLES]
    tests += [syntax.compare(syntax.const(name), syntax.IN, members) for name in checks.OWN_CALLS]
    return [syntax.any_of(tests)]


def _length(w: _Writer, op: Any) -> list[ast.expr]:
    path = op.object.owner.path
    own = redefines(type(w.live.read(path.root, path.key, path.steps)), "__len__")
    return [_differs(w.call(count if own else len, w.value(op.object)), syntax.const(op.length))]


def _keys(w: _Writer, op: Any) -> list[ast.expr]:
    if any(type(key) is ObjectRef for key in op.keys):
        expected = tuple([_weak(w.objects[key.number]) if type(key) is ObjectRef else (False, w.literal(key)) for key in op.keys])
        return [_not(w.call(checks.same_keys, w.value(op.object), w.held(expected)))]
    return [_not(w.call(checks.same_items, w.value(op.object), w.held(tuple([w.literal(key) for key in op.keys]))))]


def _no_keys(w: _Writer, op: Any) -> list[ast.expr]:
    entries = w.value(op.object)
    if len(op.keys) < 3:
        return [syntax.any_of([syntax.compare(syntax.const(key), syntax.IN, entries) for key in op.keys])]
    return [_not(syntax.call(syntax.attribute(syntax.call(syntax.attribute(entries, "keys")), "isdisjoint"), [w.held(frozenset(op.keys))]))]


def _mro(w: _Writer, op: Any) -> list[ast.expr]:
    order = w.temporary(w.call(vars(type)["__mro__"].__get__, w.value(op.object)))
    wanted = [w.object(base) for base in op.bases]
    differs = [_unequal(syntax.item(order, syntax.const(number)), base) for number, base in enumerate(wanted, 1)]
    return [syntax.any_of([_differs(w.call(len, order), syntax.const(len(wanted) + 2)), *differs])]


def _items(w: _Writer, op: Any) -> list[ast.expr]:
    return [_not(w.call(checks.same_items, w.value(op.object), w.held(tuple([w.literal(item) for item in op.items]))))]


def _has_key(w: _Writer, op: Any) -> list[ast.expr]:
    operator = syntax.NOT_IN if op.present else syntax.IN
    key = w.object(op.key) if type(op.key) is ObjectRef else w.held(w.literal(op.key))
    path = op.object.owner.path
    if redefines(type(w.live.read(path.root, path.key, path.steps)), "__contains__"):
        found = w.call(has, w.value(op.object), key)
        return [_not(found) if op.present else found]
    return [syntax.compare(key, operator, w.value(op.object))]


def _holds(w: _Writer, op: Any) -> list[ast.expr]:
    found = w.call(has, w.value(op.object), w.value(op.key))
    return [_not(found) if op.present else found]


def _no_overlap(w: _Writer, op: Any) -> list[ast.expr]:
    return [w.call(checks.overlap, *[w.value(tensor) for tensor in op.tensors])]


def _builtins(w: _Writer, op: Any) -> list[ast.expr]:
    """A variable that the predicate itself lacks is one of the builtins, which Python finds faster than an item of their dictionary."""
    reads = [syntax.item(w.held(vars(builtins)), syntax.const(name)) if name in w.taken else syntax.name(name) for name in op.names]
    return [syntax.any_of([_unequal(found, w.held(OWN[name])) for found, name in zip(reads, op.names)])]


def _tensor_class(w: _Writer, op: Any) -> list[ast.expr]:
    return [syntax.any_of([_unequal(syntax.attribute(w.held(torch.Tensor), name), w.held(OF_TENSORS[name])) for name in op.names])]


def _global_state(w: _Writer, op: Any) -> list[ast.expr]:
    default = dtype_of(op.default_dtype)
    modes = [w.call(checks.modes_active)]
    if op.autocast:
        found = tuple([(device, enabled, dtype_of(dtype)) for device, enabled, dtype in op.autocast[:-1]])
        modes = [w.call(checks.overrides_active), _differs(w.call(autocast_state), w.held((*found, op.autocast[-1])))]
    rare: list[ast.expr] = [] if op.module_hooks else [w.call(checks.global_hooks)]
    if op.no_exception:
        rare.append(w.call(checks.handles_exception))
    return [
        _unequal(w.call(torch.is_grad_enabled), syntax.const(bool(op.grad))),
        _unequal(w.call(torch.is_inference_mode_enabled), syntax.const(bool(op.inference))),
        _unequal(w.call(torch.get_default_dtype), w.held(default)),
        _unequal(w.call(torch.are_deterministic_algorithms_enabled), syntax.const(bool(op.deterministic))),
        *modes,
        *rare,
    ]


_MAKERS: Mapping[type, Callable[[_Writer, Any], Iterable[ast.expr]]] = MappingProxyType(
    {
        guard.EqualsOp: _equals,
        guard.NumberOp: number_tests,
        guard.TypeIsOp: _type_is,
        guard.IsOp: _is,
        guard.TensorOp: tensor_tests,
        guard.SymbolicOp: symbolic_tests,
        guard.SameOp: _same,
        guard.DistinctOp: _distinct,
        guard.AllDistinctOp: _all_distinct,
        guard.NotNoneOp: _not_none,
        guard.PresentOp: _present,
        guard.TruthOp: _truth,
        guard.NoAttrOp: _no_attr,
        guard.NoHooksOp: _no_hooks,
        guard.LengthOp: _length,
        guard.KeysOp: _keys,
        guard.ItemsOp: _items,
        guard.HasKeyOp: _has_key,
        guard.HoldsOp: _holds,
        guard.NoOverlapOp: _no_overlap,
        guard.NoKeysOp: _no_keys,
        guard.MroOp: _mro,
        guard.NoSubclassOp: lambda w, op: [w.call(issubclass, w.value(op.object), w.value(op.abstract))],
        guard.ClassLikeOp: lambda w, op: [_not(syntax.call(syntax.attribute(w.object(op.like), "fits"), [w.value(op.object)]))],
        guard.BuiltinsOp: _builtins,
        guard.TensorClassOp: _tensor_class,
        guard.TorchCalleesOp: lambda w, op: [w.call(checks.differs_below, *[w.held(each) for each in checks.below_torch(op.functions)])],
        guard.GlobalStateOp: _global_state,
    }
)
