"""Where texts count as alike: the cosines of pairs whose likeness a person judged.

Run: `python benchmarks/thresholds.py [MODEL]`, with MODEL as for `djinn index --model`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from common import machine, table

from djinn_memory.embedding.calibration import calibrate
from djinn_memory.embedding.embedder import create_embedder
from djinn_memory.embedding.registry import parse_model
from djinn_memory.home.settings import EmbeddingConfig, ThresholdsConfig

PAIRS = Path(__file__).with_name("alike.tsv")

KINDS = (
    ("duplicate", "same", "other", "two memories say the same"),
    ("fact", "fact", "nofact", "a fact answers a question"),
    ("gap", "gap", "othergap", "two gaps are about the same thing"),
)


def cosines(model: object, kind: str, *, asks: bool) -> list[float]:
    """Of all pairs of a kind, on the scale of the packaged model."""
    lines = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    ones, others = zip(*(pair for name, *pair in lines if name == kind), strict=True)
    line = calibrate(model)  # type: ignore[arg-type]
    left = model.embed(ones, query=asks)  # type: ignore[attr-defined]
    right = model.embed(others)  # type: ignore[attr-defined]
    return [line.scale * float(one @ other) + line.shift for one, other in zip(left, right)]  # noqa: B905


def best(alike: list[float], unlike: list[float]) -> float:
    """The threshold that puts most pairs on their side; in the middle of those that do."""
    found = sorted({*alike, *unlike})
    edges = [(low + high) / 2 for low, high in zip(found, found[1:])]  # noqa: B905, RUF007
    right = [sum(a >= e for a in alike) + sum(u < e for u in unlike) for e in edges]
    return float(np.median([e for e, n in zip(edges, right, strict=True) if n == max(right)]))


def main() -> None:
    """Print the table."""
    provider, name = parse_model(sys.argv[1]) if len(sys.argv) > 1 else ("auto", None)
    model = create_embedder(EmbeddingConfig(provider=provider, model=name))
    assert model
    print(f"## Thresholds\n\n`python benchmarks/thresholds.py` on {machine()}, {model.identity}\n")
    rows = []
    for key, yes, no, what in KINDS:
        asks = key == "fact"
        alike, unlike = (cosines(model, kind, asks=asks) for kind in (yes, no))
        limit = getattr(ThresholdsConfig(), key)
        rows.append([
            f"`thresholds.{key}`", what, f"{np.median(alike):.2f}", f"{np.median(unlike):.2f}",
            limit, f"{sum(a >= limit for a in alike)} of {len(alike)}",
            f"{sum(u >= limit for u in unlike)} of {len(unlike)}", f"{best(alike, unlike):.2f}",
        ])  # fmt: skip
    table(
        ["setting", "says", "median alike", "median unlike", "default", "alike at it",
         "unlike at it", "fewest errors at"],
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
