"""`--decode FILE.py:FUNCTION`: the frame of a function that is compiled and not run."""

# RUN: lect-opt --decode %s:outer.inner | filecheck %s
# CHECK: pyframe.func @"outer.<locals>.inner"() {code_name = "inner", qualname = "outer.<locals>.inner", args = ["y"], free = ["x"]

# RUN: lect-opt --decode '%s:<module>' | filecheck %s --check-prefix=MODULE
# MODULE: pyframe.func @"<module>"()
# MODULE: pyframe.store_name(%{{.*}}) {id = "outer"}
# MODULE: pyframe.func @outer()

# RUN: lect-opt --decode %s:outer --print-locations | filecheck %s --check-prefix=PLACES
# PLACES: pyframe.load_deref() {id = "x"} : !pyframe.object loc("outer"("{{.*}}decode.py":{{[0-9]+}}:18 to {{[0-9]+}}:19))

# RUN: not lect-opt --decode %s:nothing 2>&1 | filecheck %s --check-prefix=MISSING
# MISSING: error: there is no function 'nothing'

# RUN: not lect-opt --decode nowhere.py:f 2>&1 | filecheck %s --check-prefix=FILE
# FILE: error: cannot read 'nowhere.py'

# RUN: not lect-opt --decode %s 2>&1 | filecheck %s --check-prefix=FORM
# FORM: error: --decode takes FILE.py:FUNCTION

# RUN: lect-opt --decode %s:squares | filecheck %s --check-prefix=GENERATOR
# GENERATOR: flags = ["optimized", "newlocals", "generator"]
# GENERATOR: pyframe.yield(%{{.*}})[^resume

# RUN: not lect-opt --decode %s:later 2>&1 | filecheck %s --check-prefix=COROUTINE
# COROUTINE: error: LB0102: 'later' is a coroutine


def outer(x):
    def inner(y):
        return x + y

    return inner, x


def squares(n):
    for i in range(n):
        yield i * i


async def later(n):
    return n
