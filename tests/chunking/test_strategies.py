import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from djinn_memory.chunking.chunks import blocks, sections
from djinn_memory.chunking.strategies import Plan, cut, plan
from djinn_memory.chunking.tokens import token_starts
from djinn_memory.errors import UsageError
from djinn_memory.models import Chunk, Strategy
from djinn_memory.notes import pages as paging
from djinn_memory.notes.markdown import code_blocks
from djinn_memory.notes.pages import hide, mark
from tests.growth import assert_linear

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
TOKENS = [strategy for strategy in STRATEGIES if strategy != "words"]
KEEPING = ["adaptive", "page_based", "semantic", "recursive"]

PIECES = [
    "# A\n", "\n## B\n\n", "### C\n", "D\n==\n", "word ", "of five words. ", "One. Two! ", "x\n",
    "\n\n", " ", "\n", "```\ncode here\n\nmore\n```\n", "```\n", "| a | b |\n| c | d |\n",
    "| a |\n", "- item\n", "小明在看书。", "これはペンです。」", "한국어 문장", "ภาษาไทย", "ที่เก่า",
    "abcdefghijklmnopqrstuvwxyz", "。。。。", "…", "é", "\u200b", "\u2028", "\u3000", "\t",
]  # fmt: skip
TEXTS = st.lists(
    st.sampled_from(PIECES) | st.integers(1, 9).map(lambda number: f"\n\n{mark(number)}\n\n"),
    max_size=60,
).map("".join)
PLANS = st.integers(1, 25).flatmap(
    lambda size: st.builds(
        Plan, st.sampled_from(STRATEGIES), st.just(size), st.integers(0, size // 2)
    )
)

UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u4e00-\u9fff]"
BOUNDARY = re.compile(rf"\A|\Z|(?<=\s)|(?=\s)|(?<={UNSPACED})(?={UNSPACED})|(?<=[。」])(?![。」…])")


def words(text: str) -> list[int]:
    """A token a word, or a character of a script without spaces: what a test can count."""
    return [match.start() for match in re.finditer(rf"{UNSPACED}|[^\W]+|[^\w\s]", text)]


def parted(text: str, place: int) -> tuple[int, int] | None:
    """The word that a cut at `place` would part."""
    if BOUNDARY.match(text, place):
        return None
    ends = [match.start() for match in BOUNDARY.finditer(text)]
    low = max((end for end in ends if end < place), default=0)
    return low, min((end for end in ends if end > place), default=len(text))


def check(written: str, body: int, tokens: Sequence[int], plan: Plan) -> list[Chunk]:
    """Cut, and hold to what holds for every text and strategy."""
    text, pages = hide(written), paging.pages(written, body)
    found = cut(text, body, tokens, pages, plan)
    assert found
    if not text[body:].strip():
        assert found == [Chunk((), body, body, 1, 1)]
        return found

    def size(start: int, end: int) -> int:
        return end - start if by_characters else sum(start <= token < end for token in tokens)

    by_characters = plan.strategy == "words"
    everything = sections(text, body, code_blocks(text))
    for chunk in found:
        inside = text[chunk.start : chunk.end]
        assert inside and inside == inside.strip()
        if by_characters:
            *others, last = inside.split()
            assert not others or sum(len(word) + 1 for word in others) < max(plan.size, 3)
            assert others or len(last) < 2 * plan.size
        else:
            assert size(chunk.start, chunk.end) <= plan.size
        above = [section for section in everything if section.opens <= chunk.start]
        assert chunk.headings == above[-1].path
        assert chunk.first_line == text.count("\n", 0, chunk.start) + 1
        assert chunk.last_line == text.count("\n", 0, chunk.end) + 1
        on = [page for page in pages if page.start <= chunk.start < page.end]
        assert chunk.page == (on[0].number if on else None)
        if plan.strategy == "page_based":
            assert chunk.end <= (on[0].end if on else pages[0].start if pages else len(text))
        for place in (chunk.start, chunk.end):
            word = parted(text, place)
            assert not word or place == body or size(*word) > plan.size
    assert not text[body : found[0].start].strip()
    assert not text[found[-1].end :].strip()
    for one, two in pairwise(found):
        assert one.start < two.start and one.end < two.end
        assert not text[one.end : two.start].strip()
        assert two.start >= one.end or size(two.start, one.end) <= plan.overlap
    return found


def shown(text: str, found: list[Chunk]) -> list[str]:
    return [text[chunk.start : chunk.end] for chunk in found]


@given(TEXTS, st.integers(0, 20), PLANS)
@example("abc   abc", 0, Plan("words", 2, 1))
def test_nothing_is_lost_and_no_chunk_too_large(text: str, body: int, plan: Plan) -> None:
    check(text, min(body, len(text)), words(hide(text)), plan)


