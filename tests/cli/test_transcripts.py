"""Each command on the sample memory, as a person at a terminal would see it.

A file of `transcripts/` holds commands, each after a `$ `, and below each what it printed: stdout,
then lines of stderr marked `! `, then the exit code if it was not 0. The commands of a file share a
home. Places, times, numbers of bytes and scores are replaced by names, since they differ from
machine to machine.

To write the transcripts anew after a change that is meant, and then to read the diff:

    DJINN_TRANSCRIPTS=write python -m pytest tests/cli/test_transcripts.py && git diff tests/cli

A new file needs only its `$ ` lines.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import Run, in_process
from tests.memories.imports.exports import write_exports

HERE = Path(__file__).parent / "transcripts"
PAPERS = Path(__file__).resolve().parents[2] / "docs" / "samples"

ID = re.compile(r"mem_[0-9a-z]{16}")

# A run may begin before midnight and end behind it.
DAYS = [datetime.now(UTC) + timedelta(days=days) for days in (0, 1)]
TODAY = "|".join(f"{day:%Y-%m-%d}|{day.day} {day:%B %Y}" for day in DAYS)

REPLACED = (
    (r"\b\d+(\.\d+)? s$", "N s"),
    (r"(?m)( actions?| to take| problems?| do), \d+\.\d s$", r"\1, N s"),
    (r"\b\d+\.\d+ [MG]B", "N MB"),
    (r'"command": "\S+ -P', '"command": "PYTHON -P'),
    (r"numbers in \d+ ms", "numbers in N ms"),
    (r"models +/.*", "models        CACHE"),
    (r'"(milliseconds|seconds)": [\d.e-]+', r'"\1": N'),
    (r"\b(rec|gap|con|chg)_[0-9a-z]{10}", r"\1_ID"),
    (r"(?m)^   raw \d\.\d+(.*) = \d\.\d+", r"   raw N\1 = N"),
    # The importance of a note decays from day to day.
    (r"importance and confidence \d\.\d{3}", "importance and confidence N"),
    (r"(?m)meaning -?\d\.\d\d$", "meaning N"),
    (r"\d+ days? ago", "N days ago"),
    (r"changed for \d+ days", "changed for N days"),
    (r"staleness \d\.\d\d", "staleness N"),
    # Notes written within the clock's grain of the first reading are read once more.
    (r'"read": \d+', '"read": N'),
    (r'"(bytes|index_bytes|cache_bytes)": \d+', r'"\1": N'),
    (r'"(score|words|meaning|raw|part|feedback)": -?[\d.e-]+', r'"\1": N'),
    (r"(?m)(  |\()0\.\d\d(\)  )?$", r"\1N\2"),
    (r",0\.\d{4},", ",N,"),
    (r"(BM25|cosine|gives|best) [+-]?\d+\.\d+", r"\1 N"),
    (r"\brec_[0-9a-z]{10}\b", "rec_ID"),
    (r"\bdjinn_[\w-]{43}(?!\w)", "djinn_SECRET"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
    (r"(?m)^home \S+ +UUID", "home HOST  UUID"),
    (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (TODAY, "TODAY"),
    # Where two are of one second the second has a number.
    (r"TODAY([ -])\d\d[-:]\d\d([-:]\d\d(-\d+)?)?\b", r"TODAY\1NOW"),
    (r"\b20\d\d-\d\d-\d\d \d\d:\d\d\b", "TIME"),
    (r"TODAYT\d\d:\d\dZ", "TODAYTNOWZ"),
    (r"journal/TODAY\.[\w-]+\.md", "journal/TODAY.HOME.md"),
    (r"journal/TODAY\.[\w-]+#\^mem-[0-9a-z]{16}", "journal/TODAY.HOME#^mem-ID"),
    (r"\bs\d{8}-\d{6}-\d{6}\b", "SESSION"),
)


def normal(text: str, place: Path, ids: set[str]) -> str:
    """`text` as it is on every machine; `ids` are those that are known beforehand."""
    text = text.replace(str(place), "TMP")
    text = ID.sub(lambda found: found[0] if found[0] in ids else "mem_ID", text)
    for pattern, name in REPLACED:
        text = re.sub(pattern, name, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


@pytest.fixture(scope="module")
def furnished(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """A place with an indexed home and files to give it, and the ids of the notes in the home."""
    place = tmp_path_factory.mktemp("furnished")
    home, run = place / "home", in_process(place, tmp_path_factory.mktemp("user"))
    run("--home", home, "init", "--agent", "finn", "--agent", "grace")
    run("config", "set", "embedding.provider", "hashing", home=home)
    for vault in ("shared", "finn", "grace"):
        shutil.copytree(sample / vault, home / "vaults" / vault, dirs_exist_ok=True)
    for vault in ("finn", "grace"):
        root = home / "vaults" / vault
        for path in (root, *root.rglob("*")):
            path.chmod(0o700 if path.is_dir() else 0o600)
    shutil.copytree(PAPERS, place / "papers")
    shutil.copy(PAPERS / "tide-gauge-manual.pdf", place / "papers" / "copy.pdf")
    (place / "papers" / "minutes.txt").write_text("Maren: the mole gets a new lamp.\n")
    (place / "papers" / "broken.pdf").write_bytes(b"%PDF-1.4 and then nothing")
    write_exports(place / "exports")
    (place / "papers" / "page.pdf").write_text("<!DOCTYPE html><html>Not found</html>")
    ids = set[str]()
    for note in home.rglob("*.md"):
        ids.update(ID.findall(note.read_text(encoding="utf-8")))
        os.utime(note, (1_790_000_000, 1_790_000_000))
    run("index", home=home)
    return place, ids


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*.txt")))
def test_transcript(name: str, run: Run, tmp_path: Path, furnished: tuple[Path, set[str]]) -> None:
    template, ids = furnished
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    home = tmp_path / "home"
    # The copies are other files, of which the text is known.
    run("index", home=home)
    file = HERE / f"{name}.txt"
    stored = file.read_text(encoding="utf-8")
    played = ""
    for line in stored.splitlines():
        if not line.startswith("$ djinn"):
            continue
        # Of several workers now one, now another is the first.
        one_by_one = {"DJINN_DOCUMENTS__WORKERS": "1"} if name in ("ingest", "document") else {}
        done = run(*shlex.split(line)[2:], home=home, COLUMNS="100", **one_by_one)
        played += f"{line}\n{normal(done.stdout, tmp_path, ids)}"
        played += "".join(f"! {said}\n" for said in normal(done.stderr, tmp_path, ids).splitlines())
        played += f"exit {done.returncode}\n\n" if done.returncode else "\n"
    assert "Traceback" not in played, played
    if os.environ.get("DJINN_TRANSCRIPTS") == "write":
        file.write_text(played, encoding="utf-8")
    else:
        assert played == stored
