"""Programs of torch whose state is compared behind each call: transforms, modules, views, writes, gradients.

A program is called with what wraps a function (or leaves it), `call`, which notes what a call gives or raises, and `note`.
"""

import torch
import torch.nn.utils.parametrize as P
from torch import nn

import lect


@lect.disable
def cut(*args):
    """Where the graph breaks."""


def tensor(*numbers):
    return torch.tensor([float(number) for number in numbers])


def transforms(wrap, call, note):
    W = tensor(1, 2, 3)

    def f(x, n):
        g = torch.func.grad(lambda v: (v * W).pow(n).sum())
        h = torch.func.vmap(g)(x)
        j = torch.func.jacrev(torch.func.vmap(lambda v: v.cumsum(0)))(x)
        v, aux = torch.func.grad(lambda v: (v.sum() ** 2, v * 2), has_aux=True)(x)
        gv = torch.func.grad_and_value(lambda v: v.norm())(x)
        p, vj = torch.func.vjp(lambda v: (v.sin(), v.sum()), x)
        vv = vj((torch.ones_like(x), torch.tensor(2.0)))
        jv = torch.func.jvp(lambda a, b: a * b, (x, x), (torch.ones_like(x), x))
        vm = (
            torch.vmap(lambda a, b: a @ b, in_dims=(0, None), out_dims=1)(x, W)
            if False
            else torch.vmap(lambda a, b: a * b, in_dims=(0, None), out_dims=1)(x, W)
        )
        return h, j, v, aux, gv, p, vv, jv, vm, torch.vmap(torch.vmap(lambda a: a * n))(x)

    f = wrap(f)
    for n in (2, 3, 2):
        call(f, torch.randn(2, 3), n)


class Scaled(torch.autograd.Function):
    log = []

    @staticmethod
    def forward(ctx, x, w, k):
        ctx.save_for_backward(x, w)
        ctx.k = k
        ctx.set_materialize_grads(False)
        return x * w * k, x + 1

    @staticmethod
    def backward(ctx, g, g2):
        x, w = ctx.saved_tensors
        Scaled.log.append((ctx.needs_input_grad, g is None, g2 is None))
        gx = gw = None
        if ctx.needs_input_grad[0]:
            gx = (g * w * ctx.k if g is not None else 0) + (g2 if g2 is not None else 0)
        if ctx.needs_input_grad[1] and g is not None:
            gw = g * x * ctx.k
        return gx, gw, None


def functions_with_a_backward(wrap, call, note):
    def f(x, w, k):
        return Scaled.apply(x, w, k)

    f = wrap(f)
    for rx, rw, which in ((1, 1, 0), (1, 0, 0), (0, 1, 0), (1, 1, 1), (1, 0, 2), (1, 1, 2)):
        x = tensor(1, 2).requires_grad_(bool(rx))
        w = tensor(3, 4).requires_grad_(bool(rw))
        a, b = f(x, w, 2.0)
        l = {0: lambda: a.sum(), 1: lambda: b.sum(), 2: lambda: (a * b).sum()}[which]()
        if l.requires_grad:
            l.backward()
        note([x.grad, w.grad, a, b, list(Scaled.log)])
        Scaled.log.clear()


def attributes_that_a_module_makes_up(wrap, call, note):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.lin = nn.Linear(2, 2)
            s.extra = {"alpha": 2.0}

        def __getattr__(s, n):
            try:
                return super().__getattr__(n)
            except AttributeError:
                e = s.__dict__.get("extra", {})
                if n in e:
                    return e[n]
                raise

        def forward(s, x):
            r = s.lin(x) * s.alpha
            try:
                s.beta  # noqa: B018
            except AttributeError as er:
                msg = str(er)
            return r, msg, hasattr(s, "gamma"), getattr(s, "delta", 5)

    m = M()
    f = wrap(m)
    call(f, torch.ones(1, 2))
    m.extra["alpha"] = 3.0
    call(f, torch.ones(1, 2))
    m.extra["gamma"] = 1
    call(f, torch.ones(1, 2))
    m.alpha = 7.0
    call(f, torch.ones(1, 2))


def parametrizations(wrap, call, note):
    class Sym(nn.Module):
        def forward(s, X):
            return X.triu() + X.triu(1).T

        def right_inverse(s, A):
            return A.triu()

    m = nn.Linear(3, 3)
    P.register_parametrization(m, "weight", Sym())
    f = wrap(m)
    x = torch.ones(2, 3)
    call(f, x)
    with P.cached():
        call(f, x)
        call(f, x)
    m.weight = torch.ones(3, 3)
    call(f, x)
    f(x).sum().backward()
    note([p.grad for p in m.parameters()])
    P.remove_parametrizations(m, "weight")
    call(f, x)


