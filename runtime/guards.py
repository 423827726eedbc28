"""A `guard.set` as a Python function.

The predicate has the parameters of the compiled function, so that Python itself binds a call's arguments.  It returns -1 when all guards hold, else
the number of the first that does not (`RAISED` when reading a source failed).  It is built as a syntax tree from the operations; no text is evaluated.

Live objects are held weakly where Python allows it, so that a guard keeps nothing alive; a dead reference holds for nothing.
"""

from __future__ import annotations

import ast
import sys
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any

import torch

from lect.dialects.fx.python_values import decode, dtype_of
from lect.dialects.fx.types import ObjectRef
from lect.dialects.guard import ops as guard
from lect.ir import LectError, Operation, ScalarType, Value, literal_key
from lect.runtime import guard_checks as checks

HOLDS = -1
RAISED = -2


class Predicate:
    """A compiled guard set.  `holds(*args, **kwargs)` takes the arguments of the function itself."""

    def __init__(self, holds: Callable[..., int], conditions: list[Operation], names: dict[str, Any], function: FunctionType) -> None:
        self.holds = holds
        self.conditions = conditions
        self.names = names
        self.function = function

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
    writer = _Writer(function, objects, Reader(function, bound, objects))
    writer.condition(_unequal(ast.Attribute(writer.held(function), "__defaults__", ast.Load()), writer.held(function.__defaults__)), RAISED)
    conditions: list[Operation] = []
    for op in guards.body:
        if isinstance(op, guard.SourceOp):
            continue
        writer.write(op, len(conditions))
        conditions.append(op)
    holds = _function(writer, function, parameters)
    return Predicate(holds, conditions, writer.names, function)


