"""What a model's cosines are worth: measured on pairs of texts whose likeness is known.

A cosine of 0.3 is a good answer by MiniLM and far below noise by E5, whose cosines all lie between
0.7 and 1. Every threshold and weight of a search was found with MiniLM, so the cosines of other
models are put on its scale, by a straight line through two points: the mean of unrelated texts and
that of questions with their answers.
"""

from __future__ import annotations

from pathlib import Path

from djinn_memory.embedding.hashing import HashingEmbedder
from djinn_memory.models import Calibration, Embedder

REFERENCE = "minilm-f044f915023b4171"
"""The packaged MiniLM, whose scale it is."""

UNRELATED = 0.0313
RELATED = 0.3469
"""Its mean cosines over `pairs`."""

STEEPEST = 12.0
"""A model that hardly tells related texts from others would have its noise blown up."""


def calibrate(embedder: Embedder) -> Calibration:
    """The line that puts a model's cosines on MiniLM's scale; embeds 80 short texts for it.

    A model that finds answers no nearer than other texts counts for nothing: its scale is 0.
    """
    if embedder.identity in (REFERENCE, HashingEmbedder.identity):
        return Calibration()
    questions, answers = zip(*pairs(), strict=True)
    cosines = embedder.embed(questions, query=True) @ embedder.embed(answers).T
    count = len(questions)
    related = float(cosines.trace()) / count
    unrelated = (float(cosines.sum()) - float(cosines.trace())) / (count * (count - 1))
    if related <= unrelated:
        return Calibration(0.0, UNRELATED)
    scale = min(STEEPEST, (RELATED - UNRELATED) / (related - unrelated))
    return Calibration(scale, UNRELATED - scale * unrelated)


def pairs() -> list[tuple[str, str]]:
    """The built-in questions, each with the text that answers it."""
    text = Path(__file__).with_name("anchors.txt").read_text(encoding="utf-8")
    found = [line.partition("\t") for line in text.splitlines()]
    return [(question, answer) for question, _, answer in found]
