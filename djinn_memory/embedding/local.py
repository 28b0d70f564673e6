"""Models of sentence-transformers on this machine, run by onnxruntime where they export."""

from __future__ import annotations

import hashlib
import os
import threading
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from djinn_memory.chunking.tokens import model_folder
from djinn_memory.embedding.prompts import Prompts, prompts
from djinn_memory.errors import ConfigError, Unavailable
from djinn_memory.home.config import model_cache
from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.models import ProgressCallback, silent
from djinn_memory.notes.slugs import slug
from djinn_memory.system.files import expand
from djinn_memory.system.interrupts import deferred

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

FORMAT = 2
"""Raised when an exported model of before can no longer be used."""

TOKENS_AT_ONCE = 1024
"""Of a batch, padding included: what is computed of more falls out of the processor's cache (texts
of 180 tokens: 82/s and 430 MB with 32 of them, 125/s and 185 MB with 8)."""

MAX_TOKENS = 512
"""Read of a text where the model does not say how much it reads."""


class ModelCard(Struct, frozen=True):
    """What is known of a prepared model."""

    model: str
    source: str
    """The folder of the original."""
    space: str
    """Weights, length of vectors, pooling, normalisation."""
    dimensions: int
    max_tokens: int
    prompts: dict[str, str] = {}
    """The model's own, by purpose."""
    precision: Literal["int8", "fp32"] | None = None
    """None where only torch can run it."""
    mean_cosine: float | None = None
    min_cosine: float | None = None


class LocalEmbedder:
    """The packaged MiniLM, or another model of sentence-transformers, on this machine.

    It is exported into the user's cache the first time, which takes some seconds.
    """

    local = True

    def __init__(self, config: EmbeddingConfig, progress: ProgressCallback = silent) -> None:
        self._config = config
        self._progress = progress
        other = config.provider == "sentence-transformers"
        if other and not config.model:
            raise ConfigError(
                "embedding.model is missing; name a sentence-transformers model or its folder"
            )
        self._model = Path(config.model or "") if other else model_folder()

    @cached_property
    def folder(self) -> Path:
        """Where the prepared model lies, made now if it does not yet."""
        if not self.ready:
            from djinn_memory.embedding.export import export

            export(self._model, self._place, self._progress)
        return self._place

    @property
    def ready(self) -> bool:
        """Whether the model was prepared before."""
        return (self._place / "model.json").is_file()

    @cached_property
    def _place(self) -> Path:
        return model_cache() / "models" / f"{_fingerprint(self._model)}-{FORMAT}"

    @cached_property
    def card(self) -> ModelCard:
        """What is known of the model."""
        try:
            with deferred():
                return msgspec.json.decode(
                    (self.folder / "model.json").read_bytes(), type=ModelCard
                )
        except (OSError, msgspec.DecodeError) as error:
            raise _damaged(self.folder, error) from None

    @cached_property
    def prompts(self) -> Prompts:
        """What stands before a question and before a text."""
        own, config = self.card.prompts, self._config
        query, document = config.query_prompt, config.document_prompt
        if query is None:
            query = own.get("query")
        if document is None:
            document = own.get("document", own.get("passage"))
        return prompts(self.card.model, query, document)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self.card.dimensions

    @cached_property
    def identity(self) -> str:
        """Of the original weights: int8 and fp32 are near enough to be compared."""
        name, _, space = self.card.space.partition(":")
        asked = f"{self.prompts.query}\0{self.prompts.document}".strip("\0")
        return f"{name}-{hashlib.sha256(f'{space}:{asked}'.encode()).hexdigest()[:16]}"

    def embed(
        self, texts: Sequence[str], *, query: bool = False, within: float | None = None
    ) -> Vectors:
        """Unit vectors; a text that is longer than the model reads is the mean of its parts."""
        prompt = self.prompts.query if query else self.prompts.document
        texts = [prompt + text for text in texts] if prompt else texts
        device = None if query else _gpu(self._config)
        if texts and (device or self.card.precision is None):
            from djinn_memory.embedding.torch_model import encode, opened

            model = opened(self.card.source, device or "cpu")
            return encode(model, texts, self._config.batch)
        tokenizer = _tokenizer(self.folder, self.card.max_tokens)
        session = _session(self.folder / "model.onnx", self._config.threads)
        return run(session, tokenizer, texts, self._config.batch)