def _function(writer: _Writer, function: FunctionType, parameters: Mapping[str, Any]) -> Callable[..., int]:
    """The predicate as a function with the parameters and defaults of `function`."""
    body: list[ast.stmt] = [*writer.body, ast.Return(ast.Constant(HOLDS))]
    handler = ast.ExceptHandler(ast.Name("_lect_Exception", ast.Load()), None, [ast.Return(ast.Constant(RAISED))])
    names = list(parameters.get("args", ()))
    positional = parameters.get("positional_only", 0)
    varargs, varkw = parameters.get("varargs"), parameters.get("varkw")
    arguments = ast.arguments(
        posonlyargs=[ast.arg(name) for name in names[:positional]],
        args=[ast.arg(name) for name in names[positional:]],
        vararg=ast.arg(varargs) if varargs else None,
        kwonlyargs=[ast.arg(name) for name in parameters.get("keyword_only", ())],
        kw_defaults=[None for _ in parameters.get("keyword_only", ())],
        kwarg=ast.arg(varkw) if varkw else None,
        defaults=[],
    )
    definition = ast.FunctionDef("guards", arguments, [ast.Try(body, [handler], [], [])], [], None)
    if sys.version_info >= (3, 12):
        definition.type_params = []
    tree = ast.fix_missing_locations(ast.Module([definition], []))
    namespace = writer.names
    namespace["_lect_Exception"] = Exception
    exec(compile(tree, f"<guards of {function.__qualname__}>", "exec"), namespace)
    made = namespace.pop("guards")
    made.__defaults__ = function.__defaults__
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _unequal(left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.Compare(left, [ast.IsNot()], [right])


class Reader:
    """The objects of the traced call, by their paths."""

    def __init__(self, function: FunctionType, bound: Mapping[str, Any], objects: Sequence[Any]) -> None:
        self.function = function
        self.bound = bound
        self.objects = objects
        self._found: dict[Any, Any] = {}

    def read(self, root: str, key: Any, steps: tuple[Any, ...]) -> Any:
        """The object at a path; None when it cannot be read."""
        place = (root, key, literal_key(steps))
        if place not in self._found:
            try:
                if steps:
                    kind, name = steps[-1]
                    self._found[place] = checks.STEPS[kind](self.read(root, key, steps[:-1]), name)
                else:
                    self._found[place] = checks.read_root(root, key, self.function, self.bound, self.objects)
            except Exception:
                self._found[place] = None
        return self._found[place]

    def plain_dict(self, root: str, key: Any, steps: tuple[Any, ...]) -> bool:
        """True when `x.__dict__` reads the instance dictionary itself."""
        cls = type(self.read(root, key, steps))
        getter = cls.__getattribute__
        return getter is object.__getattribute__ or getter is type(torch.nn).__getattribute__

    def module_part(self, root: str, key: Any, steps: tuple[Any, ...], name: str) -> str | None:
        """The table (parameters, buffers or children) in which `module.name` is found, when that is how the read goes."""
        value = self.read(root, key, steps)
        cls = type(value)
        if not isinstance(value, torch.nn.Module) or cls.__getattr__ is not torch.nn.Module.__getattr__ or cls.__getattribute__ is not object.__getattribute__:
            return None
        if name in value.__dict__ or any(name in base.__dict__ for base in cls.__mro__):
            return None
        return next((part for part in checks.MODULE_PARTS if name in (value.__dict__.get(part) or ())), None)


class _Writer:
    """Collects the statements of one predicate; `names` are its globals."""

    def __init__(self, function: FunctionType, objects: Sequence[Any], live: Reader) -> None:
        self.function = function
        self.objects = objects
        self.live = live
        self.body: list[ast.stmt] = []
        self.names: dict[str, Any] = {}
        self._held: dict[int, str] = {}
        self._paths: dict[Any, str] = {}

    # ---- expressions -------------------------------------------------------------------------------------------------

    def held(self, value: Any) -> ast.expr:
        """A value of the predicate's globals."""
        name = self._held.get(id(value))
        if name is None:
            name = self._held[id(value)] = f"_lect_{len(self.names)}"
            self.names[name] = value
        return ast.Name(name, ast.Load())

    def object(self, ref: ObjectRef) -> ast.expr:
        """A live object: a call of its weak reference, or the object where there can be none."""
        value = self.objects[ref.number]
        if isinstance(value, types.ModuleType | types.BuiltinFunctionType):
            return self.held(value)
        try:
            reference = weakref.ref(value)
        except TypeError:
            return self.held(value)
        return ast.Call(self.held(reference), [], [])

    def call(self, function: Any, *args: ast.expr) -> ast.expr:
        """A call of a live function."""
        return ast.Call(self.held(function), list(args), [])

    def value(self, value: Value) -> ast.expr:
        """The variable that holds the object of a `guard.source`."""
        source = value.owner
        if not isinstance(source, guard.SourceOp):
            raise LectError("a guard is on a 'guard.source'", op=source if isinstance(source, Operation) else None)
        path = source.path
        return ast.Name(self._path(path.root, path.key, path.steps), ast.Load())

    def _path(self, root: str, key: Any, steps: tuple[Any, ...]) -> str:
        name = self._paths.get((root, key, literal_key(steps)))
        if name is None:
            if steps:
                read = self._step((root, key, steps[:-1]), *steps[-1])
            else:
                read = self._root(root, key)
            if isinstance(read, ast.Name):
                name = read.id
            else:
                name = f"_lect_value_{len(self._paths)}"
                self.body.append(ast.Assign([ast.Name(name, ast.Store())], read))
            self._paths[root, key, literal_key(steps)] = name
        return name

    def _root(self, root: str, key: Any) -> ast.expr:
        if root == "L":
            return ast.Name(key, ast.Load())
        if root == "R":
            return self.held(self.function)
        if root == "M":
            return self.held(sys.modules[key])
        return self.object(ObjectRef(key, ""))

    def instance_dict(self, root: str, key: Any, steps: tuple[Any, ...]) -> ast.expr:
        """The variable that holds the instance dictionary of an object."""
        place = (root, key, literal_key((*steps, ("dict", None))))
        name = self._paths.get(place)
        if name is None:
            base = ast.Name(self._path(root, key, steps), ast.Load())
            plain = self.live.plain_dict(root, key, steps)
            read = ast.Attribute(base, "__dict__", ast.Load()) if plain else self.call(object.__getattribute__, base, ast.Constant("__dict__"))
            name = self._paths[place] = f"_lect_value_{len(self._paths)}"
            self.body.append(ast.Assign([ast.Name(name, ast.Store())], read))
        return ast.Name(name, ast.Load())

    def _step(self, place: tuple[str, Any, tuple[Any, ...]], kind: str, key: Any) -> ast.expr:
        if kind == "attr":
            part = self.live.module_part(*place, key)
            if part is not None:
                members = self.instance_dict(*place)
                self.condition(ast.Compare(ast.Constant(key), [ast.In()], [members]), RAISED)
                return ast.Subscript(ast.Subscript(members, ast.Constant(part), ast.Load()), ast.Constant(key), ast.Load())
        if kind == "dict":
            return self.instance_dict(*place)
        base = ast.Name(self._path(*place), ast.Load())
        if kind == "attr":
            if key.isidentifier():
                return ast.Attribute(base, key, ast.Load())
            return self.call(getattr, base, ast.Constant(key))
        if kind == "item":
            return ast.Subscript(base, ast.Constant(key), ast.Load())
        if kind == "type":
            return self.call(type, base)
        if kind in ("nth", "key"):
            return self.call(checks.nth, base, ast.Constant(key))
        if kind == "part":
            return self.call(checks.part, base, ast.Constant(key))
        return ast.Call(base, [], [])

    # ---- statements --------------------------------------------------------------------------------------------------

    def condition(self, fails: ast.expr, number: int) -> None:
        """Return `number` when the expression is true."""
        self.body.append(ast.If(fails, [ast.Return(ast.Constant(number))], []))

    def write(self, op: Operation, number: int) -> None:
        """The statements of one guard."""
        maker = _MAKERS.get(type(op))
        if maker is None:
            raise LectError(f"'{op.name}' cannot be evaluated as a guard", op=op)
        for fails in maker(self, op):
            self.condition(fails, number)

    def literal(self, value: Any) -> Any:
        """The Python value that a guard's attribute stands for."""
        if type(value) is ObjectRef:
            return self.objects[value.number]
        return decode(value, ())


def _not(value: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), value)


