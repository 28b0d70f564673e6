"""The policy of who reads and writes a vault, and that no other module has one of its own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import djinn_memory
from djinn_memory.home import access
from djinn_memory.models import Vault

PACKAGE = Path(djinn_memory.__file__).parent
MODULES = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "home" / "access.py"]


def vault(name: str, agent: str | None = None) -> Vault:
    return Vault(name, Path("/nowhere") / name, name, agent)


VAULTS = [vault("shared"), vault("finn", "finn"), vault("grace", "grace"), vault("notes"),
          vault("diary", "finn")]  # fmt: skip


def test_an_agent_reads_open_vaults_and_those_reserved_for_it() -> None:
    assert [vault.name for vault in access.readable(VAULTS, "finn")] == [
        "shared", "finn", "notes", "diary",
    ]  # fmt: skip
    assert [vault.name for vault in access.readable(VAULTS, "grace")] == [
        "shared", "grace", "notes",
    ]  # fmt: skip
    assert access.reserved_for(VAULTS) == {"finn": "finn", "grace": "grace", "diary": "finn"}


def test_an_agent_writes_its_own_vault_and_the_shared_one() -> None:
    assert access.own_vault(VAULTS, None) == VAULTS[0]
    assert access.own_vault(VAULTS, "finn") == VAULTS[1]
    assert access.own_vault(VAULTS, "notes") is None
    assert access.own_vault([vault("shared", "finn")], None) is None
    assert [vault.name for vault in VAULTS if access.is_own(vault)] == ["shared", "finn", "grace"]


def test_vaults_with_the_same_readers() -> None:
    shared, finn, grace, notes, diary = VAULTS
    assert access.same_readers(shared, notes) and access.same_readers(finn, diary)
    assert not access.same_readers(finn, grace) and not access.same_readers(shared, finn)


def _is_none(node: ast.expr) -> bool:
    members = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return any(isinstance(member, ast.Constant) and member.value is None for member in members)


def _decides(tree: ast.AST) -> list[int]:
    """The lines that compare the agent of a vault with None, or name the shared vault."""
    lines = []
    # A key of a mapping names a field of a request.
    keys = {key for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            of_agent = any(
                isinstance(side, ast.Attribute) and side.attr == "agent" for side in sides
            )
            if of_agent and any(map(_is_none, sides)):
                lines.append(node.lineno)
        elif isinstance(node, ast.Name | ast.Attribute | ast.alias):
            name = (
                getattr(node, "id", None)
                or getattr(node, "attr", None)
                or getattr(node, "name", "")
            )
            if name == "SHARED":
                lines.append(node.lineno)
        elif isinstance(node, ast.Constant) and node.value == "shared" and node not in keys:
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_other_module_decides_who_reads_a_vault(module: Path) -> None:
    assert _decides(ast.parse(module.read_text())) == []


@pytest.mark.parametrize(
    "line", ["v.agent is None", "v.agent in (None, a)", "from x import SHARED", "n == 'shared'"]
)
def test_the_search_sees_such_a_line(line: str) -> None:
    assert _decides(ast.parse(line)) == [1]
