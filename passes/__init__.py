"""The transformations: every pass is one file, and this package knows them by a table of names.

A pass receives an operation and a context and changes the operation in place. It keeps no state between runs,
never prints, reads no environment variable, and knows no backend and no runtime.
"""
