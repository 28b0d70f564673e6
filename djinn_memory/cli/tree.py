"""The tree of commands, and the line for each command in lists.

Help and completion list commands from the table of verbs, so that a list imports no command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.operations import VERBS, imported

if TYPE_CHECKING:
    from djinn_memory.cli.command import Declaration

NOUNS = {
    "memory": "Find, read and manage memories.",
    "fact": "Facts, each with a category and a key.",
    "entity": "Entities: people, places, projects, concepts and kinds of your own.",
    "session": "Sessions of agents: their start, their end and their turns.",
    "episode": "Episodes: messages and observations in the journals of a vault.",
    "hook": "Hooks, with which Claude Code and Codex record sessions and get memories.",
    "summary": "The narrative summary, with which `djinn wake` begins.",
    "pattern": "Patterns: habits and correlations that consolidation finds in episodes.",
    "outcome": "Outcomes: how actions ended, and how effective they are.",
    "contradiction": "Contradictions: memories that say different things.",
    "proposal": "Proposals: changes that upkeep suggests and a person decides on.",
    "gap": "Gaps: information that agents looked for and did not find.",
    "score": "Scores that memories get from usage and ratings.",
    "document": "Documents: files that became notes.",
    "vault": "Vaults: the folders of notes that djinn searches.",
    "agent": "Agents: the names that have a personal vault, and their profiles.",
    "working": "Working memory: an agent's short-lived values and its tasks.",
    "config": "The settings in config.yaml.",
    "backup": "Backups: one archive with vaults, ledger, working memory and settings.",
    "sync": "Synchronization: a Postgres server where the vaults of several homes meet.",
}
"""The groups of commands. Commands without a group come before them."""

COMMANDS = {verb.command: verb.line for verb in VERBS.values() if verb.declaration}
"""All commands as a user types them, each with the first line of its help."""

ALIASES = {verb.short: verb.command for verb in VERBS.values() if verb.short}
"""The short names of commands. Both names run the same command."""

SECTIONS = {
    "Everyday": (
        "search", "list", "show", "open", "remember", "recall", "context", "ingest", "import",
        "memory", "document", "fact", "entity",
    ),
    "Agents": (
        "wake", "checkpoint", "sleep", "rate", "mcp", "agent", "session", "episode", "summary",
        "consolidate", "pattern", "outcome", "contradiction", "gap", "score", "working",
    ),
    "Vaults": ("init", "index", "watch", "vault", "config", "trust"),
    "Upkeep": ("status", "lint", "doctor", "undo", "maintain", "schema"),
}  # fmt: skip
"""The sections of `djinn --help`. The last section has all names that no other section has."""

IN_ORDER = {
    "memory": ("search", "list", "show", "open"),
    "sync": (
        "init", "status", "run", "pull", "push", "conflicts", "verify", "stats", "facts",
        "backfill", "forget", "migrate",
    ),
}  # fmt: skip
"""The first commands of nouns whose commands stand in two modules."""

TERMS = {
    "home": "The folder of one memory: config.yaml, the vaults in it, and `.djinn/` for databases.",
    "vault": "A folder of Markdown notes, such as an Obsidian vault. It may be outside the home.",
    "memory": "A note, or a section of a journal, as search and recall return it.",
    "plane": "The kind of a memory: semantic, episodic, knowledge or documents.",
    "chunk": "A part of a note that a hit shows. A window is the part of it that is embedded.",
    "leg": "One method of a search: keywords (`words`) or embeddings (`meaning`).",
    "ledger": "The log of uses, ratings, gaps and tool calls. Ranking learns from it.",
}
"""Terms that a newcomer may not know. The end of `djinn --help` explains them."""


def canonical(words: str) -> str:
    """The full name of a command, which may be given by its short name."""
    return ALIASES.get(words, words)


def load(words: str) -> Declaration:
    """Import a command."""
    verb = next(verb for verb in VERBS.values() if verb.declaration and verb.command == words)
    declaration: Declaration = imported(f"djinn_memory.cli.commands.{verb.declaration}")
    return declaration


def below(noun: str) -> dict[str, str]:
    """The command names below a noun (top level if empty), each with its help line."""
    if noun:
        prefix = f"{noun} "
        return {
            name.removeprefix(prefix): line
            for name, line in COMMANDS.items()
            if name.startswith(prefix)
        }
    short = {name: COMMANDS[words] for name, words in ALIASES.items()}
    return short | {name: line for name, line in COMMANDS.items() if " " not in name} | NOUNS


def sections(noun: str) -> dict[str, list[tuple[str, str]]]:
    """The command names below a noun (top level if empty) with help lines, by section."""
    lines = below(noun)
    if noun:
        return {"Commands": [*lines.items()]}
    listed = {title: [name for name in names if name in lines] for title, names in SECTIONS.items()}
    placed = {name for names in listed.values() for name in names}
    listed[next(reversed(listed))] += [name for name in lines if name not in placed]
    return {title: [(name, lines[name]) for name in names] for title, names in listed.items()}
