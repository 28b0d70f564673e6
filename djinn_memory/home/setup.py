"""Creates a home, and adds agents and vaults to it."""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from djinn_memory.errors import ConfigError, DjinnError, NotFound, Refused, Remedy, UsageError
from djinn_memory.home import access
from djinn_memory.home.home import Change, Home, discover
from djinn_memory.home.settings import NAME
from djinn_memory.models import Dialect, Vault
from djinn_memory.system.files import create, expand, inside, make_folder, write_atomic
from djinn_memory.system.locks import lock

TRASH = ".trash"
"""The folder in a home for the vaults of removed agents."""

_IGNORED = b"""\
# index.db and embeddings.db can be made again: `djinn index` reads the notes.
# ledger.db (uses, ratings, gaps) and working.db (values and tasks of agents) cannot:
# `djinn backup create` saves them. None of them belongs into git, which cannot merge them.
*
"""


def init(root: Path, agents: tuple[str, ...] = ()) -> tuple[Home, list[str]]:
    """Create a home, or complete an existing one without changing its content.

    Also returns descriptions of the created files.
    """
    root = expand(root)
    for name in agents:
        _check_name(name, "agent")
    if root.exists() and not root.is_dir():
        raise Refused(f"{root} is a file; name a folder for the home")
    # Others can rename nothing in the home, whatever the umask.
    root.mkdir(0o755, parents=True, exist_ok=True)
    home = Home(root.resolve())
    created = []
    if _write_example(home, agents):
        created.append("config.yaml")
    make_folder(home.state, private=True)
    if not (home.state / ".gitignore").exists():
        write_atomic(home.state / ".gitignore", _IGNORED, private=True)
        created.append(f"{home.config.state_dir}/")
    for name in agents:
        created += add_agent(home, name)
    created += _add_own_vaults(home)
    return home, created


def enclosing(folder: Path) -> str | None:
    """A description of the home or vault that contains a folder, unless the folder is a home."""
    folder = expand(folder).resolve()
    if (folder / ".djinn").is_dir():
        return None
    for parent in folder.parents:
        if (parent / ".djinn").is_dir():
            return f"the home {parent}"
    for parent in (folder, *folder.parents):
        if (parent / ".obsidian").is_dir():
            return f"the Obsidian vault {parent}"
    try:
        home = discover()
        for vault in home.vaults:
            if vault.root.resolve() in (folder, *folder.parents):
                return f"vault {vault.name} of the home {home.root}"
    except DjinnError:
        pass
    return None


def _write_example(home: Home, agents: tuple[str, ...]) -> bool:
    """Write the first settings of a home in one step; False when the home has settings already."""
    from djinn_memory.system.yaml_edit import set_value

    with lock(home.root / ".djinn" / "home.lock"):
        if home.config_path.exists():
            return False
        names = list(dict.fromkeys(agents)) or ["me"]
        text = set_value(_example().decode(), ("agents",), names)
        create(home.config_path, text.encode(), private=True)
    return True


def _add_own_vaults(home: Home, new_agent: str | None = None) -> list[str]:
    """Create the shared vault and each agent's personal vault; returns the created folders.

    `new_agent` is first added to the home's agents.
    """

    def missing() -> Iterable[Change]:
        agents = home.config.agents
        if new_agent is not None and new_agent not in agents:
            vault = home.config.vaults.get(new_agent)
            if vault and vault.agent != new_agent:
                raise Refused(f"a vault named {new_agent} already exists; choose another name")
            agents = [*agents, new_agent]
            yield ("agents",), agents
        for name, agent in access.own_vaults(agents).items():
            entry = home.config.vaults.get(name)
            if entry is None:
                yield ("vaults", name, "path"), f"vaults/{name}"
                if agent:
                    yield ("vaults", name, "for"), agent
            if entry is None or entry.id is None:
                yield ("vaults", name, "id"), _new_id()

    home.revise(missing)
    created = []
    for name, agent in access.own_vaults(home.config.agents).items():
        folder = home.root / expand(home.config.vaults[name].path)
        if not folder.exists():
            folder.parent.mkdir(0o755, parents=True, exist_ok=True)
            make_folder(folder, private=agent is not None)
            created.append(f"{home.config.vaults[name].path}/")
    return created


def add_agent(home: Home, name: str) -> list[str]:
    """Add an agent with a personal vault to the home. Returns the created folders, if any."""
    return _add_own_vaults(home, _check_name(name, "agent"))


def check_removal(home: Home, name: str) -> None:
    """Raise `Refused` for the only agent, and while an added vault is reserved for the agent."""
    if home.config.agents == [home.agent(name)]:
        raise Refused(f"{name} is the only agent; add another agent first")
    for vault in home.vaults:
        if access.is_personal(vault, name) and not access.is_own(vault):
            remedy = Remedy("vaults.remove", {"name": vault.name}, "remove the vault")
            raise Refused(f"vault {vault.name} is reserved for {name}", remedy)


def remove_agent(home: Home, name: str, *, trash: bool = False) -> Path | None:
    """Remove an agent and its personal vault from the settings. Its notes are not moved.

    With `trash` the folder of the vault is moved to `.trash/` in the home; returns the new path.
    Raises `Refused` as `check_removal` does.
    """
    vaults: list[Vault] = []

    def removal() -> Iterable[Change]:
        check_removal(home, name)
        yield ("agents",), [agent for agent in home.config.agents if agent != home.agent(name)]
        if name in home.config.access:
            others = {key: value for key, value in home.config.access.items() if key != name}
            yield ("access",), others or None
        own = access.own_vault(home.vaults, name)
        if own:
            vaults.append(own)
            yield ("vaults", own.name), None
            yield from _without_sync(home, own)

    home.revise(removal)
    if not (trash and vaults and vaults[0].root.is_dir()):
        return None
    folder = home.root / TRASH
    make_folder(folder, private=True)
    target = folder / _free(folder, name)
    shutil.move(vaults[0].root, target)
    return target


