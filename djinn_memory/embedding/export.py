"""Turns the packaged model into what onnxruntime runs fastest, once, and checks the result."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

from djinn_memory.embedding.local import open_session, open_tokenizer, run, runtime
from djinn_memory.errors import Unavailable
from djinn_memory.files import lock, write_atomic
from djinn_memory.models import Progress, ProgressCallback

MIN_MEAN_COSINE = 0.985
MIN_COSINE = 0.95
"""How near int8 has to stay to the original; on MiniLM it measures 0.994 and 0.98."""


def export(source: Path, folder: Path, progress: ProgressCallback) -> None:
    """Write `folder` with model.onnx, tokenizer.json and model.json from the weights in `source`.

    int8 where it stays near the original on the built-in sentences, else fp32. Whole or not at
    all; two processes at once make it once. Raises `Unavailable` when it cannot be made.
    """
    progress(Progress("prepare", 0, None, "preparing the embedding model, once (about 10 s)"))
    try:
        with lock(folder.with_suffix(".lock"), timeout=300):
            if (folder / "model.json").is_file():
                return
            scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".export-"))
            try:
                _export(source, scratch)
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


def _export(source: Path, scratch: Path) -> None:
    import numpy as np

    texts = sentences()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = _trace(source, scratch / "fp32.onnx", texts)
        _quantize(scratch / "fp32.onnx", scratch / "int8.onnx")
    shutil.copyfile(source / "tokenizer.json", scratch / "tokenizer.json")
    tokenizer = open_tokenizer(scratch)
    measured = {}
    for precision in ("int8", "fp32"):
        session = _optimize(scratch / f"{precision}.onnx", scratch / "model.onnx")
        cosines = np.sum(run(session, tokenizer, texts, 32) * reference, axis=1)
        measured[precision] = (float(cosines.mean()), float(cosines.min()))
        if cosines.mean() >= MIN_MEAN_COSINE and cosines.min() >= MIN_COSINE:
            break
    else:
        raise Unavailable(
            f"the exported model strays from its original: {measured}; reinstall djinn"
        )
    for name in ("fp32.onnx", "int8.onnx"):
        (scratch / name).unlink()
    weights = hashlib.sha256((source / "model.safetensors").read_bytes()).hexdigest()
    identity = hashlib.sha256(f"{weights}:384:mean:l2:".encode()).hexdigest()[:16]
    mean, lowest = measured[precision]
    card = {
        "model": "all-MiniLM-L6-v2",
        "identity": f"minilm-{identity}",
        "precision": precision,
        "mean_cosine": round(mean, 4),
        "min_cosine": round(lowest, 4),
    }
    write_atomic(scratch / "model.json", json.dumps(card, indent=1).encode())


def _trace(source: Path, target: Path, texts: list[str]) -> Any:
    """Export the fp32 graph, tokens in and unit vector out; returns the original's vectors."""
    logging.disable(logging.WARNING)
    # The model is a folder on this disk: nothing is to be asked of a hub, nor told to it.
    os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", DO_NOT_TRACK="1")
    try:
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        original = SentenceTransformer(
            str(source), device="cpu", model_kwargs={"attn_implementation": "eager"}
        )
        reference = original.encode(texts, convert_to_numpy=True, show_progress_bar=False)

        class Whole(torch.nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.model = original

            def forward(self, input_ids: Any, attention_mask: Any) -> Any:
                return self.model({"input_ids": input_ids, "attention_mask": attention_mask})[
                    "sentence_embedding"
                ]

        ids = torch.ones(2, 16, dtype=torch.long)
        mask = torch.ones(2, 16, dtype=torch.long)
        mask[1, 9:] = 0
        shape = {0: "batch", 1: "tokens"}
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
    finally:
        logging.disable(logging.NOTSET)
    return reference


def _quantize(source: Path, target: Path) -> None:
    logging.disable(logging.WARNING)
    try:
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
    finally:
        logging.disable(logging.NOTSET)


def _optimize(source: Path, target: Path) -> Any:
    """Write the graph as onnxruntime optimises it, which halves the time to load it."""
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    return open_session(target, 0)
