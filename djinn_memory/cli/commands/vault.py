"""djinn vault add, list, describe, move, remove."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict, astuple

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, Confirm, command
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.models import Certainty, Dialect, Problem
from djinn_memory.upkeep.requests import VaultEntry


class _AddVault(Struct, frozen=True):
    """Add a folder of notes."""

    name: Annotated[str, Meta(description="The name of the vault.")]
    path: Annotated[Path, Meta(description="An existing folder of Markdown notes.")]
    read_only: Annotated[bool, Meta(description="Make the vault read-only for djinn.")] = False
    agent: Annotated[str | None, Meta(description="Reserve the vault for this agent.")] = None
    dialect: Annotated[
        Dialect | None,
        Meta(description="The Markdown dialect of the notes. Default: detected from the notes."),
    ] = None


class _DescribeVault(Struct, frozen=True):
    """Describe a folder in a sentence."""

    place: Annotated[
        str, Meta(description="A vault, or a folder in a vault, such as notes/minutes.")
    ]
    text: Annotated[
        str | None, Meta(description="The description, one sentence. An empty text removes it.")
    ] = None


class _RemoveVault(Struct, frozen=True):
    """Remove a vault from the settings."""

    name: Annotated[str, Meta(description="A vault that was added.")]


class _MoveVault(Struct, frozen=True):
    """Move the folder of a vault."""

    name: Annotated[str, Meta(description="A vault.")]
    folder: Annotated[
        Path,
        Meta(
            description="The new folder. It must be empty or not exist, or hold the notes of a "
            "vault whose folder you moved."
        ),
    ]


class _MovedVault(Struct, frozen=True):
    """A vault whose folder was moved."""

    vault: VaultEntry
    """The vault in its new folder."""
    before: Path
    """The previous folder."""


class _AddedVault(Struct, frozen=True):
    """A vault that was added."""

    vault: VaultEntry
    """The vault in the settings now."""
    guessed: str | None
    """The evidence for its dialect; null when the dialect was given."""
    certainty: Certainty | None
    """The certainty of the guess: certain, likely or unsure; null when the dialect was given."""
    problems: Sequence[Problem] = ()


class _VaultEntries(Struct, frozen=True):
    """The vaults of the home."""

    vaults: Sequence[VaultEntry]
    """The vaults in the order of the settings."""


class _FolderDescription(Struct, frozen=True):
    """The description of a folder."""

    path: str
    """The vault, or vault and folder: `notes/minutes`."""
    context: str | None
    """The description; null when there is none."""


class _RemovedVault(Struct, frozen=True):
    """A vault that is no longer searched."""

    vault: VaultEntry
    """The vault before it was removed. Its files are not moved."""


def _run_add(call: Call) -> _AddedVault:
    from djinn_memory.home import setup
    from djinn_memory.notes.dialects.guess import guess
    from djinn_memory.system.files import expand

    request, home = call.request, call.djinn.home
    dialect, certainty, guessed = request.dialect, None, None
    if dialect is None:
        dialect, certainty, guessed = astuple(guess(expand(request.path)))
    vault = setup.add_vault(home, **{**asdict(request), "dialect": dialect})
    outer = setup.outer_vault(home, vault)
    problems = []
    if outer:
        why = f"is inside vault {outer.name}; from now on only {request.agent} sees that folder"
        problems.append(Problem(request.name, why))
    return _AddedVault(VaultEntry.of(vault, home.vaults), guessed, certainty, problems)


@command(
    "vaults.add",
    request=_AddVault,
    arguments=["name", "path"],
    fields={"agent": Field("AGENT", candidates.agents, name="--for")},
    run=_run_add,
)
def _add(call: Call, answer: _AddedVault) -> None:
    """Add a folder of notes as a vault, without moving it.

    Examples:
        djinn vault add notes ~/Documents/notes --read-only
    """
    vault = answer.vault
    guessed = f" ({answer.certainty}: {answer.guessed})" if answer.guessed else ""
    say(f"{vault.name}: {clean(str(vault.root))}, dialect {vault.dialect}{guessed}")
    talk("Next: `djinn index`.")


def _run_list(call: Call) -> _VaultEntries:
    vaults = call.djinn.home.vaults
    return _VaultEntries([VaultEntry.of(vault, vaults) for vault in vaults])


@command("vaults.list", run=_run_list)
def _list(call: Call, answer: _VaultEntries) -> None:
    """List the vaults and the agents that can use them.

    Examples:
        djinn vault list
    """
    output.columns(
        (
            vault.name,
            f"for {vault.agent}" if vault.agent else "everybody",
            ", ".join(
                ["read-only"] * vault.read_only + [vault.dialect] * (vault.dialect != "obsidian")
            ),
            vault.root,
        )
        for vault in answer.vaults
    )


def _run_describe(call: Call) -> _FolderDescription:
    from djinn_memory.home import setup

    place, text = setup.describe(call.djinn.home, call.request.place, call.request.text)
    return _FolderDescription(place, text or None)


@command(
    "vaults.describe",
    request=_DescribeVault,
    arguments=["place", "text"],
    fields={"place": Field("PATH", candidates.folders)},
    run=_run_describe,
)
def _describe(call: Call, answer: _FolderDescription) -> None:
    """Describe a folder in one sentence. Its hits show the description.

    A hit shows the description of the innermost described folder. Without a text, the command
    prints the description.

    Examples:
        djinn vault describe notes "Everything I know of the harbour"
        djinn vault describe notes/minutes "Minutes of the council, one a month"
    """
    say(clean(f"{answer.path}: {answer.context or 'not described'}"))


def _run_move(call: Call) -> _MovedVault:
    from djinn_memory.upkeep.move_vault import move_vault

    request, home = call.request, call.djinn.home
    vault = home.named((request.name,))[0]
    before = vault.root
    if before.is_dir() and not call.confirmed(
        "Move the folder?", f"vault {vault.name}: {before} is moved to {request.folder}"
    ):
        return _MovedVault(VaultEntry.of(vault, home.vaults), before)
    with call.djinn.runtime.busy(patient=True):
        vault = move_vault(call.djinn.runtime.state, request.name, request.folder)
    return _MovedVault(VaultEntry.of(vault, home.vaults), before)


@command(
    "vaults.move",
    request=_MoveVault,
    arguments=["name", "folder"],
    fields={"name": Field(complete=candidates.vaults)},
    view=Confirm,
    run=_run_move,
)
def _move(call: Call, answer: _MovedVault) -> None:
    """Move the folder of a vault. Its id, settings and index are kept.

    On another disk the files are copied and compared, then the old ones are removed. If a move is
    interrupted, run the same command again. If you moved the folder yourself, the command only
    changes the settings, and does not ask.

    Examples:
        djinn vault move notes ~/Documents/notes
    """
    root = clean(str(answer.vault.root))
    if answer.vault.root == answer.before:
        say(f"{answer.vault.name} stays in {root}")
        return
    say(f"moved {answer.vault.name} from {clean(str(answer.before))} to {root}")


def _run_remove(call: Call) -> _RemovedVault:
    from djinn_memory.home import setup

    home = call.djinn.home
    removed = setup.remove_vault(home, call.request.name)
    return _RemovedVault(VaultEntry.of(removed, home.vaults))


@command(
    "vaults.remove",
    request=_RemoveVault,
    arguments=["name"],
    fields={"name": Field(complete=candidates.added_vaults)},
    run=_run_remove,
)
def _remove(call: Call, answer: _RemovedVault) -> None:
    """Remove a vault from the settings. Its files are not deleted.

    Examples:
        djinn vault remove notes
    """
    say(
        f"removed vault {answer.vault.name} from the settings; its files are still in "
        f"{clean(str(answer.vault.root))}"
    )
