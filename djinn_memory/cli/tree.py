"""The tree of commands, and the line for each command in lists.

Help and completion list commands from the table of verbs, so that a list imports no command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.operations import VERBS, imported

if TYPE_CHECKING:
    from djinn_memory.cli.command import Declaration

NOUNS = {
    "review": "The inbox: what waits for a decision of yours, and why.",
    "memory": "Memories: notes, and sections of journals. These verbs change notes or count them.",
    "document": "Documents: files that became notes.",
    "fact": "Facts, each with a category and a key.",
    "entity": "Entities: people, places, projects, concepts and kinds of your own.",
    "graph": "The graph of links: what is near a note, ways between notes, and the whole.",
    "episode": "Episodes: messages, observations and outcomes in the journals of a vault.",
    "episode outcome": "Outcomes: how actions ended, and how effective they are.",
    "session": "Sessions of agents: their start, their end, their turns and their values.",
    "session working": "Working memory: an agent's short-lived values and its tasks.",
    "pattern": "Patterns: habits and correlations in episodes.",
    "gap": "Gaps: information that agents looked for and did not find.",
    "vault": "Vaults: the folders of notes that djinn searches.",
    "sync": "Synchronization: a Postgres server where the vaults of several homes meet.",
    "backup": "Backups: one archive with vaults, ledger, working memory and settings.",
    "config": "The settings in config.yaml, and the servers and models that they may use.",
    "agent": "Agents: the names that have a personal vault, their profiles and summaries.",
    "agent summary": "The narrative summary, with which `djinn wake` begins.",
    "key": "Keys of programs that call `djinn serve`.",
    "hook": "Hooks, with which clients such as Claude Code record sessions and get memories.",
}
"""The groups of commands, also those inside a group. Commands without a group come before them."""

COMMANDS = {verb.command: verb.line for verb in VERBS.values() if verb.declaration}
"""All commands as a user types them, each with the first line of its help."""

ALIASES = {verb.short: verb.command for verb in VERBS.values() if verb.short}
"""The short names of commands. Both names run the same command."""

SECTIONS = {
    "Everyday": {
        "init": "create a home",
        "index": "read the notes",
        "search": "find by words and meaning",
        "show": "print a note",
        "open": "open a note in an editor",
        "list": "list notes, newest first",
        "remember": "write a note",
        "recall": "what helps with a question",
        "ingest": "read PDFs and other files",
        "import": "read chats and calendars",
        "watch": "index while files change",
        "serve": "answer programs over HTTP",
        "review": "what waits for you",
        "undo": "take a change back",
        "status": "what is in the home",
        "doctor": "what is wrong, and fixes",
        "lint": "dead links, bad fields",
        "maintain": "run the periodic jobs",
        "help": "help on a word",
    },
    "Agents": {
        "wake": "begin a session",
        "checkpoint": "save the state of work",
        "sleep": "end it with a handoff",
        "rate": "say what helped",
        "context": "what is known of a task",
        "mcp": "serve over MCP",
        "hook": "hooks of Claude Code, Codex",
        "agent": "names, profiles, summary",
    },
    "Nouns": {
        "memory": "delete, restore, purge",
        "document": "files that became notes",
        "fact": "values with a key",
        "entity": "people, places, projects",
        "graph": "neighbours, paths, hubs",
        "episode": "what was said and done",
        "session": "conversations, values",
        "pattern": "habits in episodes",
        "gap": "what was not found",
        "vault": "folders of notes",
        "sync": "a server between homes",
        "backup": "one archive of a home",
        "key": "keys of programs",
        "config": "settings, trust",
    },
}
"""The words of `djinn --help`, each with a few words of explanation."""

DEFAULTS = {"agent summary": "show", "review": "list"}
"""The command of a group that runs if none is named."""

MOVED = {
    "consolidate": "pattern find",
    "contradiction": "review",
    "contradiction settle": "review accept",
    "mcp --http": "serve",
    "outcome": "episode outcome",
    "proposal": "review",
    "schema": "help --json",
    "score": "show NAME --why",
    "score show": "show NAME --why",
    "summary": "agent summary",
    "trust": "config trust",
    "working": "session working",
}
"""Commands and groups of earlier versions, and what they are now."""

TERMS = {
    "home": "The folder of one memory: config.yaml, the vaults in it, and `.djinn/` for databases.",
    "vault": "A folder of Markdown notes, such as an Obsidian vault. It may be outside the home.",
    "memory": "A note, or a section of a journal, as search and recall return it.",
    "plane": "The kind of a memory: semantic, episodic, knowledge or documents.",
    "chunk": "A part of a note that a hit shows. A window is the part of it that is embedded.",
    "leg": "One method of a search: keywords (`words`) or embeddings (`meaning`).",
    "ledger": "The log of uses, ratings, gaps and tool calls. Ranking learns from it.",
}
"""Terms that a newcomer may not know. `djinn help home` explains them."""


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
    prefix = f"{noun} " if noun else ""
    short = {} if noun else {name: COMMANDS[words] for name, words in ALIASES.items()}
    inside = {
        name.removeprefix(prefix): line
        for names in (COMMANDS, NOUNS)
        for name, line in names.items()
        if name.startswith(prefix)
    }
    return short | {name: line for name, line in inside.items() if " " not in name}


def sections(noun: str) -> dict[str, list[tuple[str, str]]]:
    """The names that the help of a noun (top level if empty) lists, with lines, by section.

    A command with a short name is listed by that name alone, at the top.
    """
    if not noun:
        return {title: [*words.items()] for title, words in SECTIONS.items()}
    hidden = {words.removeprefix(f"{noun} ") for words in ALIASES.values()}
    lines = [(name, line) for name, line in below(noun).items() if name not in hidden]
    return {"Commands": lines}
