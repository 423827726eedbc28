"""Numbers that change from call to call: the compiled function gives eager's values, and few versions are made."""

import collections
import math
import operator

import pytest
import torch

import lect
from tests.e2e.support import fallbacks, same, versions

CALLS = 20
RATE = 0.5


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


class Object:
    def __init__(self, **values):
        self.__dict__.update(values)


def run(fn, inputs, exact=True, **options):
    """Call eager and compiled with each of the inputs: results are the same, to the bit when `exact`.  Gives the number of versions."""
    compiled = lect.compile(fn, **options)
    for make in inputs:
        want, got = fn(*make()), compiled(*make())
        same(want, got, exact)
    assert fallbacks() == []
    return versions()


def numbers(*values):
    """Inputs: the same tensor and one number."""
    x = torch.randn(3, 4)
    return [lambda value=value: (x, value) for value in values]


def rates(count):
    return [0.9 - 0.01 * number for number in range(count)]


def learned():
    """Paths of numbers that became numbers of run time."""
    return [path for event in lect.events("recompile") for path in event.numbers]


# ---- Python arithmetic -----------------------------------------------------------------------------------------------


def counter(module, x):
    module.step += 1
    return x + 1, module.step


def test_counter_has_the_right_value_and_type():
    mine, other = Object(step=0), Object(step=0)
    compiled = lect.compile(counter)
    x = torch.randn(3)
    for _ in range(CALLS):
        same(counter(mine, x), compiled(other, x))
        assert type(other.step) is int
    assert other.step == CALLS
    assert versions() == 2
    assert learned() == ['L["module"].step']


def test_attribute_of_a_module():
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.decay = 0.5

        def forward(self, x):
            self.calls += 1
            self.decay = self.decay * 0.9
            return x * 2

    mine, other = Counting(), Counting()
    compiled = lect.compile(other)
    x = torch.randn(3)
    for _ in range(CALLS):
        same(mine(x), compiled(x))
        assert (mine.calls, mine.decay) == (other.calls, other.decay)
    assert versions() == 2


