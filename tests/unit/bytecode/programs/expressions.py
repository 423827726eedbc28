"""Operators, comparisons, subscripts, slices, f-strings, conditionals, assignment forms, constants."""

import math


class Op:
    """Records what is asked of it."""

    def __init__(self, log):
        self.log = log

    def __getattr__(self, name):
        raise AttributeError(name)

    def __bool__(self):
        self.log.append("bool")
        return True

    def __lt__(self, other):
        self.log.append("lt")
        return self

    def __gt__(self, other):
        self.log.append("gt")
        return self

    def __repr__(self):
        self.log.append("repr")
        return "Op"

    def __format__(self, spec):
        self.log.append(("format", spec))
        return f"<{spec}>"

    def __contains__(self, item):
        self.log.append("contains")
        return 5


def case_arithmetic():
    a, b = 7, 3
    return a + b, a - b, a * b, a / b, a // b, a % b, a**b, a << b, a >> b, a & b, a | b, a ^ b


def case_in_place():
    out = []
    for start in (7, 12):
        x = start
        x += 2; x -= 1; x *= 3; x //= 2; x %= 11; x **= 2; x <<= 1; x >>= 2; x &= 29; x |= 2; x ^= 5
        out.append(x)
    y = 7.0
    y /= 2
    return out, y


def case_matmul():
    class M:
        def __matmul__(self, o):
            return ("mm", o)

        def __imatmul__(self, o):
            return ("imm", o)

    m = M()
    a = m @ 1
    m @= 2
    return a, m


def case_unary():
    x = 5
    return -x, +x, ~x, not x, not not x, +True


def case_division_by_zero():
    a, b = 1, 0
    return a + 2 * (a / b)


def case_type_error_operands():
    x = "a"
    return x + 1


def case_chained_compare():
    return [1 < x < 5 for x in (0, 3, 9)], [1 < x <= 3 != 2 for x in (2, 3, 4)]


def case_chained_compare_side_effects():
    log = []

    def v(x):
        log.append(x)
        return x

    return v(1) < v(5) < v(2) < v(9), log


def case_chained_compare_objects():
    log = []
    a = Op(log)
    return repr(a < a > a), log


def case_compare_kinds():
    a, b = 1, 2
    return a < b, a <= b, a == b, a != b, a > b, a >= b, a is b, a is not b, a in [b], a not in [b]


def case_contains_gives_bool():
    log = []
    return 1 in Op(log), 1 not in Op(log), log


def case_and_or():
    out = []
    for a in (0, 1, "", "x"):
        for b in (None, 2):
            out.append((a and b, a or b, not a and b, a or b and a, (a and b) or "z"))
    return out


def case_and_or_calls_bool_once():
    log = []
    o = Op(log)
    x = o and 1
    y = o or 2
    if o:
        pass
    z = 1 if o else 2
    w = not o
    return x, y is o, z, w, log


def case_bool_raises():
    class B:
        def __bool__(self):
            raise ValueError("no truth")

    b = B()
    return 1 if b else 2


def case_conditional_nested():
    return ["a" if x < 1 else "b" if x < 2 else "c" for x in range(4)]


def case_subscript():
    a = [[1, 2], [3, 4]]
    a[0][1] = a[1][0] + 5
    a[1][1] += 10
    return a, a[-1], a[0][0]


def case_aug_subscript_order():
    log = []

    class D(dict):
        def __getitem__(self, k):
            log.append(("get", k))
            return 1

        def __setitem__(self, k, v):
            log.append(("set", k, v))

    def key():
        log.append("key")
        return "k"

    d = D()
    d[key()] += 5
    return log


def case_aug_attribute_order():
    log = []

    class A:
        def __getattr__(self, n):
            log.append(("get", n))
            return 1

        def __setattr__(self, n, v):
            log.append(("set", n, v))

    def obj():
        log.append("obj")
        return A()

    obj().x += 2
    return log


def case_aug_with_conditional():
    a = [1, 2, 3]
    i = 1
    a[i] += 5 if a[0] else 6
    a[i] -= (a[2] and 2) or 3
    return a


def case_slices():
    a = list(range(10))
    b = a[2:5], a[:3], a[7:], a[:], a[::2], a[1:8:3], a[::-1]
    a[1:3] = ["x"]
    a[-2:] += ["y"]
    del a[0:2], a[::3]
    return b, a


def case_slice_objects():
    class S:
        def __getitem__(self, k):
            return k

    s = S()
    return s[1:2], s[1:2:3], s[:, 1, ...], s[None:], s[1:2, 3:4]


def case_aug_slice():
    a = [1, 2, 3, 4]
    a[1:3] *= 2
    return a


def case_store_error():
    x = (1, 2)
    x[0] = 5


