"""A cross-encoder as a reranker."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from djinn_memory.errors import DjinnError, Unavailable
from djinn_memory.search.reranker import Verdict
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.embedding.cross_encoder import CrossEncoder

BATCH = 8
"""Number of texts between two checks of the time."""

SOFTENED = 4.0
"""Cross-encoders trained on clicks return log-odds from -11 to 11, which are too extreme. Divided
by this, two poor texts still differ, and a model with all values near 0 changes nothing."""


class EncoderReranker:
    """Reads texts within `milliseconds`. The score is `sigmoid(log-odds / SOFTENED)`."""

    def __init__(self, encoder: CrossEncoder, milliseconds: int) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._milliseconds = milliseconds

    def judge(self, question: str, texts: Sequence[str]) -> list[Verdict]:
        """A verdict for each text.

        Raises `DjinnError` with the reason, or the number of late texts.
        """
        odds = self._odds(question, texts)
        if len(odds) < len(texts):
            much = f"{len(odds)} of {count(len(texts), 'text')} in {self._milliseconds:,} ms"
            raise Unavailable(f"{self.name} read {much} (search.rerank_ms)")
        if not all(map(math.isfinite, odds)):
            raise Unavailable(f"{self.name} returns scores that are not numbers; try another model")
        return [Verdict(_sigmoid(value), _sigmoid(value / SOFTENED)) for value in odds]

    def _odds(self, question: str, texts: Sequence[str]) -> list[float]:
        """The log-odds of the texts that were read in time, from the first text on."""
        odds: list[float] = []
        failed: list[DjinnError] = []
        late = threading.Event()

        def run() -> None:
            try:
                for at in range(0, len(texts), BATCH):
                    if late.is_set():
                        return
                    odds.extend(self._encoder.scores(question, texts[at : at + BATCH]))
            except DjinnError as error:
                failed.append(error)
            except (
                Exception
            ) as error:  # a runtime's own errors share no class, and none may end a search
                why = " ".join(str(error).split())[:200]
                failed.append(Unavailable(f"{self.name} failed: {type(error).__name__}: {why}"))

        # Loading and a batch cannot be broken off, so they are left behind on a thread of their
        # own; what was loaded serves the next search of this process.
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(self._milliseconds / 1000)
        late.set()
        if failed:
            raise failed[0]
        return list(odds)


def _sigmoid(value: float) -> float:
    # Both forms, for `exp` overflows on one side.
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    return math.exp(value) / (1 + math.exp(value))
