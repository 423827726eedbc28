"""What runs when a compiled function is called: entry, guards, caches and the execution of compiled code.

Only this package knows devices, clocks, files, processes and environment variables (read once, in `entry`).
It drives front ends, passes and backends, and none of them knows it.
"""
