"""pyframe: one Python frame, free of the operand stack and of the CPython version.

A `pyframe.func` is the body of one code object.  Local variables, cells and free variables are slots with a name; `load_local`, `store_deref` and
their kin read and write them, and the parameters are the locals that hold a value at entry.  Everything that CPython keeps on its operand stack is
an SSA value of type `!pyframe.object`.

**Blocks.** No value crosses the border of a block except as an argument: the arguments of a block are the operand stack at its entry, bottom first
(an iterator, a bound `__exit__`, the exception that was handled before).  So every block can be read, moved and copied by itself.

**Lifetimes.** A value is released when its last user in the block has consumed it; a result without a user is released at once, an argument of a
block without a user at the end of the block.  What an edge does not pass on is released on that edge.  `drop` is a use that does nothing else: it keeps a value
(a running generator, say) alive up to where Python would have released it.

**Exceptions.** Any operation may raise unless it is said not to.  The terminator of a block may name a last successor `unwind`: an exception raised
anywhere in the block goes there.  The operands for it, the part of the stack that survives, exist before the first operation that may raise and are
alive to the end of the block; the exception itself follows as the last argument of the handler (before it a `!pyframe.place`, if the handler has
one, for `reraise`).  Without `unwind` an exception leaves the function.  `push_exc` makes an exception the one being handled (what
`sys.exception()` gives) and returns the one before, which `pop_exc` puts back; `return` inside a handler must be preceded by `pop_exc`.

**Generators.** A function with the flag 'generator' makes a suspended frame when it is called.  `yield` and `yield_from` end a block, so that a
suspended frame is a block with the values that its edges pass on.  A StopIteration that would leave the body leaves it as the cause of a RuntimeError,
and no operation says so.

**Locations** are the user's line and column, with the end of the expression, so that a traceback from assembled code reads as the original's.

What belongs to the machine never shows: NULLs of the call protocol, COPY and SWAP, caches, RESUME, EXTENDED_ARG, the bit that makes a method call.
Operations whose semantics are not spelled out here are those of the Python construct they are named after.
"""

from lect.dialects.pyframe.attributes import CONSTANT, is_constant
from lect.dialects.pyframe.types import OBJECT, SAVED, ObjectType, SavedType
from lect.ir import (
    Attr,
    Operand,
    Operation,
    OptionalOperand,
    Result,
    SymbolRef,
    Type,
    Variadic,
    op,
    require,
)

BINARY_OPERATORS = ("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^")
IN_PLACE_OPERATORS = tuple(f"{operator}=" for operator in BINARY_OPERATORS)
UNARY_OPERATORS = ("+", "-", "~", "not", "bool")
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")
CONVERSIONS = ("str", "repr", "ascii")
INTRINSICS = (
    "typevar",
    "paramspec",
    "typevartuple",
    "subscript_generic",
    "typealias",
    "typevar_with_bound",
    "typevar_with_constraints",
    "set_function_type_params",
    "set_typeparam_default",
)

ONE = (OBJECT,)


class Producer(Operation):
    """Base of the operations that give one object."""

    def infer(self) -> tuple[Type, ...]:
        return ONE


# ---- variables -------------------------------------------------------------------------------------------------------


@op("pyframe.load_local")
class LoadLocalOp(Producer):
    """The value of a local variable or parameter; UnboundLocalError when it has none."""

    id: Attr[str]
    value: Result


@op("pyframe.store_local")
class StoreLocalOp(Operation):
    """Bind a local variable.  Does not raise, but releasing the old value may run code."""

    value: Operand[ObjectType]
    id: Attr[str]


@op("pyframe.delete_local")
class DeleteLocalOp(Operation):
    """Unbind a local variable; UnboundLocalError when it is not bound."""

    id: Attr[str]


@op("pyframe.save_local")
class SaveLocalOp(Operation):
    """Take the contents out of a variable, bound or not, and leave it unbound (around an inlined comprehension).

    A cell may be taken out too; until it is restored the variable is a plain local one, unless `make_cell` gives it another cell.
    """

    id: Attr[str]
    saved: Result

    def infer(self) -> tuple[Type, ...]:
        return (SAVED,)


@op("pyframe.restore_local")
class RestoreLocalOp(Operation):
    """Put back what `save_local` took, leaving the variable unbound if it was."""

    saved: Operand[SavedType]
    id: Attr[str]


