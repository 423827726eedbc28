"""Functions whose frames are run out of their text by test_run_frame.py, with their inputs."""

import torch


def softened(x, scale=2.0):
    return torch.softmax(x.sin() * scale, -1), x.shape[0]


def softened_inputs():
    return torch.randn(3, 4)


def in_place(x, y):
    x.mul_(y)
    return {"sum": x.sum(), "first": [x[0]]}


def in_place_inputs():
    return (torch.randn(3, 4),), {"y": torch.randn(4)}


def with_closure(x):
    def twice(y):
        return y * 2 + offset

    offset = 3
    return [twice(each) for each in (x, x + 1)]


def with_closure_inputs():
    return torch.randn(5)


def dropped(x):
    return torch.nn.functional.dropout(x, 0.5)


def dropped_inputs():
    return torch.ones(50)


def cut(x):
    y = x + 1
    print(end="")
    return y * 2


def cut_inputs():
    return torch.randn(3)


class Normed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.linear(x)).relu()


normed = Normed()


def normed_inputs():
    return torch.randn(6, 4)


numbers = softened


def numbers_inputs():
    return torch.randn(3, 4), 0.5
