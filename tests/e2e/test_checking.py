"""`options={"check": "eager"}`: eager runs beside compiled graphs, and what is different is found, told and written down."""

import re

import pytest
import torch

import lect
from lect.passes import load_pass
from lect.runtime.checking import WrongValue
from lect.tools import lect_run

BUG = {"check": "eager", "seed_bug": "fusion"}


@pytest.fixture(autouse=True)
def trigger():
    """Who calls the compiler decides nothing of the check."""


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    from lect.runtime import entry
    from lect.runtime.failure_files import FailureFiles

    lect.reset()
    monkeypatch.setattr(entry.RUNTIME.log, "files", FailureFiles(str(tmp_path)))
    yield
    lect.reset()


def fused(x, y):
    return torch.softmax(x.sin() * y, -1).exp() + y.cos()


def told():
    return lect.events("wrong value", "not checked", "note", "fallback", "backward fallback")


def replayed(event, capsys):
    """Exit status and lines of the command that an event names."""
    assert event.replay == f"lect-run --run-reproducer {event.file}"
    capsys.readouterr()
    status = lect_run.main(["--run-reproducer", event.file])
    return status, capsys.readouterr().out


# ---- where nothing is wrong ------------------------------------------------------------------------------------------


def writes(x, y):
    x.mul_(y)
    x[0] = 1.0
    return x.t(), x + y


def with_number(x, n):
    return x * n, x.sum() / n


def views(x):
    return x[:, ::2], x.reshape(-1), x.expand(2, 4, 6)


def halves(x):
    return torch.softmax(x.half() * 3, -1).sum(0), (x.bfloat16() @ x.bfloat16().t())


def ints(x):
    i = (x * 10).to(torch.int64)
    return i // 3, i % 4, i > 0, i.sum()


PROGRAMS = [
    (fused, lambda: (torch.randn(4, 6), torch.randn(4, 6))),
    (writes, lambda: (torch.randn(4, 4), torch.randn(4, 4))),
    (with_number, lambda: (torch.randn(3), 3)),
    (with_number, lambda: (torch.randn(3), 0.5)),
    (views, lambda: (torch.randn(4, 6),)),
    (halves, lambda: (torch.randn(4, 6),)),
    (ints, lambda: (torch.randn(4, 6),)),
    (fused, lambda: (torch.empty(0, 6), torch.empty(0, 6))),
    (fused, lambda: (torch.tensor([[1.0, float("nan")], [float("inf"), -0.0]]), torch.ones(2, 2))),
    (fused, lambda: (torch.randn(6, 4).t(), torch.randn(4, 1).expand(4, 6))),
]


@pytest.mark.parametrize(("program", "make"), PROGRAMS, ids=[f"{program.__name__}-{number}" for number, (program, _) in enumerate(PROGRAMS)])
def test_right_graphs_pass(program, make):
    torch.manual_seed(1)
    args = make()
    want = program(*[value.clone() if isinstance(value, torch.Tensor) else value for value in args])
    f = lect.compile(program, options={"check": "eager"})
    got = f(*[value.clone() if isinstance(value, torch.Tensor) else value for value in args])
    torch.testing.assert_close(got, want, equal_nan=True)
    assert not told()


def scaled_in_place(x, w):
    h = x * w
    h.mul_(2.0)
    return h.relu().sum(), h


def two_losses(x, w):
    return (x @ w).sum(), (x * 2).tanh()


def losses_apart(x, w):
    return (w.exp() * 2).sum(), (x * x).sum()


@pytest.mark.parametrize(
    "program", [scaled_in_place, two_losses, losses_apart, lambda x, w: torch.softmax(x @ w, -1).log().mean()], ids=["in-place", "losses", "apart", "softmax"]
)
def test_right_training_steps_pass(program):
    x, w = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    results = lect.compile(program, options={"check": "eager"})(x, w)
    loss = results if isinstance(results, torch.Tensor) else sum(result.sum() for result in results)
    loss.backward()
    mine, x.grad, w.grad = (x.grad, w.grad), None, None
    results = program(x, w)
    (results if isinstance(results, torch.Tensor) else sum(result.sum() for result in results)).backward()
    torch.testing.assert_close(mine, (x.grad, w.grad))
    assert not told()


