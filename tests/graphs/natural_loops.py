"""Programs as people write them, that recordings must not disturb: none marks a step or clones a result.

Each is called with `wrap`, which compiles a function or gives it back, and a device; it gives the tensors that it ends with, also those that it has kept for long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

STEPS = 9
Wrap = Callable[[Any], Any]
LOOPS: dict[str, Callable[[Wrap, str], list[torch.Tensor]]] = {}


def loop(program: Callable[[Wrap, str], list[torch.Tensor]]) -> Callable[[Wrap, str], list[torch.Tensor]]:
    """Put a program into the table."""
    LOOPS[program.__name__] = program
    return program


def model(device: str, seed: int = 0) -> nn.Module:
    """A small network, always with the same weights for the same seed."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)).to(device)


def batch(number: int, device: str, rows: int = 4) -> torch.Tensor:
    """Input `number`, always the same."""
    return torch.randn(rows, 8, generator=torch.Generator().manual_seed(100 + number)).to(device)


def gradients(net: nn.Module) -> list[torch.Tensor]:
    """Copies of the gradients."""
    return [each.grad.clone() for each in net.parameters() if each.grad is not None]


def descend(net: nn.Module, rate: float = 0.05) -> None:
    """A step of gradient descent in place."""
    with torch.no_grad():
        for each in net.parameters():
            each -= rate * each.grad


