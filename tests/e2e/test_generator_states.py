"""`torch.Generator` in compiled functions: eager's numbers, and the generator where eager leaves it."""

import pytest
import torch
from torch import nn

import lect
from lect.dialects import make_context
from lect.frontends.capture.interpreter import CodeTable
from lect.frontends.capture.numbers import NumberPolicy
from lect.ir import parse_module, print_module
from lect.runtime.pipeline import compile_call
from tests.e2e.support import same, stops, versions


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def _several(x, g):
    first = torch.rand(3, generator=g)
    return x + first, torch.randint(0, 9, (2, 3), generator=g), torch.randperm(5, generator=g), torch.normal(x, 0.5, generator=g)


def _in_place(x, g):
    y = x.clone()
    y.uniform_(-1, 1, generator=g)
    z = torch.empty(20)
    z.normal_(2.0, 3.0, generator=g)
    return y * 2, z, x.t().contiguous().t().clone().bernoulli_(0.5, generator=g)


def _of_probabilities(x, g):
    weights = torch.softmax(x, -1)
    return torch.multinomial(weights, 2, generator=g), torch.bernoulli(weights, generator=g), torch.poisson(weights * 3, generator=g)


def _seeded(x, g):
    g.manual_seed(-5)
    first = torch.randn(2, 3, generator=g)
    state = g.get_state()
    second = torch.randn(2, 3, generator=g)
    g.set_state(state)
    return first, second, torch.randn(2, 3, generator=g) + x


def _seeds(x, g):
    torch.rand(1, generator=g)
    before = g.initial_seed()
    return x * 2, before, g.manual_seed(2**64 - 1).initial_seed(), torch.Generator().initial_seed()


def _made_in_the_frame(x, g):
    own = torch.Generator().manual_seed(3)
    y = x + torch.randn(2, 3, generator=own)
    return y, torch.rand(2, generator=own), torch.rand(3, generator=torch.Generator("cpu"))


def _initialised(x, g):
    weight = nn.init.kaiming_uniform_(torch.empty(4, 3), generator=g)
    return x @ nn.init.xavier_normal_(torch.empty(3, 3), 2.0, g), weight


def _kinds(x, g):
    return torch.rand(3, dtype=torch.float64, generator=g), torch.randn(2, dtype=torch.bfloat16, generator=g) + 1, torch.rand((), generator=None).shape, x + 1


def _other_streams(x, g):
    first = torch.rand(3, generator=g)
    torch.rand(3, generator=torch.default_generator)
    return first + x.sum(), g


PROGRAMS = [_several, _in_place, _of_probabilities, _seeded, _seeds, _made_in_the_frame, _initialised, _kinds, _other_streams]


def run(program, called):
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(7)
    found = [called(torch.linspace(-1, 1, 6).reshape(2, 3), generator) for _ in range(2)]
    for each in found:
        assert all(part is generator for part in each if isinstance(part, torch.Generator))
    return [tuple(part for part in each if not isinstance(part, torch.Generator)) for each in found], generator.get_state(), torch.get_rng_state()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__[1:])
def test_numbers_and_states_are_those_of_eager(program):
    compiled = lect.compile(program, fullgraph=True, options={"rng": "eager"})
    same(run(program, program), run(program, compiled))
    assert (stops(), versions()) == ([], 1)


def test_a_generator_that_outlives_the_frame():
    def program(x):
        made = torch.Generator().manual_seed(4)
        return x + torch.rand(3, generator=made), made

    want, got = program(torch.ones(3)), lect.compile(program, fullgraph=True)(torch.ones(3))
    same(want[0], got[0])
    same(want[1].get_state(), got[1].get_state())
    assert want[1].initial_seed() == got[1].initial_seed()


def test_two_generators_and_a_write():
    def program(x, a, b):
        x.add_(torch.rand(3, generator=a))
        return x * torch.rand(3, generator=b) + torch.rand(3, generator=a)

    found = []
    for called in (program, lect.compile(program, fullgraph=True)):
        a, b, x = torch.Generator().manual_seed(1), torch.Generator().manual_seed(2), torch.ones(3)
        found.append(([called(x, a, b) for _ in range(5)], x, a.get_state(), b.get_state()))
    same(*found)
    assert versions() == 1


def test_one_generator_under_two_names():
    def program(x, a, b):
        return x + torch.rand(3, generator=a), torch.rand(3, generator=b)

    compiled = lect.compile(program, fullgraph=True)
    for aliased in (False, True, False):
        found = []
        for called in (program, compiled):
            a = torch.Generator().manual_seed(1)
            b = a if aliased else torch.Generator().manual_seed(2)
            found.append((called(torch.ones(3), a, b), a.get_state(), b.get_state()))
        same(*found)


def test_the_state_is_set_in_front_of_a_break():
    def program(x, g):
        y = x + torch.rand(3, generator=g)
        print(end="")
        return y * torch.rand(3, generator=g)

    found = []
    for called in (program, lect.compile(program)):
        g = torch.Generator().manual_seed(1)
        found.append((called(torch.ones(3), g), g.get_state()))
    same(*found)
    assert stops() == ["LB0013"]


def test_gradients_go_past_what_is_drawn():
    def program(x, g):
        return (x * torch.rand(3, generator=g)).exp().sum()

    found = []
    for called in (program, lect.compile(program, fullgraph=True)):
        x, g = torch.ones(3, requires_grad=True), torch.Generator().manual_seed(1)
        called(x, g).backward()
        found.append((x.grad, g.get_state()))
    same(*found)
    assert stops() == []


def test_what_no_operator_stands_for_breaks():
    def program(x, g):
        return x.bernoulli(generator=g) + 1

    x = torch.full((3,), 0.5, requires_grad=True)
    found = [called(x, torch.Generator().manual_seed(1)) for called in (program, lect.compile(program))]
    same(*found)
    assert "LB0021" in stops()


def test_a_draw_is_text():
    texts = []
    program = lambda x, g: x + torch.rand(3, generator=g)  # noqa: E731
    observe = lambda stage, module: texts.append(print_module(module))  # noqa: E731
    made = compile_call(program, (torch.ones(3), torch.Generator()), {}, CodeTable(), {"level": "functional"}, observe, NumberPolicy())
    assert made.fallback is None
    drawn = [text for text in texts if "lect.draw" in text]
    assert len(drawn) >= 2
    for text in drawn:
        assert print_module(parse_module(text, make_context())) == text
