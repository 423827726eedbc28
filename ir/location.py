"""Source locations: where in the user's program an operation came from.

A location is interned, so that two operations of one source line share it and `is` compares.  It travels from bytecode to kernel;
rewriters copy it by default.  It knows nothing of files on disk.
"""

from __future__ import annotations


class Location:
    """A place in a source file: `file`, 1-based `line`, 0-based `column` (None when unknown; shown 1-based in messages), and the `function` it lies in.

    `end_line` and `end_column` (0-based, behind the last character) bound the piece of source when known; both or none are given.
    """

    __slots__ = ("column", "end_column", "end_line", "file", "function", "line")
    file: str
    line: int
    column: int | None
    function: str | None
    end_line: int | None
    end_column: int | None

    def __new__(
        cls,
        file: str,
        line: int,
        column: int | None = None,
        function: str | None = None,
        end_line: int | None = None,
        end_column: int | None = None,
    ) -> Location:
        return location_of(locations_of(file, function), file, function, (line, end_line, column, end_column))

    @property
    def known(self) -> bool:
        """False only for `UNKNOWN`."""
        return self is not UNKNOWN

    def __repr__(self) -> str:
        if self is UNKNOWN:
            return "unknown location"
        place = f"{self.file}:{self.line}"
        return place if self.column is None else f"{place}:{self.column + 1}"

    def __reduce__(self) -> tuple[type[Location], tuple[str, int, int | None, str | None, int | None, int | None]]:
        return Location, (self.file, self.line, self.column, self.function, self.end_line, self.end_column)

    def __deepcopy__(self, memo: object) -> Location:
        return self


Position = tuple[int | None, ...]  # line, end line, column and end column, as code objects give them
Located = dict[Position, Location]
_TABLE: dict[tuple[str, str | None], Located] = {}


def locations_of(file: str, function: str | None) -> Located:
    """The locations that are known in a function of a file, for `location_of`."""
    found = _TABLE.get((file, function))
    if found is None:
        found = _TABLE[file, function] = {}
    return found


def location_of(known: Located, file: str, function: str | None, position: Position) -> Location:
    """The location at `position` of a function of a file, where `known` are the locations."""
    found = known.get(position)
    if found is None:
        found = known[position] = object.__new__(Location)
        found.file, found.function = file, function
        found.line, found.end_line, found.column, found.end_column = position  # type: ignore[assignment]
    return found


UNKNOWN = Location("-", 0)
