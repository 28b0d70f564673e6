"""Turns a model into what onnxruntime runs fastest, once, and checks the result."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from djinn_memory.chunking.tokens import model_folder
from djinn_memory.embedding import onnx_files
from djinn_memory.embedding.local import MAX_TOKENS, ModelCard, open_tokenizer, run
from djinn_memory.embedding.torch_model import encode, load, quiet
from djinn_memory.errors import Unavailable
from djinn_memory.models import Progress, ProgressCallback
from djinn_memory.notes.slugs import slug
from djinn_memory.system.files import write_atomic

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

MIN_MEAN_COSINE = 0.985
MIN_COSINE = 0.95
"""How near int8 has to stay to the original; on MiniLM it measures 0.994 and 0.98."""


INPUTS = ("input_ids", "attention_mask")


def export(model: Path | str, folder: Path, progress: ProgressCallback) -> None:
    """Write `folder` with model.json, and with model.onnx and tokenizer.json where the model
    of sentence-transformers in `model`, a folder or a name, can be exported.

    int8 where it stays near the original on the built-in sentences, else fp32, else nothing but
    the word that torch has to run it. Whole or not at all; two processes at once make it once. A
    name is fetched if it is not on this machine. Raises `Unavailable` when it cannot be made.
    """
    what = "" if model == model_folder() else f" {model}"
    note = f"preparing the embedding model{what}, once (about 10 s)"
    progress(Progress("prepare", 0, None, note))
    onnx_files.prepare(
        folder,
        (folder / "model.json").is_file,
        lambda scratch: _export(model, scratch),
        "embedding model",
    )
    progress(Progress("prepare", 1, 1, "embedding model ready"))


def _export(name: Path | str, scratch: Path) -> None:
    with quiet():
        model, source = load(name)
        texts = onnx_files.sentences()
        reference = encode(model, texts)
        card = ModelCard(
            model=str(name),
            source=str(source),
            space=_space(name, source, model, reference.shape[1]),
            dimensions=reference.shape[1],
            max_tokens=model.max_seq_length or MAX_TOKENS,
            prompts={key: text for key, text in model.prompts.items() if text},
        )
        try:
            model.tokenizer.backend_tokenizer.save(str(scratch / "tokenizer.json"))
            onnx_files.trace(_unit(model), model, INPUTS, scratch / "fp32.onnx")
            onnx_files.quantize(scratch / "fp32.onnx", scratch / "int8.onnx")
            card = _nearest(card, scratch, texts, reference)
        except Unavailable:
            raise
        except Exception as error:
            # Tracing fails in as many ways as there are models; torch runs them all.
            if isinstance(error, OSError) and error.errno:
                raise
    for leftover in ("fp32.onnx", "int8.onnx"):
        (scratch / leftover).unlink(missing_ok=True)
    write_atomic(scratch / "model.json", msgspec.json.format(msgspec.json.encode(card), indent=1))


def _unit(model: Any) -> Callable[[dict[str, Any]], Any]:
    """Tokens in, unit vector out."""

    def forward(tokens: dict[str, Any]) -> Any:
        import torch

        return torch.nn.functional.normalize(model(tokens)["sentence_embedding"], dim=1)

    return forward


def _nearest(card: ModelCard, scratch: Path, texts: list[str], reference: Vectors) -> ModelCard:
    """The card of the fastest form that is near enough to the original; as it is for none."""
    import numpy as np

    tokenizer = open_tokenizer(scratch, card.max_tokens)
    for precision in ("int8", "fp32"):
        session = onnx_files.optimize(scratch / f"{precision}.onnx", scratch / "model.onnx")
        cosines = np.sum(run(session, tokenizer, texts, 32) * reference, axis=1)
        mean, lowest = float(cosines.mean()), float(cosines.min())
        if mean >= MIN_MEAN_COSINE and lowest >= MIN_COSINE:
            return replace(
                card,
                precision=precision,
                mean_cosine=round(mean, 4),
                min_cosine=round(lowest, 4),
            )
    (scratch / "model.onnx").unlink()
    return card


def _space(name: Path | str, source: Path, model: Any, dimensions: int) -> str:
    """Names the vectors of a model without its prompts: weights, length, pooling, unit length."""
    weights = sorted([*source.rglob("*.safetensors"), *source.rglob("pytorch_model*.bin")])
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in weights]
    pooling = [getattr(module, "pooling_mode", None) for module in model]
    modes = "+".join(str(mode) for mode in pooling if mode)
    packaged = Path(name) == model_folder()
    short = "minilm" if packaged else slug(Path(name).name)
    return f"{short}:{'+'.join(digests)}:{dimensions}:{modes}:l2"
