"""The packaged all-MiniLM-L6-v2, run by onnxruntime on this machine."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from djinn_memory.chunking.tokens import model_folder
from djinn_memory.config import model_cache
from djinn_memory.models import ProgressCallback, silent

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

FORMAT = 1
"""Raised when an exported model of before can no longer be used."""

MAX_TOKENS = 256


class LocalEmbedder:
    """MiniLM from the user's cache; exported there the first time, which takes some seconds."""

    dimensions = 384

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

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, (len(texts), 384). Text beyond 256 tokens is not read."""
        session, tokenizer = _opened(self.folder, self._threads)
        return run(session, tokenizer, texts, self._batch)


def warm() -> None:
    """Load the model with the default settings if it was exported before, for who embeds next."""
    embedder = LocalEmbedder()
    if embedder.ready:
        _opened(embedder.folder, 0)


_opening = threading.Lock()
_open: dict[tuple[Path, int], tuple[Any, Any]] = {}


def _opened(folder: Path, threads: int) -> tuple[Any, Any]:
    """The session and the tokenizer of a model, loaded once, by whichever thread is first."""
    with _opening:
        if (folder, threads) not in _open:
            _open[folder, threads] = open_session(folder / "model.onnx", threads), open_tokenizer(folder)
        return _open[folder, threads]


def open_session(path: Path, threads: int) -> Any:
    """An inference session; the graph was optimised when it was exported."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )


def open_tokenizer(folder: Path) -> Any:
    """The model's tokenizer, cutting at its 256 tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.enable_padding()
    return tokenizer


def run(session: Any, tokenizer: Any, texts: Sequence[str], batch: int) -> Vectors:
    """Embed `texts` in batches of like length, which pads least; rows in the order of `texts`."""
    import numpy as np

    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    vectors = np.empty((len(texts), LocalEmbedder.dimensions), dtype=np.float32)
    for at in range(0, len(order), batch):
        rows = order[at : at + batch]
        encoded = tokenizer.encode_batch([texts[row] for row in rows])
        ids = np.array([one.ids for one in encoded], dtype=np.int64)
        mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
        vectors[rows] = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    return vectors


def _fingerprint(source: Path) -> str:
    """Tells one set of weights from another without reading all 90 MB at every start."""
    digest = hashlib.sha256((source / "tokenizer.json").read_bytes()[:65536])
    with (source / "model.safetensors").open("rb") as file:
        size = file.seek(0, 2)
        digest.update(str(size).encode())
        for at in (0, size // 2, max(0, size - 65536)):
            file.seek(at)
            digest.update(file.read(65536))
    return digest.hexdigest()[:16]