def _gpu(config: EmbeddingConfig) -> str | None:
    """The device on which torch is to embed texts; None: the processor, without torch.

    `auto` leaves the packaged model to the processor: torch takes longer to start than it saves.
    """
    if config.device != "auto":
        return None if config.device == "cpu" else config.device
    other = config.provider == "sentence-transformers"
    return "cuda" if other and Path("/dev/nvidiactl").exists() else None


def warm() -> None:
    """Begin to load the model, with the default settings, for who embeds next on any thread.

    Does nothing where the model was not exported before.
    """
    embedder = LocalEmbedder(EmbeddingConfig())
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
        raise _damaged(path.parent, error) from None


def open_tokenizer(folder: Path, max_tokens: int) -> Any:
    """The model's tokenizer; it cuts texts into parts of so many tokens."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # what tokenizers raises has no class of its own
        raise _damaged(folder, error) from None
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    return tokenizer


def _damaged(folder: Path, error: Exception) -> Unavailable:
    return Unavailable(
        f"the prepared model in {folder} is damaged ({type(error).__name__}); "
        "delete that folder and run `djinn index`"
    )


_session = _Once(open_session)
_tokenizer = _Once(open_tokenizer)


def run(session: Any, tokenizer: Any, texts: Sequence[str], batch: int) -> Vectors:
    """Embed `texts` in batches of like length in tokens, which pads least; rows in their order."""
    import numpy as np

    encoded = tokenizer.encode_batch(texts)
    parts = [(row, part.ids) for row, one in enumerate(encoded) for part in (one, *one.overflowing)]
    parts.sort(key=lambda part: len(part[1]))
    vectors = np.zeros((len(texts), session.get_outputs()[0].shape[1]), dtype=np.float32)
    at = 0
    while at < len(parts):
        some = [parts[at]]
        # They are sorted, so the next is the longest, to which all are padded.
        for part in parts[at + 1 : at + batch]:
            if (len(some) + 1) * len(part[1]) > TOKENS_AT_ONCE:
                break
            some.append(part)
        at += len(some)
        ids = np.zeros((len(some), len(some[-1][1])), dtype=np.int64)
        mask = np.zeros_like(ids)
        for line, (_, tokens) in enumerate(some):
            ids[line, : len(tokens)] = tokens
            mask[line, : len(tokens)] = 1
        made = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        np.add.at(vectors, [row for row, _ in some], made)
    if len(parts) > len(texts):
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _fingerprint(model: Path) -> str:
    """Tells one set of weights from another without reading all of them at every start.

    What is no folder is a name, which stands for itself.
    """
    folder = model_in(model)
    check = size = 0
    files = sorted(folder.rglob("*")) if folder else []
    for path in [file for file in files if file.suffix in _TELLING and file.is_file()]:
        with path.open("rb") as file:
            length = file.seek(0, 2)
            for at in (0, length // 2, max(0, length - 65536)):
                file.seek(at)
                check = zlib.crc32(file.read(65536), check)
        size += length
    if not files:
        check = zlib.crc32(str(model).encode())
    return f"{slug(model.name)}-{size:x}-{check:08x}"


def model_in(named: Path | str) -> Path | None:
    """The model's folder, if a whole path names one.

    Any other name is one of the hub: a folder that the current one has by that name, a cloned
    home's say, does not stand in for it.
    """
    folder = expand(named)
    return folder if folder.is_absolute() and folder.is_dir() else None


_TELLING = {".safetensors", ".bin", ".json"}
