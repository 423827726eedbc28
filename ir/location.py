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
        return location_of((file, line, column, function, end_line, end_column))

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


Key = tuple[str, int, int | None, str | None, int | None, int | None]
_TABLE: dict[Key, Location] = {}


def location_of(key: Key) -> Location:
    """The location with these fields: file, line, column, function, end line and end column."""
    found = _TABLE.get(key)
    if found is None:
        found = _TABLE[key] = object.__new__(Location)
        found.file, found.line, found.column, found.function, found.end_line, found.end_column = key
    return found


UNKNOWN = Location("-", 0)
