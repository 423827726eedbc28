"""Objects that answer in their own way: by thread, by class, by descriptor; and exceptions that outlive the call."""

import array
import collections
import copy
import enum
import functools
import operator
import threading
import types
import weakref

import pytest
import torch

import lect
from tests.e2e.support import fallbacks, same

X = torch.arange(6.0).reshape(2, 3) - 2.5


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def check(program, *inputs, calls=3):
    """The same as eager for some calls; gives the numbers of graph breaks."""
    compiled = lect.compile(program)
    for _ in range(calls):
        same(program(*inputs), compiled(*inputs))
    return [event.number for event in lect.events("graph break")]


def test_attributes_of_a_thread():
    """Each thread has its own, which may be missing in another."""
    local = threading.local()
    local.scale = 2

    def program(x):
        try:
            scale = local.scale
        except AttributeError:
            scale = 100
        return x * scale, hasattr(local, "scale"), getattr(local, "missing", 5)

    compiled = lect.compile(program)
    same(program(X), compiled(X))
    local.scale = 7
    same(program(X), compiled(X))
    found = []
    thread = threading.Thread(target=lambda: found.extend((program(X), compiled(X))))
    thread.start()
    thread.join()
    same(*found)
    assert found[0][1] is False


def test_attributes_through_a_weak_proxy():
    class Config:
        scale = 3

    config = Config()
    proxy = weakref.proxy(config)

    def program(x):
        return x * proxy.scale, hasattr(proxy, "missing"), getattr(proxy, "scale", 5)

    check(program, X)
    config.scale = 4
    check(program, X)


class Refused(ValueError):
    def __init__(self, reason, number):
        super().__init__(reason)
        self.number = number


def test_a_kept_exception_has_a_traceback():
    kept = []

    def program(x):
        try:
            raise Refused("no", 2)
        except Refused as error:
            kept.append(error)
        return x + kept[-1].number

    compiled = lect.compile(program)
    for _ in range(3):
        same(program(X), compiled(X))
        wanted, found = kept[-2:]
        assert (type(found), found.args, found.number) == (type(wanted), wanted.args, wanted.number)
        assert found.__traceback__.tb_lineno == wanted.__traceback__.tb_lineno
    assert set(fallbacks()) <= {"LB0022"}


class Lazy:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def doubled(self):
        return self.x * 2


def test_cached_property():
    outside = Lazy(X)

    def program(x):
        made = Lazy(x)
        return outside.doubled + made.doubled * made.doubled, sorted(made.__dict__)

    assert check(program, X) == []
    assert fallbacks() == []


class Axis(enum.IntEnum):
    ROW = 0
    COLUMN = 1


class Mode(enum.StrEnum):
    MEAN = "mean"


class Slope(float, enum.Enum):
    HALF = 0.5


@pytest.mark.parametrize("axis", list(Axis))
def test_members_of_enums_as_arguments(axis):
    def program(x, axis):
        loss = torch.nn.functional.mse_loss(x, x * 2, reduction=Mode.MEAN)
        return x.sum(axis), x[Axis.COLUMN, axis], loss, torch.nn.functional.leaky_relu(x, Slope.HALF), x * Axis.COLUMN

    assert check(program, X, axis) == []
    assert fallbacks() == []


class Scaled:
    def by(self, factor, x):
        return x * factor

    doubled = functools.partialmethod(by, 2)


