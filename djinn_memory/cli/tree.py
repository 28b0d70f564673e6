"""The tree of commands, and the line for each command in lists.

Help and completion list commands from these tables, so that a list imports no command.
"""

from __future__ import annotations

import builtins
import keyword
from importlib import import_module
from typing import TYPE_CHECKING

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

ALIASES = {
    "search": "memory search",
    "list": "memory list",
    "show": "memory show",
    "open": "memory open",
}
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
    "Upkeep": (),
}  # fmt: skip
"""The sections of `djinn --help`. The last section has all names that no other section has."""

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

COMMANDS = {
    "init": "Create a home: settings, a shared vault, and a personal vault for each agent.",
    "index": "Update the index from the vaults: words first, then meaning.",
    "status": "Show the home: its vaults, the index, and what is pending.",
    "remember": "Write a memory that the next search finds.",
    "recall": "Print whole memories that help with a question, best first.",
    "context": "Print what memory knows about a task, within a token budget.",
    "rate": "Rate the memories of a recall, so that later recalls improve.",
    "wake": "Start a session and print its context.",
    "checkpoint": "Save the state of the work as a note.",
    "sleep": "End the session with a handoff for the next `djinn wake`.",
    "watch": "Keep the index up to date while files change.",
    "lint": "Find dead links, ambiguous names and invalid front matter.",
    "doctor": "Check the installation and suggest fixes.",
    "trust": "Let this home use the servers and models in its settings.",
    "undo": "Take back a change that djinn made to notes.",
    "maintain": "Run periodic maintenance.",
    "consolidate": "Find patterns in episodes, and write a note for each.",
    "ingest": "Turn files into documents that searches cite by page.",
    "import": "Record conversations and calendars of other programs as episodes.",
    "mcp": "Serve this memory to agents over the Model Context Protocol.",
    "schema": "Print the JSON Schema of the output of a command.",
    "memory search": "Search by words and by meaning in all vaults that the agent sees.",
    "memory list": "List memories, newest first.",
    "memory show": "Show a note, its links and its backlinks.",
    "memory open": "Open a note in your editor, in Obsidian or in the system's program.",
    "memory delete": "Move a note to the `.trash/` of its vault.",
    "memory restore": "Restore a note from the trash, or list the trash.",
    "memory purge": "Remove a memory permanently, with its versions and its copies in the trash.",
    "memory stats": "Count notes and memories by type, plane, tag and vault.",
    "fact set": "Set a fact. Its note keeps the previous value.",
    "fact get": "Print the value of a fact, exactly as it was set.",
    "fact list": "List facts, a page at a time.",
    "fact search": "Search facts by meaning, then by the text of category, key and value.",
    "fact forget": "Move a fact to the `.trash/` of its vault.",
    "fact verify": "Confirm that a fact is still valid. An expired fact becomes valid again.",
    "entity add": "Add an entity: a note with a name, aliases and properties.",
    "entity list": "List entities by name, with the number of their mentions.",
    "entity show": "Show an entity: its properties, relations and mentions.",
    "entity set": "Set a property or a relation. The value before is closed and kept.",
    "entity alias": "Add or remove aliases of an entity.",
    "entity merge": "Merge an entity into another, with its history and its links.",
    "entity split": "Take a merge of two entities apart.",
    "entity remove": "Move the note of an entity to the `.trash/` of its vault.",
    "episode record": "Record a message and its response, or an observation.",
    "episode list": "List episodes, newest first.",
    "episode show": "Show an episode: its words, its context and its importance.",
    "episode mark": "Let the next `djinn consolidate` read episodes at any age.",
    "episode stats": "Count episodes by kind, channel, session and day.",
    "session start": "Start a session and print its name.",
    "session end": "End a session without a handoff.",
    "session extract": "Write what was stated in idle sessions as memories.",
    "session list": "List sessions, newest first.",
    "session history": "Print the last turns of a session, oldest first.",
    "hook install": "Let Claude Code or Codex record its sessions in this home.",
    "hook remove": "Remove djinn's hooks from the settings of Claude Code or Codex.",
    "hook status": "Show installed hooks, and events that are recorded but not taken in.",
    "summary show": "Print the summary.",
    "summary set": "Write the summary. The previous one is kept.",
    "summary build": "Build the summary from facts, preferences, projects and open commitments.",
    "pattern list": "List patterns: habits first, the most certain of each kind first.",
    "pattern show": "Show a pattern and its evidence.",
    "pattern correlations": "List what occurs together more often than chance explains.",
    "outcome record": "Record how an action ended, as an episode.",
    "outcome list": "List how effective actions were, by action and context.",
    "contradiction list": "List memories that contradict each other and both hold now.",
    "contradiction settle": "Settle a contradiction: keep one side, or both.",
    "proposal list": "List what upkeep proposes to change, oldest first.",
    "proposal show": "Show a proposal: its notes, its reason and its evidence.",
    "proposal accept": "Carry out proposals in one step.",
    "proposal dismiss": "Dismiss proposals, so that they are not made again.",
    "gap list": "List open gaps, grouped by topic.",
    "gap report": "Report a gap without rating a recall.",
    "gap close": "Close a gap that a note answers or that no longer matters.",
    "gap reopen": "Open a closed gap again.",
    "gap suggest": "Find notes written after a gap was reported that may answer it.",
    "score show": "Show how usage and ratings affect ranking.",
    "document list": "List documents, and failed files with the reason.",
    "document show": "Show a document's details and its text.",
    "document remove": "Move a document with its original and its earlier versions to the trash.",
    "document reprocess": "Divide a document into chunks again, without changing its text.",
    "vault add": "Add a folder of notes as a vault, without moving it.",
    "vault list": "List the vaults and the agents that can use them.",
    "vault describe": "Describe a folder in one sentence. Its hits show the description.",
    "vault move": "Move the folder of a vault. Its id, settings and index are kept.",
    "vault remove": "Remove a vault from the settings. Its files are not deleted.",
    "agent add": "Add an agent, with a personal vault.",
    "agent remove": "Remove an agent from the settings. Its notes are kept.",
    "agent profile": "Show the profile of an agent: identity, rules, projects, working hours.",
    "agent set": "Set a key in the profile of an agent.",
    "agent unset": "Remove a key from the profile of an agent, or some of its values.",
    "agent list": "List the agents. The first one is the default.",
    "working set": "Store a value under a key for a limited time, or set a step of a task.",
    "working get": "Print a value, or with --task alone a whole task.",
    "working list": "List the values of a session or task, and values that other agents shared.",
    "working clear": "Remove a value, or all values that `djinn working list` shows.",
    "working share": "Give another agent a copy of a value.",
    "backup create": "Write vaults, ledger, working memory and settings into one archive.",
    "backup restore": "Restore a home from an archive.",
    "sync init": "Prepare a Postgres server and join it.",
    "sync status": "Show the server, its versions, its vaults and their homes.",
    "sync run": "Receive the changes of other homes, then send those of this home.",
    "sync pull": "Receive the changes of other homes.",
    "sync push": "Send the changes of this home.",
    "sync conflicts": "List the notes that were changed in two homes.",
    "sync verify": "Compare the vaults with the server, byte for byte and row by row.",
    "sync stats": "Count the memories on the server.",
    "sync facts": "Search the facts on the server.",
    "sync backfill": "Fill the vectors and rows that the server lacks.",
    "sync forget": "Remove a vault from the server, or the record of a lost home.",
    "sync migrate": "Update the tables of the server to this version of djinn.",
    "config show": "Show all settings in effect, defaults included.",
    "config get": "Show one setting, or one section.",
    "config set": "Change one setting. Comments and order are kept.",
    "config path": "Print the path of the settings file.",
}
"""All commands as a user types them, each with the first line of its help."""

_MODULES = {
    "import": "imports",
    "init": "home",
    "index": "home",
    "status": "home",
    "rate": "recall",
    "wake": "session",
    "checkpoint": "session",
    "sleep": "session",
    "consolidate": "pattern",
    "memory open": "open",
    "sync init": "sync_server",
    "sync migrate": "sync_server",
    "sync status": "sync_server",
    "sync forget": "sync_server",
    "sync backfill": "sync_server",
    "sync stats": "sync_server",
    "sync facts": "sync_server",
}
"""The modules of commands, where they are not named after the first word of the command."""


def module(words: str) -> str:
    """The module of a command, below `cli.commands`."""
    first = words.partition(" ")[0]
    return _MODULES.get(words, _MODULES.get(first, first))


def canonical(words: str) -> str:
    """The full name of a command, which may be given by its short name."""
    return ALIASES.get(words, words)


def load(words: str) -> Declaration:
    """Import a command: the function of its last word, with `_` where Python reserves the name."""
    verb = words.rpartition(" ")[2]
    commands = import_module(f"djinn_memory.cli.commands.{module(words)}")
    reserved = hasattr(builtins, verb) or keyword.iskeyword(verb)
    declaration: Declaration = getattr(commands, f"{verb}_" if reserved else verb)
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
