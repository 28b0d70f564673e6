"""What lint finds in notes, and what it corrects."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, UsageError
from tests.conftest import Run


def issues(djinn: Djinn, **options: object) -> list[tuple[str, str, int]]:
    """The path, code and line of each issue."""
    report = djinn.lint(**options)  # type: ignore[call-overload]
    return [(issue.path, issue.code, issue.line) for issue in report.issues]


def test_a_vault_without_issues(djinn: Djinn, shared: Path) -> None:
    (shared / "lamp.md").write_text("# Lamp\n\n## How (e.g. why): it turns\n\nText. ^b1\n")
    (shared / "a.md").write_text(
        "# A\n\n[[Lamp]] [[lamp#How e g why it turns]] [[Lamp#lamp#How (e.g. why): it turns|x]]\n"
        "[text](lamp.md#how-eg-why-it-turns) [[lamp#^b1]] ![[lamp#^B1]] [[#A]] [[pic.png]]\n"
        "`[[nowhere]]`\n"
    )
    (shared / "b.md").write_text("[text](lamp.md#how-e-g-why-it-turns)\n")
    (shared / "pic.png").write_bytes(b"x")
    assert issues(djinn) == []


def test_what_is_wrong(djinn: Djinn, shared: Path) -> None:
    (shared / "x").mkdir()
    (shared / "y").mkdir()
    (shared / "x" / "lamp.md").write_text("---\nid: mem_7k2m9q4dxw30hv5t\n---\n# Tower\n\nOld.\n")
    (shared / "y" / "lamp.md").write_text("---\nid: mem_7k2m9q4dxw30hv5t\n---\n# Mole\n")
    (shared / "z.md").write_text(
        "---\ntitle: mole\nsee: '[[gone]]'\n---\n[[lamp]]\n\n[[nowhere]]\n"
    )
    (shared / "w.md").write_text("---\na: [\n---\n[[x/lamp#Light]] [[x/lamp#^b]]\n")
    djinn.index()
    listed = issues(djinn)
    assert ("w.md", "front-matter", 0) in listed
    assert [each for each in listed if each[1] == "unresolved-link"] == [
        ("z.md", "unresolved-link", 0), ("z.md", "unresolved-link", 7),
    ]  # fmt: skip
    assert [each for each in listed if each[1] == "ambiguous-link"] == [
        ("z.md", "ambiguous-link", 5)
    ]
    assert [each for each in listed if each[1] == "dead-heading"] == [
        ("w.md", "dead-heading", 4), ("w.md", "dead-heading", 4),
    ]  # fmt: skip
    assert len([each for each in listed if each[1] == "duplicate-id"]) == 1
    assert [each[0] for each in listed if each[1] == "duplicate-title"] == ["y/lamp.md"]


def test_a_heading_is_respelled_and_every_other_byte_stays(djinn: Djinn, shared: Path) -> None:
    (shared / "lamp.md").write_text("# Lamp\n\n## Who's on-call\n\n## It turns\n")
    note = shared / "a.md"
    note.write_bytes(
        "\ufeff# Ä\r\n\r\n`[[lamp#it-turns]]` [[lamp#it-turns|x]] ![[lamp#it-turns]]\r\n"
        "[[lamp#It falls]] ~ \x80\r\n".encode()
    )
    first, second, third = djinn.lint().issues
    assert first.fix == second.fix == "[[lamp#It turns]]" and third.fix is None
    before = note.read_bytes()
    report = djinn.lint(fix=True)
    assert [issue.fixed for issue in report.issues] == [True, True, False]
    parts = before.split(b"[[lamp#it-turns")
    assert note.read_bytes() == (
        parts[0] + b"[[lamp#it-turns" + parts[1] + b"[[lamp#It turns" + parts[2]
        + b"[[lamp#It turns" + parts[3]
    )  # fmt: skip
    assert issues(djinn) == [("a.md", "dead-heading", 4)]


def test_a_read_only_vault_stays(djinn: Djinn, shared: Path) -> None:
    (shared / "lamp.md").write_text("# Lamp\n\n## It turns\n\n[[#it-turns]]\n")
    djinn.home.edit((("vaults", "shared", "read_only"), True))
    before = (shared / "lamp.md").read_bytes()
    [issue] = djinn.lint(fix=True).issues
    assert not issue.fixed and (shared / "lamp.md").read_bytes() == before


def test_vaults_and_agents(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text("[[nowhere]]\n")
    (djinn.home.root / "vaults" / "me" / "b.md").write_text("[[nowhere]] [[a]]\n")
    assert [path for path, *_ in issues(djinn)] == ["b.md", "a.md"]
    assert [path for path, *_ in issues(djinn, vaults=["me"])] == ["b.md"]
    with pytest.raises(NotFound):
        djinn.lint(["nope"])


def test_notes_without_links_or_types_where_most_have_them(djinn: Djinn, shared: Path) -> None:
    """A vault in which few notes have links or types is not reported for it."""
    own = djinn.home.root / "vaults" / "me"
    for name, text in {"a": "[[b]]", "b": "x", "c": "[[nowhere]]", "d": "x"}.items():
        (shared / f"{name}.md").write_text(f"{text}\n")
        (own / f"{name}.md").write_text("---\ntype: lesson\n---\nx\n" if name != "d" else "x\n")
    (shared / "2026-01-05.md").write_text("x\n")
    djinn.facts.set("lamp", "colour", "red")
    djinn.episodes.record_observation(text="It rains.")
    assert [each for each in issues(djinn) if each[1] == "orphan"] == [("d.md", "orphan", 0)]
    assert [each for each in issues(djinn) if each[1] == "untyped"] == [("d.md", "untyped", 0)]
    assert {path for path, *_ in issues(djinn, only=["orphan"], vaults=["me"])} == {
        "a.md", "b.md", "c.md", "d.md",
    }  # fmt: skip
    assert {code for _, code, _ in issues(djinn, only=["orphan"])} == {"orphan"}
    skipped = issues(djinn, skipped=["orphan", "untyped", "duplicate-title"])
    assert {code for _, code, _ in skipped} == {"unresolved-link"}
    with pytest.raises(UsageError, match=r"orphans: unknown code; .*did you mean orphan\?"):
        djinn.lint(only=["orphans"])


def test_anchors_of_projects(djinn: Djinn, shared: Path) -> None:
    tags = "---\ntags: ['project:lamp'{}]\n---\n"
    (shared / "anchor.md").write_text(tags.format(", project-anchor") + "[[a]] [[b]]\n")
    (shared / "a.md").write_text(tags.format("") + "[[anchor]]\n")
    (shared / "b.md").write_text(tags.format("") + "[[a]]\n")
    (shared / "c.md").write_text("---\ntags: ['project:pier']\n---\n[[a]]\n")
    [issue] = djinn.lint().issues
    assert (issue.path, issue.code) == ("anchor.md", "unlinked-anchor")
    assert issue.what == "1 of 2 notes of the project lamp do not link to it: shared/b.md"


def test_the_command(djinn: Djinn, shared: Path, run: Run) -> None:
    assert run("lint", home=djinn.home.root).returncode == 0
    (shared / "a.md").write_text("[[nowhere]]\n")
    done = run("lint", home=djinn.home.root)
    assert done.returncode == 1
    assert (
        "shared/a.md:1: 'nowhere' does not match any note or file [unresolved-link]" in done.stdout
    )
