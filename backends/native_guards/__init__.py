"""Guards as native code: one checker for all guard sets, compiled once for a process, which goes through a table that describes one set.

    layout()                  -> where CPython and torch keep what guards read, found by search and tested; raises LayoutError
    Checker(layout())         -> the compiled checker; raises LectError
    Table(rows)               -> one guard set in memory, and whether it still counts

A row of a table is a few words: the number of its kind, then operands.  What the kinds are and what they compare is in `rows`.
"""
