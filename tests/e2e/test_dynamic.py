"""Sizes that change from call to call: one version for many sizes, and eager's values for each of them."""

import re
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

import lect
from tests.e2e.support import same

LEVEL = {"level": "functional"}  # what is tested here ends where the functional level begins


def compiled_with(fn, **options):
    return lect.compile(fn, options={**LEVEL, **options.pop("options", {})}, **options)


def versions():
    return sum(event.kind == "compile" for event in lect.events())


def static_sizes():
    return [event.text() for event in lect.events() if event.kind == "static sizes"]


def check(fn, inputs, **options):
    """Run a function on each tuple of inputs, compiled and not; how many versions there are then."""
    compiled = compiled_with(fn, **options)
    for given in inputs:
        same(fn(*given), compiled(*given))
    return versions()


def rows(*sizes, columns=8):
    return [(torch.randn(size, columns),) for size in sizes]


@pytest.fixture(autouse=True)
def _clean():
    lect.reset()
    yield
    lect.reset()


# ---- which sizes are symbols -----------------------------------------------------------------------------------------


def test_second_size_makes_the_dim_dynamic():
    assert check(lambda x: (x * 2).softmax(-1), rows(5, 7, 9, 2, 3, 64, 11)) == 2
    (event,) = [event for event in lect.events() if event.kind == "recompile"]
    assert event.sizes == ('L["x"]:size(0) was 5 and is 7',)
    assert "dynamic from now on" in event.text()


def test_dynamic_from_the_first_call():
    assert check(lambda x: x.sum(0) + x, rows(5, 7, 9), dynamic=True) == 1


def test_never_dynamic():
    assert check(lambda x: x + 1, rows(5, 7, 9), dynamic=False) == 3


def test_sizes_zero_and_one_have_versions_of_their_own():
    assert check(lambda x: x.softmax(0) + x[:1], rows(5, 7, 1, 9, 1)) == 3
    lect.reset()
    assert check(lambda x: x * 2, rows(5, 7, 0, 9, 0)) == 3


def test_marked_dim_is_dynamic_from_the_first_call():
    compiled = compiled_with(lambda x: x * 2)
    for size in (4, 6, 9):
        x = torch.randn(size, 3)
        lect.mark_dynamic(x, 0)
        same(x * 2, compiled(x))
    assert versions() == 1


def test_marks_of_other_compilers_are_read():
    compiled = compiled_with(lambda x: x * 2)
    for size in (4, 6, 9):
        x = torch.randn(size, 3)
        x._dynamo_dynamic_indices = {0}
        same(x * 2, compiled(x))
    assert versions() == 1


def test_marked_range_is_guarded():
    fn = lambda x: x * 2  # noqa: E731
    compiled = compiled_with(fn)
    first = torch.randn(4, 3)
    lect.mark_dynamic(first, 0, min=2, max=8)
    for x in (first, torch.randn(8, 3), torch.randn(2, 3)):
        same(fn(x), compiled(x))
    assert versions() == 1
    x = torch.randn(9, 3)
    same(fn(x), compiled(x))
    assert versions() == 2


def test_static_dim_stays_static():
    compiled = compiled_with(lambda x: x * 2)
    for size in (4, 6, 9):
        x = torch.randn(size, 3)
        lect.mark_static(x, 0)
        same(x * 2, compiled(x))
    assert versions() == 3


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: lect.mark_dynamic([1], 0), TypeError),
        (lambda: lect.mark_dynamic(torch.ones(2), 1), IndexError),
        (lambda: lect.mark_dynamic(torch.ones(2), 0, min=3), ValueError),
        (lambda: lect.mark_dynamic(torch.ones(2), 0, min=3, max=2), ValueError),
        (lambda: lect.mark_static(torch.ones(2), -2), IndexError),
    ],
)
def test_wrong_marks_are_errors(call, error):
    with pytest.raises(error):
        call()


# ---- what the program does with sizes --------------------------------------------------------------------------------


def test_branch_on_a_size_is_guarded_with_its_line():
    def fn(x):
        if x.shape[0] > 10:
            return x * 2
        return x - 1

    assert check(fn, rows(5, 7, 9, 20, 30, 10, 11)) == 3
    (miss,) = [event for event in lect.events() if event.kind == "recompile" and "at most 10" in event.reason]
    assert re.search(r"test_dynamic\.py", miss.reason)


