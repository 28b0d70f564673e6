"""Searches through the whole pipeline, with hashing for meaning."""

from __future__ import annotations

import itertools
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.models import PLANES, Hit, Mode, SearchResult
from tests.examples import examples
from tests.indexing.vaults import fill

MODES: tuple[Mode, ...] = ("hybrid", "words", "meaning", "graph")

NOTES = {
    "pricing.md": "---\ntitle: Pricing\ntype: decision\ntags: [project/club, money]\n"
    "created: 2026-03-04\nstatus: active\nNested: {Key: Deep}\n---\n"
    "The yearly fee is ninety crowns for a family boat.\n",
    "draft.md": "---\ntype: plan\ntags: [project]\ncreated: 2026-05-01\nstatus: idea\n---\n"
    "# Fees\n\nA draft: the yearly fee may rise for a large boat.\n",
    "boats/wayfarer.md": "---\ntype: lesson\ncreated: 2026-07-09T10:00:00Z\n---\n# Wayfarer\n\n"
    "A family boat that forgives. Rudders break. #project/boats\n",
    "plain.md": "Nothing but words about gulls and herons, without any front matter. "
    "Herons, wayfarer!\n",
    "meeting.md": "---\ntype: interaction\n---\n# Meeting\n\nThe boat yearly was family fee.\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A small home, indexed."""
    home, _ = init(tmp_path_factory.mktemp("search") / "home")
    home.edit((("embedding", "provider"), "hashing"))
    for path, text in NOTES.items():
        place = home.root / "vaults" / "shared" / path
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    Djinn(home).index()
    return home


@pytest.fixture
def ask(vault: Home) -> Ask:
    return Ask(Djinn(vault))


class Ask:
    """Search, and give the paths found."""

    def __init__(self, djinn: Djinn) -> None:
        self.djinn = djinn

    def __call__(self, text: str, mode: Mode = "hybrid", **filters: tuple[str, ...]) -> set[str]:
        return {hit.path for hit in self.hits(text, mode, **filters).hits}

    def hits(self, text: str, mode: Mode = "hybrid", **filters: tuple[str, ...]) -> SearchResult:
        return self.djinn.search(text, mode=mode, **filters)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", MODES)
def test_quotes_ask_for_the_phrase(ask: Ask, mode: Mode) -> None:
    assert ask('"yearly fee"', mode) == {"pricing.md", "draft.md"}
    assert ask('"yearly fee" "family boat"', mode) == {"pricing.md"}
    assert ask('"fee yearly"', mode) == set()
    assert ask('"YEARLY   fees"', mode) == {"pricing.md", "draft.md"}


@pytest.mark.parametrize("mode", MODES)
def test_a_phrase_inside_a_question_empties_no_answer(ask: Ask, mode: Mode) -> None:
    hits = ask('what does "crowns a year" mean for a family boat', mode)
    assert {"boats/wayfarer.md", "meeting.md"} <= hits


def test_a_phrase_inside_a_question_counts_more(ask: Ask) -> None:
    words = "who said that the boat yearly was family fee"
    assert ask.hits(words, "words").hits[0].path == "meeting.md"
    assert ask.hits(f'{words} "for a large boat"', "words").hits[0].path == "draft.md"


def test_a_phrase_filters_a_question_whose_best_hits_hold_it(home: Home, shared: Path) -> None:
    for number in range(12):
        (shared / f"page-{number}.md").write_text(f"Virtual memory has pages, part {number}.")
    (shared / "other.md").write_text("Memory of paging in the office; it was virtual.")
    with Djinn(home) as djinn:
        result = djinn.search('what does "virtual memory" mean for paging', mode="words", limit=20)
        assert {hit.path for hit in result.hits} == {f"page-{number}.md" for number in range(12)}
        result = djinn.search("what does virtual memory mean for paging", mode="words", limit=20)
        assert "other.md" in {hit.path for hit in result.hits}


@pytest.mark.parametrize("mode", MODES)
def test_a_minus_leaves_notes_out(ask: Ask, mode: Mode) -> None:
    assert "draft.md" in ask("yearly fee", mode)
    assert "draft.md" not in ask("yearly fee -draft", mode)
    assert ask('boat -"family boat" -draft', mode) <= {"meeting.md", "plain.md"}
    assert ask("-boat") == {"plain.md"}


@pytest.mark.parametrize("mode", MODES)
def test_filters_written_in_the_query(ask: Ask, mode: Mode) -> None:
    assert ask("boat tag:project", mode) == {"pricing.md", "draft.md", "boats/wayfarer.md"}
    assert ask("boat tag:Project/Club", mode) == {"pricing.md"}
    assert ask("boat tag:project/", mode) == ask("boat tag:project", mode)
    assert ask("boat tag:proj", mode) == set()
    assert ask("boat tag:project tag:money", mode) == {"pricing.md"}
    assert ask("boat type:lesson", mode) == {"boats/wayfarer.md"}
    assert ask("boat type:lesson type:PLAN", mode) == {"boats/wayfarer.md", "draft.md"}
    assert ask("boat path:boats/", mode) == {"boats/wayfarer.md"}
    assert ask("boat -path:boats -type:plan -tag:money", mode) <= {"meeting.md", "plain.md"}


def test_filters_alone_list_what_they_leave(ask: Ask) -> None:
    assert ask("tag:project") == {"pricing.md", "draft.md", "boats/wayfarer.md"}
    assert ask("-type:lesson") == set(NOTES) - {"boats/wayfarer.md"}
    assert ask("", types=("plan",)) == {"draft.md"}


def test_filter_options(ask: Ask) -> None:
    assert ask("boat", tags=("project", "money")) == {"pricing.md"}
    assert ask("boat", types=("plan", "lesson")) == {"draft.md", "boats/wayfarer.md"}
    assert ask("boat", planes=("episodic",)) == {"meeting.md"}
    assert ask("boat", where=("status=ACTIVE",)) == {"pricing.md"}
    assert ask("boat", where=("Nested.Key=deep",)) == {"pricing.md"}
    assert ask("boat", where=("nope=x",)) == set()


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2026-03-04", "2026-05-01", {"pricing.md", "draft.md"}),
        ("2026-03-05", "2026-05", {"draft.md"}),
        ("2026-07-09", "2026-07-09", {"boats/wayfarer.md"}),
        (None, "2026-03", {"pricing.md"}),
        ("2026-03-04", "2026-03-04", {"pricing.md"}),
        ("2026-05-02", "2026-07-08", set()),
    ],
)
def test_days_are_inclusive(
    ask: Ask, since: str | None, until: str | None, expected: set[str]
) -> None:
    found = ask.djinn.search("boat", since=since, until=until).hits
    assert {hit.path for hit in found} == expected


