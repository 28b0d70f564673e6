"""The rules of HOUSE.md that a machine can check: rooms, names, imports, and where SQL stands."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "djinn_memory"

MOST_MODULES = 15
"""Modules of a folder that a reader can take in at once."""

UNBOUNDED = {"commands", "tools", "schemas"}
"""Folders with a module for each command, tool or schema."""

SAY_NOTHING = {"one", "found", "item", "thing"}
"""Names that do not say what a variable holds."""

SQL = re.compile(
    r"^\s*(select\s.+\sfrom|insert\s+(or\s+\w+\s+)?into|update\s+\w+\s+set|delete\s+from"
    r"|create\s+(virtual\s+)?table|with\s+\w+\s+as\s*\(|pragma\s)",
    re.IGNORECASE | re.DOTALL,
)


@cache
def modules() -> list[tuple[Path, list[ast.AST]]]:
    """The modules of the package, each with all nodes of its code."""
    return [
        (path.relative_to(PACKAGE), [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))])
        for path in sorted(PACKAGE.rglob("*.py"))
    ]


def test_no_folder_has_more_modules_than_a_reader_can_take_in() -> None:
    sizes: dict[Path, int] = defaultdict(int)
    for path, _ in modules():
        sizes[path.parent] += path.name != "__init__.py"
    crowded = {
        str(folder): size
        for folder, size in sizes.items()
        if size > MOST_MODULES and folder.name not in UNBOUNDED
    }
    assert crowded == {}


def test_public_classes_have_names_of_their_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, nodes in modules():
        for node in nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def bound_names(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    """Every name that a module binds, with its line: variables, parameters, attributes."""
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield (node.id if isinstance(node, ast.Name) else node.attr), node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno


def test_names_say_what_they_hold() -> None:
    vague = [
        f"{path}:{line} {name}"
        for path, nodes in modules()
        for name, line in bound_names(nodes)
        if name in SAY_NOTHING
    ]
    assert vague == []


def texts(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    """The string constants that are no docstrings, an f-string as far as its first value."""
    docstrings = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in nodes:
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node.value, node.lineno


def test_sql_stands_in_store_alone() -> None:
    elsewhere = [
        f"{path}:{line}"
        for path, nodes in modules()
        if path.parts[0] != "store"
        for text, line in texts(nodes)
        if SQL.match(text)
    ]
    assert elsewhere == []


def contract_layers() -> list[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return [name.strip() for layer in layers for name in layer.split("|")]


def test_architecture_lists_the_layers_of_the_contract() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)/?` \|", page, re.MULTILINE)
    assert listed == contract_layers()