def _differs(left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.Compare(left, [ast.NotEq()], [right])


def _equals(w: _Writer, op: Any) -> list[ast.expr]:
    value, found = w.literal(op.value), w.value(op.object)
    if value is None or value is True or value is False or value is ... or type(value) in (torch.dtype, torch.layout, torch.memory_format):
        return [_unequal(found, w.held(value))]
    if type(value) in (int, str, bytes, torch.device) or (type(value) is float and value == value and value != 0.0):
        return [ast.BoolOp(ast.Or(), [_unequal(w.call(type, found), w.held(type(value))), _differs(found, w.held(value))])]
    return [_not(w.call(checks.same_number, found, w.held(value)))]


def _type_is(w: _Writer, op: Any) -> list[ast.expr]:
    return [_unequal(w.call(type, w.value(op.object)), w.object(op.type))]


def _is(w: _Writer, op: Any) -> list[ast.expr]:
    found, wanted = w.value(op.object), w.object(op.is_object)
    differs = _unequal(found, wanted)
    if isinstance(wanted, ast.Call):  # a reference that has died gives None, which must not hold for None
        return [ast.BoolOp(ast.Or(), [differs, ast.Compare(found, [ast.Is()], [ast.Constant(None)])])]
    return [differs]


def _tensor(w: _Writer, op: Any) -> list[ast.expr]:
    found = w.value(op.object)
    cls = torch.Tensor if op.type == "torch.Tensor" else getattr(torch.nn, op.type.rpartition(".")[2])
    dtype = dtype_of(op.dtype) if isinstance(op.dtype, ScalarType) else decode(op.dtype, ())
    parts = [
        _unequal(w.call(type, found), w.held(cls)),
        _differs(ast.Attribute(found, "shape", ast.Load()), w.held(tuple(op.sizes))),
        _unequal(ast.Attribute(found, "dtype", ast.Load()), w.held(dtype)),
        _differs(ast.Call(ast.Attribute(found, "stride", ast.Load()), [], []), w.held(tuple(op.strides))),
        _not(ast.Attribute(found, "is_cpu", ast.Load()))
        if op.device == "cpu"
        else _differs(ast.Attribute(found, "device", ast.Load()), w.held(torch.device(op.device))),
        _unequal(ast.Attribute(found, "requires_grad", ast.Load()), ast.Constant(bool(op.requires_grad))),
        ast.Call(ast.Attribute(found, "is_neg", ast.Load()), [], []),
    ]
    if dtype.is_complex:
        parts.append(ast.Call(ast.Attribute(found, "is_conj", ast.Load()), [], []))
    return [ast.BoolOp(ast.Or(), parts)]


def _same(w: _Writer, op: Any) -> list[ast.expr]:
    return [_unequal(w.value(op.first), w.value(op.second))]


def _distinct(w: _Writer, op: Any) -> list[ast.expr]:
    first = w.value(op.first)
    return [ast.Compare(first, [ast.Is()], [w.value(other)]) for other in op.others]


def _not_none(w: _Writer, op: Any) -> list[ast.expr]:
    return [ast.Compare(w.value(op.object), [ast.Is()], [ast.Constant(None)])]


def _present(w: _Writer, op: Any) -> list[ast.expr]:
    w.value(op.object)
    return []


def _truth(w: _Writer, op: Any) -> list[ast.expr]:
    value = w.value(op.object)
    return [_not(value) if op.value else value]


def _no_attr(w: _Writer, op: Any) -> list[ast.expr]:
    path = op.object.owner.path
    members = w.instance_dict(path.root, path.key, path.steps)
    tests: list[ast.expr] = [ast.Compare(ast.Constant(name), [ast.In()], [members]) for name in op.names]
    if op.parts:
        tests.append(w.call(checks.has_member, w.value(op.object), w.held(frozenset(op.names))))
    return [tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)]


