"""The packaged all-MiniLM-L6-v2, run by onnxruntime on this machine."""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from djinn_memory.chunking.tokens import model_folder
from djinn_memory.config import model_cache
from djinn_memory.errors import Unavailable
from djinn_memory.models import ProgressCallback, silent

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

FORMAT = 1
"""Raised when an exported model of before can no longer be used."""

MAX_TOKENS = 256


class LocalEmbedder:
    """MiniLM from the user's cache; exported there the first time, which takes some seconds."""

    dimensions = 384
    local = True

    def __init__(
        self, *, threads: int = 0, batch: int = 32, progress: ProgressCallback = silent
    ) -> None:
        self._threads = threads
        self._batch = batch
        self._progress = progress

    @cached_property
    def folder(self) -> Path:
        """Where the exported model lies, made now if it does not yet."""
        if not self.ready:
            from djinn_memory.embedding.export import export

            export(model_folder(), self._place, self._progress)
        return self._place

    @property
    def ready(self) -> bool:
        """Whether the model was exported before."""
        return (self._place / "model.json").is_file()

    @cached_property
    def _place(self) -> Path:
        return model_cache() / "models" / f"{_fingerprint(model_folder())}-{FORMAT}"

    @cached_property
    def _card(self) -> dict[str, Any]:
        card: dict[str, Any] = json.loads((self.folder / "model.json").read_text())
        return card

    @property
    def identity(self) -> str:
        """Of the original weights: int8 and fp32 are near enough to be compared."""
        return str(self._card["identity"])

    @property
    def precision(self) -> str:
        """`int8`, or `fp32` where int8 strayed too far from the original on this machine."""
        return str(self._card["precision"])

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Unit vectors, (len(texts), 384). Text beyond 256 tokens is not read."""
        tokenizer = _tokenizer(self.folder)
        session = _session(self.folder / "model.onnx", self._threads)
        return run(session, tokenizer, texts, self._batch)


def warm() -> None:
    """Begin to load the model, with the default settings, for who embeds next on any thread.

    Does nothing where the model was not exported before.
    """
    embedder = LocalEmbedder()
    if embedder.ready:
        # Imports hold the interpreter, loading does not: so the first here, the second beside.
        runtime()
        path = embedder.folder / "model.onnx"
        threading.Thread(target=_load, args=(path,), daemon=True).start()


def _load(path: Path) -> None:
    with suppress(Unavailable):  # who embeds meets the error again
        _session(path, 0)


class _Once:
    """Calls `make` once for each path, by whichever thread is first; the others wait."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: dict[Path, Any] = {}

    def __call__(self, path: Path, *options: Any) -> Any:
        with self._lock:
            if path not in self._made:
                self._made[path] = self._make(path, *options)
            return self._made[path]


def runtime() -> Any:
    """The module onnxruntime, silenced: by itself it reports its use to its maker."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def open_session(path: Path, threads: int) -> Any:
    """An inference session; the graph was optimised when it was exported."""
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Idle workers that spin take the core on which the rest of a search runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # what onnxruntime raises has no common class of its own
        raise Unavailable(
            f"the prepared model in {path.parent} is damaged ({type(error).__name__}); "
            "delete that folder and run `djinn index`"
        ) from None


def open_tokenizer(folder: Path) -> Any:
    """The model's tokenizer, cutting at its 256 tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return tokenizer


_session = _Once(open_session)
_tokenizer = _Once(open_tokenizer)


def run(session: Any, tokenizer: Any, texts: Sequence[str], batch: int) -> Vectors:
    """Embed `texts` in batches of like length in tokens, which pads least; rows in their order."""
    import numpy as np

    tokens = [encoded.ids for encoded in tokenizer.encode_batch(texts)]
    order = sorted(range(len(texts)), key=lambda index: len(tokens[index]))
    vectors = np.empty((len(texts), LocalEmbedder.dimensions), dtype=np.float32)
    for at in range(0, len(order), batch):
        rows = order[at : at + batch]
        ids = np.zeros((len(rows), len(tokens[rows[-1]])), dtype=np.int64)
        mask = np.zeros_like(ids)
        for line, row in enumerate(rows):
            ids[line, : len(tokens[row])] = tokens[row]
            mask[line, : len(tokens[row])] = 1
        vectors[rows] = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    return vectors


def _fingerprint(source: Path) -> str:
    """Tells one set of weights from another without reading all 90 MB at every start."""
    with (source / "model.safetensors").open("rb") as file:
        size = file.seek(0, 2)
        check = 0
        for at in (0, size // 2, max(0, size - 65536)):
            file.seek(at)
            check = zlib.crc32(file.read(65536), check)
    return f"minilm-{size:x}-{check:08x}"
