"""Episodes: recorded in journals, masked, found, listed, shown and counted."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.episodes import journals
from djinn_memory.notes import journal
from tests.notes.test_journal import spoken, written

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


@pytest.fixture
def djinn(home: Home) -> Djinn:
    return Djinn(home, clock=lambda: NOW)


def files(home: Home) -> list[Path]:
    return sorted((home.root / "vaults").glob("*/journal/*.md"))


def test_an_episode_is_found_and_shown(djinn: Djinn) -> None:
    done = djinn.episodes.record_interaction(
        message="When does the ferry leave?\nAnd from where?",
        response="At nine,\n\nfrom the north mole.",
        channel="slack",
        context={"thread": 4, "who": ["Ilse"], "seen": None},
        session="crossing",
    )
    assert (done.type, done.title) == ("interaction", "When does the ferry leave?")
    assert done.path.startswith("journal/2026-03-04.")
    assert done.importance.total == 0.55 and done.intents == ("question",)
    [hit] = djinn.search("ferry mole").hits
    assert (hit.id, hit.block, hit.plane) == (done.id, done.block, "episodic")
    for name in (str(done.id), done.address, "When does the ferry leave?"):
        detail = djinn.episodes.show(name)
        assert detail.message == "When does the ferry leave?\nAnd from where?"
        assert detail.response == "At nine,\n\nfrom the north mole."
        assert (detail.session, detail.channel) == ("crossing", "slack")
        assert detail.context == {"thread": 4, "who": ["Ilse"], "seen": None}
        assert detail.parts == done.importance


TEXT = spoken.filter(lambda text: bool(written(text).strip()))


@given(message=TEXT, response=spoken)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_words_come_back_as_they_were_said(djinn: Djinn, message: str, response: str) -> None:
    done = djinn.episodes.record_interaction(message=message, response=response)
    detail = djinn.episodes.show(str(done.id))
    if not done.masked:
        assert detail.message == written(message).strip("\n")
        assert (detail.response or "") == written(response).strip("\n")


def test_secrets_are_masked_everywhere(djinn: Djinn, home: Home) -> None:
    key = "ghp_" + "4kXw9QbRt7LmZc2VyHs8PnJd5GfUe3TaW6Do"
    done = djinn.episodes.record_interaction(
        message=f"The token is {key}",
        response=f"Noted: {key}.",
        context={"password": "hunter2secret99", "deep": [{"token": key}], "n": 3},
    )
    assert done.masked == 2
    assert key not in done.title
    written = b"".join(path.read_bytes() for path in home.root.rglob("*") if path.is_file())
    assert key.encode() not in written and b"hunter2secret99" not in written


def test_an_observation_has_no_response(djinn: Djinn) -> None:
    done = djinn.episodes.record_observation(text="The build turned red.")
    assert djinn.episodes.show(str(done.id)).response is None
    assert done.type == "observation"


def test_notes_that_are_named_are_linked(djinn: Djinn) -> None:
    djinn.remember(type="person", title="Ilse Brandvold", text="The harbour master.", force=True)
    done = djinn.episodes.record_observation(text="Met ilse brandvold at the pier.")
    assert [(entity.kind, entity.text) for entity in done.entities] == [("known", "Ilse Brandvold")]
    links = djinn.memories.links(name="Ilse Brandvold")
    assert [link.path for link in links.backlinks] == [done.path]


def test_a_note_in_a_hidden_vault_is_not_known(djinn: Djinn, home: Home) -> None:
    from djinn_memory.home.setup import add_agent

    add_agent(home, "grace")
    with Djinn(Home(home.root), clock=lambda: NOW) as other:
        other.remember(type="person", title="Ulf Tarn", text="A pilot.", agent="grace", force=True)
        done = other.episodes.record_observation(text="saw ulf tarn")
        assert done.entities == ()


def test_lists_and_counts(djinn: Djinn) -> None:
    for day, kind, channel in (("01", "a", "cli"), ("02", "b", "cli"), ("02", "b", "voice")):
        djinn.episodes.record_observation(
            text=f"Seen on day {day}", at=f"2026-03-{day}T08:00Z", session=kind, channel=channel
        )
    djinn.episodes.record_interaction(message="Said now", session="b")
    djinn.remember(type="observation", title="A note", text="This is no episode.", force=True)
    page = djinn.episodes.list()
    assert [episode.title for episode in page.episodes][:2] == ["Said now", "Seen on day 02"]
    assert page.total == 4
    assert djinn.episodes.list(session="b").total == 3
    assert djinn.episodes.list(channel="voice").total == 1
    assert djinn.episodes.list(kind="interaction").total == 1
    assert djinn.episodes.list(since="2026-03-02", until="2026-03-02").total == 2
    assert [each.title for each in djinn.episodes.list(limit=1, skip=3).episodes] == [
        "Seen on day 01"
    ]
    stats = djinn.episodes.stats()
    assert (stats.total, stats.sessions, stats.importance) == (4, 2, 0.5)
    assert stats.kinds == {"observation": 3, "interaction": 1}
    assert stats.channels == {"cli": 2, "voice": 1, "api": 1}
    assert stats.days == {"2026-03-04": 1, "2026-03-02": 2, "2026-03-01": 1}
    assert djinn.episodes.stats(since="2026-03-04").total == 1


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"message": " \n"}, "empty"),
        ({"message": "x", "at": "soon"}, "not a time"),
        ({"message": "x", "at": "2026-03"}, "not a time"),
        ({"message": "x", "at": "2027-01-01"}, "in the future"),
        ({"message": "x", "context": {"x": "y" * 200_000}}, "context"),
        ({"message": "x", "context": {"x": float("nan")}}, "context"),
    ],
)
def test_what_is_refused(djinn: Djinn, home: Home, fields: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        djinn.episodes.record_interaction(**fields)
    assert not files(home)


def test_a_note_is_no_episode(djinn: Djinn) -> None:
    djinn.remember(type="lesson", title="A note", text="This is no episode.")
    with pytest.raises(NotFound, match="is not an episode"):
        djinn.episodes.show("A note")


def test_a_torn_record_is_replaced(djinn: Djinn, home: Home) -> None:
    djinn.episodes.record_observation(text="First")
    [file] = files(home)
    whole = file.read_bytes()
    djinn.episodes.record_observation(text="Second")
    both = file.read_bytes()
    for cut in range(len(whole) + 2, len(both), 7):
        file.write_bytes(both[:cut])
        djinn.episodes.record_observation(text="Third")
        text = file.read_text()
        assert text.startswith(whole.decode())
        assert journal.read(file.name, text).records[0].content == "> First"
        assert text.count("\n## ") == 2 and "Third" in text


def test_a_person_may_write_between_records(djinn: Djinn, home: Home) -> None:
    djinn.episodes.record_observation(text="First")
    [file] = files(home)
    with file.open("a") as end:
        end.write("\n## My own\n\nNot a record, and no line end")
    djinn.episodes.record_observation(text="Second")
    assert djinn.episodes.list().total == 2
    assert "no line end\n\n## 1" in file.read_text().replace("## 0", "## 1")


def test_a_file_that_djinn_did_not_begin_is_left_alone(djinn: Djinn, home: Home) -> None:
    name = journals.home_name(home)
    taken = home.root / "vaults" / home.config.agents[0] / journal.path_of(local_day(), name)
    taken.parent.mkdir(parents=True)
    taken.write_text("# My day\n\nMine alone.\n")
    done = djinn.episodes.record_observation(text="First")
    assert taken.read_text() == "# My day\n\nMine alone.\n"
    assert done.path == journal.path_of(local_day(), name, 2)


def test_a_full_journal_goes_on_in_another(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "FULL", 2_000)
    for number in range(12):
        djinn.episodes.record_observation(text=f"Seen {number} " + "and seen again " * 20)
    assert len(files(home)) > 2
    assert all(file.stat().st_size < 2_500 for file in files(home))
    assert djinn.episodes.list().total == 12


def local_day() -> str:
    return f"{NOW.astimezone():%Y-%m-%d}"


@given(st.lists(st.tuples(st.sampled_from(["record", "edit", "section"]), TEXT), max_size=6))
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_an_appended_index_is_that_of_a_rebuild(djinn: Djinn, steps: list[tuple[str, str]]) -> None:
    djinn.episodes.record_observation(text="Begin")
    [file] = files(djinn.home)
    for step, text in steps:
        if step == "record":
            djinn.episodes.record_observation(text=text)
        elif step == "section":
            with file.open("a", encoding="utf-8") as end:
                end.write("\n## Aside\n\nA person wrote this.\n")
        else:
            file.write_text(file.read_text().replace("Begin", "Begun"), encoding="utf-8")
    djinn.memories.list()
    before = picture(djinn)
    djinn.index(rebuild=True)
    assert picture(djinn) == before


def picture(djinn: Djinn) -> list[object]:
    """What the index holds of each section, whatever its numbers are."""
    with djinn.runtime.index(djinn.home.vaults) as index:
        memories = list(index.memories())
        chunks = index.chunks_of([memory.memory_id for memory in memories])
        return sorted(
            (
                memory.address, memory.title, memory.created, memory.hash,
                [(chunk.text, chunk.lines) for chunk in chunks.get(memory.memory_id, ())],
            )
            for memory in memories
        )  # fmt: skip


def test_threads_and_processes_append_whole_records(home: Home) -> None:
    code = (
        "import sys; from djinn_memory import Djinn\n"
        "with Djinn.open(sys.argv[1]) as djinn:\n"
        "    for n in range(5): djinn.episodes.record_observation(text=f'{sys.argv[2]} saw {n}')"
    )
    crew = [
        subprocess.Popen([sys.executable, "-c", code, str(home.root), name])
        for name in ("anna", "bo")
    ]

    def record(name: str) -> None:
        with Djinn(home) as djinn:
            for number in range(5):
                djinn.episodes.record_observation(text=f"{name} saw {number}")

    with ThreadPoolExecutor() as pool:
        list(pool.map(record, ("cleo", "dag")))
    assert [process.wait(timeout=60) for process in crew] == [0, 0]
    with Djinn(home) as djinn:
        assert djinn.episodes.list(limit=100).total == 20
    contents = [journal.read(file.name, file.read_text()) for file in files(home)]
    assert sum(len(content.records) for content in contents) == 20
    assert not any(content.problem for content in contents)


def test_a_purge_removes_one_section(djinn: Djinn, home: Home) -> None:
    kept = [djinn.episodes.record_observation(text=f"The lamp {n} is lit") for n in range(2)]
    [file] = files(home)
    before = file.read_bytes()
    doomed = djinn.episodes.record_observation(text="The quokka fell overboard")
    djinn.episodes.record_observation(text="The lamp is out")
    after = file.read_bytes().partition(b"The lamp is out")[2]
    djinn.recall("fell overboard")
    plan = djinn.memories.purge(name=str(doomed.id), dry_run=True)
    assert plan.files == (f"{doomed.path}#^{doomed.block}",) and not plan.purged
    done = djinn.memories.purge(name=str(doomed.id), files=plan.files)
    assert done.purged and done.vectors == 1
    assert file.read_bytes().startswith(before) and file.read_bytes().endswith(after)
    assert [each.title for each in djinn.episodes.list().episodes] == [
        "The lamp is out", *(each.title for each in reversed(kept)),
    ]  # fmt: skip
    assert not djinn.search("quokka").hits
    assert not [path for path in home.root.rglob("*") if path.is_file() and holds(path, b"quokka")]
    with pytest.raises(NotFound):
        djinn.memories.purge(name=str(doomed.id))
    before = picture(djinn)
    djinn.index(rebuild=True)
    assert picture(djinn) == before


def holds(path: Path, word: bytes) -> bool:
    return word in path.read_bytes().lower()


def test_the_next_question_embeds_what_was_recorded(djinn: Djinn) -> None:
    djinn.remember(type="lesson", title="Lamps", text="A lamp is oiled weekly.")
    done = djinn.episodes.record_observation(text="The ferry was late.")
    assert done.searchable == "words"
    assert djinn.memories.stats().pending == 2
    result = djinn.search("ferry late")
    assert not result.problems and djinn.memories.stats().pending == 0
    assert result.hits[0].legs["meaning"].raw > 0


@pytest.mark.parametrize(
    "written",
    [
        "\n## 10:15 Called Bob about the lease",
        "\n## 10:15 Called Bob\n\n> he said yes\n",
        "\n#",
        "\n## 10:15 x\n\n> y\n\n^bob1\n\n%% my own comment %%",
    ],
)
def test_what_a_person_began_to_write_is_kept(djinn: Djinn, home: Home, written: str) -> None:
    djinn.episodes.record_observation(text="First")
    [file] = files(home)
    with file.open("a") as end:
        end.write(written)
    djinn.episodes.record_observation(text="Second")
    kept = "".join(path.read_text() for path in home.root.rglob("*.md"))
    assert written.strip("\n") in kept
    assert djinn.episodes.list().total == 2


def test_a_save_between_read_and_append_is_kept(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    djinn.episodes.record_observation(text="First")
    [file] = files(home)
    appendable = journal.appendable

    def saved_meanwhile(path: str, data: bytes) -> int | None:
        keep = appendable(path, data)
        if b"An editor" not in file.read_bytes():
            other = file.with_name("other")
            other.write_bytes(data + b"\n## Own\n\nAn editor saved this.\n")
            other.rename(file)
        return keep

    monkeypatch.setattr(journal, "appendable", saved_meanwhile)
    djinn.episodes.record_observation(text="Second")
    assert "An editor saved this." in file.read_text() and "Second" in file.read_text()


@pytest.mark.parametrize("content", ["../../x", "", "a: b", "x\ny", "\udcff\udcfe"])
def test_a_broken_name_of_the_home_is_replaced(djinn: Djinn, home: Home, content: str) -> None:
    (home.state / journals.NAME_FILE).write_bytes(content.encode("utf-8", "surrogateescape"))
    done = djinn.episodes.record_observation(text="First")
    assert re.fullmatch(r"journal/2026-03-0\d\.[a-z0-9-]+\.md", done.path)


def test_secrets_of_a_context_are_masked_by_the_names_of_their_keys(
    djinn: Djinn, home: Home
) -> None:
    token = "ghp_4kXw9QbRt7LmZc2VyHs8PnJd5GfUe3TaW6Do"
    context = {
        token: "x", "password": ["hunter2hunter2"],
        "api_key": {"value": "8f3ak29dkq0zk3lq9s8d7f6g5h4j3k2l"}, "note: x": "plain: value",
    }  # fmt: skip
    done = djinn.episodes.record_observation(text="hi", context=context)
    stored = djinn.episodes.show(str(done.id)).context
    assert stored and stored["note: x"] == "plain: value"
    written = b"".join(path.read_bytes() for path in home.root.rglob("*") if path.is_file())
    for secret in (token, "hunter2hunter2", "8f3ak29dkq0zk3lq9s8d7f6g5h4j3k2l"):
        assert secret.encode() not in written


def test_hostile_fields_are_refused(djinn: Djinn, home: Home) -> None:
    deep: dict[str, object] = {}
    for _ in range(700):
        deep = {"a": deep}
    for fields, why in (
        ({"at": "0001-01-01"}, "not a time of this calendar"),
        ({"context": deep}, "nested too deep"),
        ({"text": "a" * 200_001}, "at most 200,000"),
    ):
        with pytest.raises(UsageError, match=why):
            djinn.episodes.record_observation(**{"text": "x", **fields})
    assert not files(home)


def test_an_early_year_has_four_digits(djinn: Djinn) -> None:
    done = djinn.episodes.record_observation(text="x", at="0500-06-01T12:00Z")
    assert done.path.startswith("journal/0500-06-0")


def test_a_folder_that_is_a_link_is_refused(djinn: Djinn, home: Home) -> None:
    root = home.root / "vaults" / home.config.agents[0]
    (root / "inner").mkdir(parents=True)
    (root / "journal").symlink_to("inner")
    with pytest.raises(Refused, match="symbolic link"):
        djinn.episodes.record_observation(text="First")


def test_a_purge_removes_each_copy_of_a_section(djinn: Djinn, home: Home) -> None:
    djinn.episodes.record_observation(text="The lamp is lit")
    doomed = djinn.episodes.record_observation(text="The quokka fell")
    [file] = files(home)
    trash = file.parent.parent / ".trash" / "journal"
    trash.mkdir(parents=True)
    (trash / file.name).write_bytes(file.read_bytes())
    text = file.read_text()
    file.write_text(text + text[text.rindex("\n## ") :] + "\n## 10:15 caf")
    with file.open("ab") as end:
        end.write(b"\xc3")
    djinn.memories.purge(name=str(doomed.id))
    assert b"quokka" not in file.read_bytes() + (trash / file.name).read_bytes()
    assert file.read_bytes().endswith(b"caf\xc3")


@pytest.mark.parametrize("by", ["id", "title", "address"])
def test_a_purge_finds_a_section_that_only_the_trash_has(djinn: Djinn, home: Home, by: str) -> None:
    djinn.episodes.record_observation(text="The lamp is lit")
    doomed = djinn.episodes.record_observation(text="The quokka fell")
    [file] = files(home)
    trash = file.parent.parent / ".trash" / "journal"
    trash.mkdir(parents=True)
    file = file.rename(trash / file.name)
    name = {"id": doomed.id or "", "title": "the quokka fell", "address": doomed.address}[by]
    plan = djinn.memories.purge(name, dry_run=True)
    assert plan.files == (f".trash/{doomed.path}#^{doomed.block}",)
    assert djinn.memories.purge(name, files=plan.files).purged
    assert b"quokka" not in file.read_bytes() and b"lamp" in file.read_bytes()
    assert not [path for path in home.root.rglob("*") if path.is_file() and holds(path, b"quokka")]


def test_a_purge_that_cannot_write_changes_nothing(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    doomed = djinn.episodes.record_observation(text="The quokka fell")

    def full(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr(journal, "without", full)
        with pytest.raises(OSError, match="No space"):
            djinn.memories.purge(name=str(doomed.id))
    assert djinn.memories.purge(name=str(doomed.id)).purged
    assert not djinn.search("quokka").hits