@pytest.mark.parametrize("layers", [1, 2, 3, 5])
def test_parameters_whose_gradients_come_in_the_order_of_eagers_engine(layers):
    """The node has its inputs in another order than the backward gives their gradients in; sizes tell most of them apart, values the rest."""
    net = torch.nn.Sequential(*[module for n in range(layers) for module in (torch.nn.Linear(3 + n % 2, 4 - n % 2), torch.nn.GELU())])
    x = torch.randn(4, 3, requires_grad=True)
    net(x).sum().backward()
    want = [x.grad, *[parameter.grad for parameter in net.parameters()]]
    net.zero_grad()
    x.grad = None
    lect.compile(net, options={"check": "eager"})(x).sum().backward()
    torch.testing.assert_close([x.grad, *[parameter.grad for parameter in net.parameters()]], want)
    assert not told()


def test_second_derivatives_of_several_parameters():
    x, w, v, b = (torch.randn(size, requires_grad=True) for size in ((4, 3), (3, 5), (5, 2), (2,)))

    def program(x, w, v, b):
        return ((x @ w).tanh() @ v + b).exp().sum()

    def seconds(function):
        firsts = torch.autograd.grad(function(x, w, v, b), (x, w, v, b), create_graph=True)
        return torch.autograd.grad(sum((first * first).sum() for first in firsts), (x, w, v, b))

    torch.testing.assert_close(seconds(lect.compile(program, options={"check": "eager"})), seconds(program))
    assert not told()


def test_two_losses_that_share_nothing():
    x, w = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    a, b = lect.compile(lambda x, w: (x.sin().sum(), w.tanh().sum()), options={"check": "eager"})(x, w)
    a.backward()
    b.backward()
    torch.testing.assert_close((x.grad, w.grad), (x.detach().cos(), 1 - w.detach().tanh() ** 2))
    assert not told()


def dropped(x):
    return torch.nn.functional.dropout(x, 0.5).sum()


def drawn(x):
    return x * torch.rand_like(x) + torch.randn(3, 4), torch.randint(0, 9, (5,)), torch.randperm(7), torch.bernoulli(x.sigmoid()), x.clone().uniform_(2, 3)


def drawn_in_halves(x):
    return torch.nn.functional.dropout(x.half(), 0.3), torch.randn_like(x.double()), torch.multinomial(x.abs() + 1, 2)


@pytest.mark.parametrize("rng", ["counter", "eager"])
@pytest.mark.parametrize("program", [dropped, drawn, drawn_in_halves])
def test_random_numbers(program, rng):
    x = torch.randn(3, 4)
    f = lect.compile(program, options={"check": "eager", "rng": rng})
    plain = lect.compile(program, options={"rng": rng})
    for seed in range(3):
        torch.manual_seed(seed)
        found = f(x.clone())
        torch.manual_seed(seed)
        torch.testing.assert_close(found, plain(x.clone()))  # the check draws nothing for itself
    assert not told()


def test_random_numbers_of_a_training_step():
    x, w = torch.randn(6, 6, requires_grad=True), torch.randn(6, 6, requires_grad=True)

    def program(x, w):
        return torch.nn.functional.dropout(torch.nn.functional.dropout(x @ w, 0.5).relu() * w, 0.2)

    f = lect.compile(program, options={"check": "eager"})
    for _ in range(2):
        f(x, w).sum().backward()
    assert not told()


def test_a_wrong_fusion_behind_random_numbers(capsys):
    def program(x):
        return torch.softmax(torch.nn.functional.dropout(x, 0.5).sin(), -1).exp() + torch.randn_like(x)

    with pytest.raises(WrongValue, match="results .* is loop-fuse-vertical"):
        lect.compile(program, options=BUG)(torch.randn(8, 16))
    (event,) = told()
    status, shown = replayed(event, capsys)
    assert status == 1 and "after loop-fuse-vertical" in shown


def test_random_numbers_that_torch_cannot_be_given(monkeypatch):
    from lect.runtime import checking

    monkeypatch.setattr(checking, "draws_of", lambda graph, options: ())
    lect.compile(dropped, options={"check": "eager"})(torch.ones(100))
    (event,) = told()
    assert event.kind == "not checked" and "numbers cannot be had again" in event.reason


