"""The help of every command, and of what is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from djinn_memory.cli import tree
from djinn_memory.cli.app import root
from djinn_memory.cli.help import paragraphs, parameters
from tests.conftest import Run

WIDTHS = (60, 80, 200)

BOXES = re.compile("[\u2500-\u257f]")


def calls() -> Iterator[tuple[str, Any, Any]]:
    """Every group and command: how it is called, and its context."""

    def walk(command: Any, words: str, parent: Any) -> Iterator[tuple[str, Any, Any]]:
        with command.make_context(words, [], parent=parent, resilient_parsing=True) as ctx:
            yield words, command, ctx
            for name in getattr(command, "lines", ()):
                yield from walk(command.get_command(ctx, name), f"{words} {name}".strip(), ctx)

    yield from walk(root(), "", None)


@pytest.mark.few(1)
@pytest.mark.parametrize("width", WIDTHS)
def test_help_breaks_no_word_and_draws_no_box(run: Run, width: int) -> None:
    for words, command, ctx in calls():
        done = run(*words.split(), "--help", COLUMNS=str(width))
        assert done.returncode == 0, done
        assert not BOXES.search(done.stdout)
        printed = set(done.stdout.split())
        texts = [*paragraphs(command.help), *(text for rows in parameters(command, ctx)
                                              for _, text in rows)]  # fmt: skip
        for word in {word for text in texts for word in text.replace("`", "").split()}:
            assert word in printed, (words, word)
        for line in done.stdout.splitlines():
            assert len(line) <= width or len(line.split()) == 1, (words, line)


def test_the_first_help_fits_a_screen(run: Run) -> None:
    lines = run("--help", COLUMNS="80").stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("words", ["memory", "list", "agent summary set"])
def test_help_on_a_word_is_its_help(run: Run, words: str) -> None:
    assert run("help", *words.split()).stdout == run(*words.split(), "--help").stdout


def test_help_all_lists_every_command_and_home_the_terms(run: Run) -> None:
    listed = run("help", "all").stdout
    assert {name.split()[-1] for name in tree.COMMANDS} <= {*listed.split()}
    assert {*tree.TERMS} <= {*run("help", "home").stdout.split()}


@pytest.mark.parametrize("old", tree.MOVED)
def test_what_has_moved_is_told(run: Run, old: str) -> None:
    done = run(*old.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert f"it is now `djinn {tree.MOVED[old]}`" in done.stderr


def test_every_name_at_the_top_is_in_one_group() -> None:
    listed = [name for rows in tree.sections("").values() for name, _ in rows]
    assert sorted(listed) == sorted(tree.below(""))


@pytest.mark.parametrize("short", tree.ALIASES)
def test_a_short_name_is_the_same_command(short: str) -> None:
    words = tree.canonical(short).split()
    full: Any = root()
    for word in words:
        full = full.get_command(None, word)
    alias: Any = root().get_command(None, short)
    assert [param.opts for param in alias.params] == [param.opts for param in full.params]
    assert (alias.help, alias.epilog) == (full.help, full.epilog)


@pytest.mark.parametrize(
    ("typed", "meant"),
    {
        "find": "djinn search",
        "grep": "djinn search",
        "serach": "djinn search",
        "SEARCH": "djinn search",
        "ls": "djinn list",
        "cat": "djinn show",
        "add": "djinn remember",
        "new": "djinn remember",
        "rm": "djinn memory delete",
        "delete": "djinn memory delete",
        "trash": "djinn memory delete",
        "describe": "djinn vault describe",
        "version": "djinn --version",
        "frobnicate": "djinn --help",
        "vault rm": "djinn vault remove",
        "vault ls": "djinn vault list",
        "fact add": "djinn fact set",
        "gap new": "djinn gap report",
        "config list": "djinn config show",
        "memory add": "djinn remember",
        "document add": "djinn ingest",
        "memory frobnicate": "djinn memory --help",
    }.items(),
)
def test_the_command_that_was_meant(run: Run, typed: str, meant: str) -> None:
    done = run(*typed.split(), "something")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert f"no command `djinn {typed}`" in done.stderr
    assert f"`{meant}" in done.stderr