def _no_hooks(w: _Writer, op: Any) -> list[ast.expr]:
    path = op.object.owner.path
    members = w.instance_dict(path.root, path.key, path.steps)
    tests: list[ast.expr] = [ast.Subscript(members, ast.Constant(name), ast.Load()) for name in checks.HOOK_TABLES]
    tests.append(ast.Compare(ast.Constant("_compiled_call_impl"), [ast.In()], [members]))
    return [ast.BoolOp(ast.Or(), tests)]


def _length(w: _Writer, op: Any) -> list[ast.expr]:
    return [_differs(w.call(len, w.value(op.object)), ast.Constant(op.length))]


def _keys(w: _Writer, op: Any) -> list[ast.expr]:
    return [_not(w.call(checks.same_items, w.value(op.object), w.held(tuple([w.literal(key) for key in op.keys]))))]


def _items(w: _Writer, op: Any) -> list[ast.expr]:
    return [_not(w.call(checks.same_items, w.value(op.object), w.held(tuple([w.literal(item) for item in op.items]))))]


def _has_key(w: _Writer, op: Any) -> list[ast.expr]:
    operator: ast.cmpop = ast.NotIn() if op.present else ast.In()
    return [ast.Compare(w.held(w.literal(op.key)), [operator], [w.value(op.object)])]


def _no_overlap(w: _Writer, op: Any) -> list[ast.expr]:
    return [w.call(checks.overlap, *[w.value(tensor) for tensor in op.tensors])]


def _global_state(w: _Writer, op: Any) -> list[ast.expr]:
    default = dtype_of(op.default_dtype)
    hooks: list[ast.expr] = [] if op.module_hooks else [w.call(checks.global_hooks)]
    return [
        _unequal(w.call(torch.is_grad_enabled), ast.Constant(bool(op.grad))),
        _unequal(w.call(torch.is_inference_mode_enabled), ast.Constant(bool(op.inference))),
        _unequal(w.call(torch.get_default_dtype), w.held(default)),
        _unequal(w.call(torch.are_deterministic_algorithms_enabled), ast.Constant(bool(op.deterministic))),
        w.call(checks.modes_active),
        *hooks,
    ]


_MAKERS: Mapping[type, Callable[[_Writer, Any], list[ast.expr]]] = MappingProxyType(
    {
        guard.EqualsOp: _equals,
        guard.TypeIsOp: _type_is,
        guard.IsOp: _is,
        guard.TensorOp: _tensor,
        guard.SameOp: _same,
        guard.DistinctOp: _distinct,
        guard.NotNoneOp: _not_none,
        guard.PresentOp: _present,
        guard.TruthOp: _truth,
        guard.NoAttrOp: _no_attr,
        guard.NoHooksOp: _no_hooks,
        guard.LengthOp: _length,
        guard.KeysOp: _keys,
        guard.ItemsOp: _items,
        guard.HasKeyOp: _has_key,
        guard.NoOverlapOp: _no_overlap,
        guard.GlobalStateOp: _global_state,
    }
)
