"""Programs that break the graph, in every kind of place.  Each is called with a tensor of shape (4, 3), some also with a list that they change."""

# ruff: noqa: T201

import contextlib
import functools
import logging
import sys

import torch

LOG = logging.getLogger("lect.tests")
COUNT = 0


def simple(x):
    y = x * 2
    print("now")
    return y + 1


def two_prints(x):
    print("one")
    y = x * 2
    print("two", 2)
    return y.relu()


def branch(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def branch_and_join(x):
    y = x * 3
    if (y > 0).any():
        z = y.sin()
    else:
        z = y.cos()
    return z + y


def item(x):
    scale = x.abs().max().item()
    return x / scale


def loop(x):
    for i in range(4):
        x = x + i
        print(i)
    return x


def long_loop(x):
    total = 0.0
    for _ in range(300):
        x = x * 0.99
        total += x[0, 0].item()
    return x + total


def while_loop(x):
    steps = 0
    while x.norm() > 0.5:
        x = x * 0.5
        steps += 1
    return x, steps


def loop_with_else(x):
    for i in range(3):
        print(i)
        if i == 5:
            break
    else:
        x = x + 10
    return x


def break_and_continue(x):
    for i in range(6):
        if i == 1:
            continue
        print("i", i)
        if i == 3:
            break
        x = x + i
    return x


def nested_loops(x):
    for i in range(2):
        for j in (10, 20):
            print(i, j)
            x = x + i * j
    return x


def over_a_zip(x):
    for a, b in zip([1, 2], ["a", "b"]):
        print(a, b)
        x = x + a
    return x


def over_a_dict(x):
    for key, value in {"a": 1, "b": 2}.items():
        print(key)
        x = x * value
    return x


def over_enumerate(x):
    for number, row in enumerate(x):
        print(number)
        x = x + row
    return x


def over_a_generator(x):
    def rows(t):
        for i in range(3):
            print("row", i)
            yield t[i] * i

    for row in rows(x):
        x = x + row
    return x


def comprehension(x):
    return torch.stack([x + float(x[i, 0].item()) for i in range(3)])


def in_no_grad(x):
    with torch.no_grad():
        y = x * 2
        print(torch.is_grad_enabled())
        y = y + 1
    print(torch.is_grad_enabled())
    return y


class Manager:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(kind.__name__ if kind else None)
        return kind is ValueError


def in_a_manager(x):
    log = []
    with Manager(log) as m:
        y = x + 1
        print("inside", m.log)
        y = y * 2
    return y, log


def manager_that_prints(x):
    class_ = PrintingManager()
    with class_:
        x = x + 1
    return x * 2


class PrintingManager:
    def __enter__(self):
        print("enter")

    def __exit__(self, *args):
        print("exit", args[0])


@contextlib.contextmanager
def written(name):
    print("begin", name)
    try:
        yield name.upper()
    finally:
        print("end", name)


def in_a_written_manager(x):
    with written("m") as name:
        y = x * 2
        print(name)
    return y + 1


def try_finally(x):
    try:
        y = x * 2
        print("in try")
        y = y + 1
    finally:
        print("finally")
    return y


def try_except(x):
    try:
        y = x * 2
        print("in try")
        raise ValueError("no")
    except ValueError as error:
        print("caught", error)
        y = x * 3
    return y + 1


def raised_by_the_broken_call(x):
    y = x + 1
    try:
        int("no number")
    except ValueError as error:
        y = y * 2
        print(str(error))
    return y - 1


def except_that_prints(x):
    try:
        {}["missing"]
    except KeyError as error:
        print("missing", error.args, sys.exc_info()[0].__name__)
        x = x + 1
    print(sys.exc_info())
    return x * 2


def nested_except(x):
    try:
        try:
            raise KeyError("inner")
        except KeyError:
            print("first", sys.exc_info()[0].__name__)
            x = x + 1
            try:
                raise IndexError("second")
            except IndexError as error:
                print("second", type(error.__context__).__name__, sys.exc_info()[0].__name__)
                x = x * 2
            print("again", sys.exc_info()[0].__name__)
            raise
    except KeyError as error:
        print("outer", error)
        x = x - 1
    return x


def exception_in_a_loop(x):
    for i in range(3):
        try:
            x = x + i
            if i == 1:
                print("raise")
                raise RuntimeError(i)
        except RuntimeError as error:
            print("caught", error)
            continue
        finally:
            print("finally", i)
    return x


def helper(x, word):
    y = x * 2
    print(word)
    return y + 1


def inlined(x):
    a = helper(x, "first")
    b = helper(a, "second")
    return a + b


def middle(x):
    y = helper(x + 1, "deep") * 2
    return y.sin()


def two_frames_deep(x):
    return middle(x) + middle(x * 2)


def raises_below(x):
    def inner(y):
        y = y + 1
        print("about to raise")
        raise ValueError("below")

    try:
        return inner(x)
    except ValueError as error:
        return x - 1, str(error)


def keyword_call(x):
    return helper(word="named", x=x)


def star_call(x):
    args = (x, "star")
    return helper(*args) + helper(**{"x": x, "word": "stars"})


def sorted_with_a_key(x):
    def key(item):
        print("key", item)
        return -item

    order = sorted([1, 3, 2], key=key)
    return x * order[0]


def mapped(x):
    def add(i):
        print("map", i)
        return x + i

    return torch.stack(list(map(add, [1, 2])))


def cells(x):
    n = 1

    def add(y):
        return y + n

    x = add(x)
    print("n", n)
    n = 5
    x = add(x)

    def grow():
        nonlocal n
        n += 1
        print("grow", n)

    grow()
    return add(x), n


def returns_a_closure(x):
    y = x * 2

    def inner():
        return y + 1

    print("made")
    return inner()


def lists_and_aliases(x):
    a = [x]
    b = a
    print(len(a))
    b.append(x + 1)
    return a[0] + a[1], a is b


def dict_across(x):
    state = {"x": x, "n": [1]}
    other = state["n"]
    print("state")
    other.append(2)
    return state["x"] + sum(state["n"])


class Box:
    def __init__(self, value):
        self.value = value

    def grow(self, by):
        print("grow", by)
        self.value = self.value + by
        return self


def fresh_object(x):
    box = Box(x)
    print("box")
    box.grow(1).grow(2)
    return box.value


class Slots:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def object_with_slots(x):
    s = Slots(x + 1)
    print("slots")
    return s.value * 2


def global_count(x):
    global COUNT
    COUNT = 0
    for _ in range(3):
        COUNT += 1
        print(COUNT)
        x = x + COUNT
    return x, COUNT


def logs(x):
    LOG.warning("shape %s", list(x.shape))
    return x + 1


def unpacking(x):
    a, *b = print("unpack") or (1, 2, 3)
    return x * a + sum(b)


def conditional_expression(x):
    return x + (1 if x.sum() > 0 else 2) * (3 if x.max() > 1 else 4)


def boolean_operators(x):
    return x + 1 if x.sum() > 0 and x.max() > 0.5 or x.min() > 3 else x - 1


def chained_comparison(x):
    return x if -100 < x.sum() < 100 else -x


def default_arguments(x, flag=True, *rest, scale=2, **more):
    y = x * scale
    print(flag, rest, more)
    return y + len(rest)


def partial_call(x):
    return functools.partial(helper, word="partial")(x)


def local_names(x):
    y = x * 2
    names = sorted(locals())
    print(names)
    return y, names


def deleted_variable(x):
    y = x + 1
    print("y")
    del y
    try:
        return y  # noqa: F821
    except UnboundLocalError:
        return x * 2


def to_numpy(x):
    return x + torch.from_numpy(x.numpy() * 2)


def to_list(x):
    return x + sum(x.flatten().tolist())


def match_statement(x):
    match x.shape[0], int(x.sum() > 0):
        case 4, 1:
            return x + 1
        case 4, 0:
            return x - 1
    return x


def recursion(x, depth=3):
    print(depth)
    if depth == 0:
        return x
    return recursion(x + depth, depth - 1) * 2


def walrus(x):
    if (n := x.sum().item()) > 0:
        return x * n
    return x + n


def f_string(x):
    text = f"{x.sum():.3f} of {x.shape}"
    return x + len(text)


def generator_left(x):
    def numbers():
        yield 1
        yield 2

    g = numbers()
    x = x + next(g)
    print("between")
    return x * next(g)


def generator_with_finally(x):
    def numbers():
        try:
            yield 1
            yield 2
        finally:
            print("closed")

    for n in numbers():
        x = x + n
        print("n", n)
        break
    return x


def iterator_across(x):
    it = iter([1, 2, 3])
    x = x * next(it)
    print("between")
    return x + sum(it)


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Linear(3, 3)
        self.two = torch.nn.Linear(3, 3)

    def forward(self, x):
        x = self.one(x)
        print("between")
        return self.two(x).relu()


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Module(), Module()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x) + x
        return x


class WithSuper(Module):
    def forward(self, x):
        x = super().forward(x)
        print("super")
        return super().forward(x)


class SharedWithSuper(Module):
    def forward(self, x):
        def scaled(value):
            return value * len(self.one.weight)

        print("before")
        x = scaled(super().forward(x))
        print("between")
        return super().forward(x)


PROGRAMS = [
    each
    for each in list(globals().values())
    if type(each) is type(simple) and each.__module__ == __name__ and each not in (helper, middle, written, recursion)
] + [recursion]
MODULES = [Module, Stack, WithSuper, SharedWithSuper]
