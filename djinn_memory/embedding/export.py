"""Turns a model into what onnxruntime runs fastest, once, and checks the result."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from djinn_memory.chunking.tokens import model_folder
from djinn_memory.embedding.local import (
    MAX_TOKENS,
    Card,
    open_session,
    open_tokenizer,
    run,
    runtime,
)
from djinn_memory.embedding.original import encode, load, quiet
from djinn_memory.errors import Unavailable
from djinn_memory.files import lock, write_atomic
from djinn_memory.models import Progress, ProgressCallback
from djinn_memory.notes.slugs import slug

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

MIN_MEAN_COSINE = 0.985
MIN_COSINE = 0.95
"""How near int8 has to stay to the original; on MiniLM it measures 0.994 and 0.98."""


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
    try:
        with lock(folder.with_suffix(".lock"), timeout=300):
            if (folder / "model.json").is_file():
                return
            scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".export-"))
            try:
                _export(model, scratch)
                shutil.rmtree(folder, ignore_errors=True)
                scratch.rename(folder)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise Unavailable(
            f"the embedding model cannot be prepared in {folder.parent}: "
            f"{error.strerror or error}; make room there, set DJINN_CACHE, "
            "or use `embedding.provider: none`"
        ) from None
    progress(Progress("prepare", 1, 1, "embedding model ready"))


def sentences() -> list[str]:
    """The built-in texts on which an exported model is compared with its original."""
    text = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip()]


def _export(name: Path | str, scratch: Path) -> None:
    with quiet():
        model, source = load(name)
        texts = sentences()
        reference = encode(model, texts)
        card = Card(
            model=str(name),
            source=str(source),
            space=_space(name, source, model, reference.shape[1]),
            dimensions=reference.shape[1],
            max_tokens=model.max_seq_length or MAX_TOKENS,
            prompts={key: text for key, text in model.prompts.items() if text},
        )
        try:
            model.tokenizer.backend_tokenizer.save(str(scratch / "tokenizer.json"))
            _trace(model, scratch / "fp32.onnx")
            _quantize(scratch / "fp32.onnx", scratch / "int8.onnx")
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


def _nearest(card: Card, scratch: Path, texts: list[str], reference: Vectors) -> Card:
    """The card of the fastest form that is near enough to the original; as it is for none."""
    import numpy as np

    tokenizer = open_tokenizer(scratch, card.max_tokens)
    for precision in ("int8", "fp32"):
        session = _optimize(scratch / f"{precision}.onnx", scratch / "model.onnx")
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


def _trace(model: Any, target: Path) -> None:
    """Export the fp32 graph, tokens in and unit vector out."""
    import torch

    class Whole(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            made = self.model({"input_ids": input_ids, "attention_mask": attention_mask})
            return torch.nn.functional.normalize(made["sentence_embedding"], dim=1)

    ids = torch.ones(2, 16, dtype=torch.long)
    mask = torch.ones(2, 16, dtype=torch.long)
    mask[1, 9:] = 0
    shape = {0: "batch", 1: "tokens"}
    # A graph that cannot be exported is printed, whole.
    with _no_output():
        torch.onnx.export(
            Whole().eval(),
            (ids, mask),
            str(target),
            input_names=["input_ids", "attention_mask"],
            output_names=["embedding"],
            dynamic_axes={"input_ids": shape, "attention_mask": shape, "embedding": {0: "batch"}},
            opset_version=17,
            # The newer exporter wants a further package and fixes some of the sizes.
            dynamo=False,
        )


@contextmanager
def _no_output() -> Iterator[None]:
    """Away with what is written to standard output meanwhile, also by a library in C++."""
    import ctypes

    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        with suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _quantize(source: Path, target: Path) -> None:
    runtime()
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # Per channel: with one scale for a whole matrix the mean cosine falls to 0.93.
    quantize_dynamic(
        source,
        target,
        weight_type=QuantType.QInt8,
        per_channel=True,
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


def _optimize(source: Path, target: Path) -> Any:
    """Write the graph as onnxruntime optimises it, which halves the time to load it."""
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    return open_session(target, 0)
