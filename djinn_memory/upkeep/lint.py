"""Finds dead links, ambiguous names, invalid front matter and notes without links."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import get_args

from msgspec import UNSET, Struct
from msgspec.structs import replace

from djinn_memory.errors import DjinnError, UsageError
from djinn_memory.home.access import DOMAIN, domain_key
from djinn_memory.memories.catalog.catalog import domains_in, is_diary
from djinn_memory.memories.changes.files import writable_place as check_folder
from djinn_memory.memories.profiles.reading import profile_of
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.memories.writing.provenance import UNKNOWN
from djinn_memory.models import Problem, Vault
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dialects.templates import is_template
from djinn_memory.notes.link_resolution import Address, Rewrite, relinked
from djinn_memory.notes.links import Link
from djinn_memory.notes.markdown import headings, inline, mask
from djinn_memory.notes.note import parse
from djinn_memory.notes.slugs import fold, letters, tag_key
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.system.choices import one_of
from djinn_memory.system.plural import count
from djinn_memory.upkeep.requests import IssueCode, LintOptions

MOST_NAMED = 5
"""Maximum number of notes that an issue names."""

_PROJECT = re.compile(r"project[:/](?P<name>.+)")
_ANCHOR = "project-anchor"
"""The tags of a project's notes, and of the note from which links lead to all of them."""

_ALONE = frozenset({"fact", "profile", "calendar"})
"""Types of notes that are found without links."""