@pytest.mark.parametrize("mode", MODES)
def test_snippets_never_show_front_matter(ask: Ask, mode: Mode) -> None:
    for text in ("status active", "decision money", "created 2026", "pricing", "type:decision"):
        for hit in ask.hits(text, mode).hits:
            assert "---" not in hit.snippet
            assert "status:" not in hit.snippet
            assert "tags:" not in hit.snippet


def test_marks_are_the_words_that_answer(ask: Ask) -> None:
    [hit] = [hit for hit in ask.hits("families boat").hits if hit.path == "pricing.md"]
    assert [hit.snippet[low:high] for low, high in hit.marks] == ["family", "boat"]


def test_the_place_of_a_hit_can_be_cited(ask: Ask) -> None:
    for hit in ask.hits("boat").hits:
        lines = NOTES[hit.path].splitlines()[hit.lines[0] - 1 : hit.lines[1]]
        assert hit.snippet.split()[-2] in " ".join(lines)


def test_at_most_two_chunks_of_a_note(home: Home, shared: Path) -> None:
    (shared / "long.md").write_text(
        "# Long\n\n" + "".join(f"## Part {n}\n\nthe kettle sings {n}\n\n" for n in range(9))
    )
    (shared / "short.md").write_text("a kettle")
    for mode in MODES:
        found = [hit.path for hit in Djinn(home).search("kettle", mode=mode).hits]
        assert found.count("long.md") == 2
        assert found.count("short.md") == 1
    home.edit((("search", "per_note"), 5))
    assert len(Djinn(home).search("kettle").hits) == 6


