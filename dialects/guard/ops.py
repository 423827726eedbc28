"""guard: the conditions under which what one trace produced may be used again.

A `guard.set` is a conjunction.  `guard.source` names an object that exists before the call by the path on which it is found again; the other
operations are conditions on such objects, and the location of each is the line of the user's program that caused it.  A set is evaluated before
each call, in the order of the text; reading a source may fail, and then the set does not hold.  Evaluation has no effect that the program could
see: paths use only reads that ran when the trace was made, on objects whose types the set fixes.

Objects that have no literal are named `#fx.object<n, "what">`: object n is held beside the module, weakly where Python allows it, and a weak
reference that has died holds for nothing.  Values are compared with their exact type, so 1, 1.0 and True differ, 0.0 and -0.0 differ, and a NaN
equals itself.  `guard.apply` computes with numbers, so that a condition can be on what the program decided by, and not on each value it came from.
"""

from lect.dialects.fx.ops import references
from lect.dialects.fx.types import ObjectRef, OperandRef
from lect.dialects.guard.arithmetic import FUNCTIONS
from lect.dialects.guard.builtin_names import OWN
from lect.dialects.guard.types import ObjectType, PathAttr
from lect.ir import (
    Attr,
    FuncLike,
    HasParent,
    IsolatedFromAbove,
    NoTerminator,
    Operand,
    Operation,
    Pure,
    RegionField,
    Result,
    ScalarType,
    SingleBlock,
    Type,
    Variadic,
    op,
    require,
)
from lect.ir.symbolic import Expr
from lect.ir.types import f64, i64

INSIDE = HasParent("guard.set")


@op("guard.set")
class SetOp(Operation):
    """All conditions of one compiled version of a frame."""

    conditions: RegionField
    sym_name: Attr[str]
    traits = (FuncLike, IsolatedFromAbove, SingleBlock, NoTerminator)

    def verify(self) -> None:
        for inner in self.body:
            require(inner.name.startswith("guard."), inner, "'guard.set' holds operations of guard, got '{}'", inner.name)


@op("guard.source")
class SourceOp(Operation):
    """Read the object at the end of a path."""

    path: Attr[PathAttr]
    object: Result[ObjectType]
    traits = (INSIDE, Pure)

    def infer(self) -> tuple[Type, ...]:
        return (ObjectType(),)


@op("guard.apply")
class ApplyOp(Operation):
    """A number computed as the program does: `function` called with `args`, where `#fx.operand<n>` is operand n.  When it raises, the set does not hold."""

    inputs: Variadic[ObjectType]
    function: Attr[frozenset(FUNCTIONS)]
    args: Attr[tuple]
    object: Result[ObjectType]
    traits = (INSIDE, Pure)

    def verify(self) -> None:
        used = sorted(set(references(self.args, OperandRef)))
        count = len(self.operands)
        require(used == list(range(count)), self, "arguments of 'guard.apply' must use each of its {} operands, found the numbers {}", count, used)
        for value in self.args:
            require(isinstance(value, OperandRef) or type(value) in (int, float, bool), self, "'guard.apply' takes numbers, got {}", value)

    def infer(self) -> tuple[Type, ...]:
        return (ObjectType(),)


@op("guard.number")
class NumberOp(Operation):
    """The object is a float (`f64`), or an int that 64 bits hold (`i64`), neither of a subclass; any value.

    With `fits` its value is in the range of that element type, or is infinite or a NaN.  With `size` the int is this size with symbols, and 40 bits hold it:
    the first of several that has a symbol gives its value, as sizes of tensors do (`guard.symbolic`).
    """

    object: Operand[ObjectType]
    element: Attr[ScalarType]
    fits: Attr[(ScalarType, None)] = None
    size: Attr[(Expr, None)] = None
    traits = (INSIDE,)

    def verify(self) -> None:
        require(self.element in (f64, i64), self, "'guard.number' is about f64 or i64, got {}", self.element)
        good = self.fits is None or self.fits.is_float or (self.fits.is_integer and self.element is i64)
        require(good, self, "a number of type {} cannot fit {}", self.element, self.fits)
        require(self.size is None or self.element is i64, self, "a number of type {} is no size", self.element)