def test_a_size_that_is_compared_with_a_number_is_an_integer_for_that_number_alone():
    def fn(x):
        return x * 2 if x.shape[0] == 10 else x - 1

    assert check(fn, rows(10, 7, 9, 20, 10, 30, 11), dynamic=True) == 2


def test_a_size_of_one_that_comes_of_another_size_leaves_that_a_symbol():
    assert check(lambda x: x[1:] * 2, rows(2, 7, 9, 2, 20), dynamic=True) == 2
    lect.reset()
    assert check(lambda x: x[2:].sum(0), rows(5, 3, 9, 2, 7, 20, 3, 2)) == 4


def test_sizes_found_equal_are_one_symbol():
    def fn(x, y):
        return x + y

    pairs = [(torch.randn(n, 4), torch.randn(n, 4)) for n in (3, 5, 7, 2)]
    assert check(fn, pairs) == 2
    x, y = torch.randn(6, 4), torch.randn(1, 4)
    assert check(fn, [(x, y)]) == 3


def test_two_dims_that_change_together_and_are_found_equal():
    assert check(lambda a, b: (a + b, a * b.sum(0, keepdim=True)), [(torch.randn(n, n), torch.randn(n, n)) for n in (3, 4, 6, 9)]) == 2


def test_arithmetic_on_sizes():
    def fn(x):
        n, c = x.shape
        return x.view(n, 2, c // 2).transpose(0, 1).reshape(2 * n, -1)[: n + 1] * (n**-0.5) + n // 2

    assert check(fn, rows(4, 6, 8, 3, 5, 7)) == 2


def test_sizes_that_the_function_returns():
    def fn(x):
        return x * 2, x.shape[0], x.size(), x.numel() * 2, x.shape[:1] + (3,)

    assert check(fn, rows(4, 6, 9)) == 2


def test_new_tensors_of_dynamic_sizes():
    def fn(x):
        n = x.shape[0]
        return torch.zeros(n, 2), torch.arange(n), torch.full((n, n), 2.5), x.new_ones(n), torch.ones_like(x), torch.tril(torch.ones(n, n))

    assert check(fn, rows(4, 6, 9)) == 2


def test_a_loop_over_a_size_takes_its_value():
    def fn(x):
        total = x.sum(0)
        for number in range(x.shape[0]):
            total = total + x[number]
        return total

    assert check(fn, rows(4, 6, 3)) == 3
    assert any('L["x"]:size(0)' in text and "its value is needed" in text for text in static_sizes())


def test_a_size_as_a_key_or_text_takes_its_value():
    table = {4: 1.0, 6: 2.0, 3: 3.0}
    assert check(lambda x: x * table[x.shape[0]], rows(4, 6, 3)) == 3


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x[1:],
        lambda x: x[:-1] + x[1:],
        lambda x: x[:3].sum() + x[-1],
        lambda x: torch.cat([x, x[:2]]),
        lambda x: x.t().contiguous(),
        lambda x: x.flatten(),
        lambda x: x.unsqueeze(1).expand(-1, 3, -1),
        lambda x: x @ x.t(),
        lambda x: F.layer_norm(x, (8,)),
        lambda x: x.mean(0) + x.amax(0) + x.var(0),
        lambda x: x.cumsum(0),
        lambda x: torch.stack([x, x]),
        lambda x: x.split(4, 1)[1],
        lambda x: torch.where(x > 0, x, x.mean()),
        lambda x: x.repeat(2, 1),
        lambda x: x.flip(0),
        lambda x: x.argmax(0),
        lambda x: F.embedding(x.abs().long().clamp(max=7), torch.ones(8, 3)),
    ],
)
def test_operators_over_sizes(fn):
    assert check(fn, rows(5, 7, 4, 9, 12)) == 2, static_sizes()


def test_inputs_in_other_layouts():
    assert check(lambda x: x.t() * 2 + 1, [(torch.randn(8, n).t(),) for n in (5, 7, 9)]) == 2
    lect.reset()
    cache = torch.randn(2, 64, 4)
    assert check(lambda x: x.sum(1), [(cache[:, :n],) for n in (5, 7, 9, 11)]) == 2


def test_a_transposed_input_does_not_use_the_version_of_a_plain_one():
    fn = lambda x: (x * 2).reshape(-1)  # noqa: E731
    assert check(fn, [(torch.randn(4, 6),), (torch.randn(5, 7),), (torch.randn(9, 6).t(),)]) == 3


