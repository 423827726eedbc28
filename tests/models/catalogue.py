"""The models that lect is tried on: classes of transformers and architectures of timm, tiny, with random weights and nothing downloaded.

A `Case` builds its model and its inputs when asked.  All sizes are the smallest that still run every part of an architecture: two layers, four heads
of eight features, 64 words; images are as small as the architecture allows.  The libraries are those of the extra `models`; install them with
`pip install --no-deps`, as timm would otherwise replace torch by the one that its torchvision was built for.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import torch

from tests.models.stub_torchvision import install

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

WORDS = 64
Inputs = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One model: `model()` makes it in eval mode with weights of seed 0, `inputs(seed)` the keyword arguments of a call."""

    name: str
    model: Callable[[], torch.nn.Module]
    inputs: Callable[[int], Inputs]

    def batch(self, seed: int) -> Inputs:
        """What a step of training gets: the inputs of a call, and at least two images, as normalisation needs more than one value."""
        found = self.inputs(seed)
        return {name: torch.cat([value, value.flip(-1)]) for name, value in found.items()} if self.name.startswith("timm:") else found


def text(seed: int, shape: tuple[int, int] = (2, 8), **more: Any) -> Inputs:
    """Words of two sentences, none of them a special one, and the mask that a tokenizer gives."""
    words = torch.randint(5, WORDS - 4, shape, generator=torch.Generator().manual_seed(seed))
    return {"input_ids": words, "attention_mask": torch.ones_like(words), **more}


def words_only(seed: int) -> Inputs:
    """Words without a mask."""
    return {"input_ids": text(seed)["input_ids"]}


def two_texts(seed: int) -> Inputs:
    """Words for an encoder and for a decoder."""
    return {**text(seed), "decoder_input_ids": text(seed + 100, (2, 6))["input_ids"]}


def two_texts_with_a_gap(seed: int) -> Inputs:
    """The same with a word of the decoder masked: without one, UMT5 of some releases of transformers leaves the causal mask out when it runs eagerly, and
    not when it is told that it is compiled."""
    given = two_texts(seed)
    mask = torch.ones_like(given["decoder_input_ids"])
    mask[:, -1] = 0
    return {**given, "decoder_attention_mask": mask}


def image(seed: int, size: int = 32, batch: int = 2, name: str = "pixel_values") -> Inputs:
    """Square images of three channels."""
    return {name: torch.randn(batch, 3, size, size, generator=torch.Generator().manual_seed(seed))}


def image_and_noise(seed: int) -> Inputs:
    """Images and the noise that orders their 16 patches, which the model would draw otherwise."""
    return {**image(seed), "noise": torch.rand(2, 16, generator=torch.Generator().manual_seed(seed))}


def text_and_image(seed: int, size: int = 32) -> Inputs:
    """Two sentences and two images."""
    return {**text(seed), **image(seed, size)}


def sound(seed: int, length: int = 400) -> Inputs:
    """Two waves."""
    return {"input_values": torch.randn(2, length, generator=torch.Generator().manual_seed(seed))}


def spectrum(seed: int, shape: tuple[int, ...], name: str = "input_features", words: str = "") -> Inputs:
    """Features over time, and, with `words`, what the decoder said so far under that name."""
    made: Inputs = {name: torch.randn(*shape, generator=torch.Generator().manual_seed(seed))}
    if words:
        made[words] = text(seed, (shape[0], 6))["input_ids"]
    return made


def series(seed: int, name: str, length: int = 16, channels: int = 2) -> Inputs:
    """Two time series."""
    return {name: torch.randn(2, length, channels, generator=torch.Generator().manual_seed(seed))}


