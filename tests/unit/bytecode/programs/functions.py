"""Calls, parameters, closures, decorators, star arguments, defaults, recursion, globals."""

COUNT = 0


def show(*args, **kwargs):
    return args, tuple(kwargs.items())


def case_positional():
    return show(1, 2, 3)


def case_keywords():
    return show(1, b=2, c=3)


def case_star():
    xs = [1, 2]
    return show(0, *xs, 3, *(4, 5))


def case_double_star():
    d = {"a": 1}
    return show(**d, b=2, **{"c": 3})


def case_star_and_double_star():
    return show(*[1], 2, x=3, **{"y": 4})


def case_only_star():
    return show(*range(3))


def case_duplicate_keyword():
    d = {"a": 1}
    return show(a=2, **d)


def case_star_not_iterable():
    return show(*5)


def case_double_star_not_mapping():
    return show(**5)


def case_double_star_not_string():
    return show(**{1: 2})


def case_method_star():
    return "{}-{}-{}".format(*"abc")


def case_method_double_star():
    return "{a}{b}".format(a=1, **{"b": 2})


def case_method_star_not_mapping():
    return "{a}".format(**7)


def case_many_arguments():
    return show(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, k=21)


def case_conditional_argument():
    y = 3
    return show(1 if y > 2 else 0, *([] if y else [1]), k=y and 5)


def case_conditional_only_keyword():
    y = 0
    return show(k=1 if y else 2)


def case_conditional_callee():
    y = 1
    return (show if y else None)(y)


def case_conditional_callee_no_arguments():
    y = 1
    return (show if y else None)()


def case_chained_calls():
    return (lambda: lambda: lambda x: x + 1)()()(4)


def case_defaults():
    def f(a, b=2, *c, d, e=5, **g):
        return a, b, c, d, e, g

    return f(1, d=4), f(1, 2, 3, d=4, e=6, z=7)


def case_missing_argument():
    def f(a, b):
        return a

    return f(1)


def case_positional_only():
    def f(a, /, b, *, c):
        return a, b, c

    return f(1, b=2, c=3), f.__code__.co_posonlyargcount


def case_positional_only_by_name():
    def f(a, /):
        return a

    return f(a=1)


def case_default_is_shared():
    def f(x, acc=[]):  # noqa: B006
        acc.append(x)
        return acc

    f(1)
    return f(2)


def case_lambda_default():
    return [f() for f in [lambda i=i: i for i in range(3)]]


def case_late_binding():
    return [f() for f in [lambda: i for i in range(3)]]


def case_closure():
    x = 1

    def f():
        return x

    x = 2
    return f()


def case_nonlocal():
    n = 0

    def up():
        nonlocal n
        n += 1
        return n

    return up(), up(), n


def case_nested_closures():
    def a(x):
        def b(y):
            def c(z):
                return x, y, z

            return c

        return b

    return a(1)(2)(3)


def case_cell_argument():
    def f(x):
        x += 1
        return lambda: x

    return f(1)()


def case_cell_varargs():
    def f(*args, **kw):
        return lambda: (args, kw)

    return f(1, a=2)()


def case_del_cell():
    x = 1

    def f():
        return x

    del x
    return f()


def case_unset_cell():
    def f():
        return y

    if COUNT < 0:
        y = 1
    return f()


def case_cells_are_shared():
    def make():
        n = 0

        def get():
            return n

        def put(v):
            nonlocal n
            n = v

        return get, put

    get, put = make()
    put(5)
    return get(), get.__closure__[0] is put.__closure__[0]


def case_global_statement():
    global COUNT
    COUNT += 1
    return COUNT


def case_global_delete():
    global TEMPORARY
    TEMPORARY = 1
    del TEMPORARY
    return "TEMPORARY" in globals()


def case_global_delete_twice():
    global TEMPORARY
    TEMPORARY = 1
    del TEMPORARY
    del TEMPORARY


def case_decorator():
    def twice(f):
        return lambda *a: f(*a) * 2

    @twice
    @twice
    def g(x):
        return x

    return g(3)


def case_decorator_with_argument():
    def add(n):
        def wrap(f):
            def inner(*a):
                return f(*a) + n

            return inner

        return wrap

    @add(5)
    def g(x):
        return x

    return g(1), g.__name__, g.__qualname__


def case_recursion():
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    return fib(12)


def case_recursion_error():
    def f():
        return f()

    try:
        f()
    except RecursionError as e:
        return type(e).__name__


def case_docstring():
    def f():
        """Text."""
        return "no"

    def g():
        return "not a docstring"

    return f.__doc__, g.__doc__, (lambda: "x").__doc__


def case_annotations():
    def f(a: int, *b: str, c: "x" = 1) -> list:  # noqa: F821
        return a

    return f.__annotations__


def case_keyword_defaults():
    def f(*, a=1, b=2):
        return a, b

    return f.__kwdefaults__, f(b=3)


def case_code_attributes():
    def f(a, b=1, *c, d, **e):
        x = 1
        return x

    c = f.__code__
    return c.co_varnames, c.co_argcount, c.co_kwonlyargcount, c.co_name, c.co_qualname


def case_introspection():
    import inspect

    def f(a, /, b: int = 2, *, c=3, **kw) -> str:
        return ""

    return str(inspect.signature(f))


def case_locals():
    a = 1
    b = [2]
    return sorted(locals().items())


def case_locals_with_cell():
    a = 1

    def f():
        return a

    return sorted(k for k in locals())


def case_call_returns_none():
    def f():
        pass

    return f()


def case_unused_result():
    show(1)
    show(2)
    return 3


def case_call_error_line():
    return show(
        1,
        undefined,  # noqa: F821
    )


def case_not_callable():
    return (5)(1)


def case_swap_arguments():
    a, b = 1, 2
    a, b = b, a
    return a, b


def case_rotate_three():
    a, b, c = 1, 2, 3
    a, b, c = c, a, b
    return a, b, c


def case_rotate_four():
    a, b, c, d = 1, 2, 3, 4
    d, c, b, a = a, b, c, d
    return a, b, c, d


def case_chain_assignment():
    a = b = c = []
    a.append(1)
    return b, c


def case_generator_is_left_alone():
    def g(n):
        for i in range(n):
            yield i * i

    return list(g(4)), sum(x for x in g(3))


def case_super_zero():
    class A:
        def m(self, x):
            return ("A", x)

    class B(A):
        def m(self, x):
            return super().m(x), super(B, self).m(x + 1), super().__init__()

    return B().m(1)


def case_super_attribute():
    class A:
        tag = "a"

    class B(A):
        tag = "b"

        @classmethod
        def get(cls):
            return super().tag, super(B, cls).tag

    return B.get()


def case_super_shadowed():
    def super(*args):
        return type("X", (), {"m": lambda self: len(args)})()

    class B:
        def m(self):
            return super().m(), super(1, 2).m()

    return B().m()


def case_class_cell():
    class A:
        def m(self):
            return __class__.__name__

    return A().m()
