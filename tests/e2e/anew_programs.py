"""Programs whose objects are new in each call and are alive across a cut: behind it they are looked for, compared, called and told apart.

Each takes a tensor and a number, which decides how the objects lie to each other.
"""

import collections
import contextlib
import contextvars
import functools
import itertools
import operator
import random
import re
import weakref

import torch


class Thing:
    pass


class Text(str):
    pass


class Whole(int):
    pass


Pair = collections.namedtuple("Pair", "a b")  # noqa: PYI024
LASTING = Thing()
TABLE = {LASTING: 5, Thing(): 7}
KNOWN = {LASTING}
VARIABLE = contextvars.ContextVar("lasting", default=9)


def cut():
    print(end="")


def key_of_a_dictionary(x, i):
    o = Thing()
    p = (o, Thing(), LASTING, o)[i]
    held = {o: 1}
    cut()
    return x * (p in held) + held[o] + held.get(p, 4)


def key_of_a_global(x, i):
    o = Thing()
    p = (o, Thing(), LASTING, o)[i]
    cut()
    return x * TABLE.get(p, 1) + (p in TABLE) * 3


def key_of_a_copy(x, i):
    o = Thing()
    p = (o, Thing(), LASTING, o)[i]
    cut()
    held = dict(TABLE)
    held[o] = 2
    return x * len(held) + held.get(p, 100)


def member_of_a_set(x, i):
    o = Thing()
    p = (o, Thing(), LASTING, o)[i]
    held = {o}
    cut()
    both = KNOWN | held
    held.add(p)
    return x * len(both) + (p in both) * 10 + len(held)


def sets_of_two(x, i):
    o, p = Thing(), Thing()
    left, right = {o, p}, {(o, p, LASTING, Thing())[i]}
    cut()
    return x * len(left & right) + 10 * len(left - right) + 100 * left.isdisjoint(right)


def order_of_a_set(x, i):
    things = [Thing(), Thing()]
    for number, thing in enumerate(things):
        thing.number = number
    cut()
    held = set(things)
    held.discard(things[i % 2])
    return x * sum(each.number for each in held)


def element_of_a_list(x, i):
    o = Thing()
    p = (o, Thing(), LASTING, o)[i]
    held = [o, LASTING, p]
    cut()
    found = held.index(p)
    held.remove(o)
    return x * found + held.count(o) * 10 + (o is p) + ((o, 1) == (p, 1)) * 2


def tuple_as_key(x, i):
    o, p = Thing(), Thing()
    held = {(o, 1): 2, Pair(p, 1): 3, (LASTING, 1): 4}
    q = (o, p, LASTING, o)[i]
    cut()
    return x * held[q, 1] + (Pair(o, i) in held)


def frozenset_as_key(x, i):
    key = (frozenset([1, 2]), frozenset([3]), frozenset([2, 1]), frozenset())[i]
    held = {frozenset([1, 2]): 5, frozenset(): 9}
    seen = set()
    cut()
    seen.add(key)
    return x * held.get(key, 1) + (key in held) + held[frozenset([2, 1])], {key: 1}, seen


def function_as_key(x, i):
    f, g = lambda: 2, lambda: 3
    held = {f: 1, g: 2}
    cut()
    return x * held[(f, g)[i % 2]]


def text_of_a_class_of_its_own(x, i):
    word = Text("abab"[i : i + 1] * i)
    cut()
    return x * len(word) + (word == "b") + {"b": 5}.get(word, 2), word + "z"


def number_of_a_class_of_its_own(x, i):
    number = Whole(i % 3)
    cut()
    return x * number + {1: 5}.get(number, 2)


class Loud(str):
    def __str__(self):
        return "loud"


class Hundred(int):
    real = property(lambda self: 77)

    def __add__(self, other):
        return Hundred(int(self) + int(other) + 100)


def what_a_class_redefines(x, i):
    word, number = Loud("pq"[i % 2]), Hundred(i)
    cut()
    return x * int(number), number + 1, number.real, -number, str(word), word + "", f"{word}", word[0]


def bound_method_in_c(x, i):
    held, other = [1, 2], [1]
    method = (held.append, held.remove, other.append, held.append)[i]
    get = {1: 4, 2: 3, 3: i}.get
    joined = "-".join
    cut()
    method(1)
    held.sort(key=get)
    return x * len(held) + len(other) * 10, held, other, joined("ab")