class Attention(torch.nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.norm = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = [part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in self.qkv(self.norm(x)).split(c, dim=2)]
        mask = torch.tril(torch.ones(t, t)).view(1, 1, t, t)
        scores = (q @ k.transpose(-2, -1)) * k.size(-1) ** -0.5
        weights = F.softmax(scores.masked_fill(mask == 0, float("-inf")), dim=-1)
        return x + self.out((weights @ v).transpose(1, 2).contiguous().view(b, t, c))


def test_attention_over_ten_lengths_and_batches():
    model = Attention().eval()
    inputs = [(torch.randn(b, t, 16),) for b, t in [(2, 5), (3, 7), (2, 9), (4, 4), (5, 12), (3, 2), (2, 33), (7, 6), (6, 6), (8, 3)]]
    with torch.no_grad():
        assert check(model, inputs) == 2


def test_scaled_dot_product_attention():
    def fn(x):
        q = x.view(x.shape[0], x.shape[1], 2, 8).transpose(1, 2)
        return F.scaled_dot_product_attention(q, q, q, is_causal=True)

    assert check(fn, [(torch.randn(b, t, 16),) for b, t in [(2, 5), (3, 7), (2, 9), (4, 4)]]) == 2


def test_an_operator_without_symbols_is_compiled_for_the_sizes_at_hand():
    def fn(x):
        return torch.corrcoef(x).sum() + x

    assert check(fn, rows(4, 6, 3)) == 3
    assert static_sizes()


def test_a_diagonal_of_any_length():
    assert check(lambda x: torch.diag(x[:, 0]) + 1, rows(4, 6, 3)) == 2, static_sizes()


def test_layer_norm_of_halves_behind_a_product_under_autocast():
    weight, scale = torch.randn(8, 8), torch.randn(8)

    def fn(x):
        with torch.autocast("cpu", torch.bfloat16):
            return torch.nn.functional.layer_norm(torch.nn.functional.gelu(x @ weight), (8,), scale, scale)

    assert check(fn, [(torch.randn(2, length, 8),) for length in (4, 6, 3)]) == 2, static_sizes()
    assert not [event for event in lect.events() if event.kind == "graph break"]


def test_a_size_as_a_factor_and_an_end():
    assert check(lambda x: (x * x.shape[0] + x.shape[0] // 2)[: x.shape[0] - 1] / x.size(0), rows(4, 6, 9, 5)) == 2, static_sizes()


def test_products_of_sizes_found_equal():
    def fn(x, y):
        return x.reshape(-1, 4) + y.reshape(-1, 1)

    assert check(fn, [(torch.randn(b, t, 4), torch.randn(b, t)) for b, t in ((2, 3), (3, 5), (4, 2), (5, 6))]) == 2, static_sizes()


@pytest.mark.parametrize("mapped", [
    lambda x: torch.vmap(lambda v: v * v.sum())(x),
    lambda x: torch.vmap(torch.vmap(lambda v: v * 2.0))(x),
    lambda x: torch.vmap(torch.vmap(lambda v: 1 + v / 3))(x),
    lambda x: torch.vmap(lambda v: v.sin() + v.shape[0], in_dims=1, out_dims=1)(x),
], ids=["rows", "elements", "elements-int", "columns"])  # fmt: skip
def test_a_length_that_vmap_maps_over(mapped):
    assert check(mapped, rows(5, 3, 7)) == 2, static_sizes()
    assert not static_sizes() and not [event for event in lect.events() if event.kind == "fallback"]


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("shapes", [
    lambda b, t: ((b, 3, t, 4), (b, 3, 4, t)),
    lambda b, t: ((b, 3, t, 4), (3, 4, t)),
    lambda b, t: ((b, 1, t, 4), (3, 4, 5)),
    lambda b, t: ((b, 3, t, 4), (4, 5)),
    lambda b, t: ((b, t, 4), (4,)),
    lambda b, t: ((t,), (b, t, 4)),
    lambda b, t: ((t, 4), (b, 4, t)),
    lambda b, t: ((4, t), (b, t, 3)),
], ids=["4x4", "4x3", "4x3-broadcast", "4x2", "3x1", "1x3", "2x3", "2x3-fixed"])  # fmt: skip
def test_products_of_all_ranks_keep_their_sizes_symbolic(shapes, trained):
    def program(x, y):
        return (x @ y) * 2

    sizes = [(2, 5), (3, 7), (6, 9), (4, 2)]
    assert check(program, [tuple(torch.randn(shape, requires_grad=trained) for shape in shapes(b, t)) for b, t in sizes]) == 2


# ---- what a person is told -------------------------------------------------------------------------------------------


def told(*kinds):
    return [event.text() for event in lect.events(*kinds)]


def test_text_of_a_size_outside_of_its_mark():
    compiled = compiled_with(lambda x: x * 2)
    x = torch.randn(4, 3)
    lect.mark_dynamic(x, 0, min=2, max=8)
    compiled(x), compiled(torch.randn(9, 3))
    (text,) = told("guard miss")
    wanted = r'L\["x"\]\.size\(0\): expected at least 2 and at most 8, as marked by mark_dynamic\(min=2, max=8\) at \S+test_dynamic\.py:\d+, found 9'
    assert re.search(wanted, text), text


def test_text_of_a_size_that_takes_another_branch():
    def fn(x):
        return x * 2 if x.shape[0] * 3 > 30 else x - 1

    compiled = compiled_with(fn, dynamic=True)
    compiled(torch.randn(4, 3)), compiled(torch.randn(11, 3))
    (text,) = told("guard miss")
    assert re.search(r'L\["x"\]\.size\(0\): expected at least 2 and at most 10, found 11 \(asked for at \S+test_dynamic\.py:\d+:\d+\)', text), text


def test_text_of_sizes_zero_and_one():
    compiled = compiled_with(lambda x: x * 2, dynamic=True)
    compiled(torch.randn(4, 3)), compiled(torch.randn(1, 3))
    assert "expected at least 2, as sizes 0 and 1 have versions of their own, found 1" in told("guard miss")[0]


@pytest.mark.parametrize(
    ("fn", "reason", "hint"),
    [
        (lambda x: x * len(range(x.shape[0])), "its value is needed", "range()"),
        (lambda x: x * {4: 2.0}[x.shape[0]], "its value is needed", "a key"),
        (lambda x: x + torch.ones(4, 1), "s0 == 4 holds for it", "torch._check"),
        (lambda x: torch.corrcoef(x), "torch.corrcoef needs it", "outside of the compiled function"),
    ],
)
def test_text_of_a_marked_size_that_is_fixed(fn, reason, hint):
    compiled = compiled_with(fn)
    x = torch.randn(4, 3)
    lect.mark_dynamic(x, 0)
    same(fn(x), compiled(x))
    (text,) = told("static sizes")
    assert re.match(r'L\["x"\]:size\(0\) is compiled as at hand, 4, though the program says mark_dynamic\(\) at \S+test_dynamic\.py:\d+: ', text), text
    assert reason in text and hint in text and text.count("test_dynamic.py") == 2, text


def test_text_of_a_check_that_does_not_hold():
    def fn(x):
        torch._check(x.shape[0] <= 20, lambda: f"at most 20, got {x.shape[0]}")
        return x * 2

    compiled = compiled_with(fn, dynamic=True)
    compiled(torch.randn(4, 3))
    with pytest.raises(RuntimeError, match="^at most 20, got 21$"):
        compiled(torch.randn(21, 3))
    assert re.search(r"expected at least 2 and at most 20, found 21 \(asked for at \S+test_dynamic\.py:\d+:\d+\)", told("guard miss")[0])


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: torch.cat(x.chunk(2)),
        lambda x: torch.cat(x.split(8)),
        lambda x: F.pad(x, (1, 2)) + F.pad(x, (0, 0, -1, -1)).sum(),
        lambda x: x.roll(1, 0),
        lambda x: torch.eye(x.shape[0]) @ x,
        lambda x: x.unfold(0, 2, 1).sum(-1),
        lambda x: x.long() // 3,
        lambda x: F.normalize(x) + x.std(0),
        lambda x: F.nll_loss(x, torch.zeros(x.shape[0], dtype=torch.long)),
        lambda x: x * len(x),
    ],
)
def test_more_operators_over_sizes(fn):
    assert check(fn, rows(15, 12, 14, 16), dynamic=True) == 1, static_sizes()


def test_only_the_size_that_is_needed_is_fixed():
    fn = lambda x: torch.stack([x[:, place] for place in range(x.shape[1])])  # noqa: E731
    assert check(fn, [(torch.randn(n, 8),) for n in (5, 7, 9)], dynamic=True) == 1
    assert [text.partition(" ")[0] for text in static_sizes()] == ['L["x"]:size(1)']


WITHOUT_ALGEBRA = """
import sys
import torch, lect
import torch.nn.functional as F

def fn(x, w):
    torch._check(x.shape[0] > 1)
    y = F.layer_norm(x @ w, (w.shape[1],)).softmax(-1)
    return F.cross_entropy(y, torch.zeros(x.shape[0], dtype=torch.long)) + y.std() + x[x > 0].sum()

for dynamic in (False, None, True):
    compiled = lect.compile(fn, dynamic=dynamic)
    for size in (6, 9):
        compiled(torch.rand(size, 8, requires_grad=True), torch.rand(8, 5)).backward()
print([name for name in ("sympy", "torch.fx.experimental.symbolic_shapes", "torch._dynamo") if name in sys.modules])
"""


def test_no_symbolic_algebra_is_imported():
    run = subprocess.run([sys.executable, "-c", WITHOUT_ALGEBRA], capture_output=True, text=True, timeout=300, check=False)
    assert run.stdout.strip() == "[]", run.stderr


DIVIDED = {
    "view": lambda x: x.view(-1, 4) + 1,
    "half": lambda x: (x[:, : x.shape[1] // 2] * x[:, x.shape[1] // 2 :]).sum(-1),
    "chunk": lambda x: [part + 1 for part in x.chunk(2, -1)],
    "heads": lambda x: x.view(x.shape[0], 4, x.shape[1] // 4).transpose(0, 1).softmax(-1),
    "numbers": lambda x: x.view(-1, 4) * (x.shape[0] * x.shape[1] // 4) + x.shape[1],
}


@pytest.mark.parametrize("name", DIVIDED)
def test_a_size_that_is_divided_without_a_rest_is_a_symbol_times_a_number(name):
    """One version for all multiples: a guard says that there is no rest."""
    compiled = lect.compile(DIVIDED[name], dynamic=True)
    for rows, columns in ((8, 12), (16, 20), (12, 8), (20, 24), (8, 16)):
        x = torch.randn(rows, columns)
        torch.testing.assert_close(compiled(x), DIVIDED[name](x))
    assert len(lect.events("compile")) == 1
    assert not lect.events("static sizes", "fallback")


def test_a_size_that_leaves_a_rest_has_a_version_of_its_own():
    def program(x):
        return x.view(-1, 2) * 2 if x.shape[0] % 2 == 0 else x * 3

    compiled = lect.compile(program, dynamic=True)
    for rows in (8, 9, 6, 3, 12, 7):
        x = torch.randn(rows, 5)
        torch.testing.assert_close(compiled(x), program(x))
    assert len(lect.events("compile")) == 2
    x = torch.randn(4, 6)
    with pytest.raises(RuntimeError, match="invalid for input of size"):
        lect.compile(lambda x: x.view(-1, 5), dynamic=True)(x)


IMAGE = (2, 3, 0, 0)  # a size of 0 is that of the call
OF_ANY_SIZE = {
    "nearest": (lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), IMAGE),
    "bilinear to twice the size": (lambda x: F.interpolate(x, size=(x.shape[2] * 2, x.shape[3] * 2), mode="bilinear"), IMAGE),
    "cov": (lambda x: torch.cov(x), (0, 0)),
    "cov with a correction": (lambda x: torch.cov(x, correction=0), (0, 0)),
    "vander": (lambda x: torch.vander(x[0], 3), (0, 0)),
    "vander increasing": (lambda x: torch.vander(x[0], 4, increasing=True), (0, 0)),
    "topk": (lambda x: x.topk(3, -1).values, (0, 0)),
    "kthvalue": (lambda x: x.kthvalue(3, -1).indices, (0, 0)),
    "unfold": (lambda x: x.unfold(1, 3, 1).sum(-1), (0, 0)),
}


@pytest.mark.parametrize("name", OF_ANY_SIZE)
def test_operators_with_a_form_for_all_sizes(name):
    program, shape = OF_ANY_SIZE[name]
    compiled = lect.compile(program, dynamic=True)
    for rows, columns in ((8, 12), (5, 7), (16, 9)):
        sizes = iter((rows, columns))
        x = torch.randn([size or next(sizes) for size in shape])
        torch.testing.assert_close(compiled(x), program(x))
    assert len(lect.events("compile")) == 1
    assert not lect.events("static sizes", "fallback")
