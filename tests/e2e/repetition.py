"""Capturing with and without calls that are made again without being followed, and comparing both with eager."""

import copy

import torch

import lect
from lect.dialects import make_context
from lect.frontends.capture import to_fx
from lect.frontends.capture.api import open_frame
from lect.frontends.capture.interpreter import CodeTable
from lect.frontends.capture.numbers import NumberPolicy
from lect.frontends.capture.to_fx import run
from lect.frontends.capture.tracer import Tracer
from tests.e2e.support import same


def capture(program, args, calls, given):
    """The text of what capture makes, with or without remembering calls; `given` takes how many calls were not followed."""

    class Counted(Tracer):
        def close(self):
            given.append(self.memo.given)
            super().close()

    policy = NumberPolicy()
    policy.calls = calls
    ctx = make_context()
    ctx.resources.update(code_table=CodeTable(), numbers=policy)
    to_fx.Tracer, kept = Counted, to_fx.Tracer
    try:
        with torch.no_grad():
            module = open_frame(program, args, {}, ctx)
            run(module, ctx)
    finally:
        to_fx.Tracer = kept
    return str(module)


def compiled_graph(program):
    """Compiled up to the graph of torch calls, which a reference interpreter runs: capture is what is tested here."""
    return lect.compile(program, options={"level": "fx"})


def repeated(program, *args):
    """How many calls were not followed; what capture makes is the same text when all are."""
    given = []
    follows = capture(program, args, False, [])
    assert capture(program, args, True, given) == follows
    return sum(given)


def agree(program, *args, exact=False):
    """Two calls of the compiled program without autograd give eager's values and leave eager's arguments."""
    compiled = compiled_graph(program)
    for _ in range(2):
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        with torch.no_grad():
            same(program(*theirs), compiled(*mine), exact)
        same(theirs, mine, exact)