@op("guard.tensor")
class TensorOp(Operation):
    """The object is a tensor of exactly this class (`torch.Tensor` unless told otherwise), dtype, shape, strides, device and requires_grad."""

    object: Operand[ObjectType]
    dtype: Attr[object]
    sizes: Attr[tuple]
    strides: Attr[tuple]
    device: Attr[str] = "cpu"
    requires_grad: Attr[bool] = False
    type: Attr[str] = "torch.Tensor"
    traits = (INSIDE,)

    def verify(self) -> None:
        require(len(self.sizes) == len(self.strides), self, "'guard.tensor' needs as many strides as sizes, got {} and {}", len(self.strides), len(self.sizes))


@op("guard.symbolic")
class SymbolicOp(Operation):
    """A size is not below `low`, not above `high`, and with `differs` it is not 0.

    Its symbols stand in the sizes of `guard.tensor` and `guard.number` operations in front of it, which bind them: where the first of them has `s0` (or
    `s0 * 4`), s0 is the size found there (a quarter of it), and wherever else a size with symbols stands, what is found has to be that size.  `why`
    says whose wish it is, when it is no decision of the program.
    """

    size: Attr[Expr]
    low: Attr[(int, None)] = None
    high: Attr[(int, None)] = None
    differs: Attr[bool] = False
    why: Attr[str] = ""
    traits = (INSIDE,)

    def verify(self) -> None:
        require(self.low is not None or self.high is not None or self.differs, self, "'guard.symbolic' says nothing of {}", self.size)


@op("guard.type_is")
class TypeIsOp(Operation):
    """The class of the object is the given class itself, no subclass."""

    object: Operand[ObjectType]
    type: Attr[ObjectRef]
    traits = (INSIDE,)


@op("guard.equals")
class EqualsOp(Operation):
    """The object is a scalar of the same type and value."""

    object: Operand[ObjectType]
    value: Attr[object]
    traits = (INSIDE,)


@op("guard.is")
class IsOp(Operation):
    """The object is the given object itself."""

    object: Operand[ObjectType]
    is_object: Attr[ObjectRef]
    traits = (INSIDE,)


@op("guard.class_like")
class ClassLikeOp(Operation):
    """The object is a class of the shape of a given one: one that the same statement has made in another call (see `class_shapes`)."""

    object: Operand[ObjectType]
    like: Attr[ObjectRef]
    traits = (INSIDE,)


@op("guard.same")
class SameOp(Operation):
    """Both paths lead to one object."""

    first: Operand[ObjectType]
    second: Operand[ObjectType]
    traits = (INSIDE,)


@op("guard.distinct")
class DistinctOp(Operation):
    """The first object is none of the others."""

    first: Operand[ObjectType]
    others: Variadic[ObjectType]
    traits = (INSIDE,)


@op("guard.all_distinct")
class AllDistinctOp(Operation):
    """No two of the objects are one."""

    objects: Variadic[ObjectType]
    traits = (INSIDE,)


@op("guard.not_none")
class NotNoneOp(Operation):
    """The object is not None."""

    object: Operand[ObjectType]
    traits = (INSIDE,)


@op("guard.present")
class PresentOp(Operation):
    """The path leads to an object, whichever it is."""

    object: Operand[ObjectType]
    traits = (INSIDE,)


@op("guard.truth")
class TruthOp(Operation):
    """A builtin container is empty (false) or not (true); a number or the outcome of a comparison is false or true."""

    object: Operand[ObjectType]
    value: Attr[bool]
    traits = (INSIDE,)


@op("guard.no_attr")
class NoAttrOp(Operation):
    """The instance dictionary has none of the names; with `parts`, neither have the parameters, buffers and children of a module."""

    object: Operand[ObjectType]
    names: Attr[tuple]
    parts: Attr[bool] = False
    traits = (INSIDE,)

    def verify(self) -> None:
        require(self.names and all(type(n) is str for n in self.names), self, "'guard.no_attr' needs names, got {}", self.names)


@op("guard.no_hooks")
class NoHooksOp(Operation):
    """No hook of any kind is registered on the module itself, and it has no `_call_impl` of its own, which calls would run in the place of its forward."""

    object: Operand[ObjectType]
    traits = (INSIDE,)


@op("guard.length")
class LengthOp(Operation):
    """A builtin container has this many elements."""

    object: Operand[ObjectType]
    length: Attr[int]
    traits = (INSIDE,)