def parts(hit: Hit) -> float:
    return sum(leg.part for leg in hit.legs.values()) + hit.feedback


@pytest.mark.parametrize("mode", MODES)
def test_what_is_explained_sums_to_the_score(ask: Ask, mode: Mode) -> None:
    for text in ("yearly fee", "gulls", "family boat rudder", "zzz"):
        for hit in ask.hits(text, mode).hits:
            assert hit.score == pytest.approx(min(1, max(0, parts(hit))), abs=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_hits_are_ranked_by_score(ask: Ask, mode: Mode) -> None:
    hits = ask.hits("family boat fee", mode).hits
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert all(one.score >= two.score for one, two in itertools.pairwise(hits))


def test_a_score_does_not_depend_on_the_other_hits(ask: Ask) -> None:
    all_of_them = {hit.path: hit.legs["words"] for hit in ask.hits("family boat").hits}
    [alone] = ask.hits("family boat type:lesson").hits
    assert alone.legs["words"].raw == pytest.approx(all_of_them[alone.path].raw)
    assert alone.legs["words"].part == pytest.approx(all_of_them[alone.path].part)


def test_every_plane_can_be_asked_for(ask: Ask) -> None:
    for plane in PLANES:
        ask("boat", planes=(plane,))


def test_nothing_found_suggests_near_spellings(ask: Ask) -> None:
    result = ask.hits("wayfarrer heronns", "words")
    assert result.hits == ()
    assert result.suggestions == ("wayfarer", "herons")
    assert not result.confident


def test_suggestions_are_no_stop_words_and_not_short(home: Home, shared: Path) -> None:
    (shared / "a.md").write_text("we would have been there, ab abc abd")
    for text in ("asdkjh", "wee", "thrre", "abx", "havee", "woulld", "be"):
        assert not set(Djinn(home).search(text, mode="words").suggestions) & {
            "we", "would", "have", "been", "there", "ab",
        }  # fmt: skip


def test_a_question_on_what_is_not_there_has_no_confident_match(home: Home, shared: Path) -> None:
    fill(shared, 30)
    result = Djinn(home).search("photosynthesis in desert plants")
    assert not result.confident
    assert Djinn(home).search("kettle").confident


def test_an_exact_hit_on_a_rare_word_is_confident(home: Home, shared: Path) -> None:
    fill(shared, 30)
    text = "# Cutting room\n\nThe old tapes carry SMPTE labels. " + "We cut and splice. " * 40
    (shared / "tapes.md").write_text(text)
    question = "how would somebody convert smpte offsets when the projector has another speed"
    djinn = Djinn(home)
    djinn.index()
    result = djinn.search(question)
    assert "tapes.md" in [hit.path for hit in result.hits]
    assert result.confident
    # A word that only shares its stem says less.
    assert not djinn.search(question.replace("smpte", "smpteing")).confident


def test_a_year_or_a_word_in_other_capitals_is_no_exact_hit(home: Home, shared: Path) -> None:
    fill(shared, 30)
    text = "# Brains\n\nSome say in 1981 the brain lay in a Putnamvat. " + "We think. " * 40
    (shared / "brains.md").write_text(text)
    djinn = Djinn(home)
    djinn.index()
    for question, sure in (
        ("who repaired the northern breakwater of the fishing village in 1981", False),
        ("please submit quarterly PUTNAMVAT returns to some office before the deadline", False),
        ("please submit quarterly Putnamvat returns to some office before the deadline", True),
        ("please submit quarterly putnamvat returns to some office before the deadline", True),
        ("Please submit quarterly putnamvat returns to some office before the deadline", True),
    ):
        result = djinn.search(question, mode="words")
        assert "brains.md" in [hit.path for hit in result.hits]
        assert result.confident == sure, question


@pytest.mark.parametrize("text", ["", "   ", "\t\n"])
def test_an_empty_question_is_refused_with_an_example(ask: Ask, text: str) -> None:
    with pytest.raises(UsageError, match="the query is empty"):
        ask(text)


STRANGE = st.lists(
    st.sampled_from(
        [*'ab-"*^():+~{}[]\\/#%_,;\'\n\t\0\x1b\ud800\udcff\u202e日本ก한é\u0301', *[" "] * 4,
         "NEAR(", " OR ", " AND ", " NOT ", "tag:", "type:", "path:", "title:", "body:", '"a b"']
    ),
    min_size=1,
).map("".join)  # fmt: skip


@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(text=STRANGE | st.text(min_size=1), mode=st.sampled_from(MODES))
def test_any_string_is_a_question(vault: Home, text: str, mode: Mode) -> None:
    try:
        result = Djinn(vault).search(text, mode=mode)
    except UsageError:
        assert not text.replace("\0", " ").strip()
    else:
        assert len(result.hits) <= 10


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "text",
    [
        "word " * 20_000,
        "x" * 100_000,
        '"' + "boat " * 20_000 + '"',
        "-boat " * 20_000,
        "tag:x " * 20_000,
        '"boat" ' * 15_000,
        "(" * 100_000,
        "日" * 50_000,
        " ".join(f"w{n}rd" for n in range(20_000)),
        "\ud800" * 1000,
        "NEAR(boat fee, 10)",
        "boat* OR body:fee",
        "'; drop table note; --",
    ],
    ids=range(13),
)
def test_a_huge_or_hostile_question_is_answered(ask: Ask, text: str) -> None:
    for mode in MODES:
        ask(text, mode)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("boat " * 101, True),
        ('fee "' + "boat " * 101 + '"', True),
        ("words: " + "boat " * 101, True),
        ("boat " * 100, False),
        ('fee "' + "boat " * 90 + '"', False),
        ("what the boat is " * 30, True),
    ],
)
def test_a_question_that_is_cut_says_so_once(vault: Home, text: str, cut: bool) -> None:
    djinn = Djinn(vault)
    for mode in MODES:
        told = [one for one in djinn.search(text, mode=mode).problems if one.what == "query"]
        assert len(told) == (cut and mode != "meaning")


