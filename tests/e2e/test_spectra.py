"""Fourier transforms, spectrograms and decompositions: layouts that the library decides, complex numbers in between, gradients, sizes that change; and
counts, tables and classes whose number the graph finds."""

import pytest
import torch
import torch.nn.functional as F

import lect
from tests.e2e.support import fallbacks, same

WINDOW = torch.hann_window(16)


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def unbroken(program, *calls):
    """Values, strides and gradients of some calls are eager's, without a break, a note or a fallback."""
    compiled = lect.compile(program)
    for args in calls:
        found = []
        for run in (program, compiled):
            given = [arg.detach().clone(memory_format=torch.preserve_format).requires_grad_(arg.requires_grad) for arg in args]
            result = run(*given)
            if any(arg.requires_grad for arg in given):
                result.sum().backward()
            found.append((result.detach(), result.stride(), *[arg.grad for arg in given]))
        torch.testing.assert_close(found[1], found[0], equal_nan=True)
        assert found[0][1] == found[1][1]
    assert fallbacks() == []
    assert lect.events("graph break", "note") == []


def spectrogram(x):
    found = torch.stft(x, 16, 4, window=WINDOW, return_complex=True)
    return torch.view_as_real(found).pow(2).sum(-1).clamp(min=1e-10).log10()


def there_and_back(x):
    found = torch.stft(x, 16, 4, window=WINDOW, return_complex=True)
    return torch.istft(found * 0.5, 16, 4, window=WINDOW, length=64)


def long_convolution(x):
    kernel = torch.ones(x.shape[-1])
    return torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(kernel), n=x.shape[-1])


def mixing(x):
    return F.gelu(torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real)


def phases(x):
    return torch.fft.fftshift(torch.fft.fft2(x)).abs() + torch.fft.fftfreq(x.shape[-1]) + torch.fft.rfftfreq(1)


def low_rank(x):
    u, s, v = torch.linalg.svd(x, full_matrices=False)
    return (u[..., :2] * s[..., None, :2]) @ v[..., :2, :]


PROGRAMS = [spectrogram, there_and_back, long_convolution, mixing, phases, low_rank]


@pytest.mark.parametrize("gradients", [pytest.param(False, marks=pytest.mark.slow), True], ids=["values", "gradients"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_are_one_graph_forward_and_backward(program, gradients):
    unbroken(program, *[(torch.randn(3, 64).requires_grad_(gradients),) for _ in range(2)])


LAYOUTS = [
    lambda: torch.randn(2, 6, 8),
    lambda: torch.randn(2, 8, 6).transpose(1, 2),
    lambda: torch.randn(6, 2, 8).transpose(0, 1),
    lambda: torch.randn(2, 6, 16)[..., ::2],
    lambda: torch.randn(1, 6, 8).expand(2, 6, 8),
]
TRANSFORMS = [
    lambda x, dims: torch.fft.rfftn(x, dim=dims),
    lambda x, dims: torch.fft.irfftn(x, dim=dims),
    lambda x, dims: torch.fft.fftn(x, dim=dims),
    lambda x, dims: torch.fft.ihfft(x, dim=dims[-1]),
]


DIMS = [(0,), (1,), (2,), (0, 2), (2, 0), (1, 0), (0, 1, 2)]


@pytest.mark.parametrize("transform", range(len(TRANSFORMS)), ids=["rfftn", "irfftn", "fftn", "ihfft"])
def test_results_lie_in_memory_as_eagers(transform):
    def program(*given):
        found = [TRANSFORMS[transform](x, dims) for x in given for dims in DIMS]
        return [(each, each.stride(), each.is_contiguous()) for each in found]

    given = [make() for make in LAYOUTS]
    same(program(*given), lect.compile(program)(*given))
    assert lect.events("graph break") == []


def test_sizes_of_spectrograms_are_symbols():
    unbroken(spectrogram, *[(torch.randn(2, size),) for size in (64, 72, 96, 130, 33)])
    assert len(lect.events("compile")) == 2


@pytest.mark.parametrize(("reduction", "quiet"), [("mean", False), ("sum", True), ("none", True)])
def test_the_loss_of_alignments_finds_the_size_of_its_table(reduction, quiet):
    def program(scores, targets, lengths, target_lengths):
        return F.ctc_loss(scores.log_softmax(2), targets, lengths, target_lengths, reduction=reduction, zero_infinity=quiet)

    def call(number):
        scores = torch.randn(10, 3, 6, requires_grad=True)
        return scores, torch.randint(1, 6, (3, 4)), torch.tensor([10, 8, 2]), torch.tensor([3, 2 + number, 1])

    unbroken(program, *[call(number) for number in range(3)])
    assert len(lect.events("compile")) == 1


def test_lengths_in_lists():
    def program(scores, targets):
        return F.ctc_loss(scores.log_softmax(2), targets, [10, 8], (3, 2))

    unbroken(program, (torch.randn(10, 2, 6, requires_grad=True), torch.randint(1, 6, (2, 4))))


@pytest.mark.parametrize("weights", [None, torch.float32, torch.float64, torch.int64], ids=str)
def test_counts_have_a_size_that_the_graph_finds(weights):
    def program(x, w):
        return torch.bincount(x, w) * 2, torch.bincount(x, minlength=9).float() / x.numel()

    compiled = lect.compile(program)
    for most in (3, 5, 20, 1):  # the last has one count only, which is run as written
        x = torch.randint(0, most, (30,))
        w = None if weights is None else torch.randn(30).mul(4).to(weights)
        same(program(x, w), compiled(x, w))
    assert lect.events("graph break") == [] and len(lect.events("compile")) == 1


def test_negative_values_are_not_counted():
    compiled = lect.compile(lambda x: torch.bincount(x) + 1)
    with pytest.raises(RuntimeError, match="non-negative"):
        compiled(torch.tensor([1, -1]))


def test_classes_that_are_counted_make_one_version():
    def program(x):
        return F.one_hot(x).float() * 2, F.one_hot(x, -1), F.one_hot(torch.tensor([0, 2])), F.one_hot(x.abs(), 9)

    compiled = lect.compile(program)
    for x in (torch.tensor([0, 3, 1]), torch.tensor([[0, 1], [6, 2]]), torch.tensor([4, 2, 0]), torch.tensor([0, 0, 0]), torch.tensor([7, 0, 1])):
        same(program(x), compiled(x))
    assert lect.events("graph break") == [] and len(lect.events("compile")) == 2  # one for each number of dims
    for wrong in (torch.tensor([-1, 3]), torch.tensor([], dtype=torch.int64)):
        with pytest.raises(RuntimeError) as eager:
            program(wrong)
        with pytest.raises(RuntimeError) as raised:
            compiled(wrong)
        assert str(raised.value) == str(eager.value)
