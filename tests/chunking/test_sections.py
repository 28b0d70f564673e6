import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.chunking.chunks import MAX_HEADING, MAX_SECTIONS, sections
from djinn_memory.models import Section
from djinn_memory.notes.markdown import code_blocks

MARKDOWN = st.lists(
    st.sampled_from(["# A\n", "## B\n", "### C ###\n", "# \n", "D\n==\n", "E\n---\n", "words ",
                     "x\n", "\n", "```\n", "    ", "- ", "> ", "| a |\n", "|---|\n", "小明。", "é",
                     "\u2028"]),
    max_size=40,
).map("".join)  # fmt: skip


def cut(text: str, body: int = 0) -> list[Section]:
    return sections(text, body, code_blocks(text))


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("", [()]),
        ("a", [()]),
        ("# A\na\n## B\nb\n# C", [(), ("A",), ("A", "B"), ("C",)]),
        ("### A\n# B\n### C\n## D", [(), ("A",), ("B",), ("B", "C"), ("B", "D")]),
        ("# A\n# A", [(), ("A",), ("A",)]),
        ("# \n## B", [(), (), ("B",)]),
        ("```\n# A\n```\n# B", [(), ("B",)]),
        ("```\n# A", [()]),
        ("#A\n####### B\n\\# C\n> # D\n- # E\n    # F", [()]),
        ("A\n=\nB\n-\n", [()]),
        ("A\n===\n\nB\n---", [(), ("A",), ("A", "B")]),
        ("a\nb\n---", [()]),
        ("- a\n---\n\n1. b\n---\n\n| c |\n---", [()]),
        ("# [[A|B]] `c` **d** #", [(), ("B c d",)]),
        ("# " + "x" * 1000, [(), ("x" * MAX_HEADING,)]),
    ],
)
def test_paths(text: str, paths: list[tuple[str, ...]]) -> None:
    assert [section.path for section in cut(text)] == paths


def test_front_matter_holds_no_heading() -> None:
    text = "---\n# c\na: b\n---\nT\n===\nx"
    body = text.index("T\n")
    found = cut(text, body)
    assert [section.path for section in found] == [(), ("T",)]
    assert found[0].start == found[0].end == found[1].opens == body
    assert text[found[1].start :] == "x"


@given(MARKDOWN, st.integers(0, 20))
def test_sections_cover_the_text_in_order(text: str, body: int) -> None:
    done = body = min(body, len(text))
    for section in cut(text, body):
        assert section.opens == done
        assert section.opens <= section.start <= section.end
        done = section.end
    assert done == len(text)


def test_headings_beyond_a_bound_are_text() -> None:
    text = "# a\nb\n" * (MAX_SECTIONS + 10)
    found = cut(text)
    assert len(found) == MAX_SECTIONS
    assert found[-1].end == len(text)
