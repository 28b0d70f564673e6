"""Mistakes that strangers make at the prompt: each is answered by one line that names what to do.

They were written down before any of them was tried.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from tests.conftest import Run
from tests.indexing.vaults import with_sample

MISTAKES = {
    "serach tide": "run `djinn search`",
    "find tide": "run `djinn search`",
    "add 'a note'": "run `djinn remember`",
    "ls": "run `djinn list`",
    "rm 'Chart datum'": "run `djinn memory delete`",
    "cat 'Chart datum'": "run `djinn show`",
    "new decision": "run `djinn remember`",
    "edit 'Chart datum'": "run `djinn memory edit`",
    "SEARCH tide": "run `djinn search`",
    "version": "run `djinn --version`",
    "export": "run `djinn backup create`",
    "document add file.pdf": "run `djinn ingest`",
    "episode add 'a gull'": "run `djinn episode record",
    "settle": "run `djinn review`",
    "vault rm notes": "run `djinn vault remove`",
    "agent bob": "`djinn agent --help` to list the commands",
    "config search.limit": "`djinn config --help` to list the commands",
    "search": "write `djinn search QUERY...`",
    "show": "write `djinn show NAME...`",
    "search ''": "give a question or keywords",
    "context tide --limit 5": "did you mean --limit-per-type?",
    "fact list --page 2": "did you mean --offset?",
    "import chats.zip --user anna": "did you mean --person?",
    "sync migrate --model": "did you mean --change-model?",
    "search tide --limit many": "give a whole number from 1 to 1,000",
    "search tide --limit 0": "give a whole number from 1 to 1,000",
    "search tide --format json": "use --json",
    "search tide --mode fast": "give one of hybrid, words, meaning",
    "search tide --mode hybird": "did you mean hybrid?",
    "search tide --plane Semantics": "did you mean semantic?",
    "review --kind statment": "did you mean statement?",
    "maintain --only extrct": "did you mean extract?",
    "search tide --tags harbour": "did you mean --tag?",
    "search tide --since yesterdy": "write 2026-03-01",
    "search tide --vault share": "shared",
    "search tide --colour red": "see `djinn search --help`",
    "search tide -n": "write the value after it",
    "--vault shared search tide": "write options after the command",
    "search --where status tide": "KEY=VALUE",
    "list --agent fin": "finn",
    "list decision": "takes only options",
    "index notes": "takes only options",
    "status extra words": "takes only options",
    "show CRTD": "`djinn list`",
    "show 'Chart daum'": "did you mean 'Chart datum'?",
    "open 'no such note'": "`djinn list`",
    "remember 'Just a text'": "write `djinn remember TYPE TITLE [TEXT]`",
    "remember decison 'A title' text": "use 'decision'",
    "remember lesson '' text": "title",
    "remember lesson My title has many words": "with quotes around a value of several words",
    "remember lesson T text --tag 'two words'": "a tag is one word, such as",
    "vault add ~/notes": "write `djinn vault add NAME PATH`",
    "vault add notes /nope": "check the path",
    "vault add notes /": "/ is the root of a disk; add a folder of notes",
    "ingest nosuch.pdf": "check the path",
    "ingest": "write `djinn ingest PATH...`",
    "config set search.limt 5": "did you mean limit?",
    "config set search.limit=5": "write `djinn config set KEY VALUE`",
    "rate good": "`djinn rate last --useful 1,3 --not-useful 2`",
    "fact get colour": "`djinn fact list`",
    "doctor --repair": "see `djinn doctor --help`",
    "memory delete 'Chart datum'": "pass --yes",
    "document show nothing.pdf": "`djinn document list`",
    "agent profile --agent grace": "no option --agent; see `djinn agent profile --help`",
    "entity add Tern --kind boat --set client=Ann": "--set 'client': djinn uses this field",
    "entity add Tern --kind boat --set source=Ann": "another name, such as origin",
    "entity add Tern --kind boat --set domain=Ann": "or edit the field in the note",
    "entity add Tern --kind boat --set colour": "--set 'colour': give KEY=VALUE",
    "entity add Tern --kind boat --alias ?": "--alias '?': an alias has",
    "memory list --offset=-1": "--offset",
    "review accept": "give the numbers or ids of items, or pass --all to choose all of a kind",
    "review dismiss --all merge prp_3v9qk2m7xd": "both items and a kind are given",
    "proposal list": "it is now `djinn review list`",
    "contradiction settle con_3v9qk2m7xd --keep A": "it is now `djinn review accept`",
    "--home /nope search tide": "`djinn init /nope`",
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Home:
    """The sample memory, indexed; the mistakes change nothing."""
    home, _ = init(tmp_path_factory.mktemp("mistakes") / "home", ("finn", "grace"))
    home.edit((("embedding", "provider"), "hashing"))
    with_sample(home, sample)
    Djinn(home).index()
    return home


@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_is_answered_by_what_to_do(kept: Home, run: Run, typed: str) -> None:
    done = run(*shlex.split(typed), home=kept.root)
    assert done.returncode in (1, 2, 3, 4), done
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("error: ")
    assert MISTAKES[typed].removesuffix("`") in done.stderr


def test_an_error_of_the_system_names_what_to_check(djinn: Djinn, shared: Path, run: Run) -> None:
    (shared / "lamp.md").write_text("# Lamp\n")
    (shared / ".trash").write_text("no folder")
    done = run("memory", "delete", "Lamp", "--yes", home=djinn.home.root)
    assert done.returncode == 5 and (shared / "lamp.md").exists()
    remedy = "check the path, its permissions and the disk"
    assert done.stderr == f"error: {shared}/.trash: File exists; {remedy}\n"
