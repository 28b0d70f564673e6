"""Facts: set, found, kept with what was before, and silent when they have expired."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault
from djinn_memory.notes import frontmatter
from tests.notes.test_fact_note import VALUE

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


def later(days: float) -> datetime:
    return NOW + timedelta(days=days)


class Clock:
    """A clock that a test sets; it shows the real time until then."""

    time: datetime | None = None

    def __call__(self) -> datetime:
        return self.time or datetime.now(UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def djinn(home: Home, clock: Clock) -> Djinn:
    return Djinn(home, clock=clock)


SAID = VALUE.filter(lambda text: bool(text.strip()))


@given(old=SAID, new=SAID)
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_get_returns_what_set_wrote(djinn: Djinn, clock: Clock, old: str, new: str) -> None:
    clock.time = NOW
    djinn.facts.set("anna", "city", old, allow_secret=True)
    assert djinn.facts.get("anna", "city").value == old
    done = djinn.facts.set("anna", "city", new, allow_secret=True)
    fact = djinn.facts.get("anna", "city")
    assert fact == done.fact and fact.value == new
    assert (done.action, done.before) == (("changed", old) if new != old else ("verified", None))
    if new != old:
        assert fact.history[0].value == old
    assert djinn.facts.list().total == 1


def test_setting_again_keeps_all_else(home: Home, djinn: Djinn, clock: Clock) -> None:
    clock.time = NOW
    made = djinn.facts.set("Anna", "City", "Warsaw", context="She said so.").fact
    assert (made.confidence, made.source, made.created) == (
        0.9, "user_explicit", "2026-03-04T10:00:00Z",
    )  # fmt: skip
    note = home.root / "vaults" / "me" / made.path
    assert note.name == "anna-city.md" and note.parent.name == "facts"
    mine = note.read_bytes().replace(b"---\nWarsaw", b"mood:   good # mine\n---\nWarsaw")
    note.write_bytes(mine + b"\n## Notes\n\nMine.\n")
    clock.time = later(1)
    done = djinn.facts.set(" anna ", "CITY", "Berlin", source="conversation")
    fact = done.fact
    assert (done.action, done.before, fact.id, fact.path) == (
        "changed", "Warsaw", made.id, made.path,
    )  # fmt: skip
    assert (fact.category, fact.key, fact.confidence, fact.source_context) == (
        "Anna", "City", 0.7, None,
    )  # fmt: skip
    assert (fact.created, fact.updated) == (made.created, "2026-03-05T10:00:00Z")
    text = note.read_text()
    assert (
        "mood:   good # mine\n---\nBerlin\n\n## Notes\n\nMine.\n\n## History\n\n- 2026-03-05"
        in text
    )
    assert [(past.value, past.source, past.confidence) for past in fact.history] == [
        ("Warsaw", "user_explicit", 0.9)
    ]
    # A matching statement.
    before = note.read_bytes()
    clock.time = later(2)
    same = djinn.facts.set("anna", "city", "Berlin")
    assert same.action == "verified"
    assert note.read_bytes() == before.replace(
        b"last_verified: 2026-03-05T10:00:00Z", b"last_verified: 2026-03-06T10:00:00Z"
    ) or note.read_bytes() == before.replace(
        b'last_verified: "2026-03-05T10:00:00Z"', b'last_verified: "2026-03-06T10:00:00Z"'
    )
    clock.time = later(3)
    assert djinn.facts.verify("city").fact.last_verified == "2026-03-07T10:00:00Z"


@pytest.mark.parametrize(
    ("source", "sure"),
    [("tool_call", 0.95), ("auto_discovery", 0.95), ("user_explicit", 0.9), ("conversation", 0.7),
     ("web", 0.5), ("guess", 0.3), ("dream", 0.7)],
)  # fmt: skip
def test_how_sure_a_source_is(djinn: Djinn, source: str, sure: float) -> None:
    assert djinn.facts.set("a", "b", "c", source=source).fact.confidence == sure
    assert djinn.facts.set("a", "b", "d", source=source, confidence=0.42).fact.confidence == 0.42


@pytest.mark.parametrize(
    ("first", "then", "told"),
    [
        (("web",), ("user_explicit",), ("user_explicit", 0.9)),
        (("user_explicit",), ("web",), ("user_explicit", 0.9)),
        (("web", 0.95), ("user_explicit",), ("web", 0.95)),
        (("user_explicit",), ("web", 0.4), ("web", 0.4)),
        (("tool_call",), ("auto_discovery",), ("auto_discovery", 0.95)),
        (("web",), (None, 0.8), ("web", 0.8)),
        (("web",), (None,), ("web", 0.5)),
    ],
)
def test_the_same_said_again_is_as_sure_as_its_best_source(
    djinn: Djinn,
    clock: Clock,
    first: tuple[Any, ...],
    then: tuple[Any, ...],
    told: tuple[str, float],
) -> None:
    for number, (source, *sure) in enumerate((first, then)):
        clock.time = later(number)
        done = djinn.facts.set(
            "a", "b", "c", source=source, confidence=sure[0] if sure else None,
            context=source,
        )  # fmt: skip
    assert done.action == "verified"
    assert (done.fact.source, done.fact.confidence) == told
    assert done.fact.source_context == (then[0] if told[0] == then[0] else first[0])
    assert done.fact.last_verified == "2026-03-05T10:00:00Z"


def test_a_share_of_a_hundred_is_one(home: Home, djinn: Djinn) -> None:
    djinn.facts.set("a", "b", "old", confidence=0.8)
    djinn.facts.set("a", "b", "new", confidence=0.8)
    note = home.root / "vaults" / "me" / "facts" / "a-b.md"
    note.write_text(note.read_text().replace("0.8", "80"))
    fact = djinn.facts.get("a", "b")
    assert (fact.confidence, fact.history[0].confidence) == (0.8, 0.8)
    djinn.facts.set("a", "c", "surer", confidence=0.9)
    assert [fact.key for fact in djinn.facts.list(sort="confidence").facts] == ["c", "b"]


def test_expired_facts_leave_every_answer(djinn: Djinn, clock: Clock) -> None:
    clock.time = NOW - timedelta(days=100)
    for key, expires in (("desk", "2026-01-01"), ("bike", "2026-01-01T10:00:00Z"), ("boat", None)):
        value = f"borrowed from Mika, the {key}"
        djinn.facts.set("loan", key, value, expires=expires)
    clock.time = None
    facts = djinn.facts
    assert [fact.key for fact in facts.list().facts] == ["boat"]
    assert facts.list(expired=True).total == 3
    assert [fact.fact.key for fact in facts.search("borrowed from Mika").facts] == ["boat"]
    assert [hit.title for hit in djinn.search("borrowed Mika").hits] == ["loan/boat"]
    assert [memory.title for memory in djinn.recall("borrowed Mika").memories] == ["loan/boat"]
    assert [memory.title for memory in djinn.memories.list().memories] == ["loan/boat"]
    assert len(djinn.search("borrowed Mika", expired=True).hits) == 3
    assert len(djinn.memories.list(expired=True).memories) == 3
    with pytest.raises(NotFound):
        facts.get("loan", "desk")
    assert facts.mark_expired() == 2 and facts.mark_expired() == 0
    assert facts.get("loan", "desk", expired=True).status == "expired"
    # Who says it again says that it holds.
    again = facts.set("loan", "desk", "borrowed from Mika, the desk")
    assert again.action == "verified" and not again.fact.expired and again.fact.status is None
    assert facts.list().total == 2
    # On its last day a fact holds.
    clock.time = NOW
    held = facts.set("loan", "key", "x y", expires="2026-03-04").fact
    assert not held.expired and facts.list().total == 3
    clock.time = later(1)
    assert facts.list().total == 2


def test_no_list_marks_a_fact_in_a_vault_that_was_added(
    home: Home, djinn: Djinn, tmp_path: Path
) -> None:
    note = tmp_path / "notes" / "desk.md"
    note.parent.mkdir()
    text = "---\ntype: fact\ntitle: loan/desk\nexpires: 2020-01-01\n---\nMika's\n"
    note.write_text(text)
    add_vault(home, "notes", note.parent)
    assert djinn.facts.list(expired=True).facts[0].expired
    assert djinn.facts.mark_expired() == 0
    assert note.read_text() == text


def test_lists_page_sort_and_filter(djinn: Djinn, clock: Clock) -> None:
    for number, (category, key, sure) in enumerate(
        [("b", "x", 0.2), ("a", "y", 0.9), ("B", "w", 0.5), ("c", "z", 0.7)]
    ):
        clock.time = later(number)
        djinn.facts.set(category, key, f"value {number}", confidence=sure)

    def keys(**how: object) -> str:
        return "".join(fact.key for fact in djinn.facts.list(**how).facts)  # type: ignore[arg-type]

    assert keys() == "ywxz"
    assert keys(order="desc") == "zwxy"
    assert keys(sort="key") == "wxyz"
    assert keys(sort="updated") == "zwyx"
    assert keys(sort="confidence", order="asc") == "xwzy"
    assert keys(category="B") == "wx"
    assert keys(search="VALUE 2") == "w"
    page = djinn.facts.list(limit=3, skip=3)
    assert (page.total, page.page, page.pages, len(page.facts)) == (4, 2, 2, 1)


@pytest.mark.parametrize(
    "how", [{"limit": 0}, {"limit": -1}, {"skip": -1}, {"sort": "bogus"}, {"order": "up"}]
)
def test_what_is_no_page(djinn: Djinn, how: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"^{next(iter(how))} .*: give "):
        djinn.facts.list(**how)  # type: ignore[arg-type]


def test_search_by_meaning_then_by_text(djinn: Djinn) -> None:
    djinn.facts.set("anna", "residence", "She lives in a lighthouse by the sea")
    djinn.facts.set("ben", "shoe size", "44 1/2")
    djinn.facts.set("carl", "job", "keeper of the lighthouse keys, all forty of them, since May")
    nearest = djinn.facts.search("lives in a lighthouse").facts[0]
    assert (nearest.fact.category, nearest.how) == ("anna", "meaning")
    assert nearest.score is not None and nearest.score >= 0.3
    [text] = djinn.facts.search("hoe si").facts
    assert (text.fact.category, text.how, text.score) == ("ben", "text", None)
    with pytest.raises(UsageError):
        djinn.facts.search("  ")
    with pytest.raises(UsageError, match="limit 0"):
        djinn.facts.search("hoe si", limit=0)


def test_filters_alone_have_no_meaning(djinn: Djinn, recwarn: pytest.WarningsRecorder) -> None:
    djinn.facts.set("anna", "label", "tag:x")
    djinn.facts.set("anna", "city", "Warsaw")
    for query, keys in (("tag:x", ["label"]), ("tag:nowhere", []), ("-Berlin", [])):
        assert [hit.fact.key for hit in djinn.facts.search(query).facts] == keys
    assert not recwarn.list


def test_names_scopes_and_forgetting(home: Home, djinn: Djinn) -> None:
    djinn.facts.set("anna", "city", "Oslo", shared=True)
    djinn.facts.set("anna", "city", "Bergen")
    djinn.facts.set("ben", "city", "Rome")
    djinn.facts.set("paths", "a/b", "slashed")
    with pytest.raises(UsageError, match="anna, ben"):
        djinn.facts.get(None, "city")
    assert djinn.facts.get(None, "anna/city").value == "Bergen"
    assert djinn.facts.get(None, "a/b").value == "slashed"
    forgotten = djinn.facts.forget("city", category="ANNA")
    assert forgotten.fact.value == "Bergen"
    assert ".trash" in forgotten.moved_to.parts and forgotten.moved_to.exists()
    assert djinn.facts.get("anna", "city").value == "Oslo"
    assert djinn.facts.list().total == 3
    # Somebody's own note, by its title alone.
    folder = home.root / "vaults" / "shared" / "facts"
    (folder / "mine.md").write_text("---\ntype: fact\ntitle: dora/car\n---\nRed\n")
    assert djinn.facts.get("dora", "car").value == "Red"


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ({"category": " "}, "needs a category"),
        ({"key": "?!"}, "needs a key"),
        ({"key": "x" * 101}, "101 characters"),
        ({"confidence": 95}, "from 0 to 1"),
        ({"value": " \n"}, r"facts.forget\(key='a/b'\)"),
        ({"expires": "soon"}, "expires soon"),
        ({"expires": "2020-01-01"}, "expires 2020-01-01: the date is in the past"),
    ],
)
def test_what_is_no_fact(djinn: Djinn, what: dict[str, object], error: str) -> None:
    said = {"category": "a", "key": "b", "value": "c", **what}
    with pytest.raises(UsageError, match=error):
        djinn.facts.set(**said)  # type: ignore[arg-type]


def test_secrets_are_seen_by_key_and_value_together(home: Home, djinn: Djinn) -> None:
    with pytest.raises(Refused, match=r"the fact contains what looks like a password \(hu\*\*\*\*"):
        djinn.facts.set("wifi", "password", "hunter22")
    assert not (home.root / "vaults" / "me" / "facts").exists()
    assert djinn.facts.set("wifi", "password", "hunter22", allow_secret=True).action == "created"
    with pytest.raises(Refused):
        djinn.facts.set("wifi", "password", "hunter23")
    assert djinn.facts.get("wifi", "password").value == "hunter22"


def test_a_secret_in_the_source_of_a_new_fact_is_refused(djinn: Djinn) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with pytest.raises(Refused, match="GitHub"):
        djinn.facts.set("ada", "city", "London", source=token)
    with pytest.raises(NotFound):
        djinn.facts.get("ada", "city")


def test_what_another_process_wrote_just_now_is_not_written_twice(
    home: Home, djinn: Djinn, tmp_path: Path
) -> None:
    other = Djinn(home)
    for number in range(3):
        (djinn, other)[number % 2].facts.set("anna", "city", f"Place {number}")
    assert len(list((home.root / "vaults" / "me" / "facts").glob("*.md"))) == 1
    assert [fact.value for fact in djinn.facts.get("anna", "city").history] == [
        "Place 1",
        "Place 0",
    ]
    text = (home.root / "vaults" / "me" / "facts" / "anna-city.md").read_text()
    assert frontmatter.read(text).fields["title"] == "anna/city"


def test_each_of_many_at_once_is_told_what_it_set(home: Home) -> None:
    told: dict[str, str] = {}

    def put(value: str) -> None:
        djinn = Djinn(home)
        told[value] = djinn.facts.set("race", "key", value).fact.value
        djinn.close()

    crew = [threading.Thread(target=put, args=(f"v{number}",)) for number in range(6)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert told == {value: value for value in told}
    assert len(told) == 6


def test_values_set_while_another_clock_was_ahead_replace_each_other(
    djinn: Djinn, clock: Clock
) -> None:
    for value, seconds in (("a", 0), ("b", 1), ("c", 0), ("d", 0), ("e", 0)):
        clock.time = NOW + timedelta(seconds=seconds)
        assert djinn.facts.set("race", "key", value).fact.value == value
    assert [past.value for past in djinn.facts.get("race", "key").history] == ["d", "c", "b", "a"]
