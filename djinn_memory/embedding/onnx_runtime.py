"""Runs ONNX models: the session, the tokenizer, and the embedding of texts in batches."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from djinn_memory.errors import Remedy, Unavailable

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

TOKENS_AT_ONCE = 1024
"""Tokens of a batch, padding included: a larger batch does not fit the processor's cache (texts
of 180 tokens: 82/s and 430 MB with 32 of them, 125/s and 185 MB with 8)."""


def onnxruntime() -> Any:
    """The module onnxruntime without telemetry, which is on by default."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def open_session(path: Path, threads: int) -> Any:
    """An inference session; the graph was optimised when it was exported."""
    runtime = onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Idle workers that spin take the core on which the rest of a search runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common class
        raise damaged_model(path.parent, error) from None


def open_tokenizer(folder: Path, max_tokens: int) -> Any:
    """The model's tokenizer, which splits texts into parts of at most `max_tokens`."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the errors of tokenizers have no class of their own
        raise damaged_model(folder, error) from None
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    return tokenizer


def damaged_model(folder: Path, error: Exception) -> Unavailable:
    """The error for a prepared model that cannot be loaded."""
    return Unavailable(
        f"the prepared model in {folder} is damaged ({type(error).__name__}); delete that folder",
        Remedy("index", purpose="makes it again"),
    )


class _CachePerPath:
    """Calls a function once for each path. The first thread calls it; the others wait."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._results: dict[Path, Any] = {}

    def __call__(self, path: Path, *options: Any) -> Any:
        with self._lock:
            if path not in self._results:
                self._results[path] = self._function(path, *options)
            return self._results[path]


cached_session = _CachePerPath(open_session)
cached_tokenizer = _CachePerPath(open_tokenizer)


def embed_texts(session: Any, tokenizer: Any, texts: Sequence[str], batch: int) -> Vectors:
    """Embed `texts` in batches of similar length, which need least padding; rows keep the order."""
    import numpy as np

    parts = [
        (row, part.ids)
        for row, text in enumerate(tokenizer.encode_batch(texts))
        for part in (text, *text.overflowing)
    ]
    parts.sort(key=lambda part: len(part[1]))
    vectors = np.zeros((len(texts), session.get_outputs()[0].shape[1]), dtype=np.float32)
    at = 0
    while at < len(parts):
        stop = at + 1
        # Parts are sorted by length: all are padded to the last of the batch.
        while stop < min(at + batch, len(parts)):
            if (stop + 1 - at) * len(parts[stop][1]) > TOKENS_AT_ONCE:
                break
            stop += 1
        ids = np.zeros((stop - at, len(parts[stop - 1][1])), dtype=np.int64)
        mask = np.zeros_like(ids)
        for line, (_, tokens) in enumerate(parts[at:stop]):
            ids[line, : len(tokens)] = tokens
            mask[line, : len(tokens)] = 1
        outputs = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        np.add.at(vectors, [row for row, _ in parts[at:stop]], outputs)
        at = stop
    if len(parts) > len(texts):
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors
