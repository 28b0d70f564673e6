"""An error has its remedies as data; each front end says them in its own words."""

from __future__ import annotations

import pickle

import pytest

from djinn_memory.errors import NotFound, Refused, Remedy, UsageError, Wording, using_wording
from djinn_memory.mcp.remedies import ToolWording
from djinn_memory.mcp.tools import TOOLS
from djinn_memory.operations.wording import CommandWording

NO_GAP = NotFound("no gap", Remedy("gaps.list", {"closed": True}, "list the gaps"))
THERE = Refused(
    "the title is taken",
    Remedy("", {"existing": "append"}, "append to it"),
    Remedy("", {"existing": "new"}, "write a second note"),
    Remedy("", {"allow_secret": True}, "write it anyway"),
)
TOO_FEW = UsageError("0: give 1 at least", argument="max_characters")
NO_OPEN_GAP = NotFound("no gap", Remedy("gaps.list", purpose="list the gaps"))
NO_HOME = NotFound("no home", Remedy("init", {"folder": "/a b"}, "create one"))
NO_TRUST = Refused("not trusted", Remedy("config.trust"))
DAMAGED = Refused("it is damaged", Remedy("doctor", {"fix": True}))


@pytest.mark.parametrize(
    ("error", "python", "command", "tool"),
    [
        (
            NO_GAP,
            "no gap; call `gaps.list(closed=True)` to list the gaps",
            "no gap; run `djinn gap list --closed` to list the gaps",
            "no gap; ask a person to run `djinn gap list --closed` to list the gaps",
        ),
        (
            NO_OPEN_GAP,
            "no gap; call `gaps.list()` to list the gaps",
            "no gap; run `djinn gap list` to list the gaps",
            "no gap; call `gap` with `action: list` to list the gaps",
        ),
        (
            THERE,
            "the title is taken; pass `existing='append'` to append to it, pass "
            "`existing='new'` to "
            "write a second note, or pass `allow_secret=True` to write it anyway",
            "the title is taken; pass --append to append to it, pass --new to write a second "
            "note, or "
            "pass --allow-secret to write it anyway",
            "the title is taken; pass `existing: append` to append to it, or pass `existing: "
            "new` to "
            "write a second note",
        ),
        (
            TOO_FEW,
            "max_characters 0: give 1 at least",
            "--max-characters 0: give 1 at least",
            "`max_characters` 0: give 1 at least",
        ),
        (
            DAMAGED,
            "it is damaged; call `doctor(fix=True)`",
            "it is damaged; run `djinn doctor --fix`",
            "it is damaged; ask a person to run `djinn doctor --fix`",
        ),
        (
            NO_HOME,
            'no home; run `djinn init "/a b"` to create one',
            'no home; run `djinn init "/a b"` to create one',
            'no home; ask a person to run `djinn init "/a b"` to create one',
        ),
        (
            NO_TRUST,
            "not trusted; run `djinn config trust`",
            "not trusted; run `djinn config trust`",
            "not trusted; ask a person to run `djinn config trust`",
        ),
    ],
)
def test_each_front_end_has_its_words(
    error: UsageError, python: str, command: str, tool: str
) -> None:
    remember = next(tool for tool in TOOLS if tool.name == "remember")
    assert str(error) == python
    with using_wording(CommandWording()):
        assert str(error) == command
    assert ToolWording(remember, TOOLS).error(error) == tool
    assert str(error) == python


def test_a_message_can_quote_a_remedy() -> None:
    remedy = Remedy("recall", {"query": None})
    assert str(remedy) == "call `recall(query=...)`"
    with using_wording(CommandWording()):
        assert str(remedy) == "run `djinn recall QUERY`"
    assert Wording().error(UsageError("plain text")) == "plain text"


def test_an_error_crosses_processes() -> None:
    for error in (THERE, TOO_FEW):
        copy = pickle.loads(pickle.dumps(error))
        assert (str(copy), copy.remedies, copy.argument) == (
            str(error), error.remedies, error.argument,
        )  # fmt: skip
