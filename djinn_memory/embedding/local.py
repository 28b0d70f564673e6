"""The models on this machine, run by onnxruntime if possible."""

from __future__ import annotations

import hashlib
import os
import threading
import zlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from djinn_memory.chunking.tokens import PACKAGED_MODEL
from djinn_memory.embedding import model_files, onnx_runtime
from djinn_memory.embedding.embedder import Embedder, Prompts, TokenVectors, prompts
from djinn_memory.embedding.torch_model import load_model, quiet
from djinn_memory.errors import ConfigError, Unavailable
from djinn_memory.home.config import model_cache
from djinn_memory.home.settings import MULTILINGUAL, EmbeddingConfig
from djinn_memory.models import ProgressCallback, Vectors, silent
from djinn_memory.notes.slugs import slug
from djinn_memory.system.interrupts import deferred

if TYPE_CHECKING:
    from djinn_memory.embedding.language_bias import LanguageBias

_FINGERPRINTED = {".safetensors", ".bin", ".json"}

FORMAT = 3
"""Increased when models that were exported earlier can no longer be used."""


class LocalEmbedder(Embedder):
    """The packaged MiniLM, multilingual-e5-small, or a sentence-transformers model.

    The first use of a model that is not packaged prepares it in the user's cache. This takes some
    seconds.
    """

    def __init__(self, config: EmbeddingConfig, progress: ProgressCallback = silent) -> None:
        self._config = config
        self._progress = progress
        exported = config.provider == "sentence-transformers"
        self._multilingual = not exported and config.model == MULTILINGUAL
        self._packaged = not exported and not self._multilingual
        if exported and not config.model:
            raise ConfigError(
                "embedding.model is missing; name a sentence-transformers model or its folder"
            )
        self._model = Path(config.model or "")
        self._question: tuple[str, TokenVectors] | None = None
        """The last query, and its tokens."""

    @cached_property
    def folder(self) -> Path:
        """The folder of the packaged or prepared model. The model is prepared now if necessary."""
        self.check()
        if not self.ready and self._multilingual:
            from djinn_memory.embedding.multilingual import prepare_multilingual

            prepare_multilingual(self._place, self._progress)
        elif not self.ready:
            from djinn_memory.embedding.export import export_model

            export_model(self._model, self._place, self._progress)
        return self._place

    @property
    def ready(self) -> bool:
        """Whether the model is packaged or already prepared."""
        return self._packaged or (self._place / "model.json").is_file()

    def check(self) -> None:
        """Raise `Unavailable` when multilingual-e5-small is not prepared and cannot be."""
        if self._multilingual and not self.ready:
            model_files.multilingual_weights()

    @property
    def is_packaged_and_loaded(self) -> bool:
        """Whether this is the packaged model, and the process has loaded it."""
        return self._packaged and onnx_runtime.cached_session.holds(self._place / "model.onnx")

    @cached_property
    def _place(self) -> Path:
        if self._packaged:
            return PACKAGED_MODEL
        if self._multilingual:
            name = f"{MULTILINGUAL}-{model_files.MULTILINGUAL_CHECKSUM[:8]}"
            return model_cache() / "models" / f"{name}-{FORMAT}"
        return model_cache() / "models" / f"{_fingerprint(self._model)}-{FORMAT}"

    @cached_property
    def card(self) -> model_files.ModelCard:
        """The facts about the model."""
        try:
            with deferred():
                return model_files.read_card(self.folder, model_files.ModelCard)
        except (OSError, msgspec.DecodeError) as error:
            raise onnx_runtime.damaged_model(self.folder, error) from None

    @cached_property
    def prompts(self) -> Prompts:
        """The prompts in the settings, else the model's own, else those of its family."""
        own = self.card.prompts
        query, document = self._config.query_prompt, self._config.document_prompt
        return prompts(
            self.card.model,
            own.get("query") if query is None else query,
            own.get("document", own.get("passage")) if document is None else document,
        )

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self.card.dimensions

    @property
    def gives_tokens(self) -> bool:
        """False for sentence-transformers models, because earlier exports lack this output."""
        return (self._packaged or self._multilingual) and not self._torch_device()

    @cached_property
    def identity(self) -> str:
        """Identifies the original weights: vectors of int8 and fp32 are near enough to compare."""
        name, _, space = self.card.space.partition(":")
        both = f"{self.prompts.query}\0{self.prompts.document}".strip("\0")
        return f"{name}-{hashlib.sha256(f'{space}:{both}'.encode()).hexdigest()[:16]}"

    def embed(
        self, texts: Sequence[str], *, query: bool = False, within: float | None = None
    ) -> Vectors:
        """Unit vectors. The vector of a text too long for the model is the mean of its parts.

        The tokens of a single query come from the same run, for `question_tokens`.
        """
        if query and len(texts) == 1 and self.gives_tokens:
            vectors, tokens = onnx_runtime.embed_question(
                *self._runtime, texts[0], self.prompts.query
            )
            self._question = texts[0], tokens
        else:
            vectors = self._embed(texts, query=query)
        return self._bias.taken_from(vectors) if query and self._multilingual else vectors

    def embed_documents(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """Vectors and token signs, both from one run of the model."""
        if not self.gives_tokens:
            return super().embed_documents(texts)
        signs: list[bytes] = []
        return self._embed(texts, query=False, signs=signs), signs

    def _embed(
        self, texts: Sequence[str], *, query: bool, signs: list[bytes] | None = None
    ) -> Vectors:
        prompt = self.prompts.query if query else self.prompts.document
        texts = [prompt + text for text in texts] if prompt else texts
        device = None if query else self._torch_device()
        if texts and (device or self.card.precision is None):
            from djinn_memory.embedding.torch_model import encode, packaged_original

            source = self.card.source or str(packaged_original())
            model = _cached_model(source, device or "cpu")
            return encode(model, texts, self._config.batch)
        threads = self._config.threads or os.cpu_count() or 1
        return onnx_runtime.embed_texts(*self._runtime, texts, signs, threads=threads)

    def question_tokens(self, text: str) -> TokenVectors | None:
        """The tokens of a question, by a model that gives them."""
        if not self.gives_tokens:
            return None
        if self._question and self._question[0] == text:
            return self._question[1]
        return onnx_runtime.embed_question(*self._runtime, text, self.prompts.query)[1]

    @cached_property
    def _bias(self) -> LanguageBias:
        from djinn_memory.embedding.language_bias import read_bias

        try:
            return read_bias(self.folder)
        except (OSError, ValueError, EOFError) as error:
            raise onnx_runtime.damaged_model(self.folder, error) from None

    @property
    def _runtime(self) -> tuple[Any, Any]:
        """The session and the tokenizer. They are loaded once in a process."""
        tokenizer = onnx_runtime.cached_tokenizer(self.folder, self.card.max_tokens)
        return onnx_runtime.cached_session(self.folder / "model.onnx"), tokenizer

    def _torch_device(self) -> str | None:
        """The device on which torch embeds texts; None for the processor without torch.

        `auto` runs the packaged model on the processor, because starting torch takes longer than it
        saves. torch cannot read the weights of multilingual-e5-small.
        """
        if self._multilingual:
            return None
        if self._config.device != "auto":
            return None if self._config.device == "cpu" else self._config.device
        return "cuda" if not self._packaged and Path("/dev/nvidiactl").exists() else None


@cache
def _cached_model(source: str, device: str) -> Any:
    """The model in a folder, loaded on a device. Later calls return the same object."""
    with quiet():
        import torch

        available = {"cpu": True, "cuda": torch.cuda.is_available()}
        available["mps"] = torch.backends.mps.is_available()
        if not available[device]:
            raise Unavailable(
                f"torch finds no {device} device; set embedding.device to auto or cpu"
            )
        return load_model(Path(source), device)[0]


def _fingerprint(model: Path) -> str:
    """Identifies a set of weights without reading all of them at every start.

    A model on the hub has no folder, so its name is hashed instead.
    """
    folder = model_files.local_folder(model)
    check = size = 0
    files = sorted(folder.rglob("*")) if folder else []
    for path in [file for file in files if file.suffix in _FINGERPRINTED and file.is_file()]:
        with path.open("rb") as file:
            length = file.seek(0, 2)
            for at in (0, length // 2, max(0, length - 65536)):
                file.seek(at)
                check = zlib.crc32(file.read(65536), check)
        size += length
    if not files:
        check = zlib.crc32(str(model).encode())
    return f"{slug(model.name)}-{size:x}-{check:08x}"


def warm() -> None:
    """Start loading the packaged model on a thread, so that the next embedding need not wait."""
    # Importing holds the interpreter, loading does not: import here, load on the thread.
    onnx_runtime.onnxruntime()
    threading.Thread(target=_load, daemon=True).start()


def _load() -> None:
    with suppress(Unavailable):  # the caller that embeds meets the same error
        onnx_runtime.cached_session(PACKAGED_MODEL / "model.onnx")
