"""The tree of commands: the module of each command, and the line that lists show for it.

Help and completion list commands from these tables, so that a list imports no command. A command
is a `module:function` of `cli.commands`; the first line of its help is its line here.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A command of the tree."""

    path: str
    """`module:function`, below `cli.commands`."""
    line: str
    """The first line of its help."""


NOUNS = {
    "memory": "Find, read and manage memories.",
    "fact": "Facts, each under a category and a key.",
    "summary": "The narrative summary that `djinn wake` prints first.",
    "gap": "Gaps: what agents looked for in vain.",
    "score": "Scores of memories, from uses and ratings.",
    "document": "Documents: files that became notes.",
    "vault": "Vaults: the folders of notes that djinn searches.",
    "agent": "Agents: the names that have a personal vault.",
    "working": "Working memory: values that an agent holds for minutes, and its tasks.",
    "config": "The settings in config.yaml.",
}
"""The groups of commands, after the commands that belong to none."""

COMMANDS = {
    "init": Entry(
        "home:init",
        "Create a home: settings, a shared vault, and a personal vault for each agent.",
    ),
    "index": Entry("home:index", "Update the index from the vaults: words first, then meaning."),
    "status": Entry("home:status", "Show the home: its vaults, the index, and what is pending."),
    "remember": Entry("remember:remember", "Write a memory that the next search finds."),
    "recall": Entry(
        "recall:recall", "Print whole memories that help with a question, the best first."
    ),
    "rate": Entry("recall:rate", "Rate the memories of a recall, so that the next recall learns."),
    "wake": Entry("session:wake", "Print the context to start with, and open a session."),
    "checkpoint": Entry("session:checkpoint", "Write a note that says where the work stands."),
    "sleep": Entry("session:sleep", "End the session with a handoff for the next `djinn wake`."),
    "watch": Entry("watch:watch", "Keep the index up to date while files change."),
    "doctor": Entry("doctor:doctor", "Check everything that djinn needs, and suggest repairs."),
    "trust": Entry("trust:trust", "Let this home use the servers and models in its settings."),
    "maintain": Entry("maintain:maintain", "Run the upkeep that a home needs about once a day."),
    "ingest": Entry("ingest:ingest", "Turn files into documents that searches cite by page."),
    "mcp": Entry("mcp:mcp", "Serve this memory to agents over the Model Context Protocol."),
    "schema": Entry("schema:schema", "Print the JSON Schema of what a command prints."),
    "memory search": Entry(
        "memory:search", "Search by words and by meaning in all vaults that the agent sees."
    ),
    "memory list": Entry("memory:list_memories", "List memories, the newest first."),
    "memory show": Entry("memory:show", "Show a note, its links and its backlinks."),
    "memory delete": Entry("memory:delete", "Move a note to the `.trash/` of its vault."),
    "memory purge": Entry(
        "memory:purge", "Remove a memory for good, with its versions and its copies in the trash."
    ),
    "memory stats": Entry("memory:stats", "Count notes by type, plane, tag and vault."),
    "fact set": Entry("fact:set_fact", "Set a fact; its note keeps the previous value."),
    "fact get": Entry("fact:get", "Print the value of a fact, exactly as it was set."),
    "fact list": Entry("fact:list_facts", "List facts, a page at a time."),
    "fact search": Entry(
        "fact:search", "Search facts by meaning, then by the text of category, key and value."
    ),
    "fact forget": Entry("fact:forget", "Move a fact to the `.trash/` of its vault."),
    "fact verify": Entry(
        "fact:verify", "Confirm that a fact still holds; an expired fact holds again."
    ),
    "summary show": Entry("summary:show", "Print the summary."),
    "summary set": Entry("summary:set_summary", "Write the summary; the previous one is kept."),
    "summary build": Entry(
        "summary:build",
        "Build the summary from facts, preferences, active projects and open commitments.",
    ),
    "gap list": Entry("gap:list_gaps", "List open gaps, those about one thing together."),
    "gap report": Entry("gap:report", "Report a gap without rating a recall."),
    "gap close": Entry("gap:close", "Close a gap that a note answers or that no longer matters."),
    "gap suggest": Entry(
        "gap:suggest", "Find notes, written since a gap was reported, that may answer it."
    ),
    "score show": Entry("score:show", "Show the score of a memory with every number behind it."),
    "document list": Entry(
        "document:list_documents", "List documents, and failed files with the reason."
    ),
    "document show": Entry("document:show", "Show a document's details and its text."),
    "document remove": Entry(
        "document:remove",
        "Move a document, its original and its earlier versions to the `.trash/` of its vault.",
    ),
    "document reprocess": Entry(
        "document:reprocess", "Cut a document into chunks again; the text of its note stays."
    ),
    "vault add": Entry(
        "vault:add", "Add a folder of notes; it stays where it is and is searched by default."
    ),
    "vault list": Entry("vault:list_vaults", "List the vaults and whom they are for."),
    "vault describe": Entry(
        "vault:describe", "Describe a folder in a sentence that hits from it carry."
    ),
    "vault remove": Entry("vault:remove", "Remove a vault from the settings; its files stay."),
    "agent add": Entry("agent:add", "Add an agent, with a personal vault."),
    "agent list": Entry("agent:list_agents", "List the agents; the first is the default."),
    "working set": Entry(
        "working:set_value", "Keep a value under a key for a while, or set a step of a task."
    ),
    "working get": Entry("working:get", "Print a value, or with --task alone a whole task."),
    "working list": Entry(
        "working:list_values",
        "List what a session or a task holds, and what other agents handed over.",
    ),
    "working clear": Entry(
        "working:clear", "Forget the value under a key, or all that `djinn working list` shows."
    ),
    "working share": Entry("working:share", "Give another agent a copy of a value."),
    "config show": Entry("config:show", "Show all settings in effect, defaults included."),
    "config get": Entry("config:get", "Show one setting, or one section."),
    "config set": Entry("config:set_value", "Change one setting; comments and order stay."),
    "config path": Entry("config:path", "Show where the settings are."),
}
"""Every command, as a user types it."""


def below(noun: str) -> dict[str, str]:
    """The names below a noun, or at the top for an empty one, and the line of each."""
    if noun:
        words = (name.split(" ") for name in COMMANDS)
        return {
            name[1]: COMMANDS[" ".join(name)].line for name in words if name[0] == noun and name[1:]
        }
    top = {name: entry.line for name, entry in COMMANDS.items() if " " not in name}
    return {**top, **NOUNS}
