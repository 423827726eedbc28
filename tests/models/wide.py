"""More models than the project promises: relatives of those of `catalogue`, and architectures that are built in another way.

A row is like one of `catalogue`: the class of the model, the class of its configuration, the configuration, the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

import torch

from tests.models.catalogue import (
    BOTH,
    CASES,
    DECODER,
    ENCODER,
    EXPERTS,
    HEAD,
    SPEECH,
    T5,
    VISION,
    WORDS,
    Case,
    Inputs,
    Row,
    clip_parts,
    from_transformers,
    image,
    resnet_backbone,
    series,
    sound,
    spectrum,
    text,
    text_and_image,
    two_texts,
    without,
    words_only,
)


def video(seed: int) -> Inputs:
    """Two frames."""
    return {"pixel_values": torch.randn(1, 2, 3, 32, 32, generator=torch.Generator().manual_seed(seed))}


def patches(seed: int) -> Inputs:
    """Images as patches, with their sizes."""
    made = torch.randn(2, 16, 192, generator=torch.Generator().manual_seed(seed))
    return {"pixel_values": made, "pixel_attention_mask": torch.ones(2, 16, dtype=torch.long), "spatial_shapes": torch.tensor([[4, 4], [4, 4]])}


def forecast(seed: int) -> Inputs:
    """A series, the features of its times, and what comes next."""
    source = torch.Generator().manual_seed(seed)
    sizes = {"past_values": (2, 10), "past_time_features": (2, 10, 1), "future_values": (2, 4), "future_time_features": (2, 4, 1)}
    return {**{name: torch.randn(size, generator=source) for name, size in sizes.items()}, "past_observed_mask": torch.ones(2, 10)}


def wave(seed: int) -> Inputs:
    """One wave of one channel."""
    return {"input_values": torch.randn(1, 1, 160, generator=torch.Generator().manual_seed(seed))}


LATENT = MappingProxyType({"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8})
GROUPED = MappingProxyType(
    {"num_key_value_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1}
)
XLM = MappingProxyType({"vocab_size": WORDS, "emb_dim": 32, "n_layers": 2, "n_heads": 4})
STAGES = MappingProxyType({"image_size": 32, "embed_dim": 16, "depths": [1, 1]})
WHISPER = MappingProxyType(
    {**BOTH, "max_source_positions": 16, "max_target_positions": 16, "num_mel_bins": 8, "suppress_tokens": None, "begin_suppress_tokens": None}
)


WIDE: Mapping[str, Row] = MappingProxyType(
    {
        "GptOssForCausalLM": ("GptOssConfig", {**DECODER, **HEAD, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 4}, text),
        "DeepseekV3ForCausalLM": ("DeepseekV3Config", {**DECODER, **GROUPED, **LATENT, "moe_intermediate_size": 32}, text),
        "DeepseekV2ForCausalLM": ("DeepseekV2Config", {**DECODER, **GROUPED, **LATENT, "moe_intermediate_size": 32}, text),
        "JambaForCausalLM": (
            "JambaConfig",
            {
                **DECODER,
                "num_experts": 2,
                "num_experts_per_tok": 1,
                "attn_layer_period": 2,
                "attn_layer_offset": 1,
                "expert_layer_period": 2,
                "expert_layer_offset": 1,
                "mamba_d_state": 4,
                "mamba_dt_rank": 4,
                "use_mamba_kernels": False,
            },
            text,
        ),
        "FalconMambaForCausalLM": ("FalconMambaConfig", {"vocab_size": WORDS, "hidden_size": 32, "state_size": 4, "num_hidden_layers": 2}, words_only),
        "GraniteMoeForCausalLM": ("GraniteMoeConfig", {**DECODER, "num_local_experts": 4, "num_experts_per_tok": 2}, text),
        "Exaone4ForCausalLM": ("Exaone4Config", {**DECODER, "sliding_window": 4}, text),
        "Llama4ForCausalLM": ("Llama4TextConfig", {**DECODER, **HEAD, "num_local_experts": 2, "intermediate_size_mlp": 64, "attention_chunk_size": 4}, text),
        "Qwen3NextForCausalLM": (
            "Qwen3NextConfig",
            {
                **DECODER,
                **HEAD,
                **EXPERTS,
                "shared_expert_intermediate_size": 32,
                "linear_num_value_heads": 4,
                "linear_num_key_heads": 2,
                "linear_key_head_dim": 8,
                "linear_value_head_dim": 8,
                "layer_types": ["linear_attention", "full_attention"],
            },
            text,
        ),
        "Cohere2ForCausalLM": ("Cohere2Config", {**DECODER, "sliding_window": 4}, text),
        "Glm4ForCausalLM": ("Glm4Config", {**DECODER, **HEAD}, text),
        "Ernie4_5ForCausalLM": ("Ernie4_5Config", {**DECODER, **HEAD}, text),
        "Olmo3ForCausalLM": ("Olmo3Config", {**DECODER, "sliding_window": 4}, text),
        "PhimoeForCausalLM": ("PhimoeConfig", {**DECODER, "num_local_experts": 4, "num_experts_per_tok": 2}, text),
        "Zamba2ForCausalLM": (
            "Zamba2Config",
            {
                **DECODER,
                "mamba_d_state": 8,
                "n_mamba_heads": 4,
                "mamba_headdim": 16,
                "mamba_ngroups": 1,
                "num_hidden_layers": 3,
                "layers_block_type": ["mamba", "hybrid", "mamba"],
                "num_mem_blocks": 1,
                "chunk_size": 4,
            },
            text,
        ),
        "BambaForCausalLM": (
            "BambaConfig",
            {**DECODER, "attn_layer_indices": [1], "mamba_n_heads": 4, "mamba_d_state": 8, "mamba_d_head": 16, "mamba_n_groups": 1, "mamba_chunk_size": 4},
            text,
        ),
        "XLMModel": ("XLMConfig", XLM, text),
        "FlaubertModel": ("FlaubertConfig", XLM, text),
        "FunnelModel": (
            "FunnelConfig",
            {"vocab_size": WORDS, "block_sizes": [1, 1], "num_decoder_layers": 1, "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 64},
            text,
        ),
        "LukeModel": ("LukeConfig", {**ENCODER, "entity_vocab_size": 16, "entity_emb_size": 16}, text),
        "CanineModel": (
            "CanineConfig",
            {**without(ENCODER, "vocab_size"), "num_hash_buckets": 64, "downsampling_rate": 2, "local_transformer_stride": 4},
            text,
        ),
        "BertGenerationDecoder": ("BertGenerationConfig", {**ENCODER, "is_decoder": True}, text),
        "BlenderbotSmallModel": ("BlenderbotSmallConfig", BOTH, two_texts),
        "ProphetNetModel": (
            "ProphetNetConfig",
            {
                "vocab_size": WORDS,
                "hidden_size": 32,
                "encoder_ffn_dim": 64,
                "decoder_ffn_dim": 64,
                "num_encoder_layers": 2,
                "num_decoder_layers": 2,
                "num_encoder_attention_heads": 4,
                "num_decoder_attention_heads": 4,
                "max_position_embeddings": 64,
            },
            two_texts,
        ),
        "LongT5Model": ("LongT5Config", {**T5, "local_radius": 3}, two_texts),
        "BigBirdPegasusModel": ("BigBirdPegasusConfig", {**BOTH, "attention_type": "original_full"}, two_texts),
        "NllbMoeModel": ("NllbMoeConfig", {**BOTH, "num_experts": 2, "encoder_sparse_step": 2, "decoder_sparse_step": 2}, two_texts),
        "CvtModel": ("CvtConfig", {"embed_dim": [8, 16, 16], "num_heads": [1, 2, 2], "depth": [1, 2, 3]}, image),
        "LevitModel": (
            "LevitConfig",
            {"image_size": 64, "hidden_sizes": [16, 24, 32], "num_attention_heads": [1, 2, 2], "depths": [1, 1, 1], "key_dim": [8, 8, 8]},
            partial(image, size=64),
        ),
        "GLPNForDepthEstimation": (
            "GLPNConfig",
            {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 16},
            partial(image, size=64),
        ),
        "FocalNetModel": ("FocalNetConfig", {**STAGES, "focal_levels": [1, 1], "focal_windows": [3, 3]}, image),
        "BitModel": ("BitConfig", {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "num_groups": 4}, image),
        "DonutSwinModel": (
            "DonutSwinConfig",
            {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4},
            image,
        ),
        "Data2VecVisionModel": ("Data2VecVisionConfig", VISION, image),
        "Data2VecAudioModel": ("Data2VecAudioConfig", SPEECH, sound),
        "UniSpeechModel": ("UniSpeechConfig", SPEECH, sound),
        "UniSpeechSatModel": ("UniSpeechSatConfig", SPEECH, sound),
        "SEWModel": ("SEWConfig", {**SPEECH, "squeeze_factor": 1}, sound),
        "TimesformerModel": ("TimesformerConfig", {**VISION, "num_frames": 2}, video),
        "VivitModel": ("VivitConfig", {**VISION, "num_frames": 2, "tubelet_size": [1, 8, 8]}, video),
        "BlipModel": (
            "BlipConfig",
            {"text_config": {**ENCODER, "encoder_hidden_size": 32, "max_position_embeddings": 16}, "vision_config": dict(VISION), "projection_dim": 16},
            text_and_image,
        ),
        "OwlViTModel": ("OwlViTConfig", clip_parts(), text_and_image),
        "AltCLIPModel": (
            "AltCLIPConfig",
            {**clip_parts(), "text_config": {**ENCODER, "project_dim": 16, "max_position_embeddings": 16, "pad_token_id": 1}},
            text_and_image,
        ),
        "ChineseCLIPModel": ("ChineseCLIPConfig", clip_parts(), text_and_image),
        "Siglip2VisionModel": ("Siglip2VisionConfig", {**without(VISION, "image_size"), "num_patches": 16}, patches),
        "TableTransformerModel": ("TableTransformerConfig", resnet_backbone, image),
        "DeformableDetrModel": (
            "DeformableDetrConfig",
            lambda: {**resnet_backbone(), "num_feature_levels": 1, "encoder_n_points": 2, "decoder_n_points": 2},
            image,
        ),
        "InformerModel": (
            "InformerConfig",
            {
                "prediction_length": 4,
                "context_length": 8,
                "lags_sequence": [1, 2],
                "d_model": 16,
                "encoder_layers": 1,
                "decoder_layers": 1,
                "encoder_attention_heads": 2,
                "decoder_attention_heads": 2,
                "num_time_features": 1,
            },
            forecast,
        ),
        "PatchTSMixerModel": (
            "PatchTSMixerConfig",
            {"num_input_channels": 2, "context_length": 16, "patch_length": 4, "patch_stride": 4, "d_model": 16, "num_layers": 2},
            partial(series, name="past_values"),
        ),
        "EncodecModel": (
            "EncodecConfig",
            {"num_filters": 4, "hidden_size": 16, "codebook_dim": 16, "codebook_size": 16, "upsampling_ratios": [4, 2], "num_lstm_layers": 1},
            wave,
        ),
        "BertForQuestionAnswering": ("BertConfig", ENCODER, text),
        "BertForTokenClassification": ("BertConfig", ENCODER, text),
        "RobertaForCausalLM": ("RobertaConfig", {**ENCODER, "pad_token_id": 1, "is_decoder": True}, text),
        "LlamaForSequenceClassification": ("LlamaConfig", DECODER, text),
        "BartForConditionalGeneration": ("BartConfig", BOTH, two_texts),
        "T5EncoderModel": ("T5Config", T5, text),
        "WhisperForConditionalGeneration": ("WhisperConfig", WHISPER, partial(spectrum, shape=(2, 8, 32), words="decoder_input_ids")),
        "Wav2Vec2ForCTC": ("Wav2Vec2Config", {**SPEECH, "vocab_size": WORDS}, sound),
    }
)
ALL: Mapping[str, Case] = MappingProxyType({**CASES, **{name: Case(name, partial(from_transformers, name, row), row[2]) for name, row in WIDE.items()}})