ENCODER = MappingProxyType({"vocab_size": WORDS, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2})
DECODER = MappingProxyType({**ENCODER, "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2})
VISION = MappingProxyType({"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "image_size": 32, "patch_size": 8})
BOTH = MappingProxyType(
    {
        "vocab_size": WORDS,
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "pad_token_id": 1,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
        "forced_eos_token_id": 2,
    }
)
GPT = MappingProxyType({"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 32, "bos_token_id": 1, "eos_token_id": 2})
T5 = MappingProxyType(
    {"vocab_size": WORDS, "num_layers": 2, "num_decoder_layers": 2, "d_model": 32, "d_ff": 64, "d_kv": 8, "num_heads": 4, "decoder_start_token_id": 0}
)
SPEECH = MappingProxyType(
    {
        **{key: value for key, value in ENCODER.items() if key != "vocab_size"},
        "conv_dim": (16, 16),
        "conv_stride": (5, 2),
        "conv_kernel": (10, 3),
        "num_feat_extract_layers": 2,
        "num_conv_pos_embeddings": 16,
        "num_conv_pos_embedding_groups": 2,
    }
)
EXPERTS = MappingProxyType({"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32})
RESNET = MappingProxyType({"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "layer_type": "basic"})
HEAD = MappingProxyType({"head_dim": 8})

Row = tuple[str, Mapping[str, Any], Callable[[int], Inputs]]


def without(table: Mapping[str, Any], *names: str, **changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**table, **changes}.items() if key not in names}


# Class of the model -> class of its configuration, the configuration, the inputs.
ENCODERS: Mapping[str, Row] = MappingProxyType(
    {
        "BertModel": ("BertConfig", ENCODER, text),
        "BertForMaskedLM": ("BertConfig", ENCODER, text),
        "BertForSequenceClassification": ("BertConfig", ENCODER, text),
        "RobertaModel": ("RobertaConfig", {**ENCODER, "pad_token_id": 1}, text),
        "XLMRobertaModel": ("XLMRobertaConfig", {**ENCODER, "pad_token_id": 1}, text),
        "CamembertModel": ("CamembertConfig", {**ENCODER, "pad_token_id": 1}, text),
        "DistilBertModel": ("DistilBertConfig", {"vocab_size": WORDS, "dim": 32, "hidden_dim": 64, "n_heads": 4, "n_layers": 2}, text),
        "AlbertModel": ("AlbertConfig", {**ENCODER, "embedding_size": 16}, text),
        "ElectraModel": ("ElectraConfig", {**ENCODER, "embedding_size": 16}, text),
        "DebertaModel": ("DebertaConfig", {**ENCODER, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, text),
        "DebertaV2Model": ("DebertaV2Config", {**ENCODER, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, text),
        "MPNetModel": ("MPNetConfig", {**ENCODER, "pad_token_id": 1}, text),
        "MobileBertModel": ("MobileBertConfig", {**ENCODER, "embedding_size": 16, "intra_bottleneck_size": 16, "true_hidden_size": 16}, text),
        "SqueezeBertModel": ("SqueezeBertConfig", {**ENCODER, "embedding_size": 32}, text),
        "ConvBertModel": ("ConvBertConfig", {**ENCODER, "embedding_size": 16}, text),
        "FNetModel": ("FNetConfig", without(ENCODER, "num_attention_heads"), words_only),
        "RemBertModel": ("RemBertConfig", {**ENCODER, "input_embedding_size": 16, "output_embedding_size": 16}, text),
        "RoFormerModel": ("RoFormerConfig", {**ENCODER, "embedding_size": 32}, text),
        "NystromformerModel": ("NystromformerConfig", {**ENCODER, "num_landmarks": 4, "segment_means_seq_len": 8, "conv_kernel_size": 3}, text),
        "ModernBertModel": (
            "ModernBertConfig",
            {**ENCODER, "pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2},
            text,
        ),
        "MegatronBertModel": ("MegatronBertConfig", ENCODER, text),
        "EsmModel": ("EsmConfig", {**ENCODER, "pad_token_id": 1, "mask_token_id": 2, "position_embedding_type": "rotary"}, text),
        "LayoutLMModel": ("LayoutLMConfig", ENCODER, text),
        "LongformerModel": ("LongformerConfig", {**ENCODER, "attention_window": [4, 4], "pad_token_id": 1}, text),
        "BigBirdModel": ("BigBirdConfig", {**ENCODER, "attention_type": "original_full"}, text),
        "XLNetModel": ("XLNetConfig", {"vocab_size": WORDS, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64}, text),
    }
)
DECODERS: Mapping[str, Row] = MappingProxyType(
    {
        "GPT2LMHeadModel": ("GPT2Config", GPT, text),
        "GPTNeoForCausalLM": (
            "GPTNeoConfig",
            {"vocab_size": WORDS, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 4},
            text,
        ),
        "GPTNeoXForCausalLM": ("GPTNeoXConfig", ENCODER, text),
        "GPTJForCausalLM": ("GPTJConfig", {**GPT, "rotary_dim": 4}, text),
        "GPTBigCodeForCausalLM": ("GPTBigCodeConfig", GPT, text),
        "CodeGenForCausalLM": ("CodeGenConfig", {**GPT, "rotary_dim": 4}, text),
        "OPTForCausalLM": (
            "OPTConfig",
            {"vocab_size": WORDS, "hidden_size": 32, "ffn_dim": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "word_embed_proj_dim": 32},
            text,
        ),
        "BloomForCausalLM": ("BloomConfig", {"vocab_size": WORDS, "hidden_size": 32, "n_layer": 2, "n_head": 4}, text),
        "MptForCausalLM": ("MptConfig", {"vocab_size": WORDS, "d_model": 32, "n_layers": 2, "n_heads": 4}, text),
        "FalconForCausalLM": ("FalconConfig", ENCODER, text),
        "LlamaForCausalLM": ("LlamaConfig", DECODER, text),
        "MistralForCausalLM": ("MistralConfig", {**DECODER, "sliding_window": 4}, text),
        "MixtralForCausalLM": ("MixtralConfig", {**DECODER, "num_local_experts": 4, "num_experts_per_tok": 2}, text),
        "Qwen2ForCausalLM": ("Qwen2Config", DECODER, text),
        "Qwen2MoeForCausalLM": ("Qwen2MoeConfig", {**DECODER, **EXPERTS, "shared_expert_intermediate_size": 32}, text),
        "Qwen3ForCausalLM": ("Qwen3Config", {**DECODER, **HEAD}, text),
        "Qwen3MoeForCausalLM": ("Qwen3MoeConfig", {**DECODER, **EXPERTS, **HEAD}, text),
        "PhiForCausalLM": ("PhiConfig", DECODER, text),
        "Phi3ForCausalLM": ("Phi3Config", DECODER, text),
        "GemmaForCausalLM": ("GemmaConfig", {**DECODER, **HEAD}, text),
        "Gemma2ForCausalLM": ("Gemma2Config", {**DECODER, **HEAD, "sliding_window": 4}, text),
        "Gemma3ForCausalLM": ("Gemma3TextConfig", {**DECODER, **HEAD, "sliding_window": 4}, text),
        "OlmoForCausalLM": ("OlmoConfig", DECODER, text),
        "Olmo2ForCausalLM": ("Olmo2Config", DECODER, text),
        "OlmoeForCausalLM": ("OlmoeConfig", {**DECODER, "num_experts": 4, "num_experts_per_tok": 2}, text),
        "StableLmForCausalLM": ("StableLmConfig", DECODER, text),
        "CohereForCausalLM": ("CohereConfig", DECODER, text),
        "GraniteForCausalLM": ("GraniteConfig", DECODER, text),
        "GlmForCausalLM": ("GlmConfig", {**DECODER, **HEAD}, text),
        "Starcoder2ForCausalLM": ("Starcoder2Config", DECODER, text),
        "NemotronForCausalLM": ("NemotronConfig", DECODER, text),
        "SmolLM3ForCausalLM": ("SmolLM3Config", DECODER, text),
        "HeliumForCausalLM": ("HeliumConfig", {**DECODER, **HEAD}, text),
        "PersimmonForCausalLM": ("PersimmonConfig", without(DECODER, "num_key_value_heads"), text),
        "BioGptForCausalLM": ("BioGptConfig", ENCODER, text),
        "XGLMForCausalLM": ("XGLMConfig", {"vocab_size": WORDS, "d_model": 32, "ffn_dim": 64, "num_layers": 2, "attention_heads": 4}, text),
        "OpenAIGPTLMHeadModel": ("OpenAIGPTConfig", {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 32}, text),
        "CTRLLMHeadModel": ("CTRLConfig", {"vocab_size": WORDS, "n_embd": 32, "dff": 64, "n_layer": 2, "n_head": 4, "n_positions": 32}, text),
        "MambaForCausalLM": ("MambaConfig", {"vocab_size": WORDS, "hidden_size": 32, "state_size": 4, "num_hidden_layers": 2}, words_only),
        "Mamba2ForCausalLM": (
            "Mamba2Config",
            {
                "vocab_size": WORDS,
                "hidden_size": 32,
                "state_size": 8,
                "num_hidden_layers": 2,
                "num_heads": 4,
                "head_dim": 16,
                "n_groups": 1,
                "chunk_size": 4,
                "bos_token_id": 1,
                "eos_token_id": 2,
                "pad_token_id": 0,
            },
            words_only,
        ),
        "RwkvForCausalLM": ("RwkvConfig", {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "context_length": 16}, words_only),
        "RecurrentGemmaForCausalLM": (
            "RecurrentGemmaConfig",
            {**DECODER, "lru_width": 32, "num_hidden_layers": 3, "attention_window_size": 8},
            words_only,
        ),
    }
)
PAIRS: Mapping[str, Row] = MappingProxyType(
    {
        "T5ForConditionalGeneration": ("T5Config", T5, two_texts),
        "MT5ForConditionalGeneration": ("MT5Config", T5, two_texts),
        "UMT5Model": ("UMT5Config", T5, two_texts_with_a_gap),
        "SwitchTransformersModel": (
            "SwitchTransformersConfig",
            {**T5, "num_experts": 2, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
            two_texts,
        ),
        "BartModel": ("BartConfig", BOTH, two_texts),
        "MBartModel": ("MBartConfig", BOTH, two_texts),
        "PegasusModel": ("PegasusConfig", BOTH, two_texts),
        "MarianModel": ("MarianConfig", BOTH, two_texts),
        "M2M100Model": ("M2M100Config", BOTH, two_texts),
        "BlenderbotModel": ("BlenderbotConfig", BOTH, two_texts),
        "LEDModel": ("LEDConfig", {**BOTH, "attention_window": 4}, two_texts),
    }
)
SEEING: Mapping[str, Row] = MappingProxyType(
    {
        "ViTForImageClassification": ("ViTConfig", VISION, image),
        "DeiTModel": ("DeiTConfig", VISION, image),
        "BeitModel": ("BeitConfig", VISION, image),
        "Dinov2Model": ("Dinov2Config", without(VISION, "intermediate_size", mlp_ratio=2), image),
        "ViTMAEModel": ("ViTMAEConfig", {**VISION, "mask_ratio": 0.5}, image_and_noise),
        "ViTMSNModel": ("ViTMSNConfig", VISION, image),
        "YolosModel": ("YolosConfig", {**VISION, "image_size": [32, 32], "num_detection_tokens": 4}, image),
        "SwinModel": ("SwinConfig", {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4}, image),
        "Swinv2Model": ("Swinv2Config", {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4}, image),
        "ConvNextModel": ("ConvNextConfig", {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2}, image),
        "ConvNextV2Model": ("ConvNextV2Config", {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2}, image),
        "ResNetForImageClassification": ("ResNetConfig", RESNET, image),
        "RegNetModel": ("RegNetConfig", {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "groups_width": 8}, image),
        "MobileNetV2Model": ("MobileNetV2Config", {"depth_multiplier": 0.25, "image_size": 32}, image),
        "MobileViTModel": (
            "MobileViTConfig",
            {"image_size": 32, "hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 16, 24, 32], "num_attention_heads": 4},
            image,
        ),
        "SegformerForSemanticSegmentation": (
            "SegformerConfig",
            {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 16},
            image,
        ),
        "PoolFormerModel": ("PoolFormerConfig", {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 16, 32]}, image),
        "PvtV2Model": ("PvtV2Config", {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [1, 2, 2, 4], "image_size": 32}, image),
        "DPTForDepthEstimation": (
            "DPTConfig",
            {
                **VISION,
                "num_hidden_layers": 4,
                "backbone_out_indices": [0, 1, 2, 3],
                "neck_hidden_sizes": [8, 8, 16, 16],
                "fusion_hidden_size": 16,
                "is_hybrid": False,
            },
            image,
        ),
        "CLIPVisionModel": ("CLIPVisionConfig", VISION, image),
        "SiglipVisionModel": ("SiglipVisionConfig", VISION, image),
    }
)


def clip_parts(**more: Any) -> dict[str, Any]:
    words = {**ENCODER, "max_position_embeddings": 16, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, **more}
    return {"text_config": words, "vision_config": dict(VISION), "projection_dim": 16}


DETECTOR = MappingProxyType(
    {
        **without(BOTH, "vocab_size", "pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id", "forced_eos_token_id"),
        "num_queries": 5,
        "use_timm_backbone": False,
        "use_pretrained_backbone": False,
        "backbone": None,
    }
)


def resnet_backbone(**more: Any) -> dict[str, Any]:
    import transformers

    return {**DETECTOR, "backbone_config": transformers.ResNetConfig(**RESNET, out_features=["stage2"]), **more}


MIXED: Mapping[str, Row] = MappingProxyType(
    {
        "CLIPModel": ("CLIPConfig", clip_parts(), text_and_image),
        "CLIPTextModel": ("CLIPTextConfig", clip_parts()["text_config"], text),
        "SiglipModel": ("SiglipConfig", {key: value for key, value in clip_parts(projection_size=32).items() if key != "projection_dim"}, text_and_image),
        "ViltModel": ("ViltConfig", {**ENCODER, **VISION}, text_and_image),
        "WhisperModel": (
            "WhisperConfig",
            {**BOTH, "max_source_positions": 16, "max_target_positions": 16, "num_mel_bins": 8, "suppress_tokens": None, "begin_suppress_tokens": None},
            partial(spectrum, shape=(2, 8, 32), words="decoder_input_ids"),
        ),
        "Speech2TextModel": (
            "Speech2TextConfig",
            {**BOTH, "max_source_positions": 32, "max_target_positions": 16, "input_feat_per_channel": 8, "conv_channels": 16},
            partial(spectrum, shape=(2, 16, 8), words="decoder_input_ids"),
        ),
        "Wav2Vec2Model": ("Wav2Vec2Config", SPEECH, sound),
        "HubertModel": ("HubertConfig", SPEECH, sound),
        "WavLMModel": ("WavLMConfig", SPEECH, sound),
        "ASTModel": (
            "ASTConfig",
            {**without(VISION, "image_size"), "max_length": 32, "num_mel_bins": 16},
            partial(spectrum, shape=(2, 32, 16), name="input_values"),
        ),
        "DetrModel": ("DetrConfig", resnet_backbone, image),
        "DetrForObjectDetection": ("DetrConfig", resnet_backbone, image),
        "ConditionalDetrModel": ("ConditionalDetrConfig", resnet_backbone, image),
        "PatchTSTModel": (
            "PatchTSTConfig",
            {
                "num_input_channels": 2,
                "context_length": 16,
                "patch_length": 4,
                "patch_stride": 4,
                "d_model": 32,
                "num_attention_heads": 4,
                "num_hidden_layers": 2,
                "ffn_dim": 32,
            },
            partial(series, name="past_values"),
        ),
        "DecisionTransformerModel": (
            "DecisionTransformerConfig",
            {"state_dim": 4, "act_dim": 3, "hidden_size": 32, "n_layer": 2, "n_head": 4, "max_ep_len": 16},
            lambda seed: decisions(seed),
        ),
    }
)


def decisions(seed: int, steps: int = 5) -> Inputs:
    """States, actions and rewards of two games."""
    source = torch.Generator().manual_seed(seed)
    games = {"states": 4, "actions": 3, "rewards": 1, "returns_to_go": 1}
    made: Inputs = {name: torch.randn(2, steps, width, generator=source) for name, width in games.items()}
    made["timesteps"] = torch.arange(steps).repeat(2, 1)
    made["attention_mask"] = torch.ones(2, steps, dtype=torch.long)
    return made


# Architecture of timm -> side of the images.
TIMM: Mapping[str, int] = MappingProxyType(
    {
        "resnet18": 64,
        "resnet50": 64,
        "resnext50_32x4d": 64,
        "seresnet18": 64,
        "convnext_atto": 64,
        "regnetx_002": 64,
        "regnety_002": 64,
        "densenet121": 64,
        "inception_v3": 128,
        "mixer_s32_224": 224,
        "vit_tiny_patch16_224": 224,
        "deit_tiny_patch16_224": 224,
        "swin_tiny_patch4_window7_224": 224,
        "ghostnet_100": 64,
        "xcit_nano_12_p16_224": 64,
        "levit_128s": 224,
        "mobilevit_xxs": 64,
        "mobilenetv3_small_050": 64,
        "mobilenetv2_035": 64,
        "efficientnet_b0": 64,
        "tf_efficientnetv2_b0": 64,
        "coat_lite_tiny": 224,
        "edgenext_xx_small": 64,
        "repvgg_a0": 64,
        "dpn48b": 64,
        "poolformer_s12": 64,
        "hrnet_w18_small": 64,
        "efficientformer_l1": 224,
        "res2net50_14w_8s": 64,
        "resmlp_12_224": 224,
        "eva02_tiny_patch14_224": 224,
        "nfnet_l0": 64,
        "pvt_v2_b0": 64,
        "mnasnet_small": 64,
        "lcnet_035": 64,
        "tinynet_e": 64,
        "hardcorenas_a": 64,
        "fbnetv3_b": 64,
        "twins_pcpvt_small": 64,
    }
)


def from_transformers(name: str, row: Row) -> torch.nn.Module:
    import transformers

    config, sizes, _ = row
    values = sizes() if callable(sizes) else sizes
    torch.manual_seed(0)
    return getattr(transformers, name)(getattr(transformers, config)(**values)).eval()


def _from_timm(name: str) -> torch.nn.Module:
    install()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import timm
    torch.manual_seed(0)
    return timm.create_model(name, pretrained=False).eval()


def cases() -> Iterator[Case]:
    """All models, those of transformers first."""
    for table in (ENCODERS, DECODERS, PAIRS, SEEING, MIXED):
        for name, row in table.items():
            yield Case(name, partial(from_transformers, name, row), row[2])
    for name, side in TIMM.items():
        yield Case(f"timm:{name}", partial(_from_timm, name), partial(image, size=side, batch=1, name="x"))


CASES: Mapping[str, Case] = MappingProxyType({case.name: case for case in cases()})
