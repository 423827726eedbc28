"""Writes to memory that the same call reads, and tensors with a bit that their memory does not tell: eager's values, flags and errors."""

import pytest
import torch

import lect


def outcome(program, *args):
    """The result, or the error with its text; and what the arguments hold behind the call."""
    try:
        found = program(*args)
    except RuntimeError as error:
        return type(error), str(error), args
    return found, None, args


def agree(program, make):
    """Both ways of running give the same, twice."""
    compiled = lect.compile(program)
    for _ in range(2):
        torch.manual_seed(0)
        wanted = outcome(program, make())
        torch.manual_seed(0)
        found = outcome(compiled, make())
        assert found[1] == wanted[1]
        torch.testing.assert_close(found[2], wanted[2], equal_nan=True)
        if wanted[1] is None:
            torch.testing.assert_close(found[0], wanted[0], equal_nan=True)
        else:
            assert found[0] is wanted[0]
    return wanted


def add_to_neighbour(x):
    x.add_(1)
    x[1:].add_(x[:-1])
    return x


def copy_to_neighbour(x):
    x.mul_(2)
    x[:2] = x[1:3]
    return x


def add_transposed(x):
    h = torch.outer(x, x)
    h.add_(h.t())
    return h


def sine_into_neighbour(x):
    h = x * 1
    torch.sin(h[:-1], out=h[1:])
    return h


def write_expanded(x):
    y = x * 2
    y[:1].expand(3).add_(1)
    return x + 1


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("program", [add_to_neighbour, copy_to_neighbour, add_transposed, sine_into_neighbour, write_expanded], ids=lambda f: f.__name__)
def test_write_that_eager_refuses_as_it_overlaps_what_it_reads(program, gradient):
    def make():
        return torch.randn(5, requires_grad=gradient) * 1

    _, text, _ = agree(program, make)
    assert text


def write_rows(x):
    h = torch.outer(x, x)
    h[0].add_(h[1])
    h[:, 0].mul_(h[:, 1])
    h.mul_(h)
    h.t().add_(h.t())
    h[:, :2].copy_(h[:, 1:3].clone())
    return h


def test_write_that_reads_other_places_of_its_memory_is_compiled():
    _, text, _ = agree(write_rows, lambda: torch.randn(5))
    assert text is None
    assert not [event for event in lect.events() if type(event).__name__ == "Note" and "write_rows" in str(event)]


def asks(z):
    c = z.conj()
    return c * 2 if c.is_conj() else c * 3


def asks_of_product(z):
    c = (z * 1j).conj()
    return (c + 1 if torch.is_conj(c) else c), c.clone().is_conj(), c.t().is_conj()


def resolves(z):
    c = z.conj().t()
    r = torch.resolve_conj(c)
    return c, r, r is c, r.is_conj()


def asks_for_negative(z):
    part = z.conj().imag
    return part, part.is_neg(), (part * 1).is_neg(), part.resolve_neg().is_neg()


def gives_lazy(z):
    c = (z * 2).conj()
    return c, c.real, c.imag, c.t(), torch.view_as_real(c * 1)


def flags(value):
    if isinstance(value, torch.Tensor):
        return value.is_conj(), value.is_neg()
    return [flags(item) for item in value] if isinstance(value, tuple) else value


@pytest.mark.parametrize("program", [asks, asks_of_product, resolves, asks_for_negative, gives_lazy], ids=lambda f: f.__name__)
def test_conjugated_tensor_has_eagers_bits(program):
    z = torch.randn(3, 3, dtype=torch.complex64)
    compiled = lect.compile(program)
    for _ in range(2):
        found, wanted = compiled(z), program(z)
        assert flags(found) == flags(wanted)
        torch.testing.assert_close(found, wanted)


def test_fused_optimizer_step_is_left_to_torch_by_name():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(3, 2) for _ in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())
    optimizers = [torch.optim.Adam(layer.parameters(), 0.01, fused=True) for layer in layers]
    steps = [optimizers[0].step, lect.compile(lambda: optimizers[1].step())]
    for _ in range(3):
        for layer, optimizer, step in zip(layers, optimizers, steps):
            optimizer.zero_grad()
            layer(torch.ones(2, 3)).sum().backward()
            step()
    for one, other in zip(*[layer.parameters() for layer in layers]):
        torch.testing.assert_close(one, other)
    assert not [event for event in lect.events() if "internal error" in str(event) and "fused" in str(event)]
