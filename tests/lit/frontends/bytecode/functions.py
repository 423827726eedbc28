# RUN: lect-opt --decode %s:parameters | filecheck %s --check-prefix=PARAMETERS
# RUN: lect-opt --decode %s:closure | filecheck %s --check-prefix=CLOSURE
# RUN: lect-opt --decode %s:spread | filecheck %s --check-prefix=SPREAD
# RUN: lect-opt --decode %s:body | filecheck %s --check-prefix=BODY
"""Parameters and variables are named slots; nested code is a function of its own, named by its symbol."""


# PARAMETERS: code_name = "parameters", args = ["a", "b"], positional_only = 1, keyword_only = ["c"], varargs = "rest", varkw = "named", locals = ["x"],
# PARAMETERS-SAME: doc = "A docstring.", file = "{{.*}}functions.py"
def parameters(a, /, b, *rest, c=1, **named):
    """A docstring."""
    x = a
    return x, b, rest, c, named


# CLOSURE-LABEL: pyframe.func @closure() {code_name = "closure", args = ["n"], locals = ["add"], cells = ["n"]
# CLOSURE: %cell = pyframe.load_cell() {id = "n"}
# CLOSURE-NEXT: %[[CELLS:.*]] = pyframe.build_tuple(%cell)
# CLOSURE-NEXT: %code = pyframe.load_const() {value = @"closure.<locals>.add"}
# CLOSURE-NEXT: pyframe.make_function(%code, %[[DEFAULTS:.*]]; ; ; %[[CELLS]])
# CLOSURE: %n = pyframe.load_deref() {id = "n"}
# CLOSURE-LABEL: pyframe.func @"closure.<locals>.add"() {code_name = "add", qualname = "closure.<locals>.add", args = ["x"], free = ["n"]
# CLOSURE-SAME: flags = ["optimized", "newlocals", "nested"]
def closure(n):
    def add(x=2):
        return x + n

    return add, n


# SPREAD: %[[LIST:.*]] = pyframe.build_list(%c1)
# SPREAD: pyframe.list_extend(%[[LIST]], %args)
# SPREAD-NEXT: %[[TUPLE:.*]] = pyframe.list_to_tuple(%[[LIST]])
# SPREAD: pyframe.dict_merge(%f, %[[MAP:.*]], %kwargs)
# SPREAD-NEXT: pyframe.call_ex(%f, %[[TUPLE]], %[[MAP]])
def spread(f, args, kwargs):
    return f(1, *args, k=2, **kwargs)


# BODY-LABEL: pyframe.func @body
# BODY: %{{.*}} = pyframe.load_build_class()
# BODY-LABEL: pyframe.func @"body.<locals>.Local"() {code_name = "Local", qualname = "body.<locals>.Local", {{.*}}flags = []
# BODY: pyframe.store_name(%{{.*}}) {id = "x"}
def body():
    class Local:
        x = 1

    return Local