@op("guard.keys")
class KeysOp(Operation):
    """A dictionary has exactly these keys in this order; a key without literal stands as an object."""

    object: Operand[ObjectType]
    keys: Attr[tuple]
    traits = (INSIDE,)


@op("guard.has_key")
class HasKeyOp(Operation):
    """A dictionary or set has (or, with `present = false`, lacks) a key."""

    object: Operand[ObjectType]
    key: Attr[object]
    present: Attr[bool] = True
    traits = (INSIDE,)


@op("guard.holds")
class HoldsOp(Operation):
    """A dictionary or set has (or, with `present = false`, lacks) the second object for a key, which C code hashes and compares."""

    object: Operand[ObjectType]
    key: Operand[ObjectType]
    present: Attr[bool] = True
    traits = (INSIDE,)


@op("guard.no_keys")
class NoKeysOp(Operation):
    """A dictionary, or what shows the entries of a class, has none of these names for keys."""

    object: Operand[ObjectType]
    keys: Attr[tuple]
    traits = (INSIDE,)

    def verify(self) -> None:
        require(self.keys and all(type(key) is str for key in self.keys), self, "'guard.no_keys' needs names, got {}", self.keys)


@op("guard.mro")
class MroOp(Operation):
    """The object is a class, and behind it these classes are looked through for its attributes, in this order."""

    object: Operand[ObjectType]
    bases: Attr[tuple]
    traits = (INSIDE,)

    def verify(self) -> None:
        require(all(isinstance(base, ObjectRef) for base in self.bases), self, "'guard.mro' takes classes, got {}", self.bases)


@op("guard.no_subclass")
class NoSubclassOp(Operation):
    """The first class is no subclass of the second, which is abstract: with such a class others may be registered at any time."""

    object: Operand[ObjectType]
    abstract: Operand[ObjectType]
    traits = (INSIDE,)


@op("guard.items")
class ItemsOp(Operation):
    """The elements of a builtin list, tuple, set or deque, in iteration order, are these scalars."""

    object: Operand[ObjectType]
    items: Attr[tuple]
    traits = (INSIDE,)


@op("guard.no_overlap")
class NoOverlapOp(Operation):
    """No two of the tensors share memory."""

    tensors: Variadic[ObjectType]
    traits = (INSIDE,)

    def verify(self) -> None:
        require(len(self.operands) >= 2, self, "'guard.no_overlap' needs at least two tensors, got {}", len(self.operands))


@op("guard.builtins")
class BuiltinsOp(Operation):
    """Each of the names stands in the module `builtins` for what it stood for when lect was loaded."""

    names: Attr[tuple]
    traits = (INSIDE,)

    def verify(self) -> None:
        require(bool(self.names), self, "'guard.builtins' needs names")
        for name in self.names:
            require(name in OWN, self, "'{}' is no function, class or constant of Python's builtins", name)


@op("guard.tensor_class")
class TensorClassOp(Operation):
    """Each of the names stands in `torch.Tensor` for what it stood for when lect was loaded: methods that operators run, and properties."""

    names: Attr[tuple]
    traits = (INSIDE,)

    def verify(self) -> None:
        require(self.names and all(type(name) is str for name in self.names), self, "'guard.tensor_class' needs names, got {}", self.names)


@op("guard.torch_callees")
class TorchCalleesOp(Operation):
    """What these Python functions of torch call, down to C code, is what it was when lect was loaded: a graph holds each as one call."""

    functions: Attr[tuple]
    traits = (INSIDE,)

    def verify(self) -> None:
        known = self.functions and all(type(name) is str for name in self.functions)
        require(known, self, "'guard.torch_callees' needs names of functions, got {}", self.functions)


@op("guard.global_state")
class GlobalStateOp(Operation):
    """The modes of torch in the calling thread: autograd, inference mode, autocast, default dtype, determinism, active overrides, and hooks on all modules.

    `autocast` is empty where it is off for all devices; else it holds `[device, enabled, dtype]` for the CPU and for CUDA, and whether casts are cached.
    With `no_exception` none is being handled by the caller.
    """

    grad: Attr[bool]
    inference: Attr[bool] = False
    autocast: Attr[tuple] = ()
    default_dtype: Attr[ScalarType]
    deterministic: Attr[bool] = False
    module_hooks: Attr[bool] = False
    no_exception: Attr[bool] = False
    overrides: Attr[int] = 0
    traits = (INSIDE,)
