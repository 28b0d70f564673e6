"""The index on a Postgres server conforms, and a search on it finds what the local one finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from msgspec.structs import replace

from djinn_memory.djinn import Djinn
from djinn_memory.embedding.calibration import HashingEmbedder
from djinn_memory.errors import Refused, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.models import Filters, SearchResult
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import Selection
from djinn_memory.store.postgres.connection import reading
from djinn_memory.store.postgres.index import postgres_vectors, writer
from djinn_memory.store.postgres.servers import URL
from tests.search.conformance import SAMPLES, IndexConformance
from tests.search.described import described
from tests.search.postgres_index import opened, push, remove
from tests.sync.pushes import TableServer, note_id, tables

__all__ = ["tables"]

TEXTS = {
    "mill.md": "---\naliases: [Große Mühle]\ntags: [food/bread]\n---\n# Die Mühle\n\n"
    "Die Mühlen mahlen nicht mehr, und das Brot ist von gestern. [[Lamp]]\n",
    "capital.md": "# 東京\n\n東京都は日本の首都です。\n\n## Food\n\nSoba in the harbour.\n",
    "work.md": "---\ndomain: work\n---\nThe harbour lamp of the office, and the tide of papers.\n",
    "soon.md": "---\nexpires: 2020-01-01\n---\nThe harbour was closed for a day.\n",
    "former.md": "---\nvalid_to: 2021-01-01\n---\nThe lamp was green before.\n",
    "long.md": "# Long\n\n" + "".join(
        f"## Part {part}\n\n{'The tide comes and the lamp burns. ' * 12}\n\n" for part in range(12)
    ),
    "secret-link.md": "See [[work]] and [[tide]], which is at the harbour.\n",
}  # fmt: skip

QUESTIONS = (
    "tide", "lamps in the harbour", '"the tide" -twice', "tag:sea harbour", "type:fact lamp",
    "tag:food", "Mühle", "mühlen mahlen", "東京", "都", "日本 首都", "harbuor", "path:long lamp",
    "when does the tide come", "kettle.md", "Große Mühle", "harbour office papers", "the of and",
)  # fmt: skip


@pytest.fixture
def djinn(home: Home, shared: Path, tables: TableServer, monkeypatch: pytest.MonkeyPatch) -> Djinn:
    """A home with samples in all vaults, indexed here and on the server."""
    monkeypatch.setenv(URL, tables.address.conninfo)
    for sample in SAMPLES:
        (home.root / "vaults" / sample.vault / sample.path).write_text(sample.write())
    for name, text in TEXTS.items():
        (shared / name).write_text(text, encoding="utf-8")
    djinn = Djinn(home)
    djinn.index()
    for vault in home.vaults:
        push(tables, djinn, vault)
    return djinn


class TestPostgresIndex(IndexConformance):
    @pytest.fixture
    def index(self, home: Home, shared: Path, tables: TableServer) -> Iterator[Index]:
        for sample in SAMPLES:
            (home.root / "vaults" / sample.vault / sample.path).write_text(sample.write())
        djinn = Djinn(home)
        djinn.index()
        for vault in home.vaults:
            push(tables, djinn, vault)
        with opened(tables, home, home.named(("shared",))) as index:
            yield index


def comparable(result: SearchResult) -> tuple[SearchResult, list[object]]:
    """A result, with the scores of its hits. Sums of other orders differ in the last places."""
    scores = [pytest.approx(hit.score, abs=0.001) for hit in result.hits]
    hits = tuple(replace(hit, score=0, feedback=0, legs={}) for hit in result.hits)
    return replace(result, hits=hits, milliseconds=0.0, steps=()), scores


def test_a_search_finds_the_same_on_the_server(djinn: Djinn) -> None:
    for question in QUESTIONS:
        for mode in ("hybrid", "words", "meaning"):
            local = djinn.search(query=question, mode=mode)
            there = djinn.search(query=question, mode=mode, backend="postgres")
            assert comparable(there) == comparable(local), (question, mode)


def test_what_an_agent_may_not_see_is_hidden_on_the_server(djinn: Djinn) -> None:
    home = djinn.runtime.home
    home.edit((("agents",), ["me", "guest"]), (("access",), {"guest": ["sea"]}))
    guest = Djinn(Home(home.root))
    for question in QUESTIONS:
        local = guest.search(query=question, agent="guest")
        there = guest.search(query=question, agent="guest", backend="postgres")
        assert comparable(there) == comparable(local), question
        assert {hit.path for hit in there.hits}.isdisjoint({"work.md", "secret.md"})
    assert [hit.path for hit in guest.search(query="office papers", backend="postgres").hits][
        :1
    ] == ["work.md"]


def test_a_note_needs_no_file_here(djinn: Djinn, shared: Path) -> None:
    (shared / "lamp.md").unlink()
    assert "lamp.md" in {
        hit.path for hit in djinn.search(query="lamp oil", backend="postgres").hits
    }
    djinn.index()
    assert "lamp.md" not in {hit.path for hit in djinn.search(query="lamp oil").hits}


def test_changed_and_removed_notes(djinn: Djinn, shared: Path, tables: TableServer) -> None:
    vault = djinn.runtime.home.shared
    (shared / "tide.md").write_text("# Tide\n\nThe ebb follows the flood, and the lamp is out.\n")
    (shared / "kettle.md").unlink()
    djinn.index()
    push(tables, djinn, vault, ["tide.md"])
    remove(tables, vault, ["kettle.md"])
    for question in (*QUESTIONS, "ebb and flood", "kettle sings"):
        local = djinn.search(query=question)
        there = djinn.search(query=question, backend="postgres")
        assert comparable(there) == comparable(local), question


def test_posting_lists_are_merged_and_cleaned(
    djinn: Djinn, tables: TableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = djinn.runtime.home.shared
    expected = [comparable(djinn.search(query=question)) for question in QUESTIONS]
    segments: Callable[[], int] = lambda: tables.value("select count(*) from index_segments")  # noqa: E731
    for most in ("MAX_SEGMENTS", "MERGED_SEGMENTS"):
        monkeypatch.setattr(f"djinn_memory.store.postgres.index.postings.{most}", 4)
    for path in (*TEXTS, *(sample.path for sample in SAMPLES if sample.vault == "shared")):
        push(tables, djinn, vault, [path])
    assert 1 < segments() <= 6
    there = [comparable(djinn.search(query=each, backend="postgres")) for each in QUESTIONS]
    assert there == expected
    monkeypatch.setattr("djinn_memory.store.postgres.index.postings.MAX_GONE", 0)
    for _ in range(3):
        push(tables, djinn, vault)
    assert tables.value(
        "select sum(segments.chunks) <= 2 * max(sets.chunks) + 30 from index_segments as segments "
        "join index_domain_sets as sets using (user_id)"
    )
    there = [comparable(djinn.search(query=each, backend="postgres")) for each in QUESTIONS]
    assert there == expected


def test_the_plan_is_explained(djinn: Djinn) -> None:
    result = djinn.search(query="harbour lamp", backend="postgres")
    [step] = [step for step in result.steps if step.name == "index"]
    assert step.what.startswith("Postgres, vaults: ")
    assert "words by index_postings_pkey" in step.what
    assert not djinn.search(query="harbour lamp").steps


def test_a_server_that_is_down_ends_in_one_line(
    djinn: Djinn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL, "postgresql://nobody@127.0.0.1:1/none")
    hint = r"does not answer; .*, or pass `backend='sqlite'` to search this home$"
    with pytest.raises(Unavailable, match=hint):
        djinn.search(query="lamp", backend="postgres")
    djinn.runtime.home.edit((("backend",), "postgres"))
    with pytest.raises(Unavailable, match=hint):
        Djinn(Home(djinn.runtime.home.root)).search(query="lamp")
    assert djinn.search(query="lamp", backend="sqlite").hits


RICH = {
    "journal/2026-02-01.md": "# 2026-02-01\n\n## 09:00 Tea at the harbour ^ep-one\n"
    '%% {"type": "episode", "domain": "work"} %%\n\nThe tide was low. [[lamp]]\n\n'
    "## 10:00 The lamp ^ep-two\n\nThe lamp burned all day.\n",
    "sub/lamp.md": "---\nid: mem_lamp\nstatus: Active\ntags: [food, food/bread/rye]\n---\n"
    "# Lamp\n\nSee [[journal/2026-02-01#^ep-two]], [[Kettle|the kettle]] and ![[tide]].\n",
    "twin.md": "---\nid: mem_lamp\ncreated: 2020-01-01\n---\nThe older lamp.\n",
    "broken.md": "---\ntags: [a\n---\nThe lamp in front matter that is not YAML.\n",
    "fact.md": "---\ntype: fact\ncreated: 2026-03-01\nvalid_from: 2026-01-01\n---\nRed.\n",
    "windmill.md": "Die Windmühle und die Wassermühle stehen am Wasser, das nicht fließt.\n",
}


@pytest.mark.few(1)
@pytest.mark.parametrize("agent", ["me", "guest"])
def test_every_answer_is_that_of_the_local_index(
    djinn: Djinn, shared: Path, tables: TableServer, agent: str
) -> None:
    home = djinn.runtime.home
    home.edit((("agents",), ["me", "guest"]), (("access",), {"guest": ["sea"]}))
    for name, text in RICH.items():
        (shared / name).parent.mkdir(exist_ok=True)
        (shared / name).write_text(text, encoding="utf-8")
    djinn = Djinn(Home(home.root))
    djinn.index()
    vaults = djinn.runtime.home.scope(agent)
    for vault in djinn.runtime.home.vaults:
        push(tables, djinn, vault)
    [vector] = HashingEmbedder().embed(["the lamp of the harbour"])
    with djinn.runtime.index(vaults) as index:
        local = described(index, vector)
    with opened(tables, djinn.runtime.home, vaults) as index:
        there = described(index, vector)
    different = {name: (there[name], local[name]) for name in local if there[name] != local[name]}
    assert different == {}


def test_many_vectors_get_an_index(
    djinn: Djinn, tables: TableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, vault = djinn.runtime.home, djinn.runtime.home.shared
    [vector] = HashingEmbedder().embed(["the lamp of the harbour"])
    selections = (Selection(), Selection(Filters(excluded=(("path", "long"),))))
    with opened(tables, home, [vault]) as index:
        exact = [index.vectors.nearest(vector, each, 5) for each in selections]
    monkeypatch.setattr(postgres_vectors, "EXACT_WINDOWS", 5)
    push(tables, djinn, vault, ["lamp.md"])
    with opened(tables, home, [vault]) as index:
        for selection, expected in zip(selections, exact, strict=True):
            refs = index.vectors.nearest(vector, selection, 5)
            # Chunks with equal texts may come in another order.
            assert [ref.place[1] for ref in refs] == [ref.place[1] for ref in expected]
    assert tables.value(
        "select count(*) from pg_indexes where indexname like 'index_windows_near_%%' "
        "and schemaname = current_schema()"
    )


def test_windows_without_vectors_do_not_count_for_an_index(
    djinn: Djinn, tables: TableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = UUID(djinn.runtime.home.shared.id)
    own = "select chunk, number from index_windows where user_id = %s"
    windows = tables.value(f"select count(*) from ({own}) as own", scope)

    def needed(enough: int) -> bool:
        monkeypatch.setattr(postgres_vectors, "EXACT_WINDOWS", enough)
        with reading(tables.connection, tables.address) as tx:
            return postgres_vectors.needs_vector_index(tx, scope)

    def forget(count: int) -> None:
        tables.connection.execute(
            "update index_windows set vector = null where user_id = %s "
            f"and (chunk, number) in ({own} limit {count})".encode(),
            (scope, scope),
        )

    assert needed(windows) and not needed(windows + 1)
    forget(2)
    assert needed(windows - 2) and needed(1) and not needed(windows - 1)
    forget(windows)
    assert not needed(1)


def test_a_server_without_the_vaults_says_so(djinn: Djinn, tables: TableServer) -> None:
    tables.connection.execute("delete from scopes")
    with pytest.raises(Refused, match="has none of these vaults: shared, me"):
        djinn.search(query="lamp", backend="postgres")


def test_a_process_that_has_searched_sees_what_is_pushed(
    djinn: Djinn, shared: Path, tables: TableServer
) -> None:
    vault = djinn.runtime.home.shared
    for question in QUESTIONS:
        djinn.search(query=question, backend="postgres")
    (shared / "tide.md").write_text(
        "---\nexpires: 2020-01-01\n---\n# Tide\n\nThe ebb follows the flood in the harbour.\n"
    )
    (shared / "lamp.md").write_text("# Lamp\n\nA lamp in the harbour burns oil, and the harbour.\n")
    (shared / "kettle.md").unlink()
    djinn.index()
    push(tables, djinn, vault, ["tide.md", "lamp.md"])
    remove(tables, vault, ["kettle.md"])
    for question in (*QUESTIONS, "ebb and flood", "kettle sings", "lamp in the harbour"):
        local = djinn.search(query=question)
        there = djinn.search(query=question, backend="postgres")
        assert comparable(there) == comparable(local), question


def test_a_process_that_has_searched_sees_that_the_server_was_restored(
    djinn: Djinn, shared: Path, tables: TableServer
) -> None:
    vault = djinn.runtime.home.shared
    for question in QUESTIONS:
        djinn.search(query=question, backend="postgres")
    # A restored server gives a number again to another revision.
    with tables.connection.transaction(), tables.connection.cursor() as tx:
        writer.remove(tx, UUID(vault.id), [note_id(vault, "kettle.md")])
        tx.execute("update revisions set mark = %s", (uuid4(),))
    (shared / "kettle.md").unlink()
    djinn.index()
    for question in QUESTIONS:
        local = djinn.search(query=question)
        there = djinn.search(query=question, backend="postgres")
        assert comparable(there) == comparable(local), question


def test_an_index_inside_another_reads_the_same_state(djinn: Djinn, tables: TableServer) -> None:
    vault = djinn.runtime.home.shared
    runtime = djinn.runtime
    with runtime.server_index([vault]) as outer:
        remove(tables, vault, ["kettle.md"])
        with runtime.server_index([vault]) as inner:
            assert inner.resolve("kettle.md")
        assert outer.resolve("kettle.md")
    with runtime.server_index([vault]) as index:
        assert not index.resolve("kettle.md")


def test_a_failed_search_leaves_the_connection_usable(djinn: Djinn, tables: TableServer) -> None:
    vaults = [djinn.runtime.home.shared]
    with pytest.raises(ZeroDivisionError), djinn.runtime.server_index(vaults):
        raise ZeroDivisionError
    with pytest.raises(Refused), djinn.runtime.server_index(vaults) as index:
        index.plan()
        tables.connection.execute("alter table index_memories rename to gone")
        index.resolve("kettle.md")
    tables.connection.execute("alter table gone rename to index_memories")
    assert djinn.search(query="lamp oil", backend="postgres").hits
