"""A home: a folder with `.djinn/` (state), `config.yaml` and `vaults/`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from djinn_memory import config as settings
from djinn_memory import trust
from djinn_memory.config import Config, EmbeddingConfig
from djinn_memory.errors import ConfigError, NotFound, Refused, UsageError
from djinn_memory.files import expand, inside, lock, write_atomic
from djinn_memory.models import Dialect, Vault
from djinn_memory.trust import Endpoint

SHARED = "shared"
Change = tuple[tuple[str, ...], Any]
"""The keys that lead to a setting, and its value; None removes it."""

_IGNORED = b"# Made again from the notes at any time; not worth a place in git.\n*\n"


def discover(named: str | Path | None = None, *, start: Path | None = None) -> Home:
    """The home that `named`, `DJINN_HOME` or the nearest parent with `.djinn/` gives, else ~/djinn.

    Raises `NotFound` when there is no home at that place.
    """
    place = named or settings.home_from_environment()
    if place:
        return _existing(expand(place))
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / ".djinn").is_dir():
            return Home(folder)
    return _existing(Path.home() / "djinn")


def _existing(root: Path) -> Home:
    if not (root / "config.yaml").is_file() and not (root / ".djinn").is_dir():
        raise NotFound(f"no djinn home at {root}; make one with `djinn init {root}`")
    return Home(root.resolve())


@dataclass(frozen=True)
class Home:
    """Where a person's memory lives on this disk."""

    root: Path

    @property
    def config_path(self) -> Path:
        """The settings file."""
        return self.root / "config.yaml"

    @property
    def config(self) -> Config:
        """The settings that hold here, with those of the user and of the environment.

        What the user did not trust this home with is not among them.
        """
        return self._settings[0]

    @property
    def untrusted(self) -> list[Endpoint]:
        """What the settings would reach if the user trusted this home with it."""
        return self._settings[1]

    @cached_property
    def _settings(self) -> tuple[Config, list[Endpoint]]:
        config = settings.load(self.config_path)
        if not trust.endpoints(config):
            return config, []
        return trust.curb(config, settings.load(None), trust.trusted(self.root))

    def trust_typed(self, endpoint: Endpoint) -> None:
        """Trust an endpoint whose provider and model the user just typed.

        `Refused` when the home's settings add an address or a key to it.
        """
        own = settings.load(None).embedding
        if (endpoint.url, endpoint.key_env) != (own.url, own.key_env):
            raise Refused(
                f"{self.config_path} is not trusted with {endpoint}; "
                "look at it, run `djinn trust`, then `djinn index`"
            )
        self.trust([endpoint])

    def trust(self, found: Sequence[Endpoint]) -> None:
        """Let this home reach these endpoints."""
        trust.trust(self.root, found)
        self._forget()

    def distrust(self) -> None:
        """Let this home reach nothing again but what the user's own settings name."""
        trust.distrust(self.root)
        self._forget()

    @property
    def trusted(self) -> list[Endpoint]:
        """What the user trusted this home with."""
        return trust.trusted(self.root)

    def permitted(self, embedding: EmbeddingConfig) -> bool:
        """Whether this home may embed by these settings."""
        wanted = trust.of_embedding(embedding)
        own = trust.endpoints(settings.load(None)) if wanted else []
        return wanted is None or wanted in (*own, *trust.trusted(self.root))

    @cached_property
    def state(self) -> Path:
        """The folder of index, vector cache and locks."""
        return (self.root / expand(self.config.state_dir)).resolve()

    @property
    def index_path(self) -> Path:
        """The disposable index."""
        return self.state / "index.db"

    @property
    def embeddings_path(self) -> Path:
        """The cache of vectors, which outlives the index."""
        return self.state / "embeddings.db"

    @cached_property
    def vaults(self) -> tuple[Vault, ...]:
        """All vaults of the config, in its order."""
        entries = self.config.vaults
        roots = {name: self.root / expand(entry.path) for name, entry in entries.items()}
        real = self._folders(self.config)
        return tuple(
            Vault(
                name=name,
                root=roots[name],
                id=entry.id or f"path:{entry.path}",
                agent=entry.agent,
                read_only=entry.read_only,
                dialect=entry.dialect,
                contexts=tuple(entry.contexts.items()),
                inner=frozenset(
                    other.relative_to(real[name]).as_posix()
                    for other in real.values()
                    if real[name] in other.parents
                ),
            )
            for name, entry in entries.items()
        )

    def agent(self, name: str | None) -> str:
        """`name`, or the default agent; `NotFound` lists the known ones."""
        known = self.config.agents
        if name is None:
            return known[0]
        if name not in known:
            raise NotFound(f"no agent {name!r}; known: {', '.join(known)}")
        return name

    def named(self, names: Sequence[str] = ()) -> tuple[Vault, ...]:
        """The vaults of these names, all if there are none; `NotFound` lists the known ones."""
        return _chosen(self.vaults, names)

    def scope(self, agent: str, only: Sequence[str] = ()) -> tuple[Vault, ...]:
        """The vaults that `agent` sees, or those of them that `only` names."""
        return _chosen([v for v in self.vaults if v.agent in (None, agent)], only)

    def edit(self, *changes: Change) -> Config:
        """Set each (keys, value) in `config.yaml`, or remove where the value is None.

        The result is checked before it is written; comments and order stay.
        """
        return self.revise(lambda: changes)

    def revise(self, decide: Callable[[], Iterable[Change]]) -> Config:
        """Edit what `decide` says, which it finds under the lock, with the settings read afresh.

        So nothing that it checks can change before the result is written. It must not edit itself.
        """
        where = str(self.config_path)
        with lock(self.state / "home.lock"):
            self._forget()
            before = self._text()
            text = settings.spliced(before, decide(), where)
            checked = settings.validate(settings.parse(text, where), where)
            self._folders(checked)
            if settings.parse(text, "") != settings.parse(before, ""):
                write_atomic(self.config_path, text.encode())
        self._forget()
        return checked

    def _forget(self) -> None:
        for name in ("_settings", "vaults", "state"):
            self.__dict__.pop(name, None)

    def _folders(self, config: Config) -> dict[str, Path]:
        """Each vault's folder with every link followed; `ConfigError` when two share one."""
        folders = {
            name: (self.root / expand(entry.path)).resolve()
            for name, entry in config.vaults.items()
        }
        taken: dict[Path, str] = {}
        for name, folder in folders.items():
            first = taken.setdefault(folder, name)
            if first != name:
                raise ConfigError(
                    f"{self.config_path}: vaults.{first}.path and vaults.{name}.path are one "
                    "folder; remove one of the two"
                )
        return folders

    def _text(self) -> str:
        return self.config_path.read_bytes().decode()


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
    from djinn_memory.yamltext import set_value

    with lock(home.root / ".djinn" / "home.lock"):
        if home.config_path.exists():
            return False
        chosen = list(dict.fromkeys(agents)) or ["me"]
        text = set_value(_example().decode(), ("agents",), chosen)
        write_atomic(home.config_path, text.encode())
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


