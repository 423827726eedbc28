"""Programs that together reach every rule of the interpreter; the first argument is a tensor, the second a list of ints."""

COUNT = 0


class Base:
    def __init__(self, x):
        self.x = x

    def grow(self, by):
        return self.x * by


class Derived(Base):
    __match_args__ = ("x",)

    def grow(self, by):
        return super().grow(by) + 1


class Block:
    def __enter__(self):
        return 2

    def __exit__(self, *error):
        return True


def containers(x, items):
    a, *rest = [1, *items]
    b, c = (x, 2)
    table = {"a": a, "b": 2, "c": {1, *items}, "d": {"k": 1, "l": 2}}
    table["a"] = [i + 1 for i in items if i]
    del table["b"]
    names = {k: v for k, v in zip("ab", items)}  # noqa: C416
    kinds = {i % 2 for i in items}
    joined = (*items, 3)
    return b * c, joined, rest, table["a"][0:1], names, kinds, f"{a!r:>3}{c}", len(table), 2 in items, c is not None, -c, not c < 3, dict(**names, **{"z": 1})


def flow(x, items):
    global COUNT, FOR_A_WHILE
    total, seen = 0, []
    FOR_A_WHILE = items
    del FOR_A_WHILE
    for item in items:
        if item is None:
            continue
        total += item
    COUNT = total
    with Block() as two:
        seen.append(two)
        raise ValueError("left")
    try:
        try:
            raise KeyError(1)
        except KeyError as error:
            print(end="")
            seen.append(repr(error))
            raise IndexError(2) from error
        finally:
            print(end="")
            seen.append("finally")
    except (TypeError, IndexError):
        seen.append("caught")
    try:
        assert total < 0, "positive"
    except AssertionError as error:
        seen.append(str(error))
    try:
        {}["none"]
    except LookupError:
        pass
    return x + total, seen


def functions(x, items):
    import math
    from operator import add

    count = 1

    def grow(by=2, *more, key=1):
        nonlocal count
        count += by
        return x * count + key

    def numbers(n):
        got = yield n
        yield got
        yield from items

    def forget():
        held = 1

        def inside():
            return held  # noqa: F821

        found = inside()
        del held
        return found

    thing = Derived(x)
    thing.tag = 3
    del thing.tag
    steps = numbers(5)
    values = [next(steps), steps.send(7), *steps]
    grown = grow(*[3], **{"key": 4}), thing.grow(by=2)
    del steps
    return grown, values, math.floor(2.5), add(1, 2), forget(), count


def patterns(x, items):
    found = []
    for subject in (items, {"k": 1, "z": 2}, Derived(3), "text"):
        match subject:
            case [first, *others]:
                found.append((first, others))
            case {"k": k, **rest}:
                found.append((k, rest))
            case Derived(inner):
                found.append(inner)
            case str():
                found.append("text")
    return x + 1, found


def defined(x, items):
    size = len(items)

    class Local:
        factor: int = 2
        bias = size + factor
        passing = 1
        del passing

    return x * Local.factor + Local.bias


def broken_off(x, items):
    """What goes on behind the break handles an exception."""
    try:
        raise ValueError("handled")
    except ValueError as error:
        print(end="")
        found = str(error)
    return x + len(items), found


class Telling:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        print(end="")
        return True


def left_by_an_exception(x, items):
    """What goes on behind the break is in the handler of a `with`."""
    with Telling():
        raise ValueError("left")
    return x + len(items)


def gathered(x, items):
    """Since Python 3.12 a comprehension is part of the function, and its variable becomes a cell in the middle of it."""
    found = [lambda: item for item in items]
    return x + found[0](), [grow() for grow in found]


def shadowed(x, items):
    """A comprehension whose variable, a cell, has the name of a cell of the function."""
    item = 5

    def kept():
        return item

    found = [lambda: item for item in items]
    return x + found[0](), kept(), item


def in_groups(x, items):
    try:
        raise ExceptionGroup("group", [ValueError(len(items)), KeyError(1)])
    except* ValueError:
        x = x + 1
    except* KeyError:
        x = x * 2
    return x


PROGRAMS = (containers, flow, functions, patterns, defined, broken_off, left_by_an_exception, gathered, shadowed, in_groups)