def test_values_that_are_no_text_match_nothing(ask: Ask) -> None:
    bad = "\udcff"
    assert ask("boat", tags=(bad,)) == set()
    assert ask("boat", types=(bad,)) == set()
    assert ask("boat", paths=(bad,)) == set()
    assert ask("boat", where=(f"{bad}={bad}",)) == set()


def test_scripts_without_spaces_are_found_by_words(home: Home, shared: Path) -> None:
    (shared / "jp.md").write_text("# 港の潮\n\n今日の潮位は低い。東京都に住む。")
    (shared / "th.md").write_text("น้ำขึ้นให้รีบตัก")
    (shared / "de.md").write_text("Die Wünsche des Segelvereins")
    djinn = Djinn(home)
    for text, path in (
        ("潮位", "jp.md"), ("港", "jp.md"), ("東京", "jp.md"), ("น้ำ", "th.md"),
        ("wunsche", "de.md"), ("WÜNSCHE", "de.md"), ("wu\u0308nsche", "de.md"),
    ):  # fmt: skip
        assert [hit.path for hit in djinn.search(text, mode="words").hits] == [path], text


def test_a_question_finds_although_few_of_its_words_are_there(ask: Ask) -> None:
    found = ask.hits("how much do we have to pay every year for our family boat?", "words")
    assert found.hits[1].path == "pricing.md"
    assert "plain" not in found.suggestions  # "pai", the stem of "pay", is like it; "pay" is not


