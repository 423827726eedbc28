"""The three lines a user writes: compile a model, call it, look at what happened."""

import torch
from torch import nn

import lect

model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8), nn.Softmax(dim=-1)).eval()
compiled = lect.compile(model)

with torch.no_grad():
    x = torch.randn(4, 8)
    torch.testing.assert_close(compiled(x), model(x))
    print("compiled and eager agree")

for event in lect.events():
    print(event)