def case_attribute_error():
    return (5).nothing


def case_del_item_attr():
    class A:
        pass

    a, d = A(), {1: 2, 3: 4}
    a.x = 1
    del a.x, d[1]
    return hasattr(a, "x"), d


def case_unpack():
    a, (b, c), [d, *e] = 1, (2, 3), [4, 5, 6]
    *f, g = "xyz"
    h, *i, j = range(5)
    return a, b, c, d, e, f, g, h, i, j


def case_unpack_too_few():
    a, b, c = 1, 2
    return a


def case_unpack_too_many():
    xs = [1, 2, 3]
    a, b = xs
    return a


def case_unpack_star_too_few():
    a, *b, c = [1]
    return a


def case_displays():
    x = [1, 2]
    return [*x, 3, *x], (*x, 0), {*x, 9}, {**{"a": 1}, "b": 2, **{"a": 3}}


def case_big_displays():
    return [1, 2, 3, 4, 5], (1, "a", None), {1, 2, 3}, {"a": 1, "b": [2], "c": {}}


def case_dict_display_order():
    log = []

    def v(x):
        log.append(x)
        return x

    return {v(1): v(2), v(3): v(4)}, log


def case_fstrings():
    x, y = 3.14159, "s"
    return f"{x}", f"{x:.2f}", f"{y!r}", f"{y!s:>5}", f"{y!a}", f"{x:{5}.{2}}", f"a{x}b{y}c", f"{{}}", f"{x=}", f""


def case_fstring_order():
    log = []
    o = Op(log)
    return f"{o!r:{len(log)}}", f"{o:x}{o}", log


def case_fstring_conditional():
    x = 0
    return f"{'a' if x else 'b'}{x or 'z'}"


def case_fstring_error():
    x = "s"
    return f"{x:d}"


def case_string_constants():
    return "a\x00b", "\ud800", "ü", b"\xff\x00", "'\"", "line\nbreak", r"\n"


def case_numbers():
    values = (0.0, -0.0, 1e300 * 1e10, -1e300 * 1e10, 1j, -0j, 10**40, True, 1, 1.0)
    return [repr(v) for v in values], math.copysign(1, -0.0)


def case_nan():
    x = 1e400 - 1e400
    return x != x, repr(x)


def case_equal_constants_stay_apart():
    return [type(v).__name__ for v in (1, 1.0, True, 1 + 0j)], [repr(v) for v in (0.0, -0.0)], [(1, 2.0), (1.0, 2)]


def case_ellipsis_none():
    return ..., None, NotImplemented


def case_constant_set_membership():
    return [x in {1, "a", (2, 3), None} for x in (1, "a", (2, 3), None, 4)]


def case_set_iteration_order():
    return [x for x in {8, 0, 16, 24}], sorted({"b", "a"})


def case_walrus():
    if (n := len([1, 2, 3])) > 2:
        return n, [y := 5, y**2]


def case_walrus_in_comprehension():
    found = [last := x for x in range(3)]
    return found, last


def case_annotated_assignment():
    x: int = 1
    y: str
    (z): float = 2.0
    return x, z


def case_del_multiple():
    a = b = c = 1
    del a, (b, c)
    return sorted(locals())


def case_lambda_body():
    return (lambda x, *y, z=3: (x, y, z))(1, 2, z=4)


def case_nested_conditionals_in_call():
    a, b = 0, 5
    return max(a or b, b if a else -b, (a and 1) or 7, key=lambda v: v if v else 0)


def case_long_constant_list():
    return sum([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30])


def case_deep_expression():
    x = 1
    return ((((((((((x + 1) * 2) - 3) * 4) + 5) * 6) - 7) * 8) + (9 - (x * (10 + (x - (11 * (x + 12))))))))


def case_import():
    import os.path as p
    from collections import OrderedDict as O, deque
    import xml.dom

    return p.basename("/a/b"), O.__name__, deque.__name__, xml.dom.__name__


def case_import_error():
    from os import nothing_like_this

    return nothing_like_this


def case_import_missing_module():
    import no_such_module_anywhere

    return no_such_module_anywhere


def case_temporaries_are_released():
    log = []

    class T:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            log.append(self.n)

    T(1)
    log.append("a")
    x = [T(2), T(3)][0].n
    log.append("b")
    T(4), T(5)
    log.append("c")
    y = T(6)
    y = T(7)
    log.append("d")
    return x, log


def case_many_locals():
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = 1
    b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = b8 = b9 = 2
    return a0 + b9 + a1 + b8 + a2 + b7 + a3 + b6 + a4 + b5 + a5 + b4 + a6 + b3 + a7 + b2 + a8 + b1 + a9 + b0
