"""A home: a folder with `.djinn/` (state), `config.yaml` and `vaults/`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from djinn_memory.errors import ConfigError, NotFound, Refused
from djinn_memory.home import config as configuration
from djinn_memory.home import trust
from djinn_memory.home.settings import Config, EmbeddingConfig
from djinn_memory.home.trust import Endpoint
from djinn_memory.models import Vault
from djinn_memory.system.files import expand, revise
from djinn_memory.system.locks import lock

SHARED = "shared"
Change = tuple[tuple[str, ...], Any]
"""The keys that lead to a setting, and its value; None removes it."""


def discover(named: str | Path | None = None, *, start: Path | None = None) -> Home:
    """The home that `named`, `DJINN_HOME` or the nearest parent with `.djinn/` gives, else ~/djinn.

    Raises `NotFound` when there is no home at that place.
    """
    place = named or configuration.home_from_environment()
    if place:
        return _existing(expand(place))
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / ".djinn").is_dir():
            return Home(folder)
    for folder in (here, *here.parents):
        # A clone: what is made again from the notes is not among what was cloned.
        if (folder / "config.yaml").is_file() and (folder / "vaults").is_dir():
            raise NotFound(
                f"{folder} looks like a home that was cloned; make it one here: "
                f"`djinn init {folder}`"
            )
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

    @property
    def relaxes(self) -> bool:
        """Whether its settings allow secrets that the user's own do not; that does not count."""
        return self._settings[2]

    @cached_property
    def _settings(self) -> tuple[Config, list[Endpoint], bool]:
        config = configuration.load(self.config_path)
        relaxes = bool(config.secrets.allow) and config.secrets != self.own.secrets
        if relaxes:
            # A cloned home must not relax what guards its user.
            config = replace(config, secrets=self.own.secrets)
        if not trust.endpoints(config):
            return config, [], relaxes
        return *trust.curb(config, self.own, self.trusted), relaxes

    def asked(self, *changes: Change) -> Config:
        """The settings trusted or not, as they are written, or would be with `changes`."""
        where = str(self.config_path)
        return configuration.resolve(configuration.spliced(self._text(), changes, where)[1], where)

    @property
    def own(self) -> Config:
        """What the user's own settings and the environment say without this home's."""
        return configuration.load(None)

    def may_use(self, embedding: EmbeddingConfig) -> None:
        """Raise `Refused` when the address or key of a model the user typed is the home's idea.

        One that the user trusted with another model is not.
        """
        wanted = trust.of_embedding(embedding)
        own = self.own.embedding
        known = [(own.url, own.key_env) if own.provider == embedding.provider else (None, None)]
        known += [
            (one.url, one.key_env)
            for one in self.trusted
            if one.use == "embedding" and one.provider == embedding.provider
        ]
        if wanted and (wanted.url, wanted.key_env) not in known:
            raise Refused(
                f"{self.config_path} is not trusted with {wanted}; look at it, run `djinn trust`, "
                "then this again"
            )

    def trust(self, found: Sequence[Endpoint]) -> None:
        """Let this home reach these endpoints."""
        trust.trust(self.root, found)
        self.reread()

    def distrust(self) -> None:
        """Let this home reach nothing again but what the user's own settings name."""
        trust.distrust(self.root)
        self.reread()

    @property
    def trusted(self) -> list[Endpoint]:
        """What the user trusted this home with."""
        return trust.trusted(self.root)

    def permitted(self, embedding: EmbeddingConfig) -> bool:
        """Whether this home may embed by these settings."""
        wanted = trust.of_embedding(embedding)
        own = trust.endpoints(self.own) if wanted else []
        return wanted is None or wanted in (*own, *self.trusted)

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

    @property
    def ledger_path(self) -> Path:
        """What happened, which no note tells."""
        return self.state / "ledger.db"

    @property
    def working_path(self) -> Path:
        """Working memory, where no server keeps it."""
        return self.state / "working.db"

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
                others=frozenset(real.values()) - {real[name]},
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

    @property
    def shared(self) -> Vault:
        """The vault that all agents write to."""
        return self._own(SHARED, None)

    def personal(self, agent: str) -> Vault:
        """The vault that `agent` writes to and no other agent sees."""
        return self._own(agent, agent)

    def _own(self, name: str, agent: str | None) -> Vault:
        for vault in self.vaults:
            if vault.name == name and vault.agent == agent:
                return vault
        raise NotFound(f"no vault {name!r} to write to; run `djinn init {self.root}` to make it")

    def edit(self, *changes: Change) -> Config:
        """Set each (keys, value) in `config.yaml`, or remove where the value is None.

        The result is checked before it is written; comments and order stay.
        """
        return self.revise(lambda: changes)

    def revise(self, decide: Callable[[], Iterable[Change]]) -> Config:
        """Edit what `decide` says, which it finds under the lock, with the settings read afresh.

        So nothing that it checks can change before the result is written. It must not edit itself.
        `Refused` for a value that looks as if it held a secret.
        """
        # Reading a home has no need of it, and it takes time.
        from djinn_memory.secrets import guard

        where = str(self.config_path)
        checked: list[Config] = []

        def change(before: bytes) -> bytes:
            self.reread()
            changes = list(decide())
            for keys, value in changes:
                if isinstance(value, str):
                    allowed = self.config.secrets
                    guard(value, what=".".join(keys), settings=allowed, option=False)
            text, data = configuration.spliced(before.decode(), changes, where)
            checked.append(configuration.validate(data, where))
            self._folders(checked[-1])
            same = data == configuration.parse(before.decode(), where)
            return before if same else text.encode()

        with lock(self.state / "home.lock"):
            revise(self.config_path, change)
        self.reread()
        return checked[-1]

    def reread(self) -> None:
        """Take notice of what was written into the settings, also by another process."""
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


def is_own(vault: Vault) -> bool:
    """Whether djinn made it, for an agent or for all; what was added is only read."""
    return vault.name == (vault.agent or SHARED)


def _chosen(vaults: Sequence[Vault], names: Sequence[str]) -> tuple[Vault, ...]:
    by_name = {vault.name: vault for vault in vaults}
    for name in names:
        if name not in by_name:
            raise unknown_vault(name, list(by_name))
    return tuple(by_name[name] for name in dict.fromkeys(names)) or tuple(vaults)


def unknown_vault(name: str, known: list[str]) -> NotFound:
    """The error for a vault that is not there, or not there for this agent."""
    return NotFound(f"no vault {name!r}; known: {', '.join(known)}")
