"""List, set and dict comprehensions: nesting, conditions, scopes, errors inside."""


def case_list():
    return [x * 2 for x in range(5)]


def case_condition():
    return [x for x in range(10) if x % 2 if x % 3]


def case_nested_for():
    return [(x, y) for x in range(3) for y in range(x)]


def case_nested_comprehension():
    return [[y * x for y in range(3)] for x in range(3)]


def case_set_comprehension():
    return sorted({x % 3 for x in range(10)})


def case_dict_comprehension():
    return {k: v for v, k in enumerate("abc")}


def case_generator_argument():
    return sum(x for x in range(5)), any(x > 3 for x in range(5)), sorted(-x for x in range(3))


def case_outer_variable():
    n = 3
    return [x + n for x in range(n)]


def case_scope_is_own():
    x = "outer"
    ys = [x for x in range(3)]
    return x, ys


def case_scope_unbound_outside():
    ys = [q for q in range(3)]
    return ys, "q" in locals()


def case_unbound_name_after():
    ys = [w for w in range(3)]
    return w  # noqa: F821


def case_in_call():
    return max([x * x for x in range(4)]), len([1 for _ in "abc"]), print.__name__


def case_in_method_call():
    return "-".join([str(x) for x in range(3)]), [].count([x for x in ()])


def case_in_keyword():
    return dict(a=[x for x in range(2)], **{k: k for k in "b"})


def case_in_conditional():
    flag = True
    return [x for x in range(2)] if flag else {x for x in range(3)}


def case_error_inside():
    return [1 // (2 - x) for x in range(5)]


def case_error_inside_keeps_outer():
    x = "outer"
    try:
        [1 // (2 - x) for x in range(5)]
    except ZeroDivisionError:
        return x


def case_error_in_iterable():
    return [x for x in undefined]  # noqa: F821


def case_closures_inside():
    return [f() for f in [lambda: x for x in range(3)]], [f() for f in [lambda x=x: x for x in range(3)]]


def case_cell_of_outer():
    n = 2
    fs = [lambda: n + x for x in range(2)]
    n = 5
    return [f() for f in fs]


def case_same_name_twice():
    x = 1
    a = [x for x in range(2)]
    b = [(x, y) for x in "ab" for y in [x for x in range(2)]]
    return x, a, b


def case_cell_name_reused():
    x = 10

    def f():
        return x

    return [x for x in range(3)], f(), [(lambda: x)() for x in range(2)], x


def case_unpacking_target():
    return [a for (a, b), *c in [((1, 2), 3, 4), ((5, 6),)]]


def case_walrus_leaks():
    ys = [(z := y) for y in range(3)]
    return ys, z


def case_in_class_body():
    class A:
        n = 3
        xs = [i for i in range(n)]
        ys = [i * j for i in range(2) for j in (1, 2)]

    return A.xs, A.ys, hasattr(A, "i")


def case_in_class_body_sees_global_not_class():
    class A:
        k = 1
        try:
            xs = [k for _ in range(2)]
        except NameError as e:
            xs = type(e).__name__

    return A.xs


def case_in_loop():
    out = []
    for i in range(3):
        out.append([j for j in range(i)])
    return out


def case_in_with_and_try():
    from contextlib import nullcontext

    with nullcontext(3) as n:
        try:
            return [x // y for x in range(n) for y in (1, 0)]
        except ZeroDivisionError as e:
            return str(e), n


def case_conditional_expression_element():
    return ["even" if x % 2 == 0 else "odd" for x in range(3)]


def case_and_or_element():
    return [x and y or "n" for x in (0, 1) for y in (0, 2)]


def case_star_in_element():
    return [[*x, 0] for x in ([1], [2, 3])], [{**d, "k": 1} for d in ({}, {"a": 2})]


def case_dict_of_lists():
    return {k: [v for v in range(k)] for k in range(4) if k}


def case_locals_in_comprehension():
    n = 1
    return [sorted(k for k in locals() if k in ("n",)) for _ in range(1)], n


def case_long_chain():
    return [a + b + c for a in range(2) for b in range(2) if a or b for c in range(2) if c != a]


def case_iteration_variable_named_like_a_free_one():
    t = "outer"

    def f():
        return t, [t for t in range(2)], t, [(lambda: t)() for t in range(2)], sorted(k for k in locals() if k.endswith("t"))

    class A:
        u = t, [t for t in range(2)], t

    return f(), A.u
