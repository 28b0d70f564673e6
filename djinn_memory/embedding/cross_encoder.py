"""A cross-encoder of sentence-transformers. It scores a question and a text read together.

The model is exported to ONNX once. A model that cannot be exported runs in torch, which takes
seconds to load.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.embedding.export import export_graph, prepare_folder, sample_sentences
from djinn_memory.embedding.model_files import local_folder, read_card, write_card
from djinn_memory.embedding.onnx_runtime import open_session, open_tokenizer
from djinn_memory.embedding.torch_model import download_model, load_original, need_extra, quiet
from djinn_memory.errors import Remedy, Unavailable
from djinn_memory.home.config import model_cache
from djinn_memory.models import ProgressCallback, Vectors, silent

FORMAT = 1
"""Increased when models that were exported earlier can no longer be used."""

MAX_TOKENS = 512
"""Maximum tokens of question and text together: a window and a long question. The time of attention
is quadratic in it."""

MIN_ORDER = 0.97
"""Minimum share of pairs of texts that int8 must rank as the original does."""

QUESTIONS, TEXTS = 12, 20
"""Number of built-in questions, and of texts for each, for the comparison of rankings."""

Pair = tuple[str, str]


class _RerankerCard(Struct, frozen=True):
    """The facts about a prepared cross-encoder, kept in its `model.json`."""

    source: str
    """The folder of the original."""
    stamp: list[tuple[str, int, int]]
    """Name, size and time of the original files."""
    precision: Literal["int8", "fp32", "torch"]
    """`torch` for a model that cannot be exported."""
    inputs: list[str]
    pad: int
    max_tokens: int


class CrossEncoder:
    """The model `name`: a folder, or a name on the hub, which `prepare` downloads.

    A folder is given as an absolute path, or as `./` and a path relative to `root`. A folder in
    `root` is never used in place of a hub model of the same name.

    The constructor is cheap. `scores` loads the model at its first call. Several threads may call
    it.
    """

    def __init__(self, name: str, root: Path, progress: ProgressCallback = silent) -> None:
        self.name = name
        self._progress = progress
        self._lock = threading.Lock()
        self._original = local_folder(root / name if name.startswith(".") else name)

    @property
    def ready(self) -> bool:
        """Whether these weights have been prepared."""
        try:
            card = self.card
        except (OSError, ValueError, msgspec.MsgspecError):
            return False
        return self._original is None or _stamp(self._original) == card.stamp

    def prepare(self) -> None:
        """Export the model unless it is ready. If two processes do this at once, one exports it.

        Raises `Unavailable` when the model is missing or is not a cross-encoder.
        """
        if self.ready:
            return
        need_extra()
        source = self._original.resolve() if self._original else download_model(self.name)
        export = partial(_export, source)
        prepare_folder(self._place, lambda: self.ready, export, "reranker", self._progress)

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """The log-odds that each text answers: any real number, 0 for a probability of one half.

        Raises `Unavailable` when the model is not prepared or is damaged.
        """
        pairs = [(question, text) for text in texts]
        with self._lock:
            score = self._score
        return [float(value) for value in score(pairs)] if pairs else []

    @property
    def card(self) -> _RerankerCard:
        """The facts about the prepared model; raises OSError or a decoding error without one."""
        return read_card(self._place, _RerankerCard)

    @cached_property
    def _score(self) -> Any:
        if not self.ready:
            raise Unavailable(f"the reranker {self.name} is not prepared yet", Remedy("index"))
        card = self.card
        if card.precision == "torch":
            model = _load(Path(card.source))
            return lambda pairs: _predict(model, pairs)
        session = open_session(self._place / "model.onnx", 0)
        tokenizer = open_tokenizer(self._place, card.max_tokens)
        return lambda pairs: _run(session, tokenizer, card, pairs)

    @cached_property
    def _place(self) -> Path:
        name = str(self._original.resolve()) if self._original else self.name
        digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return model_cache() / "rerankers" / f"{digest}-{FORMAT}"


def _stamp(folder: Path) -> list[tuple[str, int, int]]:
    """A value that identifies the state of a model's folder without reading the weights."""
    files = [*folder.glob("*.safetensors"), *folder.glob("*.bin"), *folder.glob("*.json")]
    return [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in sorted(files)]