@op("pyframe.load_global")
class LoadGlobalOp(Producer):
    """A global variable, else a builtin; NameError when there is neither."""

    id: Attr[str]
    value: Result


@op("pyframe.store_global")
class StoreGlobalOp(Operation):
    """Bind a global variable."""

    value: Operand[ObjectType]
    id: Attr[str]


@op("pyframe.delete_global")
class DeleteGlobalOp(Operation):
    """Unbind a global variable; NameError when it is not bound."""

    id: Attr[str]


@op("pyframe.load_name")
class LoadNameOp(Producer):
    """A name in a class body or module: the namespace, then globals, then builtins."""

    id: Attr[str]
    value: Result


@op("pyframe.store_name")
class StoreNameOp(Operation):
    """Bind a name in the namespace of a class body or module."""

    value: Operand[ObjectType]
    id: Attr[str]


@op("pyframe.delete_name")
class DeleteNameOp(Operation):
    """Remove a name from the namespace of a class body or module."""

    id: Attr[str]


@op("pyframe.load_deref")
class LoadDerefOp(Producer):
    """The contents of a cell or free variable; NameError when it is empty."""

    id: Attr[str]
    value: Result


@op("pyframe.store_deref")
class StoreDerefOp(Operation):
    """Set the contents of a cell or free variable."""

    value: Operand[ObjectType]
    id: Attr[str]


@op("pyframe.delete_deref")
class DeleteDerefOp(Operation):
    """Empty a cell or free variable; NameError when it is empty."""

    id: Attr[str]


@op("pyframe.load_cell")
class LoadCellOp(Producer):
    """The cell object itself, for the closure of a nested function."""

    id: Attr[str]
    value: Result


@op("pyframe.make_cell")
class MakeCellOp(Operation):
    """Give a variable a fresh cell (an inlined comprehension does; the cells of a function are made at its entry anyway)."""

    id: Attr[str]


@op("pyframe.bind_cell")
class BindCellOp(Operation):
    """Make a cell object the cell of a variable, in the place of the one that it had.  Does not raise."""

    cell: Operand[ObjectType]
    id: Attr[str]


@op("pyframe.load_locals")
class LoadLocalsOp(Producer):
    """The namespace of a class body or module."""

    value: Result


@op("pyframe.load_from_dict_or_deref")
class LoadFromDictOrDerefOp(Producer):
    """A name looked up in a mapping, else in a cell or free variable (a name in a class body that an outer function binds)."""

    mapping: Operand[ObjectType]
    id: Attr[str]
    value: Result


@op("pyframe.load_from_dict_or_globals")
class LoadFromDictOrGlobalsOp(Producer):
    """A name looked up in a mapping, else in globals and builtins."""

    mapping: Operand[ObjectType]
    id: Attr[str]
    value: Result


@op("pyframe.load_const")
class LoadConstOp(Producer):
    """A constant: a literal, a constant attribute of this dialect, or the symbol of a `pyframe.func`, which stands for its code object."""

    value: Attr[CONSTANT]
    result_value: Result

    def verify(self) -> None:
        require(is_constant(self.value), self, "'pyframe.load_const' holds what is no Python constant")


@op("pyframe.load_resource")
class LoadResourceOp(Producer):
    """A live object that text cannot hold, by its name among the resources given to the assembler."""

    id: Attr[str]
    value: Result


@op("pyframe.load_build_class")
class LoadBuildClassOp(Producer):
    """`builtins.__build_class__`."""

    value: Result


@op("pyframe.load_assertion_error")
class LoadAssertionErrorOp(Producer):
    """The class AssertionError, whatever the name means in the program."""

    value: Result


@op("pyframe.drop")
class DropOp(Operation):
    """Release a value here.  Runs whatever its finalizer runs."""

    value: Operand


# ---- attributes and items --------------------------------------------------------------------------------------------


@op("pyframe.load_attr")
class LoadAttrOp(Producer):
    """`object.attr`.  Used only as callee of a call in the same block, it is assembled as a method call, without a bound method object."""

    object: Operand[ObjectType]
    attr: Attr[str]
    value: Result


@op("pyframe.load_super_attr")
class LoadSuperAttrOp(Producer):
    """`super().attr`, or `super(cls, object).attr` when `explicit`; `super_class` is what the name `super` means, `cls` and `object` are the two arguments."""

    super_class: Operand[ObjectType]
    cls: Operand[ObjectType]
    object: Operand[ObjectType]
    attr: Attr[str]
    explicit: Attr[bool] = False
    value: Result


