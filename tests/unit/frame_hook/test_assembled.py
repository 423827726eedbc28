"""Code that lect's assembler wrote, in the frames of the functions it was decoded from."""

import contextlib
import sys

import pytest

from lect.backends.bytecode import assemble
from lect.frontends.bytecode.decode import Symbols, decode_function
from lect.runtime.frame_hook import flatten
from tests.unit.frame_hook.support import Oops, replacing

LOG = []


class Entered:
    """A context manager that writes down what happens."""

    def __init__(self, name, swallows=()):
        self.name, self.swallows = name, swallows

    def __enter__(self):
        LOG.append(("enter", self.name))
        return self.name

    def __exit__(self, kind, error, traceback):
        LOG.append(("exit", self.name, kind and kind.__name__))
        return kind is not None and issubclass(kind, self.swallows)


def everything(values, mode):
    total = 0
    for i, x in enumerate(values):
        with Entered(i) as n:
            try:
                total += x * 2 + n
                if mode == "raise" and i == 1:
                    raise ValueError("raised")
                if mode == "return" and i == 1:
                    return "early", total
                if mode == "break" and i == 1:
                    break
            except ValueError as error:
                LOG.append(("caught", str(error)))
                total -= 100
            finally:
                LOG.append(("finally", i))
    else:
        total += 10_000
    return total


def closures(a, *args, k=5, **kwargs):
    b = 1

    def get():
        return a, b, args

    def put(value):
        nonlocal b
        b = value

    a += 1
    put(b + 10)
    return get(), k, sorted(kwargs)


def unbound(flag):
    """3.12 and later read a local without a check where the compiler has proved that it is bound; other code must not rely on that."""
    if flag:
        bound_here = 1
    return bound_here


def deleted(flag):
    value = 1
    if flag:
        del value
    return value


def handled(x):
    try:
        raise KeyError(x)
    except KeyError:
        LOG.append(type(sys.exc_info()[1]).__name__)
        if x == 2:
            raise
        if x == 3:
            raise Oops("new")  # noqa: B904 its context is what is looked at
    return x


def nested_with(x):
    with Entered(1, (ValueError,)), Entered(2), contextlib.suppress(KeyError):
        if x == 1:
            raise ValueError
        if x == 2:
            raise KeyError
        if x == 3:
            raise TypeError
        return "done"
    return "swallowed"


def outcome(function, *args, **kwargs):
    """What a call does: its value or exception, and what it wrote down."""
    LOG.clear()
    try:
        result = ("returned", function(*args, **kwargs))
    except Exception as error:
        context = error.__context__
        lines = []
        traceback = error.__traceback__.tb_next
        while traceback is not None:
            lines.append((traceback.tb_frame.f_code.co_name, traceback.tb_lineno))
            traceback = traceback.tb_next
        result = ("raised", type(error).__name__, error.args, type(context).__name__, lines)
    return result, list(LOG)


CALLS = [
    *[(everything, (range(3), mode)) for mode in ("", "raise", "return", "break")],
    (everything, ([], "")),
    (closures, (1,)),
    (closures, (1, 2, 3)),
    (unbound, (True,)),
    (unbound, (False,)),
    (deleted, (True,)),
    (deleted, (False,)),
    *[(handled, (x,)) for x in (1, 2, 3)],
    *[(nested_with, (x,)) for x in range(4)],
]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("function", "args"), CALLS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_decoded_and_assembled_again(fh, function, args):
    symbols = Symbols()
    codes = {}

    def symbol_of(code):
        symbol = symbols.of(code)
        codes[symbol] = code
        return symbol

    code = assemble(decode_function(function.__code__, symbol_of), resources=codes)
    trigger = fh.Trigger(replacing(fh, {function.__code__: flatten(code)}))
    want = outcome(function, *args)
    for _ in range(3):
        assert outcome(lambda *args: trigger.call(function, *args), *args)[1:] == want[1:]
        got = outcome(trigger.call, function, *args)
        assert got == want
