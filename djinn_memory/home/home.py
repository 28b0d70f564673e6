"""A home: a folder with `.djinn/` (state), `config.yaml` and `vaults/`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import ConfigError, NotFound, Refused, Remedy, Unavailable, UsageError
from djinn_memory.home import access, trust
from djinn_memory.home import config as configuration
from djinn_memory.home.keys import read_keys
from djinn_memory.home.settings import Config, EmbeddingConfig
from djinn_memory.home.trust import Endpoint
from djinn_memory.models import Vault
from djinn_memory.system.files import expand, revise
from djinn_memory.system.locks import lock

Change = tuple[tuple[str, ...], Any]
"""The keys that lead to a setting, and its new value; None removes it."""


def discover(named: str | Path | None = None, *, start: Path | None = None) -> Home:
    """The home at `named`, else `DJINN_HOME`, else the nearest parent with `.djinn/`, else ~/djinn.

    Raises `NotFound` when there is no home there.
    """
    root = named or configuration.variable("DJINN_HOME")
    if root:
        return _existing(expand(root))
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / ".djinn").is_dir():
            return Home(folder)
    for folder in (here, *here.parents):
        # A clone lacks the state folder, because the state is made from the notes.
        if (folder / "config.yaml").is_file() and (folder / "vaults").is_dir():
            raise NotFound(
                f"{folder} looks like a home that was cloned without its state",
                Remedy("init", {"folder": str(folder)}, "complete it"),
            )
    return _existing(Path.home() / "djinn")


def _existing(root: Path) -> Home:
    if not (root / "config.yaml").is_file() and not (root / ".djinn").is_dir():
        raise NotFound(
            f"no djinn home at {root}", Remedy("init", {"folder": str(root)}, "create one")
        )
    return Home(root.resolve())


class Home(Struct, frozen=True, dict=True):
    """The folder of one memory on this disk."""

    root: Path

    @property
    def config_path(self) -> Path:
        """The settings file."""
        return self.root / "config.yaml"

    @property
    def config(self) -> Config:
        """The effective settings: those of this home, the user and the environment.

        Endpoints of this home that the user does not trust are left out.
        """
        return self._settings[0]

    @property
    def untrusted(self) -> list[Endpoint]:
        """The endpoints that are ignored until the user trusts this home with them."""
        return self._settings[1]

    @property
    def relaxes(self) -> bool:
        """Whether this home's settings try to allow secrets that the user's own do not.

        They are ignored.
        """
        return self._settings[2]

    @cached_property
    def _settings(self) -> tuple[Config, list[Endpoint], bool]:
        config = configuration.load(self.config_path)
        relaxes = bool(config.secrets.allow) and config.secrets != self.own.secrets
        if relaxes:
            # A cloned home must not relax its user's protection.
            config = replace(config, secrets=self.own.secrets)
        if not trust.endpoints(config):
            return config, [], relaxes
        return *trust.restrict(config, self.own, self.trusted), relaxes

    def written(self, *changes: Change) -> Config:
        """The settings as written, with `changes`, whether trusted or not."""
        where, text = str(self.config_path), self.config_path.read_bytes().decode()
        return configuration.resolve(configuration.splice(text, changes, where)[1], where)

    @property
    def own(self) -> Config:
        """The settings of the user and of the environment, without this home's."""
        return configuration.load(None)

    def may_use(self, embedding: EmbeddingConfig) -> None:
        """Raise `Refused` if a typed model has an address or key that only this home names.

        An address and key that the user trusted together with another model are allowed.
        """
        wanted = trust.of_embedding(embedding)
        own = self.own.embedding
        known = [(own.url, own.key_env) if own.provider == embedding.provider else (None, None)]
        known += [
            (endpoint.url, endpoint.key_env)
            for endpoint in self.trusted
            if endpoint.use == "embedding" and endpoint.provider == embedding.provider
        ]
        if wanted and (wanted.url, wanted.key_env) not in known:
            raise Refused(
                f"{self.config_path} names the {wanted}, which is not trusted; check it first",
                Remedy("config.trust", {}, "allow it"),
            )

    def trust(self, endpoints: Sequence[Endpoint]) -> None:
        """Let this home reach these endpoints."""
        with trust.editing() as homes:
            before = homes.get(str(self.root), [])
            added = [endpoint for endpoint in endpoints if endpoint not in before]
            homes[str(self.root)] = [*before, *added]
        self.reread()

    def distrust(self) -> None:
        """Restrict this home to the endpoints in the user's own settings."""
        with trust.editing() as homes:
            homes.pop(str(self.root), None)
        self.reread()

    @property
    def trusted(self) -> list[Endpoint]:
        """The endpoints with which the user trusts this home."""
        return trust.trusted(self.root)

    def permitted(self, embedding: EmbeddingConfig) -> bool:
        """Whether this home may embed with these settings."""
        wanted = trust.of_embedding(embedding)
        own = trust.endpoints(self.own) if wanted else []
        return wanted is None or wanted in (*own, *self.trusted)

    @cached_property
    def state(self) -> Path:
        """The folder of index, vector cache and locks."""
        return (self.root / expand(self.config.state_dir)).resolve()

    @property
    def index_path(self) -> Path:
        """The database of the index. It can be rebuilt from the notes."""
        return self.state / "index.db"

    @property
    def embeddings_path(self) -> Path:
        """The database of the vector cache. It survives a rebuild of the index."""
        return self.state / "embeddings.db"

    @property
    def ledger_path(self) -> Path:
        """The ledger database. It cannot be rebuilt."""
        return self.state / "ledger.db"

    @property
    def working_path(self) -> Path:
        """The database of working memory, unless a server stores it."""
        return self.state / "working.db"

    @property
    def graph_page_path(self) -> Path:
        """The page of `djinn graph view`. It has texts of notes, and can be made again."""
        return self.state / "graph.html"

    @property
    def keys_path(self) -> Path:
        """The keys of the HTTP server."""
        return self.state / "keys.json"

    @cached_property
    def grants(self) -> access.Grants:
        """The domains that each limited reader may see: agents by the setting, and keys."""
        granted: dict[str, Collection[str]] = dict(self.config.access)
        # A damaged file of keys is reported where a key is used. Other commands need none.
        with suppress(Unavailable):
            for key in read_keys(self.keys_path):
                granted |= access.grants_of_key(key, self.config.agents, self.config.access)
        return granted

    @cached_property
    def vaults(self) -> tuple[Vault, ...]:
        """All vaults of the settings, in order."""
        entries = self.config.vaults
        real = self._folders(self.config)
        return tuple(
            Vault(
                name=name,
                root=self.root / expand(entry.path),
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

    @property
    def agents(self) -> list[str]:
        """The agents that the running call may name."""
        key = access.limits.get()
        opened = key.agents if key else ()
        return [name for name in opened or self.config.agents if name in self.config.agents]

    def agent(self, name: str | None) -> str:
        """`name`, or the default agent for None; `NotFound` lists the known agents."""
        known = self.agents
        if name is None and known:
            return known[0]
        if name not in known:
            raise NotFound(f"no agent {name!r}; known: {', '.join(known)}")
        return name

    def named(self, names: Sequence[str] = ()) -> tuple[Vault, ...]:
        """The vaults with these names, or all without names. `NotFound` lists the known vaults."""
        return _select(self.vaults, names)

    def scope(self, agent: str, only: Sequence[str] = ()) -> tuple[Vault, ...]:
        """The vaults that `agent` sees in the running call, or those of them in `only`."""
        return self._scope(access.readable(self.vaults, agent), agent, only)

    def server_scope(
        self, agent: str, others: Sequence[Vault], only: Sequence[str] = ()
    ) -> tuple[Vault, ...]:
        """As `scope`, for an agent that reads all vaults of a server. `others` are not of here."""
        return self._scope((*self.vaults, *others), agent, only)

    def _scope(self, vaults: Sequence[Vault], agent: str, only: Sequence[str]) -> tuple[Vault, ...]:
        opened = access.opened(vaults)
        return _select([self._seen_by(vault, agent) for vault in opened], only)

    def _seen_by(self, vault: Vault, agent: str) -> Vault:
        reader = self._reader(agent)
        return replace(vault, reader=reader) if reader in self.grants else vault

    def _reader(self, agent: str) -> str:
        """The name under which the domains are granted that `agent` sees in the running call."""
        key = access.limits.get()
        reader = access.reader_of(agent, key)
        if key and reader != agent and reader not in self.grants:
            # The index hides nothing from a reader that it does not know.
            raise Refused(f"the key {key.name} was revoked")
        return reader

    def visible(self, agent: str | None, only: Sequence[str] = ()) -> tuple[Vault, ...]:
        """As `scope`. With None as the agent, all vaults of the home."""
        return self.named(only) if agent is None else self.scope(self.agent(agent), only)

    def hides(self, vault: Vault, domains: Iterable[str]) -> bool:
        """Whether the reader of a vault may not see a memory of it that has these domains."""
        return access.hides(access.grants_of(self.grants), vault.reader, domains)

    def domains(self, agent: str | None) -> tuple[str, ...]:
        """The domains that an agent knows: those that were granted, else those of the settings."""
        granted = self.grants.get(self._reader(self.agent(agent)))
        return tuple(self.config.domains if granted is None else granted)

    def check_domains(self, domains: Iterable[str], agent: str) -> None:
        """Raise `UsageError` for a domain that an agent cannot write into or ask for.

        Without a list in the settings, an agent that is not limited may use any domain. The error
        is the same for a domain that is hidden from the agent and for one that does not exist.
        """
        known = self.domains(agent)
        reader = self._reader(agent)
        limited = reader in self.grants
        keys = {access.domain_key(name) for name in known}
        for domain in domains:
            if not domain.strip():
                raise UsageError("the domain is empty; give a name such as work", argument="domain")
            if access.domain_key(domain) in keys or not (limited or self.config.domains):
                continue
            listed = ", ".join(known) or "none"
            why = f"{domain!r} is no domain; known: {listed}"
            if limited:
                grants = f"access.{agent} in config.yaml grants" if reader == agent else "it opens"
                whose = agent if reader == agent else "this key"
                why = f"{domain!r} is no domain of {whose}; {grants}: {listed}"
            raise UsageError(why, argument="domain")

    def domain_to_write(
        self,
        vault: Vault,
        agent: str,
        given: str | None,
        *,
        channel: str | None = None,
        own: str | None = None,
    ) -> str | None:
        """The domain of memories that an agent writes into a vault.

        It is the one `given`, else the default of the channel, else the agent's `own`, else the
        default of the vault.
        Raises `UsageError` for a given domain that the agent cannot write into, and `Refused` for
        such a default, because without it more agents would see the memories.
        """
        if given is not None:
            self.check_domains([given], agent)
            return given
        default = own or self.config.vaults[vault.name].domain
        if channel is not None:
            channels = {
                access.domain_key(name): each.domain for name, each in self.config.channels.items()
            }
            default = channels.get(access.domain_key(channel)) or default
        hidden = access.excluded(access.grants_of(self.grants), [default] if default else [])
        if self._reader(agent) in hidden:
            raise Refused(
                f"what {agent} writes here gets a domain that {agent} may not see; "
                "name a domain that it may see"
            )
        return default

    @property
    def shared(self) -> Vault:
        """The vault to which all agents write."""
        return self._own(None)

    @property
    def synced(self) -> tuple[Vault, ...]:
        """The vaults that go to the server of `sync`. No other vault may leave this machine."""
        names = self.config.sync.vaults
        if names is None:
            return (self.shared,)
        try:
            return self.named(names) if names else ()
        except NotFound as error:
            raise ConfigError(f"{self.config_path}: sync.vaults: {error}") from None

    def personal(self, agent: str) -> Vault:
        """The vault to which only `agent` writes, and which no other agent sees."""
        return self._seen_by(self._own(agent), agent)

    def personal_vaults(self, agent: str) -> list[Vault]:
        """The vaults that are reserved for an agent. The one that djinn manages comes first."""
        vaults = [vault for vault in self.scope(agent) if access.is_personal(vault, agent)]
        return sorted(vaults, key=lambda vault: not access.is_own(vault))

    def vault_to_write(self, agent: str, *, shared: bool) -> Vault:
        """The vault to which an agent writes: its own or the shared one, as the agent sees it."""
        return self._seen_by(self.shared, agent) if shared else self.personal(agent)

    def _own(self, agent: str | None) -> Vault:
        if vault := access.own_vault(access.opened(self.vaults), agent):
            return vault
        raise NotFound(
            f"no vault {access.own_name(agent)!r} to write into",
            Remedy("init", {"folder": str(self.root)}, "create it"),
        )

    def edit(self, *changes: Change) -> Config:
        """Set each (keys, value) in `config.yaml`; a value of None removes the setting.

        The result is validated before it is written. Comments and order are preserved.
        """
        return self.revise(lambda: changes)

    def revise(self, decide: Callable[[], Iterable[Change]]) -> Config:
        """Make the changes that `decide` returns.

        `decide` runs under the lock, after the settings were read again, so that its checks stay
        true until the result is written. It must not edit the settings itself. Raises `Refused` for
        a value that looks like a secret.
        """
        # Reading a home does not need this import, which takes time.
        from djinn_memory.secrets import guard

        where = str(self.config_path)
        validated: list[Config] = []

        def change(before: bytes) -> bytes:
            self.reread()
            changes = list(decide())
            for keys, value in changes:
                # A pattern of allowed URLs looks like the URLs that it allows.
                values = value if isinstance(value, list) and keys[0] != "secrets" else [value]
                for text in values:
                    if isinstance(text, str):
                        guard(text, what=".".join(keys), settings=self.config.secrets, option=False)
            text, data = configuration.splice(before.decode(), changes, where)
            validated.append(configuration.validate(data, where))
            self._folders(validated[-1])
            same = data == configuration.parse(before.decode(), where)
            return before if same else text.encode()

        with lock(self.state / "home.lock"):
            revise(self.config_path, change)
        self.reread()
        return validated[-1]

    def reread(self) -> None:
        """Discard the cached settings, because this or another process has changed the file."""
        for name in ("_settings", "vaults", "state", "grants"):
            self.__dict__.pop(name, None)

    def _folders(self, config: Config) -> dict[str, Path]:
        """The real path of each vault's folder.

        Raises `ConfigError` when two vaults share a folder.
        """
        folders = {
            name: (self.root / expand(entry.path)).resolve()
            for name, entry in config.vaults.items()
        }
        owners: dict[Path, str] = {}
        for name, folder in folders.items():
            first = owners.setdefault(folder, name)
            if first != name:
                raise ConfigError(
                    f"{self.config_path}: vaults.{first}.path and vaults.{name}.path are the same "
                    "folder; remove one of the two"
                )
        return folders


def _select(vaults: Sequence[Vault], names: Sequence[str]) -> tuple[Vault, ...]:
    """The vaults with these names, or all.

    A vault that the agent does not see counts as unknown.
    """
    by_name = {vault.name: vault for vault in vaults}
    for name in names:
        if name not in by_name:
            raise NotFound(f"no vault {name!r}; known: {', '.join(by_name)}")
    return tuple(by_name[name] for name in dict.fromkeys(names)) or tuple(vaults)
