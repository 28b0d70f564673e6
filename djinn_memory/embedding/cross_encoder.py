"""A cross-encoder of sentence-transformers: reads a question and a text together, scores the pair.

It is exported once to ONNX; what does not export is run by torch, which takes seconds to load.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from djinn_memory.embedding import onnx_files
from djinn_memory.embedding.local import model_in, open_session, open_tokenizer
from djinn_memory.embedding.torch_model import fetched, quiet
from djinn_memory.errors import Unavailable
from djinn_memory.home.config import model_cache
from djinn_memory.models import Progress, ProgressCallback, silent
from djinn_memory.system.files import write_atomic

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

FORMAT = 1
"""Raised when an exported model of before can no longer be used."""

MAX_TOKENS = 512
"""Of question and text together: a window and a long question; attention is quadratic in it."""

MIN_ORDER = 0.97
"""Of two texts for one question, so many have to stay in the original's order with int8."""

QUESTIONS, TEXTS = 12, 20
"""Built-in sentences that are asked with, and texts for each, to compare the orders."""

Pair = tuple[str, str]


class CrossEncoder:
    """The model `name`: a folder, or a name of the hub, fetched by `prepare`.

    A folder is a whole path, or `./` and one relative to `root`: what `root` has under the name of
    a model of the hub does not stand in for it.

    Cheap to make; `scores` loads the model when it is first called, and may
    be called by several threads.
    """

    def __init__(self, name: str, root: Path, progress: ProgressCallback = silent) -> None:
        self.name = name
        self._root = root
        self._progress = progress
        self._lock = threading.Lock()

    @property
    def ready(self) -> bool:
        """Whether these weights were prepared before."""
        try:
            card = self._read_card()
        except (OSError, ValueError):
            return False
        stamp = _stamp(self._folder) if self._folder else None
        return stamp is None or stamp == card.get("stamp")

    def prepare(self) -> None:
        """Export the model if it was not; `Unavailable` when it is not there or no cross-encoder.

        Whole or not at all; two processes at once make it once.
        """
        if self.ready:
            return
        source = self._source()
        self._progress(Progress("prepare", 0, None, "preparing the reranker, once"))
        onnx_files.prepare(
            self._place, lambda: self.ready, lambda scratch: _export(source, scratch), "reranker"
        )
        self._progress(Progress("prepare", 1, 1, "reranker ready"))

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """How likely each text answers, as log-odds; any real number, 0 for "as likely as not".

        Raises `Unavailable` when the model was not prepared or is damaged.
        """
        pairs = [(question, text) for text in texts]
        with self._lock:
            score = self._score
        return [float(value) for value in score(pairs)] if pairs else []

    @property
    def precision(self) -> str:
        """`int8`, `fp32`, or `torch` for a model that cannot be exported."""
        return str(self._read_card()["precision"])

    @cached_property
    def _score(self) -> Any:
        if not self.ready:
            raise Unavailable(f"the reranker {self.name} is not prepared yet; run `djinn index`")
        card = self._read_card()
        if card["precision"] == "torch":
            return _torch_scorer(Path(card["source"]))
        return _onnx_scorer(self._place, card)

    def _read_card(self) -> dict[str, Any]:
        card: dict[str, Any] = json.loads((self._place / "model.json").read_text())
        return card

    @cached_property
    def _place(self) -> Path:
        named = str(self._folder.resolve()) if self._folder else self.name
        digest = hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return model_cache() / "rerankers" / f"{digest}-{FORMAT}"

    @property
    def _folder(self) -> Path | None:
        return model_in(self._root / self.name if self.name.startswith(".") else self.name)

    def _source(self) -> Path:
        """The folder of the original."""
        if self._folder:
            return self._folder.resolve()
        return fetched(self.name)


def _stamp(folder: Path) -> list[list[Any]]:
    """Tells one state of a model's folder from another, without reading the weights."""
    files = [*folder.glob("*.safetensors"), *folder.glob("*.bin"), *folder.glob("*.json")]
    return [[f.name, f.stat().st_size, f.stat().st_mtime_ns] for f in sorted(files)]


def _export(source: Path, scratch: Path) -> None:
    """Write the card, and graph and tokenizer where the graph says what the original does."""
    stamp = _stamp(source)
    model = _original(source)
    pairs = _pairs()
    reference = _predict(model, pairs)
    card = {
        "source": str(source),
        "stamp": stamp,
        "precision": "torch",
        "inputs": list(model.tokenizer.model_input_names),
        "pad": int(model.tokenizer.pad_token_id or 0),
        "max_tokens": _max_tokens(model),
    }
    try:
        card["precision"] = _graph(model, scratch, card, pairs, reference)
    except Exception:  # whatever the exporter cannot do, it says in exceptions of every kind
        for file in scratch.iterdir():
            file.unlink()
    write_atomic(scratch / "model.json", json.dumps(card, indent=1).encode())