def method_of_a_list_of_its_own(x, i):
    class Items(list):
        tag = None

    held = Items([1])
    held.tag = held
    cut()
    held.append(2)
    held.tag.append(3)
    return x * len(held), list(held), held.tag is held


def getters(x, i):
    item = operator.itemgetter(*((0,), (1,), (1, 0), (0,))[i])
    name = operator.attrgetter(("real", "imag", "real", "imag")[i])
    method = operator.methodcaller(("count", "index", "count", "index")[i], 4)
    cut()
    return x * name(3 + 4j), item([4, 5]), method([5, 4])


def match_of_a_pattern(x, i):
    found = re.compile("a+|b").match(("aab", "b", "aab", "a")[i])
    cut()
    return x * len(found.group()), found.span(), found.string


def exit_stack(x, i):
    done = []
    with contextlib.ExitStack() as stack:
        stack.callback(done.append, i)
        stack.enter_context(torch.no_grad())
        cut()
        stack.callback(done.append, 2)
        y = x * 2
        cut()
        inside = torch.is_grad_enabled()
    return y * len(done), done, inside, torch.is_grad_enabled()


def context_variable(x, i):
    a, b = contextvars.ContextVar("a", default=3), contextvars.ContextVar("b", default=4)
    chosen = (a, b, VARIABLE, a)[i]
    cut()
    token = chosen.set(i * 10)
    found = a.get() + 100 * b.get() + 1000 * VARIABLE.get()
    chosen.reset(token)
    return x * found + chosen.get()


def context_variable_without_a_value(x, i):
    variable = contextvars.ContextVar("new")
    cut()
    if i % 2:
        variable.set(i)
    cut()
    return x * variable.get(5), variable.get(None)


def function_with_a_cache(x, i):
    @functools.lru_cache
    def more(n):
        return n + i

    more(1)
    cut()
    return x * more(1) + more(2), more.cache_info()


def generator_of_numbers(x, i):
    drawn = random.Random(3 + i)
    drawn.random()
    cut()
    return x * drawn.random()


def module_as_key(x, i):
    modules = [torch.nn.ReLU(), torch.nn.Tanh()]
    names = {module: number + 2 for number, module in enumerate(modules)}
    cut()
    return modules[i % 2](x) * names[modules[i % 2]]


def memo_in_a_loop(x, i):
    o, memo = Thing(), {}
    for number in range(3):
        cut()
        q = (o, Thing(), LASTING, o)[(i + number) % 4]
        if q in memo:
            x = x + memo[q]
        else:
            memo[q] = number + 1
    return x, list(memo.values())


def counted(x, i):
    o = Thing()
    held = collections.Counter([o, LASTING])
    p = (o, Thing(), LASTING, o)[i]
    cut()
    held[p] += 1
    return x * len(held), sorted(held.values()), list(itertools.chain(held.values(), [1]))


class Kept:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return instance.__dict__.get(self.name, 0)

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value
        instance.__dict__.setdefault("history", []).append(self.name)


class Described:
    first = Kept()
    second = Kept()


def namespace_with_tensors(x, i):
    o = Described()
    o.first = x
    cut()
    o.second = o.first * 2
    o.first = o.second + i
    if o.first.abs().sum() > -1:
        o.second = 3
    cut()
    return o.first * o.second, o.history


def weak_key(x, i):
    o = Thing()
    held = weakref.WeakKeyDictionary({o: x * 2, LASTING: x})
    p = (o, Thing(), LASTING, o)[i]
    cut()
    return held.get(p, x) * len(held) + (p in held)


def visited(x, i):
    waiting, seen = [Thing()], set()
    for _ in range(5):
        thing = waiting.pop()
        if thing in seen:
            continue
        seen.add(thing)
        cut()
        waiting += [Thing(), thing] if len(seen) < 2 else [Thing()]
    return x * len(seen)


PROGRAMS = (
    key_of_a_dictionary, key_of_a_global, key_of_a_copy, member_of_a_set, sets_of_two, order_of_a_set, element_of_a_list, tuple_as_key, frozenset_as_key,
    function_as_key, text_of_a_class_of_its_own, number_of_a_class_of_its_own, what_a_class_redefines, bound_method_in_c, method_of_a_list_of_its_own,
    getters, match_of_a_pattern, exit_stack, context_variable, context_variable_without_a_value, function_with_a_cache, generator_of_numbers,
    module_as_key, memo_in_a_loop, counted, namespace_with_tensors, weak_key, visited,
)  # fmt: skip