def tied_weights(wrap, call, note):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.e = nn.Embedding(5, 4)
            s.o = nn.Linear(4, 5, bias=False)
            s.o.weight = s.e.weight

        def forward(s, i):
            return s.o(s.e(i))

    m = M()
    f = wrap(m)
    i = torch.tensor([0, 3])
    for _k in range(3):
        y = f(i)
        y.pow(2).sum().backward()
        note([y.detach(), m.e.weight.grad.clone()])
        with torch.no_grad():
            m.e.weight -= 0.1 * m.e.weight.grad
    m.o.weight = nn.Parameter(torch.ones(5, 4))
    y = f(i)
    y.sum().backward()
    note([y.detach(), m.o.weight.grad, m.e.weight.grad])


def hooks_that_change_things(wrap, call, note):
    m = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    log = []

    def pre(mod, a):
        log.append("pre")
        return (a[0] * 2,)

    def post(mod, a, o):
        log.append("post")
        o.add_(1)
        return

    hs = []

    def once(mod, a, o):
        log.append("once")
        hs[0].remove()
        return o * 3

    m[0].register_forward_pre_hook(pre)
    m[2].register_forward_hook(post)
    hs.append(m[1].register_forward_hook(once))
    f = wrap(m)
    for _k in range(3):
        call(f, torch.ones(1, 2))
        note(list(log))
        log.clear()
        note(len(m[1]._forward_hooks))
    h = m[0].register_forward_hook(lambda mod, a, kw, o: o * kw.get("s", 2), with_kwargs=True)
    call(f, torch.ones(1, 2))
    h.remove()
    call(f, torch.ones(1, 2))


def modes_in_generators(wrap, call, note):
    def g(x):
        with torch.no_grad():
            yield x * 2, torch.is_grad_enabled()
            with torch.enable_grad():
                yield x * 3, torch.is_grad_enabled()
        yield x * 4, torch.is_grad_enabled()

    def f(x):
        out = []
        for a, e in g(x):
            out.append((a, e, torch.is_grad_enabled(), a.requires_grad))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x.view(1, 2) @ x.view(2, 1)
            with torch.autocast("cpu", enabled=False):
                z = x.view(1, 2) @ x.view(2, 1)
        return out, y, z, torch.is_autocast_enabled("cpu")

    f = wrap(f)
    for i in range(3):
        call(f, tensor(1, i).requires_grad_(i < 2))


@torch.no_grad()
def without_gradients(x):
    yield x * 2, torch.is_grad_enabled()
    yield x * 3, torch.is_grad_enabled()


def a_decorated_generator(wrap, call, note):
    def f(x):
        return [(a, b, torch.is_grad_enabled()) for a, b in without_gradients(x)]

    f = wrap(f)
    for i in range(3):
        call(f, tensor(1, i).requires_grad_(i < 2))


def swapped_parameters(wrap, call, note):
    m = nn.Linear(3, 3)
    f = wrap(m)
    x = torch.ones(2, 3)
    for _i in range(2):

        def step():
            f(x).sum().backward()

        call(step)
    m.weight.grad = None
    t = nn.Parameter(torch.full((3, 3), 2.0))
    call(torch.utils.swap_tensors, m.weight, t)
    call(f, x)
    note(m.weight)
    note(t)


def identities_of_results(wrap, call, note):
    def f(x, l, d):
        y = x + 0
        l.append(x)
        l.append(y)
        d["x"] = x
        d["y"] = y
        v = y[0:1]
        d["v"] = v
        y.add_(1)
        return x, y, v, x.view(-1), l

    f = wrap(f)
    for i in range(3):
        x = tensor(1, i)
        l = []
        d = {}
        r = f(x, l, d)
        note(
            [
                r[0] is x,
                l[0] is x,
                l[1] is r[1],
                d["y"] is r[1],
                d["v"] is r[2],
                r[2].data_ptr() == r[1].data_ptr(),
                r[3].data_ptr() == x.data_ptr(),
                r[4] is l,
                list(d),
            ]
        )
        r[1].mul_(5)
        note(r[2].clone())


def writes_through_views(wrap, call, note):
    def f(x):
        a = x[1:]
        b = a.view(-1)
        x.mul_(2)
        a[0] = 7
        b.add_(x[:-1])
        x[x > 5] = -1
        x.t_() if x.dim() == 2 else None
        return a, b, x.sum()

    f = wrap(f)
    for i in range(3):
        x = torch.arange(4.0) + i
        call(f, x)
        note(x)
        note(x._version)


