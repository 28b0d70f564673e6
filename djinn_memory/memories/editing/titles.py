"""Where the title of a note stands, what its file is called after it, and where notes may go."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from djinn_memory.errors import UsageError
from djinn_memory.models import Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dialects.rules import RULES
from djinn_memory.notes.encoding import writable
from djinn_memory.notes.frontmatter import edit, opened
from djinn_memory.notes.markdown import headings, inline, mask
from djinn_memory.notes.note import MAX_TITLE, parse
from djinn_memory.notes.slugs import fold, slug
from djinn_memory.notes.vault import hidden
from djinn_memory.system.choices import one_of
from djinn_memory.system.files import inside

NOT_IN_NAMES = re.compile(r'[\\/:*?"<>|#^\[\]\x00-\x1f\x7f]+')
"""Characters that some system, or a link, does not allow in the name of a file."""

MAX_NAME = 200
"""Maximum bytes of a file name without its extension. File systems allow 255."""

_LINE_END = re.compile(r"(\r\n?|\n)")


def checked_title(text: str) -> str:
    """A title on one line. Raises `UsageError` for one without a letter, and for a long one."""
    title = " ".join(writable(text).split())
    if not inline(title):
        raise UsageError("a title has at least one letter", argument="title")
    if len(title) > MAX_TITLE:
        why = f"the title has {len(title)} characters; {MAX_TITLE} are allowed"
        raise UsageError(why, argument="title")
    return title


def stem_for(vault: Vault, path: str, data: bytes, title: str) -> str:
    """The name of a note's file, without extension, after the note got a title.

    A note whose title stands in it keeps a slug as its name. Otherwise the name is the title.
    """
    stem = PurePosixPath(path).stem
    if named := RULES[vault.dialect].stem:
        return named(stem, title)
    own = parse("\0.md", data, vault.dialect).title == parse(path, data, vault.dialect).title
    if own and slug(stem) == stem:
        return slug(title)
    name = " ".join(NOT_IN_NAMES.sub(" ", title).split()).strip(". ")
    return name.encode()[:MAX_NAME].decode(errors="ignore").strip() or slug(title)


def title_heading(path: str, data: bytes, vault: Vault) -> tuple[int, str] | None:
    """The line, from 0, and the text of the heading that is a note's title; None if none is."""
    note = parse(path, data, vault.dialect)
    fields = frontmatter.read(note.text).fields
    if RULES[vault.dialect].stem or any(fold(key) == "title" and fields[key] for key in fields):
        return None
    body = note.text[note.body :]
    for heading in headings(mask(body)):
        words = body[slice(*heading.title)]
        if heading.level == 1 and inline(words):
            line = note.text.count("\n", 0, note.body + heading.title[0])
            return (line, words) if inline(words) == note.title else None
    return None


def titled(path: str, data: bytes, vault: Vault, title: str) -> bytes:
    """The bytes of a note at its new path with a title, where the note has its title.

    Raises `Refused` for a note that is not UTF-8 or UTF-16.
    """
    if heading := title_heading(path, data, vault):
        (line, words), (bom, encoding, text) = heading, opened(data)
        parts = _LINE_END.split(text)
        parts[2 * line] = parts[2 * line].replace(words, title, 1)
        data = bom + "".join(parts).encode(encoding)
    if parse(path, data, vault.dialect).title == inline(title):
        return data
    fields = frontmatter.read(parse(path, data, vault.dialect).text).fields
    return edit(data, (next((key for key in fields if fold(key) == "title"), "title"),), title)


def destination(to: str, vaults: dict[str, Vault], vault: Vault, path: str) -> tuple[Vault, str]:
    """The vault and the folder that a request names: `folder`, `vault` or `vault:folder`.

    In another vault a note keeps its folder. Raises `UsageError` for a name of both, and for a
    folder that holds no notes.
    """
    name, colon, rest = to.partition(":")
    folder, is_folder = to, (vault.root / to).is_dir()
    if colon and name in vaults:
        vault, folder = vaults[name], rest
    elif colon and not is_folder:
        raise UsageError(f"no vault {name!r}; {one_of(vaults, name)}", argument="to")
    elif to in vaults and is_folder and to != vault.name:
        raise UsageError(f"{to!r} is a vault and a folder; give {to}: or ./{to}", argument="to")
    elif to in vaults and not is_folder:
        vault, folder = vaults[to], str(PurePosixPath(path).parent)
    if folder.startswith("/"):
        raise UsageError(f"{to!r} is an absolute path; give a folder of a vault", argument="to")
    parts = PurePosixPath(writable(folder).strip()).parts
    if ".." in parts or any(map(hidden, parts)) or folder.lower().endswith(".md"):
        raise UsageError(f"{to!r} is not a folder for notes", argument="to")
    inside(vault.root, "/".join(parts))
    return vault, "/".join(parts)
