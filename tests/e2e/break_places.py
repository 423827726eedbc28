"""Programs that break where more than variables is alive: on the way of an exception, in comprehensions."""


class Swallows:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        print("exit", kind.__name__, error, traceback is not None)
        return True


def swallowed_by_with(x):
    for i in range(2):
        with Swallows():
            x = x * 2
            if i:
                raise KeyError(i)
            raise ValueError(i)
        x = x + i
    return x


def printed_in_finally_on_the_way(x):
    try:
        try:
            x = x * 2
            raise ValueError("no")
        finally:
            print("finally")
            x = x + 1
    except ValueError as error:
        return x, str(error)


def comprehension_that_shadows(x, y=2):
    rows = [(print("row", i), y * x[i])[1] for i, y in enumerate(x[:2])]
    pairs = {i: [i + y for i in range((print("inner"), 2)[1])] for i in range(2)}
    return rows, pairs, y


def comprehension_of_closures(x):
    closures = [(print("made"), lambda: x * i)[1] for i in range(3)]
    return [each() for each in closures]


def comprehension_that_raises(x):
    i = 7
    try:
        return [x / (i - 1) if i != 1 else (print("one"), 1 / 0) for i in range(3)]
    except ZeroDivisionError:
        print("handled")
        return x * i


PROGRAMS = [swallowed_by_with, printed_in_finally_on_the_way, comprehension_that_shadows, comprehension_of_closures, comprehension_that_raises]
