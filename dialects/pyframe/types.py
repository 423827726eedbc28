"""Types of the pyframe dialect: what an operand-stack entry of a Python frame can be."""

from __future__ import annotations

from lect.ir import Type, type_


@type_("pyframe.object")
class ObjectType(Type):
    """Any Python object."""


@type_("pyframe.saved")
class SavedType(Type):
    """What a local variable held, which may be nothing: made by `save_local`, good only for `restore_local`."""


@type_("pyframe.place")
class PlaceType(Type):
    """The instruction at which an exception was raised; `reraise` gives it back to the frame, so that its line number is that of the first raise."""


OBJECT = ObjectType()
SAVED = SavedType()
PLACE = PlaceType()