class Tagging(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.tag = cls.__name__
        return made


class Tagged(metaclass=Tagging):
    def __init__(self, x):
        self.x = x


def test_what_classes_do_in_a_call():
    def program(x):
        made = Tagged(x)
        counted = collections.Counter("aab")
        counted.update("abb")
        return Scaled().doubled(made.x), made.tag, counted.most_common(), counted["z"], len(counted)

    assert check(program, X) == []
    assert fallbacks() == []


@pytest.mark.parametrize("validate", [False, None])
@pytest.mark.parametrize("kind", [torch.distributions.Categorical, torch.distributions.OneHotCategorical, torch.distributions.Bernoulli])
def test_distributions(kind, validate):
    """In one graph without the check of their arguments, which asks for values."""

    def program(logits, value):
        made = kind(logits=logits, validate_args=validate)
        return made.log_prob(value), made.entropy(), made.probs, made.sample().shape

    logits = torch.randn(4, 3)
    value = torch.randint(0, 3, (4,)) if kind is torch.distributions.Categorical else torch.eye(3)[torch.tensor([0, 2, 1, 1])]
    breaks = check(program, logits, value)
    assert len(breaks) <= (0 if validate is False and kind is not torch.distributions.OneHotCategorical else 4)


SECOND = operator.itemgetter(1)


def test_getters_of_operator():
    class Pair:
        def __init__(self, x):
            self.inner = self
            self.x = x

        def scaled(self, factor, offset=0):
            return self.x * factor + offset

    pairs = [(3, "c"), (1, "a"), (2, "b")]

    def program(x):
        made = Pair(x)
        read = operator.attrgetter("inner.x", "x")(made)
        called = operator.methodcaller("scaled", 2, offset=1)(made), operator.methodcaller("scaled", 3)(made)
        ordered = sorted(pairs, key=SECOND), max(pairs, key=operator.itemgetter(0)), list(map(operator.itemgetter(0, -1), pairs))
        return read, called, ordered, SECOND([x, x + 1]), operator.itemgetter(slice(0, 2))([1, x, 3])

    assert check(program, X) == []
    assert fallbacks() == []


def test_getters_of_operator_that_find_nothing():
    def program(x, key):
        try:
            return operator.itemgetter(key)({"a": x})
        except KeyError as error:
            return x + 1, error.args

    assert check(program, X, "a", calls=1) == []
    assert check(program, X, "b", calls=1) == []


TOO_LARGE = {
    "full": lambda x: x + torch.full((2, 3), 1e300),
    "scalar": lambda x: x + torch.scalar_tensor(1e300),
    "fill": lambda x: x.clone().fill_(1e300),
    "unused": lambda x: (torch.scalar_tensor(1e300), x + 1)[1],
    "alpha": lambda x: torch.add(x, x, alpha=1e300),
    "bytes": lambda x: x.to(torch.uint8).fill_(300),
    "half": lambda x: x.half().masked_fill(x > 0, -1e9),
}
NOT_TOO_LARGE = {
    "operand": lambda x: x + 1e300,
    "wrapped": lambda x: x.to(torch.uint8) + 300,
    "comparison": lambda x: x.half() < 1e9,
    "infinite": lambda x: x.masked_fill(x > 0, float("-inf")),
    "largest": lambda x: x.masked_fill(x > 0, torch.finfo(torch.float32).min),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_constant_that_does_not_fit_is_refused_as_in_eager(name):
    with pytest.raises(RuntimeError, match="without overflow") as wanted:
        TOO_LARGE[name](X)
    with pytest.raises(RuntimeError, match="without overflow") as found:
        lect.compile(TOO_LARGE[name])(X)
    assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize("name", NOT_TOO_LARGE)
def test_a_large_constant_that_torch_takes(name):
    assert check(NOT_TOO_LARGE[name], X) == []
    assert fallbacks() == []


def test_namespaces_that_the_trace_made():
    def program(x):
        space = types.SimpleNamespace(x=x + 1, y=[2])
        space.z = space
        other = types.SimpleNamespace()
        other.inner = space.y
        return space.x, [other, types.SimpleNamespace(a=x * 2)], space.y

    compiled = lect.compile(program)
    for _ in range(2):
        (value, (other, last), held), expected = compiled(X), program(X)
        same(value, expected[0])
        assert other.inner is held
        same(last.a, expected[1][1].a)
        assert set(vars(last)) == {"a"}


def test_attributes_of_ordered_dictionaries():
    def program(x):
        made = collections.OrderedDict(a=x + 1)
        made.x, made.z = ["x"], x
        return made, made.x

    made, held = lect.compile(program)(X)
    assert made.x is held
    assert made.z is X
    assert type(made) is collections.OrderedDict
    same(made["a"], X + 1)


def test_objects_that_c_code_allocates():
    """`object.__new__` does not make them."""

    class Numbers(array.array):
        pass

    class Space(types.SimpleNamespace):
        pass

    def program(x):
        numbers, space = Numbers("i"), Space(a=1)
        numbers.scale = space
        return x + 1, numbers, space.a

    value, numbers, one = lect.compile(program)(X)
    same(value, X + 1)
    assert type(numbers) is Numbers
    assert numbers.scale.a == one == 1


def test_subscripts_of_classes_run_the_code_of_the_class():
    """Once, and not while the function is followed."""

    class Noted(dict):
        notes = []
        last = None

        def __class_getitem__(cls, item):
            cls.notes.append(item)
            cls.last = item
            return len(cls.notes)

    class Inner(Noted):
        pass

    def program(x):
        before = Inner.last
        count = Inner[int]
        return x + count, before, Inner.last, list[int], dict[str, int]

    for number in (1, 2):
        Inner.last = None
        value, before, last, listed, mapped = lect.compile(program)(X)
        same(value, X + number)
        assert (before, last, Noted.notes) == (None, int, [int] * number)
        assert (listed, mapped) == (list[int], dict[str, int])


def test_functions_for_the_identity_of_objects():
    def program(x, first, second, number):
        text = "abcdef"
        same_text = text[:3] + text[3:]
        found = [operator.is_(first, second), operator.is_not(first, second), operator.is_(None, number), operator.is_(text, same_text)]
        with pytest.raises(TypeError):
            operator.is_(first)
        return x + number, found

    lect.reset()
    compiled, x, one, other = lect.compile(program), torch.randn(3), [], []
    for first, second in ((one, one), (one, other), (other, other)):
        for number in (1, 2):
            same(program(x, first, second, number), compiled(x, first, second, number))
    assert not any(event.detail.startswith("function _operator") for event in lect.events("graph break"))


def test_parts_of_objects_for_a_copy():
    class Wrong:
        def __getnewargs__(self):
            return "no tuple"

    class Named:
        __slotnames__ = ["spam"]

        def __getattr__(self, name):
            if name != "spam":
                raise AttributeError(name)
            return 42

    def program(x):
        raised = []
        for make in (lambda: Wrong().__reduce_ex__(4), lambda: object.__new__(""), lambda: list.__new__(object)):
            try:
                make()
            except TypeError as error:
                raised.append(str(error))
        return x + 1, raised, Named().__reduce_ex__(4)[2], copy.copy(Named()).spam

    lect.reset()
    x = torch.randn(3)
    same(program(x), lect.compile(program)(x))
    assert "LB0020" not in fallbacks()


def test_global_names_that_a_dictionary_makes_up():
    class Names(dict):
        def __missing__(self, name):
            return len(name)

    made = eval("lambda: abcde + ab", Names())

    def program(x):
        try:
            return x + made()
        except NameError:
            return x

    x = torch.randn(3)
    same(program(x), lect.compile(program)(x))