def test_behind_a_graph_break_and_at_each_call():
    def program(x):
        y = x + 1
        print(end="")
        return y * 2

    f = lect.compile(program, options={"check": "eager"})
    for _ in range(2):
        x = torch.randn(3)
        assert torch.equal(f(x), (x + 1) * 2)
    assert not told()


# ---- where something is wrong ----------------------------------------------------------------------------------------


def test_a_wrong_fusion_is_found_and_replayed(capsys):
    x, y = torch.randn(8, 16), torch.randn(8, 16)
    with pytest.raises(WrongValue, match="fused: results .* the first pass behind which they do is loop-fuse-vertical"):
        lect.compile(fused, options=BUG)(x, y)
    (event,) = told()
    assert event.kind == "wrong value" and "loop-fuse-vertical" in event.where
    status, shown = replayed(event, capsys)
    assert status == 1 and re.search(r"after loop-fuse-vertical +loop.func +output 0: values differ", shown)
    text = open(event.file).read()
    assert "--random-inputs --seed 0" in text and "// inputs: " not in text


@pytest.mark.parametrize("grad", [False, True], ids=["results", "gradients"])
def test_a_wrong_fusion_of_a_graph_with_symbolic_sizes(capsys, grad):
    x, y = torch.randn(8, 16, requires_grad=grad), torch.randn(8, 16)
    compiled = lect.compile(lambda x, y: (fused(x, y) * x.sin()).exp().sum(0), dynamic=True, options=BUG)
    with pytest.raises(WrongValue, match="the first pass behind which they do is loop-fuse-vertical"):
        compiled(x, y).sum().backward()
    (event,) = told()
    status, shown = replayed(event, capsys)
    assert status == 1 and "after loop-fuse-vertical" in shown
    assert "symbols" in open(event.file).read()


def test_the_same_without_the_bug():
    lect.compile(fused, options={"seed_bug": "", "check": "eager"})(torch.randn(8, 16), torch.randn(8, 16))
    assert not told()


def test_a_wrong_backward_is_found_and_replayed(capsys, monkeypatch):
    def program(x):
        return torch.softmax(x.sin() * x, -1).exp().sum()

    from lect.runtime import training_compile

    parse = training_compile.PassManager.parse
    x = torch.randn(8, 16, requires_grad=True)
    y = lect.compile(program, options={"check": "eager"})(x)
    monkeypatch.setattr(training_compile.PassManager, "parse", lambda text: parse(text).configured({"seed_bug": "fusion"}))
    with pytest.raises(WrongValue, match="gradients of the compiled graph differ.* is loop-fuse-vertical"):
        y.backward()
    (event,) = told()
    assert replayed(event, capsys)[0] == 1


def kept_behind_a_norm(net, x, y):
    return ((torch.softmax(net(x) * 2, -1) - y) ** 2).sum(-1).mean()