def _original(source: Path) -> Any:
    try:
        with quiet():
            from sentence_transformers import CrossEncoder as Original

            return Original(
                str(source),
                device="cpu",
                local_files_only=True,
                model_kwargs={"attn_implementation": "eager"},
            )
    except Exception as error:  # a folder that holds no such model fails in a hundred ways
        why = " ".join(str(error).split())[:200]
        raise Unavailable(f"search.rerank: {source} is no cross-encoder: {why}") from None


def _max_tokens(model: Any) -> int:
    # The library renamed it in version 6.
    own = getattr(model, "max_seq_length", None) or getattr(model, "max_length", None)
    return min(MAX_TOKENS, int(own or MAX_TOKENS))


def _predict(model: Any, pairs: Sequence[Pair]) -> Any:
    """Log-odds by the original: of its one output, or of the second of two against the first."""
    import torch

    made = model.predict(list(pairs), activation_fn=torch.nn.Identity(), show_progress_bar=False)
    return _log_odds(made)


def _log_odds(outputs: Vectors) -> Vectors:
    if outputs.ndim == 1 or outputs.shape[1] == 1:
        return outputs.reshape(-1)
    if outputs.shape[1] == 2:
        difference: Vectors = outputs[:, 1] - outputs[:, 0]
        return difference
    raise Unavailable(
        f"search.rerank: a model with {outputs.shape[1]} outputs tells classes apart; "
        "a cross-encoder for search has one"
    )


def _torch_scorer(source: Path) -> Any:
    model = _original(source)
    return lambda pairs: _predict(model, pairs)


def _onnx_scorer(folder: Path, card: dict[str, Any]) -> Any:
    session = open_session(folder / "model.onnx", 0)
    tokenizer = open_tokenizer(folder, card["max_tokens"])
    return lambda pairs: _run(session, tokenizer, card, pairs)


def _run(session: Any, tokenizer: Any, card: dict[str, Any], pairs: Sequence[Pair]) -> Vectors:
    import numpy as np

    tokens = tokenizer.encode_batch(list(pairs))
    shape = (len(tokens), max(len(one.ids) for one in tokens))
    feed = {
        "input_ids": np.full(shape, card["pad"], dtype=np.int64),
        "attention_mask": np.zeros(shape, dtype=np.int64),
        "token_type_ids": np.zeros(shape, dtype=np.int64),
    }
    for row, one in enumerate(tokens):
        feed["input_ids"][row, : len(one.ids)] = one.ids
        feed["attention_mask"][row, : len(one.ids)] = 1
        feed["token_type_ids"][row, : len(one.ids)] = one.type_ids
    wanted = {name: feed[name] for name in card["inputs"]}
    return _log_odds(session.run(None, wanted)[0])


def _pairs() -> list[Pair]:
    """Built-in sentences as questions, each with TEXTS others."""
    texts = onnx_files.sentences()
    step = len(texts) // QUESTIONS
    return [
        (texts[at * step], texts[(at * step + 1 + other * 7) % len(texts)])
        for at in range(QUESTIONS)
        for other in range(TEXTS)
    ]


def _graph(
    model: Any, scratch: Path, card: dict[str, Any], pairs: Sequence[Pair], reference: Vectors
) -> str:
    """Write model.onnx and tokenizer.json; returns the precision that keeps the order."""
    with quiet():
        inner = model.model
        onnx_files.trace(
            lambda tokens: inner(**tokens).logits, inner, card["inputs"], scratch / "fp32.onnx"
        )
        onnx_files.quantize(scratch / "fp32.onnx", scratch / "int8.onnx")
    model.tokenizer.backend_tokenizer.save(str(scratch / "tokenizer.json"))
    tokenizer = open_tokenizer(scratch, card["max_tokens"])
    for precision in ("int8", "fp32"):
        session = onnx_files.optimize(scratch / f"{precision}.onnx", scratch / "model.onnx")
        made = [
            score
            for at in range(0, len(pairs), TEXTS)
            for score in _run(session, tokenizer, card, pairs[at : at + TEXTS])
        ]
        if _same_order(made, reference) >= MIN_ORDER:
            break
    else:
        raise Unavailable("the exported reranker strays from its original")
    for name in ("fp32.onnx", "int8.onnx"):
        (scratch / name).unlink()
    return precision


def _same_order(made: Sequence[float], reference: Vectors) -> float:
    """Of two texts for one question, how many stand in the original's order."""
    import numpy as np

    ours = np.asarray(made).reshape(-1, TEXTS)
    theirs = np.asarray(reference).reshape(-1, TEXTS)
    first, second = np.triu_indices(TEXTS, 1)
    same = np.sign(ours[:, first] - ours[:, second]) == np.sign(
        theirs[:, first] - theirs[:, second]
    )
    return float(same.mean())