def test_a_title_weighs_more_than_the_body(home: Home, shared: Path) -> None:
    (shared / "a.md").write_text("# Zephyr\n\nsome words about the wind and more of them")
    (shared / "b.md").write_text("# Wind\n\nsome words about the zephyr and more of them")
    (shared / "c.md").write_text("# Other\n\nnothing of the kind is said here at all, really")
    for text in ("zephyr", "wind"):
        hits = Djinn(home).search(text, mode="words").hits
        assert hits[0].title == text.title()


def test_a_small_vault_is_not_starved_by_a_large_one(home: Home, shared: Path) -> None:
    fill(shared, 120)
    (shared.parent / "me" / "one.md").write_text("the kettle of my grandmother")
    Djinn(home).index()
    hits = Djinn(home).search("kettle of my grandmother", mode="meaning").hits
    assert hits[0].vault == "me"


def test_a_long_note_does_not_hide_the_others(djinn: Djinn, shared: Path) -> None:
    log = "\n".join(f"## Day {day}\n\nharbour, and again harbour\n" for day in range(300))
    (shared / "log.md").write_text(log)
    for number in range(12):
        (shared / f"note-{number}.md").write_text(f"The harbour of town {number}, seen afar.\n")
    djinn.index()
    for mode in MODES:
        hits = djinn.search("harbour", mode=mode, limit=10).hits
        assert len(hits) == 10, mode
        assert len({hit.path for hit in hits}) >= 9, mode


def test_as_many_hits_as_were_asked_for(djinn: Djinn, shared: Path) -> None:
    for number in range(300):
        (shared / f"{number}.md").write_text(f"harbour {number}\n")
    djinn.index()
    for mode in MODES:
        assert len(djinn.search("harbour", mode=mode, limit=290).hits) == 290


def test_what_expires_on_no_date_does_not_expire(djinn: Djinn, shared: Path) -> None:
    for number, (said, _) in enumerate(EXPIRY):
        (shared / f"{number}.md").write_text(f"---\nexpires: {said}\n---\na kettle")
    report = djinn.index()
    assert [problem.why for problem in report.problems] == [
        f"expires: {said} is not a date" for said in ("0000-00-00", "2025-02-31", "9999999-99-99")
    ]
    found = {hit.path for hit in djinn.search("kettle").hits}
    assert found == {f"{n}.md" for n, (_, expired) in enumerate(EXPIRY) if not expired}


EXPIRY = [
    ("0000-00-00", False), ("2025-02-31", False), ("9999999-99-99", False), ("soon", False),
    ("2025-2-3", True), ("2025/12/31", True), ("2025-12-31 10:00+02:00", True),
    ("2999-1-1", False), ("2999.01.01", False),
]  # fmt: skip


def test_filters_know_no_case_and_no_composition(djinn: Djinn, shared: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "Über-café")
    (shared / f"{decomposed}.md").write_text(f"kiwi #{unicodedata.normalize('NFD', 'café')}\n")
    djinn.index()
    for query in ("kiwi path:Über", "kiwi path:über-CAFÉ", "kiwi tag:café", "kiwi tag:CAFÉ"):
        assert len(djinn.search(query).hits) == 1, query


def test_a_fallback_to_words_is_told_as_the_mode(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text("kettle\n")
    djinn.index()
    djinn.runtime.state.index.execute("update space set identity = 'another'")
    assert Djinn(djinn.home).search("kettle", mode="meaning").mode == "words"


def test_the_form_that_is_most_like_the_word_is_suggested(home: Home, shared: Path) -> None:
    (shared / "a.md").write_text("He keeps a lantern.")
    (shared / "b.md").write_text("They keep two.")
    assert Djinn(home).search("keeq", mode="words").suggestions == ("keep",)


def test_no_spelling_is_suggested_for_ordinary_words_and_for_what_stands_once(
    home: Home, shared: Path
) -> None:
    (shared / "a.md").write_text("# Bloop\n\nThe bloop was a sound. Nobody heard a vexillum.")
    for question in ("what is my blood type", "loop", "vexilum"):
        assert Djinn(home).search(question).suggestions == (), question
    assert Djinn(home).search("blooop").suggestions == ("bloop",)
