"""Exports models to ONNX once, in the fastest precision that is close to the original."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from djinn_memory.embedding import onnx_runtime
from djinn_memory.embedding.model_files import ModelCard, write_card
from djinn_memory.embedding.torch_model import encode, load_model, need_extra, quiet
from djinn_memory.errors import Unavailable
from djinn_memory.models import Progress, ProgressCallback
from djinn_memory.notes.slugs import slug
from djinn_memory.system.locks import lock

Precision = Literal["int8", "fp32"]

MIN_MEAN_COSINE = 0.985
MIN_COSINE = 0.95
"""Minimum cosine of int8 with the original. On MiniLM the cosines are 0.991 and 0.962."""

MAX_TOKENS = 512
"""Maximum tokens of a text when the model does not state its limit."""

INPUTS = ("input_ids", "attention_mask")
OUTPUTS = ("output", "tokens")
"""The vector of each text, and the last hidden state of each of its tokens. onnxruntime returns
only the outputs that are requested. The first output alone takes no longer."""


def export_model(model: Path | str, folder: Path, progress: ProgressCallback) -> None:
    """Write `folder` with model.json and, if possible, model.onnx and tokenizer.json.

    `model` is a sentence-transformers model, by folder or by name on the hub. A name is downloaded
    if it is not on this machine. If two processes do this at once, one exports it. Raises
    `Unavailable` without the extra `models`, or when the model cannot be prepared.
    """
    need_extra()
    is_ready = (folder / "model.json").is_file
    what = f"embedding model {model}"
    prepare_folder(folder, is_ready, lambda scratch: _export(model, scratch), what, progress)


def prepare_folder(
    folder: Path,
    is_ready: Callable[[], bool],
    write: Callable[[Path], None],
    what: str,
    progress: ProgressCallback,
) -> None:
    """Let `write` fill a scratch folder that becomes `folder`, unless `folder` is ready.

    The folder is complete or absent. If two processes prepare it at once, one does the work. Raises
    `Unavailable` when the disk is full.
    """
    progress(Progress("prepare", 0, None, f"preparing the {what}, once (about 10 s)"))
    try:
        with lock(folder.with_suffix(".lock"), timeout=600):
            if is_ready():
                return
            scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".export-"))
            try:
                write(scratch)
                shutil.rmtree(folder, ignore_errors=True)
                scratch.rename(folder)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise Unavailable(
            f"the {what} cannot be prepared in {folder.parent}: {error.strerror or error}; "
            "free disk space there or set DJINN_CACHE"
        ) from None
    progress(Progress("prepare", 1, 1, f"{what} ready"))


def _export(name: Path | str, scratch: Path) -> None:
    with quiet():
        import torch

        model, source = load_model(name)
        max_tokens = model.max_seq_length or MAX_TOKENS
        texts = sample_sentences()
        reference = encode(model, texts)

        def vectors(tokens: dict[str, Any]) -> tuple[Any, Any]:
            hidden = model(tokens)
            texts = torch.nn.functional.normalize(hidden["sentence_embedding"], dim=1)
            return texts, hidden["token_embeddings"]

        def is_near(session: Any) -> bool:
            tokenizer = onnx_runtime.open_tokenizer(scratch, max_tokens)
            cosines = (onnx_runtime.embed_texts(session, tokenizer, texts) * reference).sum(axis=1)
            return bool(cosines.mean() >= MIN_MEAN_COSINE and cosines.min() >= MIN_COSINE)

        precision = export_graph(
            vectors, model, (INPUTS, OUTPUTS), scratch, is_near, model.tokenizer
        )
    card = ModelCard(
        model=str(name),
        source=str(source),
        space=_space(name, source, model, reference.shape[1]),
        dimensions=reference.shape[1],
        max_tokens=max_tokens,
        prompts={key: text for key, text in model.prompts.items() if text},
        precision=precision,
    )
    write_card(scratch, card)


def _space(name: Path | str, source: Path, model: Any, dimensions: int) -> str:
    """Identifies a model's vectors without prompts: weights, dimensions, pooling, unit length."""
    weights = sorted([*source.rglob("*.safetensors"), *source.rglob("pytorch_model*.bin")])
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in weights]
    pooling = [getattr(module, "pooling_mode", None) for module in model]
    modes = "+".join(str(mode) for mode in pooling if mode)
    return f"{slug(Path(name).name)}:{'+'.join(digests)}:{dimensions}:{modes}:l2"


def export_graph(
    forward: Callable[[dict[str, Any]], Any],
    model: Any,
    names: tuple[Sequence[str], Sequence[str]],
    scratch: Path,
    is_near: Callable[[Any], bool],
    tokenizer: Any,
) -> Precision | None:
    """Write model.onnx and tokenizer.json into `scratch`. Returns the precision of the graph.

    `names` are the names of the inputs of `forward`, among input_ids, attention_mask and
    token_type_ids, and of its outputs. The first output has one row for each text.

    `is_near` compares a session with the original: int8 is tried first, then fp32. When neither is
    near, or the model cannot be exported, the result is None and no file is written. The model must
    then run in torch.
    """
    fp32, int8 = scratch / "fp32.onnx", scratch / "int8.onnx"
    try:
        tokenizer.backend_tokenizer.save(str(scratch / "tokenizer.json"))
        _trace(forward, model, *names, fp32)
        _quantize(fp32, int8)
        graphs: dict[Precision, Path] = {"int8": int8, "fp32": fp32}
        for precision, graph in graphs.items():
            if is_near(_optimize(graph, scratch / "model.onnx")):
                int8.unlink()
                fp32.unlink()
                return precision
    except (Unavailable, ImportError):
        raise
    except Exception as error:
        # The exporter fails in as many ways as there are models; torch runs them all.
        if isinstance(error, OSError) and error.errno:
            raise
    for file in scratch.iterdir():
        file.unlink()
    return None


def _trace(
    forward: Callable[[dict[str, Any]], Any],
    model: Any,
    inputs: Sequence[str],
    outputs: Sequence[str],
    target: Path,
) -> None:
    """Write the graph of `forward` in fp32."""
    import torch

    class Forward(torch.nn.Module):  # type: ignore[misc]
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
            Forward().eval(),
            tuple(examples[name] for name in inputs),
            str(target),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes={**dict.fromkeys([*inputs, *outputs], shape), outputs[0]: {0: "batch"}},
            opset_version=17,
            # The newer exporter needs a further package and fixes some of the sizes.
            dynamo=False,
        )


@contextmanager
def _no_output() -> Iterator[None]:
    """Discard standard output: C++ code prints a graph that cannot be exported."""
    import ctypes

    sys.stdout.flush()
    stdout, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        with suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).fflush(None)
        os.dup2(stdout, 1)
        os.close(stdout)
        os.close(null)


def _quantize(source: Path, target: Path) -> None:
    """Write the graph with int8 weights, which halves the time of an embedding."""
    onnx_runtime.onnxruntime()
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # Per channel: with one scale for a whole matrix the mean cosine falls to 0.93.
    options = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    quantize_dynamic(
        source, target, weight_type=QuantType.QInt8, per_channel=True, extra_options=options
    )


def _optimize(source: Path, target: Path) -> Any:
    """Write the graph optimised by onnxruntime, which halves the load time. Returns a session."""
    runtime = onnx_runtime.onnxruntime()
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    runtime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    return onnx_runtime.open_session(target)


def sample_sentences() -> list[str]:
    """The built-in texts for comparing an exported model with its original."""
    text = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip()]
