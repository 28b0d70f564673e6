"""What a model's cosines are worth: measured on texts whose likeness is known."""

from __future__ import annotations

from djinn_memory.models import Calibration, Embedder

UNRELATED = 0.0
RELATED = 0.0
"""Mean cosine of MiniLM, whose scale is everybody's, over the pairs below."""


def calibrate(embedder: Embedder) -> Calibration:
    return Calibration()
