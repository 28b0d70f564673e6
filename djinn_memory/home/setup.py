"""Makes a home, and joins agents and vaults to it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from djinn_memory.errors import ConfigError, NotFound, Refused, UsageError
from djinn_memory.home.home import SHARED, Change, Home
from djinn_memory.home.settings import NAME
from djinn_memory.models import Dialect, Vault
from djinn_memory.system.files import create, expand, inside, write_atomic
from djinn_memory.system.locks import lock

_IGNORED = b"# Made again from the notes at any time; not worth a place in git.\n*\n"


def init(root: Path, agents: tuple[str, ...] = ()) -> tuple[Home, list[str]]:
    """Make a home, or complete one; what is there is never changed. Also says what was made."""
    root = expand(root)
    for name in agents:
        check_name(name, "agent")
    if root.exists() and not root.is_dir():
        raise Refused(f"{root} is a file; name a folder for the home")
    root.mkdir(parents=True, exist_ok=True)
    home = Home(root.resolve())
    made = []
    if _write_example(home, agents):
        made.append("config.yaml")
    home.state.mkdir(parents=True, exist_ok=True)
    if not (home.state / ".gitignore").exists():
        write_atomic(home.state / ".gitignore", _IGNORED)
        made.append(f"{home.config.state_dir}/")
    for name in agents:
        made += add_agent(home, name)
    made += join_own_vaults(home)
    return home, made


def _write_example(home: Home, agents: tuple[str, ...]) -> bool:
    """Write the first settings of a home, whole at once; False when there are some."""
    from djinn_memory.system.yaml_edit import set_value

    with lock(home.root / ".djinn" / "home.lock"):
        if home.config_path.exists():
            return False
        chosen = list(dict.fromkeys(agents)) or ["me"]
        text = set_value(_example().decode(), ("agents",), chosen)
        create(home.config_path, text.encode())
    return True


def join_own_vaults(home: Home, joining: str | None = None) -> list[str]:
    """Give the home its shared vault and each agent a personal one; returns the folders made.

    The agent `joining` becomes one of the home's first.
    """

    def missing() -> Iterable[Change]:
        agents = home.config.agents
        if joining is not None and joining not in agents:
            taken = home.config.vaults.get(joining)
            if taken and taken.agent != joining:
                raise Refused(f"a vault is named {joining} already; take another name")
            agents = [*agents, joining]
            yield ("agents",), agents
        for name in (SHARED, *agents):
            entry = home.config.vaults.get(name)
            if entry is None:
                yield ("vaults", name, "path"), f"vaults/{name}"
                if name != SHARED:
                    yield ("vaults", name, "for"), name
            if entry is None or entry.id is None:
                yield ("vaults", name, "id"), _new_id()

    home.revise(missing)
    made = []
    for name in (SHARED, *home.config.agents):
        folder = home.root / expand(home.config.vaults[name].path)
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            made.append(f"{home.config.vaults[name].path}/")
    return made


def add_agent(home: Home, name: str) -> list[str]:
    """Give the home another agent with a personal vault; returns what was made, if anything."""
    return join_own_vaults(home, check_name(name, "agent"))


def add_vault(
    home: Home,
    name: str,
    path: Path,
    *,
    read_only: bool = False,
    agent: str | None = None,
    dialect: Dialect = "obsidian",
) -> Vault:
    """Join an existing folder of notes under a name. `Refused` when it or the name has joined."""
    check_name(name, "vault")
    folder = expand(path).resolve()
    if not folder.is_dir():
        raise NotFound(f"no folder {path}; name one that exists")

    def entry() -> Iterable[Change]:
        if name in home.config.vaults:
            raise Refused(f"there is a vault {name} already; take another name, or remove it first")
        for vault in home.vaults:
            if vault.root.resolve() == folder:
                raise Refused(f"{folder} is vault {vault.name} already")
        yield ("vaults", name, "path"), str(folder)
        yield ("vaults", name, "id"), _new_id()
        if agent is not None:
            yield ("vaults", name, "for"), home.agent(agent)
        if read_only:
            yield ("vaults", name, "read_only"), True
        if dialect != "obsidian":
            yield ("vaults", name, "dialect"), dialect

    home.revise(entry)
    return home.named((name,))[0]


def taken_from(home: Home, vault: Vault) -> Vault | None:
    """The vault in which a reserved one lies and that others see, but no longer this folder."""
    outer = [one for one in home.vaults if one.root.resolve() in vault.root.parents]
    inmost = max(outer, key=lambda one: len(one.root.resolve().parts), default=None)
    return inmost if inmost and vault.agent not in (None, inmost.agent) else None


def describe(home: Home, place: str, text: str | None) -> tuple[str, str]:
    """Say what a vault or a folder in it holds, or no longer with an empty text.

    `place` is `vault` or `vault/folder`; with `text` None nothing changes. Returns the place and
    what is said of it. `NotFound` when there is no such vault or folder, `Refused` when `text`
    looks as if it held a secret.
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
    """Take a vault off the config; its files stay where they are."""
    found: list[Vault] = []

    def removal() -> Iterable[Change]:
        found.extend(home.named((name,)))
        if name == SHARED or found[0].agent == name:
            raise Refused(f"{name} is one of the home's own vaults and stays")
        yield ("vaults", name), None

    home.revise(removal)
    return found[0]


def check_name(name: str, what: str) -> str:
    """`name` if it can name an agent or a vault; `UsageError` says what can."""
    if not re.fullmatch(NAME, name) or (name == SHARED and what == "agent"):
        raise UsageError(
            f"{name!r} cannot name {'an' if what == 'agent' else 'a'} {what}; "
            "use letters, digits, '.', '-' and '_', beginning with a letter or digit"
            + (" (shared is the common vault)" if name == SHARED else "")
        )
    return name


def _new_id() -> str:
    from uuid import uuid4

    return str(uuid4())


def _example() -> bytes:
    # In a wheel the example lies in the package, in a checkout beside it.
    here = Path(__file__).parent.parent
    for place in (here / "config.example.yaml", here.parent / "config.example.yaml"):
        if place.is_file():
            return place.read_bytes()
    raise ConfigError("config.example.yaml is missing from this installation; install djinn again")