def test_arithmetic_of_every_kind():
    def f(x, n):
        r = n / 7
        whole = (n + 1, n - 1, 3 * n, -n, +n, ~n, abs(-n), n & 6, n | 9, n ^ 5, n << 2, n >> 1, n // 4, n % 5, n**3, pow(n, 2), divmod(n, 3))
        broken = (r, r // 0.3, r % 0.3, r**2, 2.0**-n, 0.9**n, math.sqrt(n), math.exp(-r), round(r, 2), float(n), n * 0.5, operator.add(n, r))
        return x + 1, whole, broken, int(r), round(r), math.floor(r), sum([n, r]), [n, {"r": r}]

    assert run(f, numbers(*range(1, 15))) == 2


def test_big_results_are_exact():
    def f(x, n):
        return x + 1, n * n, n * n * n + 1, n**8

    assert run(f, numbers(5, 2**62 + 1, -(2**63), 2**63 - 1)) == 2


def test_integers_beyond_64_bits_are_constants():
    assert run(lambda x, n: (x + 1, n + 1), numbers(5, 6, 2**63, 2**63 + 1, 7)) == 4


def test_types_alternate():
    assert run(lambda x, n: (x + 1, n * 2), numbers(1, 2, 0.5, 3, 0.25, 4, 1.5, True, 2.5, 7)) <= 4


def test_zero_divisor_raises_as_eager_does():
    def f(x, n):
        return x + 1, 1.0 / n

    compiled = lect.compile(f)
    for n in (1.0, 2.0, 3.0, 0.0, 4.0):
        want = got = None
        try:
            want = f(X, n)
        except ZeroDivisionError as error:
            want = str(error)
        try:
            got = compiled(X, n)
        except ZeroDivisionError as error:
            got = str(error)
        same(want, got)
    assert versions() == 2


X = torch.randn(3)


def test_zero_divisor_is_caught_by_the_program():
    def f(x, n):
        try:
            return x + 1, 10 // n
        except ZeroDivisionError:
            return x + 2, None

    assert run(f, numbers(1, 2, 3, 0, 5, 0)) == 3


def test_power_that_turns_complex():
    assert run(lambda x, n: (x + 1, n**0.5), numbers(4.0, 2.0, 3.0, -1.0, 5.0)) == 3


def test_special_values():
    inf, nan = math.inf, math.nan
    compiled = lect.compile(lambda x, n: (x + 1, n + 1, -n))
    for n in (1.0, 2.0, -0.0, 0.0, inf, -inf, nan, 5e-324, 1.7e308):
        assert repr(compiled(X, n)[1:]) == repr((n + 1, -n))
    assert versions() == 2


# ---- decisions -------------------------------------------------------------------------------------------------------


def test_comparison_guards_its_outcome():
    def f(x, n):
        return (x + 1, n) if n < 5 else (x - 1, n)

    assert run(f, numbers(*range(10))) == 3


def test_truth_of_a_number():
    assert run(lambda x, n: (x + 1 if n else x - 1, n), numbers(3, 2, 0, 1, 0)) == 3


def test_warm_up():
    def f(x, step, rate):
        return x + 1, rate * min(1.0, step / 100)

    x = torch.randn(3)
    assert run(f, [lambda step=step: (x, step, 0.1 + step) for step in range(0, 200, 10)]) == 3


def test_every_tenth_step():
    def f(o, x):
        o.step += 1
        return x + 1 if o.step % 10 else x - 1

    mine, other = Object(step=0), Object(step=0)
    compiled = lect.compile(f)
    for _ in range(35):
        same(f(mine, X), compiled(other, X))
    assert versions() == 3


def test_number_is_compared_with_none_and_text():
    def f(x, n):
        if n is None or n == "auto":
            return x - 1
        return x + 1, n

    assert run(f, numbers(1, 2, 3)) == 2


def test_number_as_size_is_a_constant():
    assert run(lambda x, n: (x.view(n, -1), n * 2), numbers(3, 4, 6, 2)) == 4
    assert learned() == ['L["n"]']


def test_number_as_dim_index_and_range():
    def f(x, n):
        for i in range(n):
            x = x + i
        return x.amax(n), x[n], [10, 20, 30][n]

    assert run(f, numbers(0, 1, 0, 1)) == 2


def test_number_in_text_and_as_key():
    def f(x, n):
        return x + 1, f"{n:.2f}", {n: 1}, str(n), hash(n), n in (0.5, 2.0), {0.5: "a"}.get(n)

    assert run(f, numbers(0.5, 0.25, 2.0)) == 3


def test_constants_stay_constants_once_needed():
    """No end of recompiles: what is needed by value is guarded by value, up to the limit."""
    compiled = lect.compile(lambda x, n: torch.cat([x] * n), options={"version_limit": 4})
    for n in (1, 2, 3, 4, 5, 6, 2):
        same(X.repeat(n), compiled(X, n))
    assert versions() == 4
    assert fallbacks() == ["LB0027"]


# ---- where numbers come from and go to -------------------------------------------------------------------------------


def test_global_and_closure(monkeypatch):
    shift = 1

    def f(x):
        return x + 1, RATE * 2, shift + 1

    compiled = lect.compile(f)
    for number in range(CALLS):
        monkeypatch.setitem(globals(), "RATE", number / 3)
        shift = number
        same(f(X), compiled(X))
    assert versions() == 2


def test_elements_of_containers():
    def f(x, pair, table):
        return x + 1, pair[0] + pair[1], table["a"] * 2

    assert run(f, [lambda n=n: (X, [n, n / 2], {"a": n}) for n in range(CALLS)]) == 2


def test_containers_hand_numbers_on():
    def f(o, x, n):
        values = [n, n * 2]
        values.append(n + 1)
        values.insert(0, n - 1)
        values.extend([n, 5])
        table = {"n": n}
        table.update(m=n + 2)
        for value, (key, item) in zip(values, enumerate(reversed(values))):
            table[key] = value * item
        first, *rest = values
        o.kept = [first, tuple(rest), table.pop("n"), table]
        o.double = 2 * o.kept[0]
        return x + 1, [v + 1 for v in values], {k: v for k, v in table.items()}, (lambda y=n: y * 3)(), max(values), sorted(values)

    mine, other = Object(), Object()
    compiled = lect.compile(f)
    for n in (0.5, 1.5, 2.5, 3.5):
        same(f(mine, X, n), compiled(other, X, n))
        same(mine, other)
    assert versions() == 4  # sorted() compares in C


def test_closure_keeps_a_number():
    def f(x, n):
        def inner():
            return n + 1

        return x + 1, inner

    compiled = lect.compile(f)
    for n in range(5):
        assert compiled(X, n)[1]() == n + 1
    assert versions() == 1  # nothing has looked at it


def test_generators_keep_numbers():
    def f(x, n):
        def count():
            for factor in (1, 2, 3):
                yield factor * n

        return x + 1, list(count()), [a + b for a, b in zip(count(), count())]

    assert run(f, numbers(1, 2, 3, 4)) == 2


def test_keyword_and_star_arguments():
    def inner(*args, **kwargs):
        return args[0] + kwargs["b"]

    def f(x, *args, **kwargs):
        return x + 1, inner(*args, **kwargs), kwargs["b"]

    compiled = lect.compile(f)
    for n in range(6):
        same(f(X, n, b=n / 2), compiled(X, n, b=n / 2))
    assert versions() == 2


def test_type_questions():
    def f(x, n):
        kind = 1 if isinstance(n, int) else 2
        return x + kind, type(n) is float, type(n)(2), n

    assert run(f, numbers(1, 2, 3, 0.5, 0.25)) == 3


def test_dynamic_arguments_are_of_run_time_at_once():
    assert run(lambda x, n: (x + 1, n * 2), numbers(1, 2, 3), dynamic=True) == 1


def test_dynamic_false_keeps_constants():
    assert run(lambda x, n: (x + 1, n * 2), numbers(1, 2, 3), dynamic=False) == 3


def test_deep_arithmetic_is_cut_off():
    def f(x, n):
        for _ in range(200):
            n = n * 1.01
        return x + 1, n

    assert run(f, numbers(1.0, 2.0, 3.0)) == 3


def test_other_changes_keep_constants():
    """A number that changes together with a shape says nothing of the number."""
    x, y = torch.randn(3), torch.randn(5)
    run(lambda x, n: (x + 1, n * 2), [lambda: (x, 1), lambda: (y, 2)])
    assert learned() == []


# ---- containers that C code reads ------------------------------------------------------------------------------------


def test_loop_over_a_list_of_numbers():
    def f(x, weights, pair):
        total = x
        for weight in weights:
            total = total + x * weight
        low, high = pair
        for number, (weight, other) in enumerate(zip(weights, reversed(weights))):
            total = total + number * weight - other
        return total, low + high, sum(weights), [w * 2 for w in weights], weights, pair

    x = torch.randn(4)
    assert run(f, [lambda n=n: (x, [0.1 * n, 0.2, n / 3], (n, n + 1)) for n in range(1, 8)]) == 2


def test_list_of_numbers_is_changed():
    def f(values, x):
        values.append(values[0] + 1)
        values[1] = sum(values)
        return x * values[-1]

    compiled = lect.compile(f)
    for n in range(1, 6):
        mine, other = [n * 0.5, 1.0], [n * 0.5, 1.0]
        same(f(mine, X), compiled(other, X), exact=True)
        assert mine == other
    assert versions() == 2


def test_dictionary_of_numbers():
    def f(x, options):
        total = x
        for name, value in options.items():
            total = total + value if name == "a" else total * value
        return total, dict(options), max(options.values())

    compiled = lect.compile(f)
    for n in range(1, 6):
        same(f(X, {"a": n / 2, "b": n}), compiled(X, {"a": n / 2, "b": n}), exact=True)
    assert versions() == 2


def test_numbers_beside_tensors_in_a_list():
    def f(items):
        x, rate, (y, shift) = items
        for item in items[:2]:
            y = y + item
        return x * rate + y * shift

    x, y = torch.randn(3), torch.randn(3)
    assert run(f, [lambda n=n: ([x, 0.1 * n, (y, n)],) for n in range(1, 6)]) == 2


def test_sorting_and_comparing_need_values():
    def f(x, values, n):
        return x + 1, sorted(values), values == [1, 2], (n, 1) < (2, 3), values.index(n)

    assert run(f, [lambda n=n: (X, [3, n, 1], n) for n in (2, 5, 3, 2)]) == 3


def test_tuple_of_numbers_as_key():
    table = {(1, 2): 10, (3, 2): 30}

    def f(x, pair, n):
        return x + table[pair], table.get((n, 2)), (n, 2) in table

    assert run(f, [lambda n=n: (X, (n, 2), n) for n in (1, 3, 1, 3)]) == 2


# ---- graph breaks ----------------------------------------------------------------------------------------------------


def test_item_goes_on_as_a_number():
    def f(x):
        total = x.amax().item()
        return x * total + 1, total * 2

    compiled = lect.compile(f)
    for _ in range(10):
        x = torch.randn(4)
        same(f(x), compiled(x))
    assert versions() <= 3


def test_rate_survives_a_break():
    def f(x, rate):
        y = x * rate
        print(end="")
        return y * rate + rate * 2, rate + 1

    compiled = lect.compile(f)
    for rate in rates(8):
        same(f(X, rate), compiled(X, rate), exact=True)
    assert versions() <= 4


def test_module_passes_dynamic_on():
    class Scale(torch.nn.Module):
        def forward(self, x, rate):
            return x * rate

    compiled = lect.compile(Scale(), dynamic=True)
    for rate in rates(4):
        same(X * rate, compiled(X, rate), exact=True)
    assert versions() == 1


def test_numbers_in_containers_of_other_classes():
    Pair = collections.namedtuple("Pair", "low high")

    def f(x, pair, table, queue):
        low, high = pair
        items = list(table.values())
        return x + low, high, pair.low * 2, items, [q + 1 for q in queue], max(pair), queue[0], table["a"]

    def inputs(n):
        return X, Pair(n, n + 1), collections.OrderedDict(a=n, b=2), collections.deque([n, 3])

    assert run(f, [lambda n=n: inputs(n) for n in (1, 2, 3, 5)]) == 4


def test_numbers_read_in_two_ways():
    def f(x, values, table):
        first = values[0] + table["a"]
        return x + first, [v for v in values], list(table.items()), values == [1, 2], 3 in values, values[-1:]

    assert run(f, [lambda n=n: (X, [n, 2], {"a": n}) for n in (1, 2, 3, 1)]) == 3


def test_value_that_was_there_by_chance_is_written():
    """What a write finds in the traced call need not be there in the next."""

    class Shared:
        pass

    shared, other = Shared(), Shared()

    def f(x, o, table):
        o.count = 1
        o.shared = shared
        table["a"] = 1
        table["b"] = shared
        return x + 1

    compiled = lect.compile(f)
    for count, value in ((1, shared), (4, other), (1, other)):
        o, table = Object(count=count, shared=value), {"a": count, "b": value}
        compiled(X, o, table)
        assert (o.count, table["a"]) == (1, 1)
        assert o.shared is shared and table["b"] is shared


def test_identity_of_numbers():
    default = 0

    def f(x, n):
        if n is default:
            return x - 1
        return x + n, n is n, n is None

    assert run(f, numbers(3, 2, 0, 5, 0)) == 4


def test_matching_a_number():
    def f(x, n):
        match n:
            case 0:
                return x - 1
            case [a, b]:
                return x + a * b
            case int():
                return x + n, "int"
            case float() if n > 1:
                return x * n, "float"
        return x * 2, n

    assert run(f, numbers(3, 2, 5, 0, 2.5, 3.5, 0.5, 0.25, [1, 2])) <= 7


def test_number_whose_parts_are_used_again_and_again_is_followed():
    def program(x, n):
        for _ in range(60):
            n = n * 0.25 + n * 0.5
        return x * len(f"{n:.9f}"), n

    compiled = lect.compile(program)
    for n in (1.5, 2.5, 3.5, 1e9):
        same(program(torch.ones(2), n), compiled(torch.ones(2), n))