@loop
def loss_and_backward(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(net), []
    for step in range(STEPS):
        net.zero_grad()
        loss = run(batch(step, device)).square().mean()
        loss.backward()
        found.append(loss.detach())
        descend(net)
    return [*found, *net.parameters()]


@loop
def loss_inside(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, losses = wrap(lambda x: F.mse_loss(net(x), x)), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for step in range(STEPS):
        loss = run(batch(step, device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return [*[each.detach() for each in losses], *net.parameters()]


@loop
def outputs_in_a_list(wrap: Wrap, device: str) -> list[torch.Tensor]:
    run, kept = wrap(model(device)), []
    with torch.no_grad():
        for step in range(2 * STEPS):
            kept.append(run(batch(step, device)))
    return kept


@loop
def output_fed_back(wrap: Wrap, device: str) -> list[torch.Tensor]:
    run, kept = wrap(model(device)), []
    with torch.no_grad():
        x = batch(0, device)
        for step in range(STEPS):
            x = run(x)
            if step % 3 == 0:
                kept.append(x)
    return [x, *kept]


@loop
def fed_back_with_gradients(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(net), []
    for _ in range(4):
        x = batch(0, device)
        for _ in range(3):
            x = run(x)
        net.zero_grad()
        x.square().mean().backward()
        found += gradients(net)
    return found


@loop
def gradients_accumulated(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(net), []
    for step in range(2 * STEPS):
        run(batch(step, device)).square().mean().backward()
        found += gradients(net) if step % 5 == 4 else []
        if step % 5 == 4:
            net.zero_grad()
    return found + gradients(net)


@loop
def gradients_set_to_zero(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(net), []
    for step in range(STEPS):
        net.zero_grad(set_to_none=False)
        run(batch(step, device)).square().mean().backward()
        found += gradients(net)
    return found


@loop
def gradients_kept(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, kept = wrap(net), []
    for step in range(STEPS):
        net.zero_grad()
        run(batch(step, device)).square().mean().backward()
        kept += [each.grad for each in net.parameters()]
    return kept


@loop
def two_models_interleaved(wrap: Wrap, device: str) -> list[torch.Tensor]:
    first, second = model(device, 1), model(device, 2)
    a, b, found = wrap(first), wrap(second), []
    for step in range(STEPS):
        x = batch(step, device)
        one = a(x)
        two = b(x)
        three = b(one)
        (one.mean() + two.square().mean() + a(three).mean()).backward()
        found += [one.detach(), two.detach(), three.detach()]
    return found + gradients(first) + gradients(second)


@loop
def compiled_calls_nested(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    inner = wrap(net)

    def outer(x: torch.Tensor) -> torch.Tensor:
        return inner(x * 2).relu() + inner(x)

    run, found = wrap(outer), []
    for step in range(STEPS):
        net.zero_grad()
        y = run(batch(step, device)) + inner(batch(step + 1, device))
        y.square().mean().backward()
        found += [y.detach(), *gradients(net)]
    return found


@loop
def outputs_deleted_early(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(net), []
    for step in range(STEPS):
        y = run(batch(step, device))
        loss = y.square().mean()
        del y
        z = run(batch(step + 1, device))
        if step % 2:
            del z
        loss.backward()
        del loss
        found += gradients(net)
    return found


@loop
def exception_before_the_backward(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(net), []
    for step in range(STEPS):
        net.zero_grad()
        with suppress(ValueError):
            y = run(batch(step, device))
            if step % 3 == 1:
                raise ValueError("between forward and backward")
            y.square().mean().backward()
            found += gradients(net)
        found.append(y.detach())
    return found


@loop
def views_of_outputs(wrap: Wrap, device: str) -> list[torch.Tensor]:
    run, kept = wrap(lambda x: (x @ x.t()).relu() + 1), []
    for step in range(2 * STEPS):
        kept.append(run(batch(step, device, 6))[1:, ::2].t())
    return kept


@loop
def storages_of_outputs(wrap: Wrap, device: str) -> list[torch.Tensor]:
    run, kept = wrap(lambda x: x.exp() + 1), []
    for step in range(STEPS):
        kept.append(run(batch(step, device)).untyped_storage())
    return [torch.empty(0, device=device).set_(each, 0, (4, 8), (8, 1)) for each in kept]


@loop
def outputs_written_to(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(net), []
    for step in range(STEPS):
        with torch.no_grad():
            y = run(batch(step, device))
            y.mul_(step).add_(1)
            found.append(y[:2])
            y[2:].zero_()
        z = run(batch(step, device))
        z.mul_(2)
        z.mean().backward()
        found.append(z.detach())
    return found + gradients(net)


@loop
def shapes_that_change(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(net), []
    for step in range(3 * STEPS):
        y = run(batch(step, device, (4, 7, 5, 9)[step % 4 if step > 6 else 0]))
        y.square().mean().backward()
        found.append(y.detach())
    return found + gradients(net)


@loop
def inputs_written_to(wrap: Wrap, device: str) -> list[torch.Tensor]:
    def count(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        state.mul_(0.5).add_(x.mean(0))
        return x * state

    run, state, found = wrap(count), torch.zeros(8, device=device), []
    for step in range(2 * STEPS):
        if step == STEPS:
            state = torch.ones(8, device=device)
        found += [run(batch(step, device), state), state.clone(), torch.tensor(float(state._version))]
        state.add_(1)
    return found


@loop
def inputs_changed_between(wrap: Wrap, device: str) -> list[torch.Tensor]:
    run, x, found = wrap(lambda x: (x @ x.t()).sin()), batch(0, device), []
    for _ in range(STEPS):
        found.append(run(x))
        x.add_(0.125)
    return found


@loop
def parameters_assigned(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(net), []
    for step in range(2 * STEPS):
        if step % 4 == 3:
            net[0].weight = nn.Parameter(torch.full((16, 8), 0.01 * step, device=device))
        if step % 6 == 5:
            net[2].bias.data = torch.full((8,), 0.5 * step, device=device)
        net.zero_grad()
        y = run(batch(step, device))
        y.square().mean().backward()
        found += [y.detach(), *gradients(net)]
    return found


@loop
def buffers_of_batch_norm(wrap: Wrap, device: str) -> list[torch.Tensor]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU()).to(device)
    run, found = wrap(net), []
    for step in range(STEPS):
        net.zero_grad()
        run(batch(step, device)).square().mean().backward()
        found += [net[1].running_mean.clone(), net[1].num_batches_tracked.clone(), *gradients(net)]
    return found


@loop
def graph_retained(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(net), []
    for step in range(STEPS):
        net.zero_grad()
        y = run(batch(step, device))
        loss = y.square().mean()
        loss.backward(retain_graph=True)
        run(batch(step + 1, device))
        loss.backward()
        found += [y.detach(), *gradients(net)]
    return found


@loop
def backwards_in_another_order(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(net), []
    for step in range(STEPS):
        net.zero_grad()
        losses = [run(batch(3 * step + number, device)).square().mean() for number in range(3)]
        losses[2].backward()
        losses[0].backward()
        found += gradients(net)
        losses[1].backward()
        found += gradients(net)
    return found


@loop
def outputs_that_are_inputs(wrap: Wrap, device: str) -> list[torch.Tensor]:
    run, found = wrap(lambda x, y: (x.t(), y, x + y, (x + y)[1:])), []
    for step in range(STEPS):
        x, y = batch(step, device), batch(step + 1, device)
        turned, same, total, part = run(x, y)
        x.zero_()
        y.add_(1)
        found += [turned, same, total.clone(), part.mul_(3), total]
    return found


@loop
def numbers_that_change(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(lambda x, scale, shift: net(x) * scale + shift), []
    for step in range(2 * STEPS):
        y = run(batch(step, device), 0.5 * step, step)
        y.mean().backward()
        found.append(y.detach())
    return found + gradients(net)


@loop
def parts_of_one_tensor(wrap: Wrap, device: str) -> list[torch.Tensor]:
    run, whole, found = wrap(lambda x: x.cos() * 2), torch.cat([batch(step, device) for step in range(STEPS)]), []
    for step in range(STEPS):
        found.append(run(whole[4 * step : 4 * step + 4]))
    for step in range(STEPS):
        found.append(run(whole.view(-1)[step : step + 32].view(4, 8)))
    return found


@loop
def modes_in_turn(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, found = wrap(net), []
    for step in range(2 * STEPS):
        x = batch(step, device)
        if step % 3 == 0:
            with torch.inference_mode():
                found.append(run(x).clone())
        elif step % 3 == 1:
            with torch.no_grad():
                found.append(run(x))
        else:
            run(x).mean().backward()
    return [each.clone() for each in found] + gradients(net)


@loop
def threads(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run = wrap(net)
    found: list[list[torch.Tensor]] = [[] for _ in range(3)]

    def work(number: int) -> None:
        for step in range(STEPS):
            with torch.no_grad():
                found[number].append(run(batch(10 * number + step, device)))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    return [each for kept in found for each in kept]


@loop
def generated_words(wrap: Wrap, device: str) -> list[torch.Tensor]:
    net = model(device)
    run, state = wrap(lambda x, past: (net(x) + past.mean(), past * 0.5 + x.sum())), torch.zeros(4, 8, device=device)
    x, words = batch(0, device), []
    with torch.no_grad():
        for _ in range(2 * STEPS):
            x, state = run(x, state)
            words.append(x.argmax(-1))
            x = x.tanh()
    return [x, state, *words]
