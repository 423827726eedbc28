"""What nests have in common: equal nests are decided about once, and made once.

A graph of many layers has the same few nests again and again, over other buffers.  The *form* of a nest is all of it but which buffers it reads, what
it and its results are called, where it comes from and what was decided about it.  `Forms` numbers the forms of one function while one pass runs:

    forms.ask(nest, heavy_ops)              an answer that only the form decides, found once for each form
    forms.together((a, b), what, find)      the same for nests and how they share buffers
    forms.make((a, b), what, build)         a nest that is built of others: built once, then written down again over the other buffers

What is written down again is pending: its operations are made when somebody looks at them, and most are never looked at (`ir/template.py`).  So a pass
asks `Forms` about a nest, and the nest itself only where equal ones differ.

A nest that is changed in place has to be forgotten (`forget`).  Passes that do so, or change no nest in place, say `keeps = (FORMS,)`, and the next
pass finds what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from lect.dialects.loop.attributes import SpaceAttr
from lect.dialects.loop.building import INDEX_HINTS
from lect.dialects.loop.ops import IndexOp, LoadOp, NestOp, ReduceIndexOp, ReduceOp, ScanOp, StoreOp, UpdateOp
from lect.ir import BlockTemplate, Context, Location, PendingBlock, Region, Type, Value, literal_key
from lect.ir.types import index
from lect.passes.loop.nests import take_apart

T = TypeVar("T")
FORMS = "loop.forms"
PLAIN = frozenset({LoadOp, StoreOp, UpdateOp, IndexOp, ReduceOp, ReduceIndexOp, ScanOp})  # operations whose attributes are equal when `==` says so
_NOTHING: Any = object()


class Form:
    """What equal nests share: `answers` to the questions that were asked of one of them."""

    __slots__ = ("answers",)

    def __init__(self) -> None:
        self.answers: dict[Hashable, Any] = {}


Shape = tuple[Form, tuple[Location, ...]]
"""The form of a nest and the places that its operations come from, each once."""


def describe(nest: NestOp) -> tuple[Hashable, tuple[Location, ...]]:
    """A key that equal nests share, and the places of its operations, each once, in order; the key says which operation has which."""
    numbers: dict[Value, int] = {}
    for value in (*nest.operands, *nest.body.args):
        numbers[value] = len(numbers)
    places: dict[Location, int] = {nest.loc: 0}
    key: list[Hashable] = [nest.attrs["space"], len(nest.operands), *[value.type for value in (*nest.operands, *nest.results)]]
    extend: Any = key.extend
    op = nest.body.first
    while op is not None:  # what follows a kind and two lengths is read without doubt, so one flat key will do
        kind, attrs, operands = type(op), op.attrs, op.operands
        extend((kind, len(operands), len(attrs), places.setdefault(op.loc, len(places))))
        if attrs:
            extend(attrs.values() if kind in PLAIN else literal_key(attrs))
        extend([numbers[value] for value in operands])
        for value in op.results:
            key.append(value.type)
            numbers[value] = len(numbers)
        op = op.next
    return tuple(key), tuple(places)


class Recipe:
    """A nest in terms of numbered buffers and places: `make` writes it down over others."""

    __slots__ = ("block", "form", "inputs", "place", "places", "results", "space")

    def __init__(self, made: NestOp, buffers: dict[Value, int], places: dict[Location, int], form: Form, own_places: Sequence[Location]) -> None:
        self.space: SpaceAttr = made.space
        self.inputs = [buffers[value] for value in made.operands]
        self.results: list[Type] = [value.type for value in made.results]
        self.place = places[made.loc]
        self.form = form
        self.places = [places[loc] for loc in own_places]
        self.block = BlockTemplate(made.body, made.operands, places)

    def make(self, buffers: Sequence[Value], places: Sequence[Location], name: str) -> NestOp:
        """The nest over other buffers, not in a graph; its operations are there when somebody looks at them."""
        inputs = [buffers[number] for number in self.inputs]
        attributes = {"sym_name": name, "space": self.space}
        return NestOp.create(inputs, self.results, attributes, (Region([self._pending(places)]),), (), places[self.place])

    def rewrite(self, nest: NestOp, buffers: Sequence[Value], places: Sequence[Location]) -> None:
        """Give an existing nest with these results the inputs, the space and the block."""
        nest.drop_operands()
        take_apart(nest.body)
        nest.set_operands([buffers[number] for number in self.inputs])
        nest.attrs["space"] = self.space
        region = nest.regions[0]
        region.blocks.clear()
        region.append(self._pending(places))

    def _pending(self, places: Sequence[Location]) -> PendingBlock:
        return PendingBlock(self.block, places, (index,) * len(self.space.sizes), INDEX_HINTS)


def forms_of(ctx: Context) -> Forms:
    """The forms that this and earlier passes have met."""
    found = ctx.analyses.get(FORMS)
    if found is None:
        found = ctx.analyses[FORMS] = Forms()
    return found


class Forms:
    """The forms of the nests that passes have met."""

    def __init__(self) -> None:
        self._forms: dict[Hashable, Form] = {}
        self._shapes: dict[NestOp, Shape] = {}
        self._together: dict[Hashable, Any] = {}
        self._recipes: dict[Hashable, Recipe | None] = {}
        self._changed: dict[Hashable, Recipe] = {}

    def shape(self, nest: NestOp) -> Shape:
        """The form of a nest and the places of its operations."""
        found = self._shapes.get(nest)
        if found is None:
            key, places = describe(nest)
            form = self._forms.get(key)
            if form is None:
                form = self._forms[key] = Form()
            found = self._shapes[nest] = (form, places)
        return found

    def form(self, nest: NestOp) -> Form:
        """The form of a nest: the same object for equal ones."""
        return self.shape(nest)[0]

    def forget(self, nest: NestOp) -> None:
        """A nest is about to be changed in place."""
        self._shapes.pop(nest, None)

    def ask(self, nest: NestOp, question: Callable[[NestOp], T]) -> T:
        """The answer to a question whose answer depends on the form alone."""
        answers = self.shape(nest)[0].answers
        found = answers.get(question, _NOTHING)
        if found is _NOTHING:
            found = answers[question] = question(nest)
        return found

    def together(self, nests: Sequence[NestOp], what: Hashable, find: Callable[[], T]) -> T:
        """What depends on the forms of nests, on which buffers they share, and on `what`."""
        key = (what, *[self.form(nest) for nest in nests], *_numbering(nests)[1])
        found = self._together.get(key, _NOTHING)
        if found is _NOTHING:
            found = self._together[key] = find()
        return found

    def make(self, nests: Sequence[NestOp], what: Hashable, name: str, build: Callable[[], NestOp | None]) -> NestOp | None:
        """A nest called `name`, with no decisions yet and not in a graph, that depends on nests and `what` as in `together` and reads their inputs.

        None when `build` gives None; `build` may change one of the nests in place and give that.
        """
        forms, buffers, places, pattern = self._numbered(nests, (), ())
        key = (what, *forms, *pattern)
        recipe = self._recipes.get(key, _NOTHING)
        if recipe is None:
            return None
        if recipe is not _NOTHING:
            return self.follow(recipe, list(buffers), list(places), name)
        made = build()
        if made is None:
            self._recipes[key] = None
            return None
        self.forget(made)  # it may be one of `nests`
        self._recipes[key] = self.recipe(made, buffers, places)
        made.attrs = {"sym_name": name, "space": made.space}
        return made

    def change(self, nest: NestOp, what: Hashable, do: Callable[[], object], reads: Sequence[Value] = (), at: Sequence[Location] = ()) -> None:
        """Let `do` change the block, the inputs and the space of a nest in place.

        How depends on its form and `what` alone; it may then read `reads` too and have operations that come from `at`.
        """
        forms, buffers, places, pattern = self._numbered((nest,), reads, at)
        key = (what, *forms, *pattern)
        self.forget(nest)
        recipe = self._changed.get(key)
        if recipe is None:
            do()
            self._changed[key] = self.recipe(nest, buffers, places)
            return
        locs = list(places)
        recipe.rewrite(nest, list(buffers), locs)
        self._shapes[nest] = recipe.form, tuple([locs[place] for place in recipe.places])

    def _numbered(
        self, nests: Sequence[NestOp], reads: Sequence[Value], at: Sequence[Location]
    ) -> tuple[list[Form], dict[Value, int], dict[Location, int], list[int]]:
        """The forms of nests, their buffers and places with numbers, and which number stands where."""
        shapes = [self.shape(nest) for nest in nests]
        buffers, pattern = _numbering(nests, reads)
        places: dict[Location, int] = {}
        pattern.append(-1)
        pattern += [places.setdefault(loc, len(places)) for _, own in shapes for loc in own]
        pattern += [places.setdefault(loc, len(places)) for loc in at]
        return [form for form, _ in shapes], buffers, places, pattern

    def recipe(self, made: NestOp, buffers: dict[Value, int], places: dict[Location, int]) -> Recipe:
        """How to write a nest down again, over other buffers and places; `buffers` and `places` have all that it reads and comes from."""
        form, own = self.shape(made)
        return Recipe(made, buffers, places, form, own)

    def follow(self, recipe: Recipe, buffers: Sequence[Value], places: Sequence[Location], name: str) -> NestOp:
        """The nest of a recipe, called `name`, not in a graph."""
        made = recipe.make(buffers, places, name)
        self._shapes[made] = (recipe.form, tuple([places[place] for place in recipe.places]))
        return made


def _numbering(nests: Sequence[NestOp], more: Sequence[Value] = ()) -> tuple[dict[Value, int], list[int]]:
    """The buffers of nests, each with a number, and the numbers in the order of inputs and results."""
    numbers: dict[Value, int] = {}
    pattern = [numbers.setdefault(value, len(numbers)) for nest in nests for value in (*nest.operands, *nest.results)]
    pattern += [numbers.setdefault(value, len(numbers)) for value in more]
    return numbers, pattern