@given(st.text(st.sampled_from("ab .\n|`#-。字ก。」"), max_size=150), PLANS, st.randoms())
def test_any_text_with_any_tokens(text: str, plan: Plan, random) -> None:  # type: ignore[no-untyped-def]
    places = [at for at, letter in enumerate(text) if not letter.isspace()]
    check(text, 0, sorted(random.sample(places, len(places) // 2)), plan)


@given(TEXTS)
def test_the_models_own_tokens(text: str) -> None:
    tokens = token_starts(hide(text))
    for strategy in STRATEGIES:
        check(text, 0, tokens, plan(strategy, window=8192, size=100))


@given(TEXTS, PLANS.filter(lambda plan: plan.strategy in KEEPING))
def test_blocks_that_fit_stay_whole(text: str, plan: Plan) -> None:
    text = text.replace("*Page", "Page")
    tokens = words(text)
    found = check(text, 0, tokens, plan)
    for start, end in blocks(text, code_blocks(text)):
        block = text[start:end].strip()
        start = text.index(block, start)
        if sum(start <= token < end for token in tokens) <= plan.size:
            assert any(chunk.start <= start and start + len(block) <= chunk.end for chunk in found)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("text", ["", "\n\n", " \n", f"{mark(1)}\n\n{mark(2)}\n"])
def test_a_document_without_text_is_one_chunk(text: str, strategy: Strategy) -> None:
    assert check(text, 0, [], plan(strategy, window=8192)) == [Chunk((), 0, 0, 1, 1)]


@pytest.mark.parametrize(
    ("strategy", "window", "expected"),
    [
        ("adaptive", 8192, (409, 40)),
        ("adaptive", 200_000, (4096, 409)),
        ("adaptive", 128_000, (4096, 409)),
        ("adaptive", 512, (256, 25)),
        ("recursive", 8192, (409, 40)),
        ("page_based", 8192, (409, 0)),
        ("semantic", 200_000, (512, 0)),
        ("fixed", 512, (1000, 0)),
        ("words", 8192, (1000, 0)),
    ],
)
def test_a_strategys_own_sizes(strategy: Strategy, window: int, expected: tuple[int, int]) -> None:
    assert plan(strategy, window=window) == Plan(strategy, *expected)


def test_given_sizes() -> None:
    assert plan("adaptive", window=8192, size=64) == Plan("adaptive", 64, 6)
    assert plan("fixed", window=8192, size=4096, overlap=2048) == Plan("fixed", 4096, 2048)
    assert plan("words", window=8192, size=100, overlap=50) == Plan("words", 100, 50)
    assert plan("recursive", window=8192, overlap=0) == Plan("recursive", 409, 0)


@pytest.mark.parametrize(
    ("strategy", "size", "overlap", "message"),
    [
        ("adaptive", 20, None, "chunk_size 20: give 64 to 4,096 tokens for adaptive"),
        ("fixed", 4097, None, "chunk_size 4097: give 64 to 4,096 tokens for fixed"),
        ("words", 99, None, "chunk_size 99: give 100 to 5,000 characters for words"),
        ("words", 5001, None, "chunk_size 5001: give 100 to 5,000 characters for words"),
        (
            "semantic",
            None,
            257,
            "chunk_overlap 257: give 0 to 256 tokens for semantic with chunks of 512",
        ),
        (
            "fixed",
            100,
            -1,
            "chunk_overlap -1: give 0 to 50 tokens for fixed with chunks of 100",
        ),
    ],
)
def test_sizes_out_of_range(
    strategy: Strategy, size: int | None, overlap: int | None, message: str
) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        plan(strategy, window=8192, size=size, overlap=overlap)


def test_pages_are_not_crossed() -> None:
    long = "three four five.\n" * 5
    text = f"lead\n\n{mark(1)}\n\none\n\n{mark(2)}\n\n{mark(3)}\n\n{long}"
    found = check(text, 0, words(hide(text)), Plan("page_based", 8, 0))
    assert [(chunk.page, chunk.first_line, chunk.last_line) for chunk in found] == [
        (None, 1, 1), (1, 5, 5), (3, 11, 12), (3, 13, 13), (3, 14, 15),
    ]  # fmt: skip
    others = check(text, 0, words(hide(text)), Plan("adaptive", 100, 0))
    assert [(chunk.page, chunk.first_line, chunk.last_line) for chunk in others] == [(None, 1, 15)]


def test_page_based_without_pages_is_adaptive() -> None:
    text = "# A\n\none two three. four five six.\n\n" * 20
    assert cut(text, 0, words(text), [], Plan("page_based", 30, 3)) == cut(
        text, 0, words(text), [], Plan("adaptive", 30, 3)
    )


def test_a_page_is_that_of_the_first_character() -> None:
    text = f"{mark(7)}\n{'one two. ' * 10}\n\n{mark(8)}\n{'three four. ' * 10}"
    for strategy in STRATEGIES:
        found = check(text, 0, words(hide(text)), Plan(strategy, 15, 0))
        assert {chunk.page for chunk in found} == {7, 8}


@pytest.mark.parametrize("strategy", ["adaptive", "page_based"])
@pytest.mark.parametrize(
    ("unit", "ends"),
    [("# A\nfour words of it.\n", "it."), ("one two three.\n\n", "three."),
     ("one two three\n", "three"), ("One two three. ", "three."), ("一二三。", "。"),
     ("one ", "one")],
)  # fmt: skip
def test_a_chunk_is_full_and_ends_at_the_best_break(
    unit: str, ends: str, strategy: Strategy
) -> None:
    text = unit * 40
    tokens = words(text)
    found = check(text, 0, tokens, Plan(strategy, 30, 0))
    assert len(found) > 1
    assert all(piece.endswith(ends) for piece in shown(text, found))
    sizes = [sum(chunk.start <= token < chunk.end for token in tokens) for chunk in found]
    assert min(sizes) >= 15
    assert sum(sizes) / len(sizes) >= 20


def test_a_heading_is_the_best_end() -> None:
    text = f"# A\n{'one. ' * 9}\n# B\none two.\n\nthree four.\n{'five. ' * 30}"
    found = check(text, 0, words(text), Plan("adaptive", 30, 3))
    assert found[0].headings == ("A",)
    assert text[found[1].start :].startswith("# B")
    assert found[1].headings == ("B",)
    assert found[1].first_line == 3


@pytest.mark.parametrize("strategy", KEEPING)
@pytest.mark.parametrize("before", range(40))
@pytest.mark.parametrize("block", ["", "| a b |\n" * 5, "| a b |\n" * 7])
def test_no_chunk_ends_with_a_heading(before: int, strategy: Strategy, block: str) -> None:
    text = f"{'word ' * before}\n\n{block}\n\n# A\n\n## B\n\n{'word ' * 10}\n\n{'word ' * 30}"
    found = check(text, 0, words(text), Plan(strategy, 30, 5))
    assert not any(piece.endswith(("# A", "## B")) for piece in shown(text, found))


def test_a_good_break_far_from_the_end_is_none_for_adaptive() -> None:
    text = "one.\n\n# A\n\n" + "two three.\n\n" * 20
    ends = {"adaptive": "three.", "page_based": "three.", "recursive": "one."}
    for strategy in ("adaptive", "page_based", "recursive"):
        found = check(text, 0, words(text), Plan(strategy, 30, 0))
        assert shown(text, found)[0].endswith(ends[strategy])


def test_a_heading_parts_from_a_block_that_fits_only_alone() -> None:
    table = "| a | b |\n" * 4
    text = f"# A heading of six words\n\n{table}\nmore"
    found = check(text, 0, words(text), Plan("adaptive", 20, 5))
    assert shown(text, found) == ["# A heading of six words", table.strip(), "more"]


@pytest.mark.parametrize("strategy", ["adaptive", "recursive", "fixed", "semantic"])
@pytest.mark.parametrize("unit", ["One two three four. ", "One two three\n", "one ", "一"])
def test_neighbours_overlap(unit: str, strategy: Strategy) -> None:
    text = unit * 100
    found = check(text, 0, words(text), Plan(strategy, 30, 10))
    assert len(found) > 3
    for one, two in pairwise(found):
        shared = len(words(text[two.start : one.end]))
        assert 5 <= shared <= 10
        assert text.startswith(unit.strip(), two.start)


def test_nothing_is_said_again_below_a_heading() -> None:
    text = "# A\none two three four.\n" * 20
    found = check(text, 0, words(text), Plan("recursive", 14, 6))
    assert all(one.end < two.start for one, two in pairwise(found))


def test_semantic_gathers_paragraphs() -> None:
    text = "\n\n".join(["a b c. d e f."] * 3 + ["a b c d. " * 6] + ["x y"] * 3)
    found = check(text, 0, words(text), Plan("semantic", 20, 0))
    assert shown(text, found) == [
        "a b c. d e f.\n\na b c. d e f.",
        "a b c. d e f.",
        "a b c d. a b c d. a b c d. a b c d.",
        "a b c d. a b c d. \n\nx y\n\nx y\n\nx y",
    ]


def test_fixed_takes_what_fits() -> None:
    text = "# A\n\none two. three\n\nfour five\nsix seven eight nine"
    found = check(text, 0, words(text), Plan("fixed", 5, 0))
    assert shown(text, found) == ["# A\n\none two.", "three\n\nfour five\nsix seven", "eight nine"]


def test_recursive_prefers_the_largest_separator() -> None:
    text = "# A\n\na b c.\n\nd e f.\n\n# B\n\ng h i. j k l. m n o.\n\np q r.\n\n# C\n\ns t u."
    found = check(text, 0, words(text), Plan("recursive", 14, 0))
    assert shown(text, found) == [
        "# A\n\na b c.\n\nd e f.",
        "# B\n\ng h i. j k l. m n o.",
        "p q r.\n\n# C\n\ns t u.",
    ]


@pytest.mark.parametrize("text", ["ที่เก่าน้ำ" * 30, "ភាសាខ្មែរ" * 30, "မြန်မာ" * 30, "か\u3099く" * 50])
def test_letters_keep_their_signs(text: str) -> None:
    tokens = list(range(len(text)))
    for strategy in STRATEGIES:
        found = check(text, 0, tokens, Plan(strategy, 11, 3))
        assert not any(unicodedata.combining(text[chunk.start]) for chunk in found)
        assert not any(unicodedata.category(text[chunk.start]) == "Mc" for chunk in found)
        assert not any(text[chunk.end - 1] in "เ\u17d2\u1039" for chunk in found)


def seed(text: str, size: int) -> list[list[str]]:
    """The chunks of the system from which the strategy is taken."""
    chunks: list[list[str]] = [[]]
    for word in text.split():
        chunks[-1].append(word)
        if sum(len(word) + 1 for word in chunks[-1]) >= size:
            chunks.append([])
    return [chunk for chunk in chunks if chunk]


@given(st.text(st.sampled_from("ab \n#")), st.integers(1, 30))
def test_words_are_gathered_until_they_reach_the_size(text: str, size: int) -> None:
    if not text.split() or max(map(len, text.split())) > size:
        return
    found = check(text, 0, words(text), Plan("words", size, 0))
    assert [piece.split() for piece in shown(text, found)] == seed(text, size)


def test_words_overlap_in_characters() -> None:
    text = "aaa bbb ccc ddd eee"
    found = check(text, 0, words(text), Plan("words", 12, 5))
    assert shown(text, found) == ["aaa bbb ccc", "ccc ddd eee"]


HOSTILE = [
    "a", "字", "。", "\n", " ", "a\n", "# a\n", "#\n", "# a\n\nb\n\n", "| a |\n", "```\n",
    "```\n\n", "```\n\n```\n", "| a |\n\n", "a. ", ".)", "…)", ") ", "ก", "เ", "\n\t", "\r",
    "\u200b", "> ", "- a\n", "a" * 500 + " ", "a" + " " * 5000, "a" + "\n" * 5000,
    "a" + "\u200b" * 5000, f"{mark(1)}\n", f"{mark(1)}\na\n", "=\n", "a\n--\n",
]  # fmt: skip


HOSTILE_CASES = [
    # One strategy for each text in every run, the whole matrix in a soak.
    pytest.param(unit, strategy, marks=[pytest.mark.soak] if (row - column) % 6 else [])
    for row, unit in enumerate(HOSTILE)
    for column, strategy in enumerate(STRATEGIES)
]


@pytest.mark.few(6)
@pytest.mark.parametrize(("unit", "strategy"), HOSTILE_CASES)
def test_hostile_text_takes_linear_time(unit: str, strategy: Strategy) -> None:
    def work(characters: int) -> None:
        written = unit * (characters // len(unit))
        text, pages = hide(written), paging.pages(written, 0)
        tokens = [at for at in range(0, len(text), 4) if text[at] not in " \n\t\u200b"]
        for size, overlap in ((100, 50), (4096, 2048)):
            cut(text, 0, tokens, pages, Plan(strategy, size, overlap))

    assert_linear(work, 48_000)


def test_real_documents(data_dir: Path) -> None:
    texts = [file.read_text("utf-8") for file in sorted((data_dir / "pdfs").glob("*.txt"))]
    parts = [part for text in texts for part in text.split("\f")]
    written = "\n\n".join(f"{mark(at + 1)}\n\n{part}" for at, part in enumerate(parts))[:60_000]
    tokens = token_starts(hide(written))
    for strategy in STRATEGIES:
        found = cut(hide(written), 0, tokens, paging.pages(written, 0), plan(strategy, window=8192))
        assert len(found) > 10
