"""A model of sentence-transformers that a test makes: small, with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from djinn_memory.embedding.torch_model import packaged_original


def tiny_model(
    folder: Path, *, seed: int = 0, reads: int = 64, prompts: Any = None, exports: bool = True
) -> Path:
    """Write a model of 32 dimensions that reads `reads` tokens; returns its folder.

    Without `exports` it mixes tokens by Fourier transforms, for which ONNX has no name here.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules
    from transformers import BertConfig, BertModel, BertTokenizerFast, FNetConfig, FNetModel

    torch.set_num_threads(1)  # small tensors wait for a second thread longer than they take
    torch.manual_seed(seed)
    words = (packaged_original() / "vocab.txt").read_text(encoding="utf-8").splitlines()
    size = {
        "vocab_size": len(words), "hidden_size": 32, "num_hidden_layers": 2,
        "intermediate_size": 64, "max_position_embeddings": 512,
    }  # fmt: skip
    inner = folder / "inner"
    encoder = (
        BertModel(BertConfig(**size, num_attention_heads=2))
        if exports
        else FNetModel(FNetConfig(**size))
    )
    encoder.save_pretrained(inner)
    BertTokenizerFast(str(packaged_original() / "vocab.txt")).save_pretrained(inner)
    transformer = modules.Transformer(str(inner), max_seq_length=reads)
    pooling = modules.Pooling(32)
    whole = SentenceTransformer(modules=[transformer, pooling], device="cpu", prompts=prompts)
    place = folder / "tiny"
    whole.save_pretrained(str(place))
    return place
