"""djinn memory related, mentions, link."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, Confirm, command
from djinn_memory.cli.output import clean, place, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import DjinnError, NotFound, Remedy, UsageError
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.linking.requests import NoteLink, RelatedMemories, UnlinkedMentions

NAME = Field(complete=candidates.titles)

LISTS = 20
"""Number of notes whose last printed list of mentions is kept, for the numbers in it."""


@command("memories.related", fields={"name": NAME})
def _related(call: Call, answer: RelatedMemories) -> None:
    """List memories that are near in meaning to a note and not linked with it.

    The vectors of the index are compared. The similarity of unrelated notes is about 0.03, that of
    a question and its answer 0.35, and notes that say nearly the same have 0.9.

    Examples:
        djinn memory related "Harbour lamp"
        djinn memory related inbox/idea.md -n 30 --json
    """
    output.columns(
        (
            (f"{memory.similarity:.2f}", memory.type or "-", memory.title, place(memory))
            for memory in answer.related
        ),
        head="similarity type title path",
        empty="" if answer.problems else "Nothing is near that is not linked already.",
        files=[memory.file for memory in answer.related],
    )


class _MentionsView(Confirm, frozen=True):
    """The options of `djinn memory mentions` that turn mentions into links."""

    link: Annotated[
        str | None,
        Meta(
            description="Turn these mentions into links: their numbers in the list, as 1,3, or "
            "`all`."
        ),
    ] = None
    dry_run: Annotated[
        bool, Meta(description="With --link: show the changes as a diff, without making them.")
    ] = False


def _run_mentions(call: Call) -> Any:
    if call.view.link is None:
        listed: UnlinkedMentions = call.run()
        _write_list(call, listed)
        return listed
    call.schema = "memory.mentions.link"
    keys = _chosen(call, call.view.link)
    preview = call.run("memories.link_mentions", mentions=keys, dry_run=True)
    if call.view.dry_run or not preview.links:
        return preview
    if not call.json:
        talk(output.clean_lines(preview.diff.rstrip("\n")))
    places = f"{count(preview.links, 'mention')} in {count(len(preview.notes), 'note')}"
    if not call.confirmed("Turn them into links?", f"{places}: {preview.memory.title}"):
        return preview
    return call.run("memories.link_mentions", mentions=keys)


@command(
    "memories.mentions",
    fields={"name": NAME, "link": Field("N,N|all")},
    view=_MentionsView,
    run=_run_mentions,
    schemas={
        "memory.mentions": "memories.mentions",
        "memory.mentions.link": "memories.link_mentions",
    },
    also={"memories.link_mentions": "--link"},
    failed=lambda answer: any(each.what != "index" for each in getattr(answer, "problems", ())),
)
def _mentions(call: Call, answer: Any) -> None:
    """List places in other notes that say a name of a note without a link.

    A name is the title or an alias, in exactly its words; case does not count. Code, links,
    headings, front matter, quotations of more than the name, comments, HTML, tags and addresses are
    left out, and so are journals, documents and facts. With `--link`, mentions become links that
    show the same words. `all` takes also those beyond the list, but none by a name that another
    note has too. `djinn undo` takes all of it back.

    Examples:
        djinn memory mentions "Harbour lamp"
        djinn memory mentions "Harbour lamp" --link 1,3
        djinn memory mentions "Harbour lamp" --link all --yes
    """
    if call.schema:
        _print_linked(call, answer)
        return
    for number, mention in enumerate(answer.mentions, 1):
        also = f"  (also {', '.join(mention.also)})" if mention.also else ""
        say(f"{number:>3}  {place(mention)}:{mention.line}{clean(also)}")
        say(f"     {clean(mention.text)}")
    for name in answer.left_out:
        talk(clean(f"{name.name!r}: {name.why}"))
    if answer.more:
        talk(f"There are more than {call.request.limit}; -n shows more.")
    elif not answer.mentions:
        talk("No note mentions it without a link.")


def _print_linked(call: Call, answer: Any) -> None:
    if call.view.dry_run:
        say(output.clean_lines(answer.diff.rstrip("\n")))
    elif answer.change is None:
        talk("Aborted; nothing was changed." if answer.links else "No mention was linked.")
    else:
        notes = count(len(answer.notes), "note")
        say(clean(f"linked {count(answer.links, 'mention')} in {notes}: {answer.memory.title}"))
    if answer.left:
        talk(
            f"{count(answer.left, 'mention')} by a name that other notes have too; choose them by "
            "number"
        )


@command(
    "memories.link",
    fields={"name": NAME, "to": Field("NOTE", candidates.titles), "relation": Field("FIELD")},
)
def _link(call: Call, answer: NoteLink) -> None:
    """Link a note to another.

    The link goes into the front matter if a relation is given, or if the front matter has links
    already, or the note ends in code that nothing closes; otherwise into a line `See also` at its
    end. `djinn undo` takes it back.

    Examples:
        djinn memory link "Harbour lamp" "Pier"
        djinn memory link "Harbour lamp" "Power line" --relation depends_on
    """
    where = f" ({answer.relation})" if answer.relation else ""
    ends = clean(f"{answer.memory.title} to {answer.target.title}{where}")
    if call.request.dry_run and answer.changed:
        say(output.clean_lines(answer.diff.rstrip("\n")))
    else:
        say(f"{'linked' if answer.changed else 'unchanged, already linked:'} {ends}")


def _chosen(call: Call, text: str) -> Sequence[str]:
    """The keys of the mentions that `--link` names.

    A number is that of the list as it was printed last, whatever has changed since.
    """
    if text.strip().lower() == "all":
        return ["all"]
    numbers = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in numbers):
        raise UsageError(f"--link {text}: give the numbers of mentions, as 1,3, or all")
    keys = _read_lists(call).get(_list_name(call, call.run("memories.find")))
    if keys is None:
        keys = [mention.key for mention in call.run("memories.mentions").mentions]
    if wrong := [part for part in numbers if int(part) > len(keys)]:
        again = Remedy("memories.mentions", {"name": call.values["name"]}, "list them again")
        raise NotFound(f"no mention {wrong[0]}; the list has {count(len(keys), 'mention')}", again)
    return list(dict.fromkeys(keys[int(part) - 1] for part in numbers))


def _file(call: Call) -> Path:
    return Path(call.djinn.runtime.home.state) / "mentions.json"


def _list_name(call: Call, memory: Any) -> str:
    name = f"{call.djinn.runtime.home.agent(call.values['agent'])}\0{memory.address}"
    return hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _read_lists(call: Call) -> dict[str, list[str]]:
    """The keys of the mentions in the last list of each note, as printed."""
    with suppress(OSError, ValueError):
        lists = json.loads(_file(call).read_bytes())
        if isinstance(lists, dict):
            return lists
    return {}


def _write_list(call: Call, answer: UnlinkedMentions) -> None:
    from djinn_memory.system.files import write_atomic

    name = _list_name(call, answer.memory)
    lists = {key: keys for key, keys in _read_lists(call).items() if key != name}
    lists[name] = [mention.key for mention in answer.mentions]
    data = json.dumps(dict([*lists.items()][-LISTS:])).encode()
    # Where nothing can be written, the list is made anew.
    with suppress(OSError, DjinnError):
        write_atomic(_file(call), data, private=True)
