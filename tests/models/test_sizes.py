"""Models of which the sizes change from call to call: one version for the first size and one for all others, and eager's values for each."""

from __future__ import annotations

import importlib.util

import pytest

import lect
from tests.models.sizes import try_decoding, try_sizes

MISSING = [name for name in ("transformers", "timm") if importlib.util.find_spec(name) is None]
NAMES = (
    "GPT2LMHeadModel",
    "LlamaForCausalLM",
    "BertForMaskedLM",
    "T5ForConditionalGeneration",
    "ViTForImageClassification",
    "ResNetForImageClassification",
    "timm:resnet18",
    "timm:vit_tiny_patch16_224",
)

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}: the extra `models`"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(autouse=True)
def _clean():
    lect.reset()
    yield
    lect.reset()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
def test_ten_sizes(name, training):
    try_sizes(name, training)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GPT2LMHeadModel", "LlamaForCausalLM"])
@pytest.mark.parametrize("dynamic", [None, True], ids=["automatic", "dynamic"])
def test_decoding_with_a_cache_that_grows(name, dynamic):
    try_decoding(name, dynamic)


def test_three_sizes_of_a_decoder():
    try_sizes("LlamaForCausalLM", training=False, count=3)
