"""The public names of the package, and the reference page that shows them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import djinn_memory
from djinn_memory import djinn as composition
from djinn_memory.home.home import Home

PAGE = Path(__file__).resolve().parent.parent / "docs" / "python.md"

PUBLIC = [
    "Busy", "Changed", "ConfigError", "Djinn", "DjinnError", "Fact", "Hit", "IndexMissing",
    "IndexReport", "LegScore", "Memory", "MemoryRef", "NotFound", "OutsideVault", "Problem",
    "Progress", "RecallResult", "RecalledMemory", "Refused", "Remedy", "RememberResult",
    "SearchResult", "Unavailable", "UsageError", "Vault", "WakeContext", "__version__",
]  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert djinn_memory.__all__ == PUBLIC
    for name in PUBLIC:
        assert getattr(djinn_memory, name) is not None
    assert djinn_memory.Djinn is composition.Djinn
    assert (Path(djinn_memory.__file__).parent / "py.typed").is_file()


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(djinn_memory, "Genie")


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    code = "import sys, djinn_memory; print([m for m in sys.modules if 'djinn_memory.' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_code_of_the_reference_works(home: Home, tmp_path: Path) -> None:
    home.root.rename(tmp_path / "memory")
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 6
    script = "\n".join(blocks)
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_reference_names_every_public_name_and_namespace() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [name for name in PUBLIC if f"`{name}`" not in text]
    assert not missing
    namespaces = (
        "memories",
        "facts",
        "gaps",
        "review",
        "scores",
        "summary",
        "working",
        "documents",
        "episodes",
        "sessions",
    )
    assert not [name for name in namespaces if f"djinn.{name}" not in text]