_BLOCK_ID = re.compile(r"\^([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)
_PUNCTUATION = re.compile(r"[!-&(-,.-/:-@\[-^`{-~\s]+")
"""Characters that Obsidian ignores when it compares headings in links."""


class LintIssue(Struct, frozen=True):
    """A problem in a note."""

    code: IssueCode
    """The kind of problem."""
    vault: str
    """The vault of the note."""
    path: str
    """The path of the note, relative to the folder of the vault."""
    line: int
    """The line, from 1; 0 for the front matter and for the note as a whole."""
    what: str
    """A description in one sentence."""
    fix: str | None = None
    """The replacement that `fix` writes; null when a person must decide."""
    fixed: bool = False
    """Whether it was fixed."""


class LintReport(Struct, frozen=True):
    """The issues of the notes that an agent sees."""

    notes: int
    """The number of notes that were checked."""
    issues: tuple[LintIssue, ...]
    """The issues, sorted by vault, path and line."""
    problems: Sequence[Problem] = ()
    """Notes that could not be fixed."""


def lint(runtime: Runtime, vaults: Sequence[Vault], request: LintOptions) -> LintReport:
    """Check the notes of some vaults. With `fix`, apply fixes that do not change the meaning.

    Raises `UsageError` for an unknown code.
    """
    only, skip = _codes("only", request.only), _codes("skipped", request.skipped)
    agent = request.agent
    with runtime.index(vaults) as index:
        notes = _Notes(index)
        issues = [
            *_links(notes),
            *_dead_headings(notes),
            *_duplicates(notes),
            *_front_matter(notes),
            *_unknown_domains(notes, runtime.home.config.domains),
            *_orphans(notes, always="orphan" in only),
            *_untyped(notes, always="untyped" in only),
            *_unlinked_anchors(notes),
        ]
    issues += _profiles(runtime, vaults, agent)
    issues = [each for each in issues if (not only or each.code in only) and each.code not in skip]
    problems: list[Problem] = []
    if request.fix:
        issues = list(_fixed(runtime, notes, issues, problems, agent))
    issues.sort(key=lambda issue: (issue.vault, issue.path, issue.line, issue.code, issue.what))
    files = {(memory.vault, memory.path) for memory in notes.memories.values()}
    return LintReport(len(files), tuple(issues), problems)


def _codes(argument: str, names: Sequence[str]) -> frozenset[str]:
    known = get_args(IssueCode)
    if unknown := [name for name in names if name not in known]:
        why = f"{unknown[0]}: unknown code; {one_of(known, unknown[0])}"
        raise UsageError(why, argument=argument)
    return frozenset(names)


class _Notes:
    """The memories of an index, their links, and the current content of their files."""

    def __init__(self, index: Index) -> None:
        self.vaults = {vault.name: vault for vault in index.vaults}
        selected = index.memories(Selection(), fields=(DOMAIN, "status"))
        self.memories = {memory.memory_id: memory for memory in selected}
        self.links = [
            link for link in index.links(list(self.memories)) if link.source in self.memories
        ]
        self.respellings: dict[LintIssue, tuple[tuple[str, str], str]] = {}
        """For the fix of an issue: the target and the heading of a link, and the new heading."""
        self._anchors: dict[tuple[str, str], _Anchors] = {}

    def issue(self, code: IssueCode, memory: IndexedMemory, what: str, line: int = 0) -> LintIssue:
        return LintIssue(code, memory.vault, memory.path, line, what)

    def stands_alone(self, memory: IndexedMemory) -> bool:
        """Whether a memory is a note that links and a type are expected of.

        Journals, diaries, documents, templates and earlier versions are not.
        """
        return (
            memory.block is UNSET
            and memory.plane not in ("episodic", "documents")
            and memory.type not in _ALONE
            and not is_diary(memory)
            and fold(memory.field("status") or "") not in UNKNOWN
            and not is_template(self.vaults[memory.vault].root, memory.path)
        )

    def anchors(self, memory: IndexedMemory) -> _Anchors:
        """The headings and block ids in the file of a memory."""
        place = memory.vault, memory.path
        if place not in self._anchors:
            vault = self.vaults[memory.vault]
            data = b""
            with suppress(OSError, DjinnError):
                data = disk.read(vault, memory.path)
            self._anchors[place] = _Anchors(parse(memory.path, data, vault.dialect).text)
        return self._anchors[place]


class _Anchors:
    """The targets of links inside a file."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def headings(self) -> Mapping[str, str]:
        """The headings as links write them, by the form in which they are compared."""
        prose = mask(self._text)
        titles = (inline(self._text[slice(*heading.title)]) for heading in headings(prose))
        return {_compared(title): title for title in titles if title}

    @cached_property
    def respelled(self) -> Mapping[str, Sequence[str]]:
        """The headings by their letters and digits only."""
        by_letters: defaultdict[str, list[str]] = defaultdict(list)
        for title in self.headings.values():
            by_letters[letters(title)].append(title)
        return by_letters

    @cached_property
    def blocks(self) -> set[str]:
        """The block ids."""
        return {match[1].lower() for match in _BLOCK_ID.finditer(self._text)}


def _compared(title: str) -> str:
    return _PUNCTUATION.sub(" ", fold(inline(title))).strip()


def _links(notes: _Notes) -> Iterator[LintIssue]:
    for link in notes.links:
        memory = notes.memories[link.source]
        if link.how is None:
            what = f"{link.text!r} does not match any note or file"
            yield notes.issue("unresolved-link", memory, what, link.line)
        elif link.ambiguous:
            target = notes.memories.get(link.target or 0)
            taken = f"; it leads to {target.vault}/{target.path}" if target else ""
            what = f"{link.text!r} matches several notes{taken}"
            yield notes.issue("ambiguous-link", memory, what, link.line)


def _dead_headings(notes: _Notes) -> Iterator[LintIssue]:
    for link in notes.links:
        target = notes.memories.get(link.target or 0)
        if target is None or not (link.heading or link.block):
            continue
        source, anchors = notes.memories[link.source], notes.anchors(target)
        place = f"{target.vault}/{target.path}"
        if link.block and link.how != "block" and link.block.lower() not in anchors.blocks:
            what = f"{place} has no block ^{link.block}"
            yield notes.issue("dead-heading", source, what, link.line)
        if not link.heading:
            continue
        last = link.heading.rpartition("#")[2].strip()
        if _compared(last) in anchors.headings:
            continue
        near = anchors.respelled.get(letters(last), ())
        # Programs write white space and punctuation in Markdown links differently.
        if near and link.kind == "markdown":
            continue
        issue = notes.issue("dead-heading", source, f"{place} has no heading {last!r}", link.line)
        if len(near) == 1 and "#" not in link.heading and not set(near[0]) & set("#|[]^"):
            issue = replace(issue, fix=f"[[{link.text}#{near[0]}]]")
            notes.respellings[issue] = (link.text, link.heading), near[0]
        yield issue


def _duplicates(notes: _Notes) -> Iterator[LintIssue]:
    titles: defaultdict[tuple[str, str], list[IndexedMemory]] = defaultdict(list)
    for memory in notes.memories.values():
        if memory.block is UNSET and memory.plane != "documents":
            titles[memory.vault, fold(memory.title)].append(memory)
        if memory.id and not memory.owns_id:
            what = f"another note also has the id {memory.id}"
            yield notes.issue("duplicate-id", memory, what)
    for same in titles.values():
        first, *others = sorted(same, key=lambda memory: memory.path)
        if others:
            paths = ", ".join(memory.path for memory in others)
            yield notes.issue("duplicate-title", first, f"{first.title!r} is also {paths}")


def _front_matter(notes: _Notes) -> Iterator[LintIssue]:
    for memory in notes.memories.values():
        if memory.problem:
            yield notes.issue("front-matter", memory, memory.problem)


def _profiles(runtime: Runtime, vaults: Sequence[Vault], agent: str | None) -> Iterator[LintIssue]:
    """The values in the profiles of agents that cannot be used."""
    names = {vault.name for vault in vaults}
    for name in [agent] if agent else runtime.home.config.agents:
        profile = profile_of(runtime, name)
        if profile and profile.vault in names:
            for key, why in profile.wrong.items():
                yield LintIssue("profile", profile.vault, profile.path, 0, f"{key}: {why}")


def _unknown_domains(notes: _Notes, domains: Collection[str]) -> Iterator[LintIssue]:
    """Domains that the settings do not list, if they list any."""
    known = {domain_key(domain) for domain in domains}
    for memory in notes.memories.values() if known else ():
        for name in domains_in([memory]):
            if domain_key(name) not in known:
                what = f"the domain {name!r} is not in `domains` of config.yaml"
                yield notes.issue("unknown-domain", memory, what)


def _orphans(notes: _Notes, *, always: bool) -> Iterator[LintIssue]:
    links = [link for link in notes.links if link.source != link.target]
    linked = {end for link in links for end in (link.source, link.target)}
    what = "no link leads to it or from it"
    return _lacking(notes, "orphan", what, lambda note: note.memory_id in linked, always=always)


def _untyped(notes: _Notes, *, always: bool) -> Iterator[LintIssue]:
    what = "it has no type"
    return _lacking(notes, "untyped", what, lambda note: bool(note.type), always=always)


def _lacking(
    notes: _Notes, code: IssueCode, what: str, has: Callable[[IndexedMemory], bool], *, always: bool
) -> Iterator[LintIssue]:
    """The notes that lack what most notes of their vault have; with `always` in every vault."""
    by_vault: defaultdict[str, list[IndexedMemory]] = defaultdict(list)
    for memory in filter(notes.stands_alone, notes.memories.values()):
        by_vault[memory.vault].append(memory)
    for listed in by_vault.values():
        lacking = [memory for memory in listed if not has(memory)]
        if always or 2 * len(lacking) < len(listed):
            yield from (notes.issue(code, memory, what) for memory in lacking)


def _unlinked_anchors(notes: _Notes) -> Iterator[LintIssue]:
    """The anchors of projects to which some notes of their project have no link."""
    projects: defaultdict[str, list[IndexedMemory]] = defaultdict(list)
    anchors: list[tuple[str, IndexedMemory]] = []
    for memory in filter(notes.stands_alone, notes.memories.values()):
        tags = {tag_key(tag) for tag in memory.tags}
        for name in {match["name"] for match in map(_PROJECT.fullmatch, tags) if match}:
            projects[name].append(memory)
            anchors += [(name, memory)] if _ANCHOR in tags else []
    links = {(link.source, link.target) for link in notes.links}
    for name, anchor in anchors:
        others = [each for each in projects[name] if each.memory_id != anchor.memory_id]
        apart = [each for each in others if (each.memory_id, anchor.memory_id) not in links]
        if apart:
            paths = ", ".join(sorted(f"{each.vault}/{each.path}" for each in apart)[:MOST_NAMED])
            more = f" and {len(apart) - MOST_NAMED} more" if apart[MOST_NAMED:] else ""
            what = f"{len(apart)} of {count(len(others), 'note')} of the project {name} do not"
            yield notes.issue("unlinked-anchor", anchor, f"{what} link to it: {paths}{more}")


def _fixed(
    runtime: Runtime,
    notes: _Notes,
    issues: Sequence[LintIssue],
    problems: list[Problem],
    agent: str | None,
) -> Iterator[LintIssue]:
    """The issues after fixes were applied, in one step that `djinn undo` takes back."""
    by_file: defaultdict[tuple[str, str], list[LintIssue]] = defaultdict(list)
    for issue in issues:
        if issue.fix is not None and not notes.vaults[issue.vault].read_only:
            by_file[issue.vault, issue.path].append(issue)
    fixed: set[LintIssue] = set()
    rewritten: list[tuple[Vault, str, bytes, bytes]] = []
    for (name, path), fixable in by_file.items():
        vault = notes.vaults[name]
        try:
            check_folder(vault, path)
            before = disk.read(vault, path)
            headings = {notes.respellings[issue] for issue in fixable}
            after, _ = relinked(before, _respelled(dict(headings)), vault.dialect)
        except (OSError, DjinnError) as error:
            problems.append(_unfixed(f"{name}/{path}", error))
            continue
        fixed.update(fixable)
        rewritten.append((vault, path, before, after))
    what = f"Corrected {count(len(fixed), 'link')} to headings"
    try:
        with change_set(runtime, "lint --fix", what, agent) as changes:
            for rewrite in rewritten:
                changes.rewrite(*rewrite)
    except (OSError, DjinnError) as error:
        problems.append(_unfixed("notes", error))
        fixed.clear()
    yield from (replace(issue, fixed=issue in fixed) for issue in issues)


def _unfixed(where: str, error: OSError | DjinnError) -> Problem:
    why = error.strerror if isinstance(error, OSError) else str(error)
    return Problem(where, f"was not fixed: {why}")


def _respelled(headings: Mapping[tuple[str, str | None], str]) -> Rewrite:
    """Replaces headings in wikilinks, given by target and heading."""

    def rewrite(link: Link) -> Address | None:
        heading = headings.get((link.target, link.heading)) if not link.block else None
        return Address(link.target, heading) if heading and link.kind == "wiki" else None

    return rewrite