def test_a_kept_value_that_is_wrong(capsys):
    """No result shows it, and the backward is right for what it is given."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4))
    loss = lect.compile(lambda x, y: kept_behind_a_norm(net, x, y), options=BUG)(torch.randn(8, 16), torch.rand(8, 4))
    with pytest.raises(WrongValue, match="gradients .* is loop-fuse-vertical"):
        loss.backward()
    (event,) = told()
    status, shown = replayed(event, capsys)
    assert status == 1 and re.search(r"after loop-fuse-vertical +loop.func +output \d+: values differ", shown)


def sine_for_cosine(op):
    """A pass that takes the gradient of a sine for a sine."""
    if op.name == "functional.cos":
        from lect.dialects.functional.pointwise import SinOp

        new = SinOp(op.operands[0])
        op.parent.insert_before(op, new)
        op.replace([new.result])


def test_a_wrong_backward_of_one_of_two_losses(capsys, monkeypatch):
    def program(x, w):
        return (x.sin() * 2).sum(), (torch.softmax(w.sin() * w, -1).exp()).sum()

    changed(monkeypatch, "cse", sine_for_cosine)
    x, w = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    first, second = lect.compile(program, options={"check": "eager"})(x, w)
    with pytest.raises(WrongValue, match="gradients .* is cse"):
        second.backward()
    (event,) = told()
    assert replayed(event, capsys)[0] == 1


@pytest.mark.parametrize("sizes", [(3, 5, 2), (4, 4, 4)], ids=["differ", "equal"])
def test_a_wrong_gradient_of_several_parameters(capsys, monkeypatch, sizes):
    changed(monkeypatch, "cse", sine_for_cosine)
    first, second, third = sizes
    w, b, v, c = (torch.randn(size, requires_grad=True) for size in ((first, second), (second,), (second, third), (third,)))
    loss = lect.compile(lambda x: ((x @ w + b).sin() @ v + c).sum(), options={"check": "eager"})(torch.randn(4, first))
    with pytest.raises(WrongValue, match="gradients .* is cse"):
        loss.backward()
    (event,) = told()
    assert replayed(event, capsys)[0] == 1


def test_options_of_passes_are_those_of_a_backward_too():
    def program(x):
        return torch.softmax(x.sin() * x, -1).exp().sum()

    x = torch.randn(8, 16, requires_grad=True)
    lect.compile(program, options={"seed_bug": "fusion"})(x).backward()
    wrong, x.grad = x.grad, None
    program(x).backward()
    assert not torch.allclose(wrong, x.grad)


def changed(monkeypatch, name, change):
    """Let a pass do something else, too."""
    kind = load_pass(name)
    run = kind.run

    def both(self, op, ctx):
        run(self, op, ctx)
        for inner in op.walk():
            change(inner)

    monkeypatch.setattr(kind, "run", both)


def test_inputs_are_written_where_random_ones_do_not_show_it(capsys, monkeypatch):
    def smaller(op):
        if op.name == "functional.clamp":
            op.attrs["high" if "high" in op.attrs else "max"] = 50.0

    changed(monkeypatch, "cse", smaller)
    with pytest.raises(WrongValue, match="is cse"):
        lect.compile(lambda x: x.clamp(-1000.0, 1000.0) * 2, options={"check": "eager"})(torch.randn(8) * 300)
    (event,) = told()
    assert "// inputs: " in open(event.file).read()
    status, shown = replayed(event, capsys)
    assert status == 1 and "after cse" in shown


def test_wrong_gradients_of_the_joint_graph(capsys, monkeypatch):
    changed(monkeypatch, "cse", sine_for_cosine)
    x = torch.randn(8, requires_grad=True)
    with pytest.raises(WrongValue, match="gradients .* is cse"):
        lect.compile(lambda x: x.sin() * 2, options={"check": "eager"})(x).sum().backward()
    (event,) = told()
    assert replayed(event, capsys)[0] == 1


def test_wrong_gradients_from_the_start(monkeypatch):
    def wrong(op):
        if op.name == "functional.neg":
            op.replace(op.operands)

    changed(monkeypatch, "fx-build-joint", wrong)
    x = torch.randn(8, requires_grad=True)
    with pytest.raises(WrongValue, match="gradients .* fx-build-joint makes wrong ones"):
        lect.compile(lambda x: x.cos() * 2, options={"check": "eager"})(x).sum().backward()


def test_wrong_native_code(capsys, monkeypatch):
    from lect.runtime import executable

    build = executable.build

    def wrong(*args, **kwargs):
        made = build(*args, **kwargs)
        made.native, run = None, made.run
        made.__dict__["program"] = type("Program", (), {"run": staticmethod(lambda *tensors: [value + 1 for value in run(*tensors)]), "text": ""})
        return made

    monkeypatch.setattr(executable, "build", wrong)
    with pytest.raises(WrongValue, match="the native code is wrong"):
        lect.compile(fused, options={"check": "eager"})(torch.randn(2, 3), torch.randn(2, 3))
    (event,) = told()
    status, shown = replayed(event, capsys)
    assert status == 1 and "native code against the reference interpreter: output 0" in shown


def test_an_edited_text_is_not_searched_in(tmp_path):
    x = torch.randn(3)

    def program(x):
        return x * 2.0

    lect.compile(program, options={"dump": tmp_path})(x)
    (path,) = tmp_path.glob("*program*/299-loop.mlir")
    path.write_text(path.read_text().replace("value = 2.0", "value = 3.0"))
    lect.reset()
    with pytest.raises(WrongValue, match="an edited text was used"):
        lect.compile(program, options={"override": tmp_path, "check": "eager"})(x)
