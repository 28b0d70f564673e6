"""Requests made from a command line: what bounds apply, and how fields are named."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

from djinn_memory.cli import commands
from djinn_memory.cli.command import Declaration
from djinn_memory.cli.request_options import build
from djinn_memory.errors import Remedy, UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.facts.requests import SetFact
from djinn_memory.operations.wording import CommandWording
from tests.conftest import Run

LONG = "word " * 6_000


def test_lengths_are_left_to_the_operation() -> None:
    values = {"category": "", "key": "k" * 300, "value": LONG, "context": LONG, "source": None}
    assert build(SetFact, values) == SetFact("", "k" * 300, LONG, context=LONG)


@pytest.mark.parametrize(
    "command",
    [
        ["fact", "set", "anna", "diary", LONG, "--context", LONG, "--source", "x" * 501],
        ["fact", "list", "--search", LONG],
        ["fact", "search", "kettle " * 301],
        ["remember", "lesson", "Many", "Tags", *(f"--tag=t{i}" for i in range(51)), "--force"],
        ["remember", "lesson", "Far", "Links", *(f"--link=L{i}" for i in range(51)), "--force"],
        ["remember", "lesson", "Long", "A tag", "--tag", "x" * 501, "--force"],
        ["wake", "--task", "kettle " * 300],
        ["checkpoint", "Halfway.", *["--decision=d"] * 101],
        ["sleep", "--summary", "Done.", *["--next=n"] * 101],
        ["gap", "report", "The kettle", "--query", LONG],
        ["gap", "report", "The kettle", "--query", ""],
        [
            "memory",
            "search",
            "kettle",
            *["--tag=a"] * 21,
            *["--type=a"] * 21,
            *["--where=a=b"] * 21,
        ],
        ["memory", "search", "kettle", "--tag", "a" * 201],
        ["memory", "list", "--type", "a" * 101],
        ["memory", "list", "--since", "2020-01-01" + " " * 40],
        ["memory", "list", "--limit", "1000"],
        ["fact", "list", "--category", ""],
    ],
    ids=lambda command: " ".join(command)[:40],
)
def test_neither_long_nor_empty_texts_are_refused(home: Home, run: Run, command: list[str]) -> None:
    outcome = run(*command, home=home.root)
    assert outcome.returncode == 0, outcome


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (["memory", "show", "n" * 1001], 4, "no note"),
        (["memory", "show", ""], 4, "no note"),
        (["memory", "delete", "", "--yes"], 4, "no note"),
        (["memory", "purge", "", "--yes"], 4, "no note"),
        (["fact", "get", "k" * 250], 4, "no fact"),
        (["fact", "get", "", "b"], 4, "no fact 'b'"),
        (["fact", "forget", ""], 4, "no fact"),
        (["fact", "verify", ""], 4, "no fact"),
        (["fact", "set", "", "k", "v"], 2, "needs a category with at least one letter"),
        (["show", "", "--why"], 4, "no note"),
        (["gap", "close", "g" * 101], 4, "no open gap"),
        (["gap", "report", ""], 2, "describe what was missing"),
        (["checkpoint", ""], 2, "give one sentence"),
        (["sleep", "--summary", ""], 2, "give one sentence"),
        (["rate", "last", "--gap", ""], 2, "--useful 1,3"),
        (["remember", "lesson", "T" * 501, "text"], 2, "501 characters; 300"),
        (["session", "working", "set", "", "v"], 2, "KEY '' is not a valid name"),
        (
            ["session", "working", "set", "k", "v", "--ttl", "0"],
            2,
            "to keep a value longer, write a note",
        ),
        (["recall", "kettle", "--since", "", "--until", ""], 2, "not a date"),
        (["memory", "list", "--until", ""], 2, "not a date"),
        (["memory", "list", "--limit", "1001"], 2, "from 1 to 1,000"),
    ],
)
def test_the_operation_answers(
    home: Home, run: Run, command: list[str], code: int, message: str
) -> None:
    outcome = run(*command, home=home.root)
    assert (outcome.returncode, outcome.stdout) == (code, ""), outcome
    assert message in outcome.stderr


def test_an_empty_gap_is_none(home: Home, run: Run) -> None:
    run("remember", "lesson", "Kettle", "The kettle is descaled in May.", home=home.root)
    run("recall", "kettle", home=home.root)
    for gap in (["--useful", "1", "--gap", ""], ["--gap", "what", "--gap-query", ""]):
        assert run("rate", "last", *gap, home=home.root).returncode == 0


def test_a_note_for_all_is_not_superseded_from_a_vault_of_one(home: Home, run: Run) -> None:
    run("remember", "lesson", "Kettle", "The kettle is descaled.", "--shared", home=home.root)
    outcome = run(
        "remember", "lesson", "Pot", "Tea is made there.", "--supersedes", "Kettle", home=home.root
    )
    assert outcome.returncode == 3
    assert (
        "pass --shared to write into the shared vault, or leave --supersedes out" in outcome.stderr
    )


def test_what_is_given_by_place_is_named_so() -> None:
    error = UsageError("'x': no", argument="gap")
    assert CommandWording("gaps.close").error(error) == "GAP 'x': no"
    assert CommandWording("rate").error(error) == "--gap 'x': no"
    assert CommandWording("rate").call(Remedy("gaps.close", {"gap": "g"})) == "`djinn gap close g`"
    category = Remedy("facts.list", {"category": "anna"})
    assert CommandWording().call(category) == "`djinn fact list --category anna`"


def test_a_command_takes_its_arguments_from_its_operation() -> None:
    for module in iter_modules(commands.__path__):
        for entry in vars(import_module(f"{commands.__name__}.{module.name}")).values():
            if isinstance(entry, Declaration) and entry.operation:
                assert not entry.arguments
