"""What somebody wants remembered, and the note that it makes."""

from __future__ import annotations

import re
from datetime import datetime
from typing import get_args

from djinn_memory.errors import UsageError
from djinn_memory.memories.writing.arguments import between, day, one_of
from djinn_memory.memories.writing.requests import Existing, NewMemory
from djinn_memory.memories.writing.vault_writer import Draft
from djinn_memory.notes.encoding import writable
from djinn_memory.notes.markdown.plain_text import inline
from djinn_memory.notes.note import DOCUMENT, MAX_TITLE
from djinn_memory.notes.slugs import fold

MAX_TYPE = 100


def draft_of(wish: NewMemory, now: datetime) -> Draft:
    """The note that a wish asks for; `UsageError` names what of it cannot be."""
    kind, title = fold(wish.type).strip(), " ".join(writable(wish.title).split())
    if not kind or len(kind) > MAX_TYPE or not kind.isprintable():
        raise UsageError("a memory needs a type such as decision, lesson or preference")
    if kind == DOCUMENT:
        raise UsageError("documents are made from files; use `djinn ingest`")
    if not inline(title):
        raise UsageError("a memory needs a title of at least a letter")
    if len(title) > MAX_TITLE:
        raise UsageError(f"the title has {len(title)} characters; {MAX_TITLE} at most, please")
    between("--importance", wish.importance, 0, 1)
    between("--confidence", wish.confidence, 0, 1)
    one_of("existing", wish.existing, get_args(Existing))
    text = writable(wish.text.replace("\r\n", "\n")).strip("\n").rstrip()
    links = ", ".join(f"[[{_target(one)}]]" for one in wish.links)
    fields: dict[str, object] = {
        "tags": list(dict.fromkeys(_tag(one) for one in wish.tags)) or None,
        "importance": wish.importance,
        "confidence": wish.confidence,
        "source": writable(wish.source) if wish.source else None,
        "expires": day("--expires", wish.expires, now),
        "due": day("--due", wish.due, now, past=True),
    }
    for key in wish.fields:
        if key in (*fields, "id", "type", "title", "supersedes"):
            raise UsageError(f"fields: {key!r} is none of them; remember has its own word for it")
    fields |= wish.fields
    if wish.status:
        fields["status"] = wish.status
    return Draft(
        type=kind,
        title=title,
        text="\n\n".join(filter(None, (text, links and f"See also {links}."))),
        fields={key: value for key, value in fields.items() if value is not None},
    )


def _tag(text: str) -> str:
    tag = writable(text).strip().lstrip("#").strip("/")
    if not tag or re.search(r"[\s,]", tag):
        raise UsageError(f"--tag {text!r}: a tag is a word such as project:myapp")
    return tag


def _target(text: str) -> str:
    name = writable(text).strip().removeprefix("[[").removesuffix("]]")
    if not name.strip() or re.search(r"[\[\]\n\r]", name):
        raise UsageError(f"--link {text!r}: give a note's title or path, such as 'Project: MyApp'")
    return name