def state_of_modules(wrap, call, note):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.register_buffer("n", torch.zeros(1))
            s.calls = 0
            s.l = nn.Linear(2, 2)
            s.hist = []
            s.cache = None

        def forward(s, x):
            s.calls += 1
            s.n += 1
            s.n.mul_(2)
            s.hist.append(x.shape[0])
            if s.cache is None:
                s.cache = x.sum()
            if not hasattr(s, "late"):
                s.register_buffer("late", torch.ones(1) * s.calls)
            s.extra = nn.Identity() if s.calls == 2 else getattr(s, "extra", None)
            return s.l(x) * s.n * s.late + s.cache

    m = M()
    f = wrap(m)
    for i in range(4):
        call(f, torch.ones(i + 1, 2))
        note(dict(m.state_dict()))
        note([m.calls, list(m.hist), m.cache, list(m._modules), list(m._buffers)])
    m.eval()
    call(f, torch.ones(1, 2))
    m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()})
    call(f, torch.ones(1, 2))
    m.double()
    call(f, torch.ones(1, 2).double())


def steps_of_an_optimizer(wrap, call, note):
    m = nn.Linear(2, 1)
    o = torch.optim.AdamW(m.parameters(), lr=0.1)

    def st(x):
        o.zero_grad(set_to_none=True)
        l = m(x).pow(2).mean()
        l.backward()
        n = torch.nn.utils.clip_grad_norm_(m.parameters(), 0.5)
        for g in o.param_groups:
            g["lr"] *= 0.9
        o.step()
        return l.detach(), n

    st = wrap(st)
    for i in range(4):
        call(st, torch.ones(2, 2) * (i + 1))
        note([p.detach().clone() for p in m.parameters()])
        note(o.param_groups[0]["lr"])
        note([s["exp_avg"].clone() for s in o.state.values()])


def results_in_given_tensors(wrap, call, note):
    def f(x, o):
        torch.add(x, 1, out=o)
        torch.mul(x, 2, out=o[:1] if False else o)
        y = torch.empty(0)
        torch.exp(x, out=y)
        return y, o, torch.cumsum(x, 0, out=torch.empty(2))

    f = wrap(f)
    for i in range(3):
        o = torch.zeros(2)
        call(f, tensor(1, i), o)
        note(o)


def sizes_in_the_data(wrap, call, note):
    def f(x):
        i = x.nonzero()
        m = x[x > 0]
        u, c = x.unique(return_counts=True)
        w = torch.where(x > 0)
        s = m.sum()
        return i, m * 2, u, c, w, s, m.shape[0], torch.masked_select(x, x < 0)

    f = wrap(f)
    for v in ([1.0, -1, 0], [1.0, 2, 3], [-1.0, -1, -1], [0.0, 0, 0]):
        call(f, torch.tensor(v))


def items_that_are_set(wrap, call, note):
    def f(x, i, v):
        x = x.clone()
        x[i] = v
        x[..., 0] += 1
        x[[0, 1], [1, 0]] = 9
        x[x == 9] = v
        x[:, 1:] *= 2
        y = x.index_put((torch.tensor([0, 0]), torch.tensor([0, 0])), torch.tensor([1.0, 2.0]), accumulate=True)
        return x, y

    f = wrap(f)
    for i in (0, -1, torch.tensor(1), slice(None)):
        call(f, torch.arange(6.0).view(2, 3), i, 3.5)


def attributes_of_tensors(wrap, call, note):
    def f(x):
        x.tag = "t"
        y = x * 2
        y.meta = {"a": 1}
        z = y
        z.meta["b"] = 2
        return y, y.meta, hasattr(y, "tag"), x.tag

    f = wrap(f)
    for i in range(3):
        x = tensor(1, i)
        r = f(x)
        note(r[0].meta)
        note(x.tag)
        note(r[1:])


def gradients_by_hand(wrap, call, note):
    w = tensor(1, 2).requires_grad_()

    def f(x):
        y = (w * x).sum()
        (g,) = torch.autograd.grad(y, w, create_graph=False)
        w.grad = g if w.grad is None else w.grad + g
        with torch.no_grad():
            w.sub_(w.grad * 0.1)
        return y.detach(), w.is_leaf, w.grad is not None

    f = wrap(f)
    for i in range(4):
        call(f, tensor(i, 1))
        note(w.grad.clone())
        note(w.detach().clone())


def complex_numbers_and_integers(wrap, call, note):
    def f(x, i):
        c = torch.complex(x, x)
        return (
            c * c.conj(),
            c.abs(),
            torch.view_as_real(c),
            i // 2,
            i % 3,
            i >> 1,
            i << 2,
            ~i,
            i / 2,
            (i.float() * 1e10).int() if False else i,
            torch.iinfo(torch.int8).max,
            i.to(torch.int8) * 100,
            -i,
            i.bool(),
            i**2,
            (c @ c.conj()).real,
        )

    f = wrap(f)
    for k in range(3):
        call(f, tensor(1, -k), torch.tensor([-5, 7 + k]))


PROGRAMS = [each for each in list(globals().values()) if type(each) is type(cut) and each.__code__.co_varnames[:3] == ("wrap", "call", "note")]
