"""What of a command line is an option, and what is text that only begins as one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.cli.app import root
from tests.conftest import Run

DASHED = ("- ", "-- ", "---\n", "-\t", "- [ ] ", "-x ", "--tag ", "-5", "-0.5", "-.5 ")
TEXTS = st.text().filter(lambda text: not text.startswith("-")) | st.builds(
    str.__add__, st.sampled_from(DASHED), st.text()
)
ROOT: Any = root()
SHARED = ["--shared"]
OPTIONS = st.lists(st.sampled_from([["--tag", "- a"], ["--tag=- b=c"], ["--tag", "-5"], SHARED]))


def read(command: str, args: list[str]) -> dict[str, Any]:
    """The values that a command gets."""
    return dict(ROOT.get_command(None, command).make_context(command, list(args)).params)


@given(TEXTS, TEXTS, OPTIONS, st.randoms())
def test_a_text_is_taken_as_it_is(title: str, text: str, options: Any, random: Any) -> None:
    args = [["lesson"], [title], [text]]
    for option in options:
        args.insert(random.randint(0, len(args)), option)
    params = read("remember", [one for part in args for one in part])
    assert (params["type"], params["title"], params["text"]) == ("lesson", title, text)
    given_tags = [one[-1].removeprefix("--tag=") for one in options if one != SHARED]
    assert sorted(params["tags"]) == sorted(given_tags)
    assert params["shared"] == (SHARED in options)


@given(st.lists(TEXTS, min_size=1))
def test_words_of_a_question_are_taken_as_they_are(words: list[str]) -> None:
    assert read("recall", ["-n", "3", *words])["query"] == tuple(words)
    assert read("recall", [*words, "-n3"])["limit"] == 3
    assert read("recall", ["--limit=3", "--", *words, "-n"])["query"] == (*words, "-n")


@pytest.mark.parametrize("option", ["--sharde", "-x", "--sharde=- a"])
def test_a_mistyped_option_is_none_the_less_a_mistake(option: str) -> None:
    with pytest.raises(Exception, match="No such option"):
        read("remember", ["lesson", option, "- a title", "-5"])


def test_a_list_is_remembered(home: Any, run: Run) -> None:
    done = run("remember", "lesson", "Trees", "- oak\n- ash", home=home.root)
    assert done.returncode == 0, done
    assert "- oak\n- ash" in run("memory", "show", "Trees", home=home.root).stdout
