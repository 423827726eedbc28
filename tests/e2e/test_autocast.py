"""Autocast inside of a compiled function and around its calls: eager's dtypes and values, and the thread's modes are left alone."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import lect
from tests.e2e.support import check, fallbacks, same, stops, versions

BF16 = {"device_type": "cpu", "dtype": torch.bfloat16}


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


@pytest.fixture
def linear():
    return nn.Linear(8, 8).requires_grad_(False)


def modes():
    return torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled(), torch.is_grad_enabled()


def test_block(linear):
    def program(x):
        with torch.autocast(**BF16):
            y = linear(x)
        return y, y.float() + x

    compiled = lect.compile(program)
    for _ in range(2):
        check(program, torch.randn(4, 8), compiled=compiled)
    assert (fallbacks(), versions()) == ([], 1)


def test_block_switched_off_inside_of_another(linear):
    def program(x):
        with torch.autocast(**BF16):
            y = linear(x)
            with torch.autocast("cpu", enabled=False):
                z = linear(y.float())
        return y, z, linear(z)

    check(program, torch.randn(4, 8))
    assert fallbacks() == []


def test_operations_that_stay_wide(linear):
    def program(x):
        with torch.no_grad(), torch.autocast(**BF16):
            y = linear(x)
            return F.softmax(y @ y.T, -1), F.layer_norm(y, (8,)), torch.cat([y, x])

    check(program, torch.randn(4, 8))
    assert fallbacks() == []


def test_decorator():
    @torch.autocast(**BF16)
    def program(x):
        return x @ x.T

    check(program, torch.randn(4, 8))
    check(lambda x: program(x) + 1, torch.randn(4, 8))
    assert fallbacks() == []


@pytest.mark.parametrize("level", ["fx", "functional", "native"])
def test_around_the_call(linear, level):
    def program(x):
        return linear(x) @ linear(x).T

    compiled = lect.compile(program, options={"level": level})
    x = torch.randn(4, 8)
    for _ in range(2):
        check(program, x, compiled=compiled)
        for dtype in (torch.bfloat16, torch.float16):
            with torch.autocast("cpu", dtype=dtype):
                check(program, x, compiled=compiled)
    assert (fallbacks(), versions()) == ([], 3)


def test_switched_off_around_a_library_call_while_it_is_on_around_the_frame(linear):
    def program(x):
        with torch.autocast("cpu", enabled=False):
            return linear(x) @ x.T

    compiled = lect.compile(program)
    with torch.autocast(**BF16):
        check(program, torch.randn(4, 8), compiled=compiled)
    assert fallbacks() == []


def test_default_dtype_of_autocast_is_guarded():
    def program(x):
        with torch.autocast("cpu"):
            return x @ x.T

    compiled = lect.compile(program)
    check(program, torch.randn(4, 8), compiled=compiled)
    before = torch.get_autocast_dtype("cpu")
    torch.set_autocast_dtype("cpu", torch.float16)
    try:
        check(program, torch.randn(4, 8), compiled=compiled)
    finally:
        torch.set_autocast_dtype("cpu", before)
    assert (fallbacks(), versions()) == ([], 2)


def test_question_about_autocast():
    def program(x):
        return x * 2 if torch.is_autocast_enabled("cpu") else x * 3

    compiled = lect.compile(program)
    check(program, torch.ones(3), compiled=compiled)
    with torch.autocast(**BF16):
        check(program, torch.ones(3), compiled=compiled)
    assert (fallbacks(), versions()) == ([], 2)


@pytest.mark.parametrize("level", ["fx", "native"])
def test_modes_after_an_exception_inside_of_the_block(level):
    def program(x, i):
        with torch.autocast(**BF16), torch.no_grad():
            return (x @ x).index_select(0, i)

    compiled = lect.compile(program, options={"level": level})
    before = modes()
    check(program, torch.ones(3, 3), torch.tensor([1]), compiled=compiled)
    for _ in range(2):
        with pytest.raises(Exception, match="index"):
            compiled(torch.ones(3, 3), torch.tensor([42]))
        assert modes() == before
    same(torch.ones(3, 3) @ torch.ones(3, 3), torch.full((3, 3), 3.0))


def test_modes_after_a_trace_that_stops_inside_of_the_block():
    def program(x):
        with torch.autocast(**BF16):
            return x @ x if float(x.sum()) > 0 else x

    before = modes()
    check(program, torch.ones(3, 3))
    assert modes() == before
    assert torch.autocast_increment_nesting() == 1
    assert torch.autocast_decrement_nesting() == 0


def test_frame_that_leaves_autocast_on():
    def program(x):
        torch.set_autocast_enabled("cpu", True)
        return x @ x

    try:
        same(torch.ones(3, 3, dtype=torch.bfloat16) * 3, lect.compile(program)(torch.ones(3, 3)))
        assert torch.is_autocast_enabled("cpu")
    finally:
        torch.set_autocast_enabled("cpu", False)


def test_gradients_through_a_block():
    def run(call, net, x):
        out = call(net, x)
        out.float().pow(2).sum().backward()
        return out.detach(), [parameter.grad for parameter in net.parameters()]

    def program(net, x):
        with torch.autocast(**BF16):
            return net[1](torch.relu(net[0](x))) + net[0](x)

    compiled = lect.compile(program)
    before = modes()
    for _ in range(2):
        nets = [nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)) for _ in range(2)]
        nets[1].load_state_dict(nets[0].state_dict())
        x = torch.randn(4, 8)
        same(run(program, nets[0], x), run(compiled, nets[1], x), exact=True)
        assert modes() == before
    assert fallbacks() == []


def test_element_that_is_known_is_read_between_blocks():
    def program(x):
        with torch.autocast(**BF16):
            y = x @ x
        sizes = torch.arange(3)
        with torch.autocast(**BF16):
            z = x @ x * int(sizes.max())
            return y, z, x @ x

    check(program, torch.ones(3, 3))
    assert fallbacks() == []


def test_break_inside_of_a_block(linear):
    def program(x):
        with torch.autocast(**BF16):
            y = linear(x)
            scale = float(y.float().abs().max())
            z = linear(y)
        return y, z * scale, linear(x)

    compiled = lect.compile(program)
    before = modes()
    for _ in range(2):
        check(program, torch.randn(4, 8), compiled=compiled)
        assert modes() == before
    assert set(stops()) == {"LB0002"}


def backward_inside(call, arguments, around):
    """The result of a call and the gradients of the arguments, where the backward runs inside of a block."""
    given = [each.clone().requires_grad_() for each in arguments]
    result = call(*given)
    with torch.autocast("cpu", dtype=around):
        result.float().square().sum().backward()
    return [result.detach(), *[each.grad for each in given]]


@pytest.mark.parametrize("around", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("inside", [False, True])
def test_backward_inside_of_a_block(inside, around):
    def program(x, w):
        with torch.autocast("cpu", torch.bfloat16, enabled=inside):
            return torch.relu(F.linear(x, w)) @ w

    compiled = lect.compile(program)
    before = modes()
    for _ in range(2):
        arguments = torch.randint(-9, 10, (4, 8)) / 8, torch.randint(-9, 10, (8, 8)) / 8  # sums in f32 are exact
        same(backward_inside(program, arguments, around), backward_inside(compiled, arguments, around), exact=True)
        want, got = (backward_outside(call, arguments) for call in (program, compiled))
        same(want, got)  # the same version, and the backward that is compiled
    assert (modes(), stops(), versions()) == (before, [], 1)
    assert (lect.events("backward fallback"), len(lect.events("backward"))) == ([], 1 + (not inside or around is torch.float16))


def backward_outside(call, arguments):
    given = [each.clone().requires_grad_() for each in arguments]
    call(*given).float().square().sum().backward()
    return [each.grad for each in given]


def test_backward_inside_of_a_block_that_casts_nothing():
    def program(x, y):
        return F.softmax(x * y.exp(), -1) + F.layer_norm(x, (8,))

    arguments = torch.randn(4, 8), torch.randn(8)
    same(backward_inside(program, arguments, torch.bfloat16), backward_inside(lect.compile(program), arguments, torch.bfloat16))
    assert lect.events("backward fallback") == []


def test_backward_inside_of_a_block_has_the_random_numbers_of_the_forward():
    def program(x, w):
        kept = F.dropout(x, 0.5)
        return kept @ w, kept

    x, w = torch.ones(16, 8, requires_grad=True), torch.eye(8, requires_grad=True)
    result, kept = lect.compile(program)(x, w)
    with torch.autocast(**BF16):
        result.sum().backward()
    same(kept.detach(), x.grad)
    same(kept.detach().sum(0)[:, None].expand(8, 8).contiguous(), w.grad)