@op("pyframe.store_attr")
class StoreAttrOp(Operation):
    """`object.attr = value`."""

    object: Operand[ObjectType]
    value: Operand[ObjectType]
    attr: Attr[str]


@op("pyframe.delete_attr")
class DeleteAttrOp(Operation):
    """`del object.attr`."""

    object: Operand[ObjectType]
    attr: Attr[str]


@op("pyframe.load_item")
class LoadItemOp(Producer):
    """`container[key]`; slices are `build_slice` values."""

    container: Operand[ObjectType]
    key: Operand[ObjectType]
    value: Result


@op("pyframe.store_item")
class StoreItemOp(Operation):
    """`container[key] = value`."""

    container: Operand[ObjectType]
    key: Operand[ObjectType]
    value: Operand[ObjectType]


@op("pyframe.delete_item")
class DeleteItemOp(Operation):
    """`del container[key]`."""

    container: Operand[ObjectType]
    key: Operand[ObjectType]


# ---- operators -------------------------------------------------------------------------------------------------------


@op("pyframe.binary")
class BinaryOp(Producer):
    """A binary operator, `+`, or its in-place form, `+=`, which gives the new value of the left side."""

    left: Operand[ObjectType]
    right: Operand[ObjectType]
    operator: Attr[frozenset(BINARY_OPERATORS + IN_PLACE_OPERATORS)]
    value: Result


@op("pyframe.unary")
class UnaryOp(Producer):
    """A unary operator; `bool` is the truth value as True or False."""

    operand: Operand[ObjectType]
    operator: Attr[frozenset(UNARY_OPERATORS)]
    value: Result


@op("pyframe.compare")
class CompareOp(Producer):
    """A rich comparison; the result need not be a bool."""

    left: Operand[ObjectType]
    right: Operand[ObjectType]
    operator: Attr[frozenset(COMPARISONS)]
    value: Result


@op("pyframe.contains")
class ContainsOp(Producer):
    """`item in container`, or `not in` when `invert`: True or False."""

    item: Operand[ObjectType]
    container: Operand[ObjectType]
    invert: Attr[bool] = False
    value: Result


@op("pyframe.is")
class IsOp(Producer):
    """`left is right`, or `is not` when `invert`.  Does not raise."""

    left: Operand[ObjectType]
    right: Operand[ObjectType]
    invert: Attr[bool] = False
    value: Result


# ---- calls and functions ---------------------------------------------------------------------------------------------


@op("pyframe.call")
class CallOp(Producer):
    """Call with positional arguments; the last `len(keywords)` of them are passed by those names."""

    callee: Operand[ObjectType]
    arguments: Variadic[ObjectType]
    keywords: Attr[tuple] = ()
    value: Result

    def verify(self) -> None:
        require(len(self.keywords) <= len(self.arguments), self, "'pyframe.call' has {} keywords for {} arguments", len(self.keywords), len(self.arguments))
        require(all(isinstance(word, str) for word in self.keywords), self, "keywords of 'pyframe.call' must be strings")


@op("pyframe.call_ex")
class CallExOp(Producer):
    """`callee(*args, **kwargs)`."""

    callee: Operand[ObjectType]
    args: Operand[ObjectType]
    kwargs: OptionalOperand[ObjectType]
    value: Result


@op("pyframe.call_graph")
class CallGraphOp(Producer):
    """Call the compiled graph of that symbol (a resource for the assembler); the result is what its callable returns."""

    arguments: Variadic[ObjectType]
    graph: Attr[SymbolRef]
    value: Result


@op("pyframe.make_function")
class MakeFunctionOp(Producer):
    """A function object of a code object and, each optional: the tuple of defaults, the dict of keyword defaults, the annotations, the tuple of cells."""

    code: Operand[ObjectType]
    defaults: OptionalOperand[ObjectType]
    keyword_defaults: OptionalOperand[ObjectType]
    annotations: OptionalOperand[ObjectType]
    closure: OptionalOperand[ObjectType]
    value: Result


@op("pyframe.intrinsic")
class IntrinsicOp(Producer):
    """A helper of the interpreter for type parameters, by name."""

    arguments: Variadic[ObjectType]
    function: Attr[frozenset(INTRINSICS)]
    value: Result
