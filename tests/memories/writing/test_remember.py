"""What is remembered is a readable note, found at once, and never written over another."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, add_vault
from djinn_memory.memories.writing.remember import RememberResult
from djinn_memory.memories.writing.requests import Existing
from djinn_memory.notes import frontmatter
from djinn_memory.notes.note import parse
from tests.conftest import Run
from tests.examples import examples


@pytest.fixture
def own(home: Home) -> Path:
    return home.root / "vaults" / "me"


def written(home: Home, done: RememberResult) -> str:
    return (home.root / "vaults" / done.vault / done.path).read_text(encoding="utf-8")


def test_a_memory_is_a_whole_note_found_by_words_and_meaning(djinn: Djinn, home: Home) -> None:
    done = djinn.remember(
        "decision", "MyApp: Tech Stack", "FastAPI, not Django.", tags=["project:myapp"],
        links=["Project: MyApp", "[[Why]]"], importance=0.9, confidence=0.8, source="finn's call",
        expires="2030-01-01", due="2029-01-01",
    )  # fmt: skip
    assert (done.vault, done.path) == ("me", "decisions/myapp-tech-stack.md")
    assert (done.action, done.searchable, done.problems) == ("created", "words", [])
    assert (done.expires, done.due) == ("2030-01-01", "2029-01-01")
    text = written(home, done)
    note = parse(done.path, text.encode())
    assert (note.id, note.title, note.type) == (done.id, "MyApp: Tech Stack", "decision")
    assert note.tags == ("project:myapp",)
    assert [link.target for link in note.links] == ["Project: MyApp", "Why"]
    assert dict(note.fields) | {"importance": "0.9", "confidence": "0.8"} == dict(note.fields)
    assert frontmatter.read(text).fields["source"] == "finn's call"
    assert frontmatter.read(text).fields["due"] == "2029-01-01"
    assert note.created == note.updated
    assert note.problem is None
    assert "FastAPI, not Django.\n\nSee also [[Project: MyApp]], [[Why]].\n" in text
    for mode in ("words", "meaning"):
        assert djinn.search("FastAPI", mode=mode).hits[0].id == done.id


def test_shared_is_for_all_and_else_for_oneself(djinn: Djinn, home: Home) -> None:
    add_agent(home, "finn")
    assert djinn.remember("lesson", "A", "one two", shared=True).vault == "shared"
    assert djinn.remember("lesson", "B", "three four", agent="finn").vault == "finn"
    assert not djinn.search("three four", agent="me", mode="words").hits
    with pytest.raises(NotFound):
        djinn.remember("lesson", "C", agent="nobody")


def test_a_title_that_is_there_is_refused_with_the_three_choices(djinn: Djinn, home: Home) -> None:
    done = djinn.remember("lesson", "Kettle", "Descale it.")
    before = written(home, done)
    with pytest.raises(Refused, match=r"me/lessons/kettle\.md.*'append'.*'revise'.*'new'"):
        djinn.remember("decision", "KETTLE", "Quite another thing to say.")
    assert written(home, done) == before
    assert len(list((home.root / "vaults" / "me").rglob("*.md"))) == 1


def test_a_note_written_by_hand_is_not_written_over_either(djinn: Djinn, own: Path) -> None:
    (own / "lessons").mkdir()
    (own / "lessons" / "kettle.md").write_text("# Something of mine\n")
    done = djinn.remember("lesson", "Kettle", "Descale it.")
    assert done.path == "lessons/kettle-2.md"
    assert (own / "lessons" / "kettle.md").read_text() == "# Something of mine\n"


def test_append_keeps_every_byte_and_adds_a_paragraph(djinn: Djinn, own: Path) -> None:
    (own / "kettle.md").write_bytes(b"---\r\ntitle: Kettle # mine\r\ntags: [a]\r\n---\r\nOne.\r\n")
    done = djinn.remember("lesson", "Kettle", "Two.", tags=["b"], existing="append")
    assert (done.action, done.path, done.id) == ("appended", "kettle.md", None)
    assert (own / "kettle.md").read_bytes() == (
        b"---\r\ntitle: Kettle # mine\r\ntags: [a, b]\r\n---\r\nOne.\r\n\r\nTwo.\r\n"
    )
    with pytest.raises(Refused, match="already contains that text"):
        djinn.remember("lesson", "Kettle", "Two.", existing="append")
    # Part of a line says something else.
    assert djinn.remember("lesson", "Kettle", "Tw", existing="append").action == "appended"


def test_what_is_not_said_anew_stays_as_it_is_written(djinn: Djinn, own: Path) -> None:
    head = "---\ntitle: \"Alpha plan\" # mine\ntype: 'plan'\ntags:\n  - one # 1\n  - '#two'\n"
    (own / "a.md").write_text(head + "---\nOne #more.\n")
    djinn.remember("plan", "Alpha plan", tags=["three", "two", "more"], existing="append")
    assert (own / "a.md").read_text() == head + "  - three\n---\nOne #more.\n"
    djinn.remember("plan", "Alpha plan", "Two.", existing="revise")
    assert (own / "a.md").read_text().startswith(head + "  - three\nsupersedes: ")


def test_revise_keeps_and_links_the_old_version(djinn: Djinn, home: Home, own: Path) -> None:
    first = djinn.remember("decision", "Stack", "Django it is.", importance=0.4)
    done = djinn.remember("decision", "Stack", "Flask after all.", existing="revise")
    assert (done.id, done.path, done.action) == (first.id, first.path, "revised")
    new, old = written(home, done), (own / str(done.previous)).read_text()
    assert "Django" not in new
    assert "importance: 0.4" in new
    assert "Django it is." in old
    earlier = parse("a.md", old.encode())
    assert f"[[{str(done.previous).removesuffix('.md')}]]" in new
    assert "[[decisions/stack]]" in old
    assert earlier.id not in (None, first.id)
    assert dict(earlier.fields)["status"] == "superseded"
    assert djinn.memories.show("Stack").backlinks[0].path == done.previous
    third = djinn.remember("decision", "Stack", "Litestar.", existing="revise")
    assert third.previous != done.previous
    assert "Django it is." in (own / str(done.previous)).read_text()


@pytest.mark.parametrize("title", ["C# style", "a | b", "the [x] mark", "2 ^ 3"])
def test_versions_are_linked_whatever_the_title_is(djinn: Djinn, title: str) -> None:
    first = djinn.remember("decision", title, "Tabs.")
    kept = [djinn.remember("decision", title, text, existing="revise").previous
            for text in ("Spaces.", "Neither.")]  # fmt: skip
    links = djinn.memories.show(first.id or "")
    assert [one.path for one in links.links] == [kept[1]]
    assert {one.path for one in links.backlinks} == set(kept)


def test_new_writes_a_numbered_note(djinn: Djinn) -> None:
    for number, title in ((1, "Daily"), (2, "Daily (2)"), (3, "Daily (3)")):
        done = djinn.remember("observation", "Daily", f"day {number}", existing="new")
        assert done.title == title


@pytest.mark.parametrize("existing", ["append", "revise"])
@pytest.mark.parametrize("kind", ["commitment", "document"])
def test_a_note_of_another_type_is_another_thing(
    djinn: Djinn, own: Path, existing: Existing, kind: str
) -> None:
    text = f"---\ntitle: Call Bob\ntype: {kind}\n---\nBy noon.\n"
    (own / "bob.md").write_text(text)
    with pytest.raises(
        Refused,
        match=rf"me/bob\.md has the type {kind}, but this memory has the type lesson.*'new'",
    ):
        djinn.remember("lesson", "Call Bob", "He answers by noon.", existing=existing)
    assert [(one.name, one.read_text()) for one in own.rglob("*.md")] == [("bob.md", text)]


def test_append_and_revise_begin_what_is_not_there(djinn: Djinn) -> None:
    assert djinn.remember("lesson", "A", "one two", existing="append").action == "created"
    assert djinn.remember("lesson", "B", "three four", existing="revise").action == "created"


def test_a_title_of_several_notes_is_asked_about(djinn: Djinn, own: Path) -> None:
    for name in ("a", "b"):
        (own / f"{name}.md").write_text(f"---\ntitle: Twice\n---\n{name}\n")
    with pytest.raises(UsageError, match=r"a\.md, b\.md"):
        djinn.remember("lesson", "Twice", "more", existing="append")


def test_what_is_superseded_is_told_so(djinn: Djinn, home: Home) -> None:
    old = djinn.remember("decision", "Django", "We take Django for the shop.")
    new = djinn.remember("decision", "Flask", "We take Flask for the shop.", supersedes=old.id)
    assert 'supersedes: "[[Django]]"' in written(home, new)
    assert 'status: superseded\nsuperseded_by: "[[Flask]]"' in written(home, old)
    with pytest.raises(NotFound):
        djinn.remember("decision", "X", "y", supersedes="nothing like it")
    for existing in ("append", "revise"):
        with pytest.raises(UsageError, match="itself"):
            djinn.remember("decision", "Flask", "z", supersedes=new.id, existing=existing)


def test_a_revision_closes_the_period_of_the_old_version(home: Home) -> None:
    now = datetime(2026, 5, 1, 12, tzinfo=UTC)
    djinn = Djinn(home, clock=lambda: now)
    djinn.remember("decision", "Web framework", "Django serves the shop.")
    now = datetime(2026, 7, 1, 12, tzinfo=UTC)
    done = djinn.remember("decision", "Web framework", "Flask serves it.", existing="revise")
    old = (home.root / "vaults" / "me" / str(done.previous)).read_text()
    assert 'valid_to: "2026-07-01T12:00:00Z"' in old and "valid_from" not in old
    now = datetime(2026, 9, 1, 12, tzinfo=UTC)
    for day, text in (("2026-05-10", "Django"), ("2026-07-10", "Flask")):
        hits = djinn.search("web framework of the shop", as_of=day).hits
        assert [hit.snippet.split()[0] for hit in hits] == [text]
    assert djinn.search("web framework of the shop").hits[0].holds == "since 1 July 2026"
    given = djinn.remember(
        "decision", "Web framework", "None.", existing="revise",
        fields={"valid_from": "2026-08-15"},
    )  # fmt: skip
    old = (home.root / "vaults" / "me" / str(given.previous)).read_text()
    assert "valid_to: 2026-08-15" in old.replace('"', "")


def test_what_is_superseded_still_held_before(home: Home) -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    with Djinn(home, clock=lambda: now) as djinn:
        old = djinn.remember("decision", "Django", "We take Django for the shop.")
        now = datetime(2026, 5, 20, tzinfo=UTC)
        djinn.remember("decision", "Flask", "We take Flask for the shop.", supersedes=old.id)
        for day, title in (("2026-05-10", "Django"), ("2026-05-21", "Flask")):
            assert [hit.title for hit in djinn.search("shop", as_of=day).hits] == [title]


def test_a_shared_note_is_never_told_of_a_private_one(djinn: Djinn, home: Home, own: Path) -> None:
    guide = djinn.remember("decision", "Team guide", "Ask before you merge.", shared=True)
    before = written(home, guide)
    with pytest.raises(
        Refused, match=r"shared/decisions/team-guide\.md is visible to all.*shared=True"
    ):
        djinn.remember("decision", "Bert leaves", "In May.", supersedes="Team guide")
    assert (written(home, guide), list(own.rglob("*.md"))) == (before, [])
    # What was one's own is told what all see now; that does not say what it came from.
    draft = djinn.remember("decision", "Merge on green", "No need to ask any more.")
    new = djinn.remember(
        "decision", "Merging", "Merge when it is green.", supersedes=draft.id, shared=True
    )
    assert 'superseded_by: "[[Merging]]"' in written(home, draft)
    assert "green" not in written(home, new).partition("---\nMerge when")[0]
    later = djinn.remember(
        "decision", "Guide", "Merge when two have read it.", supersedes=guide.id, shared=True
    )
    assert 'supersedes: "[[Team guide]]"' in written(home, later)
    assert 'superseded_by: "[[Guide]]"' in written(home, guide)


def test_notes_of_a_vault_that_was_added_stay_as_they_are(
    djinn: Djinn, home: Home, own: Path, tmp_path: Path
) -> None:
    for name, agent in (("archive", None), ("mine", "me")):
        note = tmp_path / name / "old.md"
        note.parent.mkdir()
        note.write_text("old times\n")
        add_vault(home, name, note.parent, agent=agent)
        for shared in (False, True):
            with pytest.raises(Refused, match=r"old\.md is in a read-only vault"):
                djinn.remember("decision", "Flask", "x", supersedes=f"{name}:old.md", shared=shared)
        assert note.read_text() == "old times\n"
    assert not list(own.rglob("*.md"))


def test_what_can_not_be_told_so_is_a_problem(
    djinn: Djinn, home: Home, own: Path, run: Run
) -> None:
    (own / "old.md").write_text("---\na: [\n---\nold times\n")
    done = djinn.remember("decision", "Flask", "new", supersedes="old.md")
    assert [problem.what for problem in done.problems] == ["me/old.md"]
    assert (own / "old.md").read_text() == "---\na: [\n---\nold times\n"
    told = run("remember", "decision", "Two", "More.", "--supersedes", "old.md", home=home.root)
    assert (told.returncode, told.stdout.split()[-1]) == (1, "me/decisions/two.md")
    assert "me/old.md: was not marked as superseded" in told.stderr


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"type": " "}, "needs a type"), ({"type": "document"}, "documents.ingest"),
        ({"title": " \n "}, "needs a title"), ({"title": "x" * 301}, "300"),
        ({"importance": 1.5}, "importance 1.5"), ({"confidence": -1.0}, "confidence"),
        ({"tags": ["a b"]}, "tags"), ({"links": ["a]] b"]}, "links"),
        ({"expires": "soon"}, "expires soon: not a date; .*90min, 12h, 30d"),
        ({"expires": "45m"}, "expires 45m: not a date"),
        ({"expires": "yesterday"}, "the date is in the past"),
        ({"due": "2026-13-45"}, "due"),
        ({"existing": "overwrite"}, "'overwrite': give one of refuse, append, revise, new"),
        ({"fields": {"id": "mem_0000000000000000"}}, "'id'"),
        ({"fields": {"title": "Another"}}, "'title'"), ({"fields": {"importance": 7}}, "'impo"),
    ],
)  # fmt: skip
def test_what_can_not_be_remembered_is_told(
    djinn: Djinn, own: Path, wish: object, why: str
) -> None:
    wanted = {"type": "lesson", "title": "T", "text": "x", **wish}  # type: ignore[dict-item]
    with pytest.raises(UsageError, match=why):
        djinn.remember(**wanted)
    assert not list(own.rglob("*"))


def test_a_secret_is_refused_wherever_it_stands(djinn: Djinn, home: Home, own: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for wish in (
        {"title": "Key", "text": f"use {token}"}, {"title": token}, {"title": "a", "source": token},
    ):  # fmt: skip
        with pytest.raises(Refused, match="GitHub") as refused:
            djinn.remember("fact", **wish)
        assert token not in str(refused.value)
    with pytest.raises(Refused, match="a password"):
        djinn.remember("fact", "The WiFi password", "Tr0ub4dor&3")
    done = djinn.remember("fact", "Key", "use it", allow_secret=False)
    with pytest.raises(Refused, match="GitHub"):
        djinn.remember("fact", "Key", f"use {token}", existing="append")
    djinn.close()
    held = b"".join(path.read_bytes() for path in home.root.rglob("*") if path.is_file())
    assert token.encode() not in held
    assert token in written(
        home, djinn.remember("fact", "Key", token, existing="append", allow_secret=True)
    )
    assert done.path == "facts/key.md"


def test_the_title_of_a_superseded_note_spreads_no_secret(djinn: Djinn, own: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    old = djinn.remember("lesson", f"Use {token}", "It opens the gate.", allow_secret=True)
    with pytest.raises(Refused, match="GitHub"):
        djinn.remember("lesson", "Gate", "A guard opens it now.", supersedes=old.id, force=True)
    assert [path.name for path in own.rglob("*.md") if "A guard" in path.read_text()] == []


def test_a_read_only_vault_and_one_that_is_gone(djinn: Djinn, home: Home, own: Path) -> None:
    own.rmdir()
    assert djinn.remember("lesson", "A", "one two").path == "lessons/a.md"
    home.edit((("vaults", "me", "read_only"), True))
    with pytest.raises(Refused, match="read-only"):
        djinn.remember("lesson", "B", "three four")


def test_a_folder_that_leads_out_of_the_vault(djinn: Djinn, own: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (own / "lessons").symlink_to(tmp_path / "outside")
    with pytest.raises(Refused, match="leads out"):
        djinn.remember("lesson", "A", "one two")
    assert not list((tmp_path / "outside").iterdir())


def test_many_of_one_title_at_once_are_one_note_or_many(home: Home) -> None:
    ends: list[str] = []

    def write(number: int) -> None:
        djinn = Djinn(home)
        try:
            done = djinn.remember("lesson", "Same", f"text number{number}", existing="new")
            ends.append(done.path)
        finally:
            djinn.close()

    crew = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for one in crew:
        one.start()
    for one in crew:
        one.join()
    assert len(set(ends)) == 6
    titles = {parse(path.name, path.read_bytes()).title for path in home.root.rglob("same*.md")}
    assert len(titles) == 6


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1, max_size=80), TEXTS, st.text(min_size=1, max_size=30))
def test_anything_that_is_written_reads_back(home: Home, title: str, text: str, kind: str) -> None:
    djinn = Djinn(home)
    try:
        done = djinn.remember(kind, title, text, existing="new", force=True, allow_secret=True)
    except UsageError:
        return
    finally:
        djinn.close()
    place = home.root / "vaults" / "me" / done.path
    note = parse(done.path, place.read_bytes())
    assert (note.id, note.problem) == (done.id, None)
    assert place.resolve().is_relative_to((home.root / "vaults" / "me").resolve())
    wanted = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    assert note.text[note.body :].strip("\n").rstrip() == wanted.strip("\n").rstrip()
