"""Caches that a graph writes one position of and reads whole: written where they lie, with eager's values, versions and errors."""

import pytest
import torch
import torch.nn.functional as F

import lect
from lect.dialects import make_context
from lect.frontends.capture.api import open_frame
from lect.passes.manager import PassManager
from tests.e2e.test_writes import writes


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def indexed(keys, values, q, k, v, position):
    keys.index_copy_(2, position, k)
    values.index_copy_(2, position, v)
    return F.scaled_dot_product_attention(q, keys, values)


def subscripted(keys, values, q, k, v, position):
    keys[:, :, position] = k
    values[:, :, position] = v
    return torch.softmax(q @ keys.mT, -1) @ values


def sliced(keys, values, q, k, v, position):
    keys[:, :, 3:4] = k
    values[:, :, 3:4] = v * 2
    return q @ keys.mT @ values, (keys * q).sum()


def twice(keys, values, q, k, v, position):
    keys[:, :, 1:2] = k
    keys[:, :, 5:6] = v
    values.index_copy_(2, position, k)
    values.index_add_(2, position, v)
    return q @ keys.mT, q @ values.mT


def in_a_part(keys, values, q, k, v, position):
    keys[0].index_copy_(1, position, k[0])
    values.scatter_(2, position.view(1, 1, 1, 1).expand_as(v), v)
    return q[0] @ keys[0].mT, values @ q.mT


def read_before(keys, values, q, k, v, position):
    before = q @ keys.mT, keys.sum()
    keys.index_copy_(2, position, k)
    values[:, :, 2:3] = v
    return before, q @ keys.mT, q @ values.mT, keys.exp()


def read_old_later(keys, values, q, k, v, position):
    old = keys * 2
    keys.index_copy_(2, position, k)
    product = q @ keys.mT
    kept = values.clone()
    values[:, :, 2:3] = v
    return product, old + 1, q @ values.mT, kept


def returned(keys, values, q, k, v, position):
    keys.index_copy_(2, position, k)
    values[:, :, 2:3] = v
    return q @ keys.mT, keys, keys.clone(), values[:, :, 1:3], keys.transpose(1, 2), q @ values.mT


def from_itself(keys, values, q, k, v, position):
    keys[:, :, 2:3] = keys[:, :, 3:4]
    values.index_copy_(2, position, values[:, :, :1] + v)
    return q @ keys.mT, q @ values.mT


def read_through_another_type(keys, values, q, k, v, position):
    bits = keys.view(torch.int32)
    before = bits + 0
    keys.index_copy_(2, position, k)
    return q @ keys.mT, before * 2, (q @ values.mT).sum()


PROGRAMS = [read_through_another_type, indexed, subscripted, sliced, twice, in_a_part, read_before, read_old_later, returned, from_itself]
IN_PLACE = {indexed: 2, subscripted: 2, sliced: 2, twice: 4, in_a_part: 2, read_before: 2}


def arguments(length=8):
    keys, values = torch.randn(2, 2, length, 4), torch.randn(2, 2, length, 4)
    return keys, values, *[torch.randn(2, 2, 1, 4) for _ in range(3)], torch.tensor([3])


@pytest.mark.parametrize("level", ["functional", "loop", "native"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program, level):
    writes(program, *arguments(), options={"level": level})


@pytest.mark.parametrize("program", [sliced, twice, indexed])
def test_cache_that_is_a_view(program):
    keys, values, *rest = arguments(16)
    writes(program, keys[:, :, 8:].transpose(0, 1), values[:, :, ::2], *rest)


def lowered(program, *args):
    """The host program of a call, and what the passes counted."""

    def call(*given):
        with torch.no_grad():
            return program(*given)

    ctx = make_context(options={})
    module = open_frame(call, args, {}, ctx)
    PassManager.parse("capture,aot,loop,kernel", verify_each=True).run(module, ctx)
    return next(op for op in module.body if op.name == "host.func")


@pytest.mark.parametrize(("program", "count"), IN_PLACE.items())
def test_the_cache_is_not_copied(program, count):
    args = arguments(64)
    host = lowered(program, *args)
    whole = args[0].numel()
    updates = [op for op in host.body if op.name == "host.update" or (op.name == "host.write" and not op.versions)]
    assert len(updates) == count
    for op in host.body:
        if op.name in ("host.empty", "host.alloc"):
            type = op.results[0].type
            size = type.numel if hasattr(type, "numel") else torch.Size(type.sizes).numel()
            assert size < whole // 2 or program is read_before, str(op)
        assert op.name != "host.write" or op.operands[0].type.sizes != args[0].shape


def test_the_cache_is_copied_where_the_old_elements_are_needed():
    assert not any(op.name == "host.update" for op in lowered(read_old_later, *arguments(64)).body)


def test_a_position_outside_raises_and_leaves_the_rest():
    compiled = lect.compile(indexed)
    *args, _ = arguments()
    with torch.no_grad():
        compiled(*args, torch.tensor([3]))
        for run in (indexed, compiled):
            with pytest.raises(IndexError, match="out of"):
                run(*args, torch.tensor([8]))


def test_generation_step_by_step():
    """Positions change from call to call; one version serves them."""
    compiled = lect.compile(indexed)
    own = arguments()
    other = [arg.clone() for arg in own]
    with torch.no_grad():
        for place in range(8):
            position = torch.tensor([place])
            got = compiled(*own[:5], position)
            torch.testing.assert_close(got, indexed(*other[:5], position))
            torch.testing.assert_close(own[0], other[0], rtol=0, atol=0)
    assert len(lect.events("compile")) == 1
    assert not lect.events("note", "fallback")


@pytest.mark.slow
def test_a_models_own_cache():
    """Hugging Face's static cache, one token after the other; keys and values stay where they are."""
    from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 50}
    config = LlamaConfig(**sizes, max_position_embeddings=64)
    model = LlamaForCausalLM(config).eval()

    def step(token, position, cache):
        return model(input_ids=token, cache_position=position, position_ids=position[None], past_key_values=cache, use_cache=True).logits

    compiled = lect.compile(step)
    caches = [StaticCache(config=config, max_cache_len=32) for _ in range(2)]
    with torch.no_grad():
        for place in range(6):
            token, position = torch.tensor([[place + 3]]), torch.tensor([place])
            want, got = step(token, position, caches[0]), compiled(token, position, caches[1])
            torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
            if place == 3:
                memory = caches[1].layers[0].keys.data_ptr()
        keys = [cache.layers[0].keys for cache in caches]
    assert keys[1].data_ptr() == memory
    torch.testing.assert_close(*keys, rtol=1e-5, atol=1e-5)
    assert not lect.events("note", "fallback", "graph break")