def describe(home: Home, place: str, text: str | None) -> tuple[str, str]:
    """Say what a vault or a folder in it holds, or no longer with an empty text.

    `place` is `vault` or `vault/folder`; with `text` None nothing changes. Returns the place and
    what is said of it. `NotFound` when there is no such vault or folder.
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


def _chosen(vaults: Sequence[Vault], names: Sequence[str]) -> tuple[Vault, ...]:
    by_name = {vault.name: vault for vault in vaults}
    for name in names:
        if name not in by_name:
            raise unknown_vault(name, list(by_name))
    return tuple(by_name[name] for name in dict.fromkeys(names)) or tuple(vaults)


def unknown_vault(name: str, known: list[str]) -> NotFound:
    """The error for a vault that is not there, or not there for this agent."""
    return NotFound(f"no vault {name!r}; known: {', '.join(known)}")


def check_name(name: str, what: str) -> str:
    """`name` if it can name an agent or a vault; `UsageError` says what can."""
    if not re.fullmatch(settings.NAME, name) or (name == SHARED and what == "agent"):
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
    here = Path(__file__).parent
    for place in (here / "config.example.yaml", here.parent / "config.example.yaml"):
        if place.is_file():
            return place.read_bytes()
    raise ConfigError("config.example.yaml is missing from this installation; install djinn again")