def _export(source: Path, scratch: Path) -> None:
    """Write the card and, if the exported model ranks as the original does, graph and tokenizer."""
    stamp = _stamp(source)
    model = _load(source)
    pairs = _sample_pairs()
    reference = _predict(model, pairs)
    card = _RerankerCard(
        source=str(source),
        stamp=stamp,
        precision="torch",
        inputs=list(model.tokenizer.model_input_names),
        pad=int(model.tokenizer.pad_token_id or 0),
        max_tokens=_max_tokens(model),
    )
    inner = model.model

    def is_near(session: Any) -> bool:
        tokenizer = open_tokenizer(scratch, card.max_tokens)
        starts = range(0, len(pairs), TEXTS)
        batches = (_run(session, tokenizer, card, pairs[at : at + TEXTS]) for at in starts)
        scores = [score for batch in batches for score in batch]
        return _same_order(scores, reference) >= MIN_ORDER

    with quiet():
        precision = export_graph(
            lambda tokens: inner(**tokens).logits, inner, (card.inputs, ["output"]), scratch,
            is_near, model.tokenizer,
        )  # fmt: skip
    write_card(scratch, replace(card, precision=precision or "torch"))


def _load(source: Path) -> Any:
    try:
        with quiet():
            from sentence_transformers import CrossEncoder as Original

            return load_original(Original, source)
    except Unavailable:
        raise
    except Exception as error:  # a folder without such a model fails in many ways
        why = " ".join(str(error).split())[:200]
        raise Unavailable(f"search.rerank: {source} is not a cross-encoder: {why}") from None


def _max_tokens(model: Any) -> int:
    # The library renamed it in version 6.
    own = getattr(model, "max_seq_length", None) or getattr(model, "max_length", None)
    return min(MAX_TOKENS, int(own or MAX_TOKENS))


def _predict(model: Any, pairs: Sequence[Pair]) -> Any:
    """Log-odds by the original: its only output, or the second of two outputs minus the first."""
    import torch

    outputs = model.predict(list(pairs), activation_fn=torch.nn.Identity(), show_progress_bar=False)
    return _log_odds(outputs)


def _log_odds(outputs: Vectors) -> Vectors:
    if outputs.ndim == 1 or outputs.shape[1] == 1:
        return outputs.reshape(-1)
    if outputs.shape[1] == 2:
        difference: Vectors = outputs[:, 1] - outputs[:, 0]
        return difference
    raise Unavailable(
        f"search.rerank: a model with {outputs.shape[1]} outputs is a classifier; "
        "a cross-encoder for search has one output"
    )


def _run(session: Any, tokenizer: Any, card: _RerankerCard, pairs: Sequence[Pair]) -> Vectors:
    import numpy as np

    encodings = tokenizer.encode_batch(list(pairs))
    shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
    ids = np.full(shape, card.pad, dtype=np.int64)
    mask, types = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for row, encoding in enumerate(encodings):
        length = len(encoding.ids)
        ids[row, :length] = encoding.ids
        mask[row, :length] = 1
        types[row, :length] = encoding.type_ids
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    return _log_odds(session.run(None, {name: feed[name] for name in card.inputs})[0])


def _sample_pairs() -> list[Pair]:
    """Built-in sentences as questions, each with TEXTS other sentences."""
    texts = sample_sentences()
    step = len(texts) // QUESTIONS
    return [
        (texts[at * step], texts[(at * step + 1 + other * 7) % len(texts)])
        for at in range(QUESTIONS)
        for other in range(TEXTS)
    ]


def _same_order(scores: Sequence[float], reference: Vectors) -> float:
    """The share of pairs of texts for the same question that both models rank in the same order."""
    import numpy as np

    first, second = np.triu_indices(TEXTS, 1)
    signs = []
    for values in (scores, reference):
        rows = np.asarray(values).reshape(-1, TEXTS)
        signs.append(np.sign(rows[:, first] - rows[:, second]))
    return float((signs[0] == signs[1]).mean())
