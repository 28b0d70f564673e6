"""Prints the size of the package, and fails if it is larger than allowed.

A part of the project that adds an idea may raise a limit once. Work that only changes what is there
lowers it.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "djinn_memory"

_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


class Size(NamedTuple):
    """The size of a package."""

    lines: int
    """Lines of code, without blank lines, comments and docstrings."""
    files: int
    names: int
    """Public functions and classes of modules."""


LIMIT = Size(lines=71_406, files=581, names=2_351)


def measure(package: Path) -> Size:
    """The size of all modules below a folder."""
    sizes = [_measure(path.read_text(encoding="utf-8")) for path in package.rglob("*.py")]
    return Size(*map(sum, zip(*sizes, strict=True)))


def _measure(text: str) -> Size:
    tree = ast.parse(text)
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    public = [
        node for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")
    ]
    return Size(len(code - set(_docstring_lines(tree))), 1, len(public))


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    """The lines of texts that stand alone: docstrings, and those below attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant(str())):
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def main() -> int:
    """Print the size beside the limit. Returns 1 if the package is too large."""
    size = measure(PACKAGE)
    for name, number, most in zip(Size._fields, size, LIMIT, strict=True):
        print(f"{name:<6} {number:>7,}  at most {most:,}")
    return any(number > most for number, most in zip(size, LIMIT, strict=True))


if __name__ == "__main__":
    sys.exit(main())