def _free(folder: Path, name: str) -> str:
    """A free name in a folder: `name`, else `name-2` and so on."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(free for free in names if not os.path.lexists(folder / free))


def add_vault(
    home: Home,
    name: str,
    path: Path | None,
    *,
    read_only: bool = False,
    agent: str | None = None,
    dialect: Dialect = "obsidian",
    settings: Mapping[str, object] = {},
) -> Vault:
    """Add an existing folder of notes as a vault; `Refused` when the folder or name is in use.

    Without a path, a folder in the home is created. `settings` are further keys of the vault.
    """
    _check_name(name, "vault")
    folder = expand(path or home.root / "vaults" / name).resolve()
    if path and not folder.is_dir():
        raise NotFound(f"the folder {path} does not exist; check the path")
    if folder == folder.parent:
        raise Refused(f"{path} is the root of a disk; add a folder of notes")

    def entry() -> Iterable[Change]:
        if name in home.config.vaults:
            raise Refused(
                f"a vault named {name} already exists; choose another name, or remove that "
                "vault first"
            )
        for vault in home.vaults:
            if vault.root.resolve() == folder:
                raise Refused(f"{folder} is already vault {vault.name}")
        if path is None:
            make_folder(folder)
        yield ("vaults", name, "path"), str(folder) if path else f"vaults/{name}"
        yield ("vaults", name, "id"), _new_id()
        if agent is not None:
            yield ("vaults", name, "for"), home.agent(agent)
        if read_only:
            yield ("vaults", name, "read_only"), True
        if dialect != "obsidian":
            yield ("vaults", name, "dialect"), dialect
        for key, value in settings.items():
            yield ("vaults", name, key), value

    home.revise(entry)
    return home.named((name,))[0]


def outer_vault(home: Home, vault: Vault) -> Vault | None:
    """The vault that contains a reserved vault's folder and has other readers.

    They can no longer see the folder.
    """
    outer = [other for other in home.vaults if other.root.resolve() in vault.root.parents]
    innermost = max(outer, key=lambda other: len(other.root.resolve().parts), default=None)
    if innermost is None or access.is_open(vault) or access.same_readers(vault, innermost):
        return None
    return innermost


def describe(home: Home, place: str, text: str | None) -> tuple[str, str]:
    """Set the description of a vault or of a folder in it; an empty `text` removes it.

    `place` is `vault` or `vault/folder`. With `text` None nothing changes. Returns the place and
    its description. `NotFound` when the vault or folder does not exist, `Refused` when `text` looks
    like a secret.
    """
    name, _, folder = place.strip("/").partition("/")
    prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""

    def change() -> Iterable[Change]:
        [vault] = home.named((name,))
        if not inside(vault.root, prefix).is_dir():
            raise NotFound(f"no folder {prefix} in vault {name}; name one that exists")
        if text is not None and text.strip():
            yield ("vaults", name, "contexts", prefix), " ".join(text.split())
        elif text is not None and prefix in dict(vault.contexts):
            yield ("vaults", name, "contexts", prefix), None

    home.revise(change)
    [vault] = home.named((name,))
    return f"{name}/{prefix}".rstrip("/"), dict(vault.contexts).get(prefix, "")


def remove_vault(home: Home, name: str) -> Vault:
    """Remove a vault from the settings. Its files are not moved."""
    removed: list[Vault] = []

    def removal() -> Iterable[Change]:
        removed.extend(home.named((name,)))
        if not access.may_be_removed(removed[0]):
            raise Refused(f"{name} is a built-in vault of the home and cannot be removed")
        yield ("vaults", name), None
        yield from _without_sync(home, removed[0])

    home.revise(removal)
    return removed[0]


def _without_sync(home: Home, vault: Vault) -> Iterable[Change]:
    """Take a vault that is removed out of those that go to the server."""
    listed = home.config.sync.vaults or []
    if vault.name in listed:
        yield ("sync", "vaults"), [name for name in listed if name != vault.name]


def _check_name(name: str, what: str) -> str:
    """Return `name` if it is valid for an agent or a vault, else raise `UsageError`."""
    if not re.fullmatch(NAME, name) or (what == "agent" and access.is_shared_name(name)):
        raise UsageError(
            f"{name!r} cannot name {'an' if what == 'agent' else 'a'} {what}; "
            "use letters, digits, '.', '-' and '_', beginning with a letter or digit"
            + (" (shared is reserved for the shared vault)" if access.is_shared_name(name) else "")
        )
    return name


def _new_id() -> str:
    from uuid import uuid4

    return str(uuid4())


def comments(section: str) -> dict[str, str]:
    """The comment on each setting of a section in the example of the settings."""
    said, comment = {}, ""
    for line in (
        _example().decode().partition(f"\n{section}:\n")[2].partition("\n\n")[0].splitlines()
    ):
        if setting := re.fullmatch(r"  # (\w+): \S+", line):
            said[setting[1]], comment = comment.strip(), ""
        else:
            comment += line.replace("  # ", " ", 1)
    return said


def _example() -> bytes:
    # In a wheel the example lies in the package, in a checkout beside it.
    package = Path(__file__).parent.parent
    for folder in (package, package.parent):
        if (folder / "config.example.yaml").is_file():
            return (folder / "config.example.yaml").read_bytes()
    raise ConfigError("config.example.yaml is missing from this installation; reinstall djinn")
