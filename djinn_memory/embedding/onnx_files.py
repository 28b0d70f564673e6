"""What every export to ONNX needs: trace, quantise, optimise, into a folder that is whole."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from djinn_memory.embedding.local import open_session, runtime
from djinn_memory.errors import Unavailable
from djinn_memory.system.locks import lock


def prepare(
    folder: Path, ready: Callable[[], bool], make: Callable[[Path], None], what: str
) -> None:
    """Let `make` fill `folder`, unless it is `ready`: whole or not at all.

    Two processes at once make it once. `Unavailable` when there is no room for it.
    """
    try:
        with lock(folder.with_suffix(".lock"), timeout=600):
            if ready():
                return
            scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".export-"))
            try:
                make(scratch)
                shutil.rmtree(folder, ignore_errors=True)
                scratch.rename(folder)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise Unavailable(
            f"the {what} cannot be prepared in {folder.parent}: {error.strerror or error}; "
            "make room there or set DJINN_CACHE"
        ) from None


def trace(
    forward: Callable[[dict[str, Any]], Any], model: Any, inputs: Sequence[str], target: Path
) -> None:
    """Write the graph of `forward`, which gives one row for each text, in fp32.

    `inputs` are of input_ids, attention_mask and token_type_ids those that it takes, by name.
    """
    import torch

    class Whole(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *tensors: Any) -> Any:
            return forward(dict(zip(inputs, tensors, strict=True)))

    ids = torch.ones(2, 16, dtype=torch.long)
    mask = torch.ones(2, 16, dtype=torch.long)
    mask[1, 9:] = 0
    examples = {
        "input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids),
    }  # fmt: skip
    shape = {0: "batch", 1: "tokens"}
    with _no_output():
        torch.onnx.export(
            Whole().eval(),
            tuple(examples[name] for name in inputs),
            str(target),
            input_names=list(inputs),
            output_names=["output"],
            dynamic_axes={**dict.fromkeys(inputs, shape), "output": {0: "batch"}},
            opset_version=17,
            # The newer exporter wants a further package and fixes some of the sizes.
            dynamo=False,
        )


@contextmanager
def _no_output() -> Iterator[None]:
    """Without what is written to standard output: a graph that fails to export is, in C++."""
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


def quantize(source: Path, target: Path) -> None:
    """Write the graph with int8 weights, which halves the time it takes."""
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


def optimize(source: Path, target: Path) -> Any:
    """Write the graph as onnxruntime optimises it, which halves the time to load; a session."""
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    return open_session(target, 0)


def sentences() -> list[str]:
    """The built-in texts on which an exported model is compared with its original."""
    text = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip()]
