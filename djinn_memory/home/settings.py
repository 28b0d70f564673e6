"""The model of `config.yaml`: every setting with its type, range and default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, convert, field

from djinn_memory.models import Backend, Dialect, Expand, Mode, Strategy
from djinn_memory.scoring import Days, Factor, ScoringConfig

NAME = r"^[^\W_][\w.-]{0,63}\Z"
"""Names of vaults and agents. They become folder names and words on the command line."""

Name = Annotated[str, Meta(pattern=NAME, description="a name of letters, digits, '.', '-' and '_'")]
Url = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s@]+\Z",
        description="http://host:port or https://host, without a password (use key_env for it)",
    ),
]
Variable = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}\Z",
        description="the name of an environment variable, not the key itself",
    ),
]

Redis = Annotated[
    str,
    Meta(
        pattern=r"^(?:rediss?://(?:[^\s@:/?#%]+@)?(?:\[[0-9A-Fa-f:.]+\]|[^\s@:/?#%\[\]]+)"
        r"(?::\d{1,5})?(?:/\d{1,5})?"
        r"|unix:///[^\s@?#%]+(?:\?db=\d{1,5})?)\Z",
        description="redis://host:port/db, rediss:// or unix:///path, without a password "
        "(use working.key_env for it)",
    ),
]
"""A Redis URL without options, because an option could turn off certificate checks."""

Postgres = Annotated[
    str,
    Meta(
        pattern=r"^(?:postgres(?:ql)?://(?:[^\s@:/?#]+@)?[^\s@?#]*"
        r"(?:\?(?!(?:[^\s]*&)?(?:ssl)?password=)[^\s@#]*)?|embedded(?::\S[^\0\r\n]*)?)\Z",
        description="postgresql://user@host:5432/database without a password (use sync.key_env "
        "for it), embedded, or embedded:/path/of/another/home",
    ),
]
"""A Postgres URL without a password, or the server inside a home."""

ClockTime = Annotated[
    str, Meta(pattern=r"^(?:[01]\d|2[0-3]):[0-5]\d\Z", description="a time of day, such as 04:00")
]

Languages = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z_]{3,20}(?:\+[A-Za-z_]{3,20})*\Z",
        description="tesseract language names, such as deu+eng",
    ),
]


LONGEST_TTL = 30 * 86_400
"""Maximum seconds that a value is kept. A longer-lived value belongs in a note."""


class VaultConfig(Struct, forbid_unknown_fields=True, rename={"agent": "for"}):
    """One folder of notes."""

    path: str
    id: str | None = None
    agent: Name | None = None
    read_only: bool = False
    dialect: Dialect = "obsidian"
    contexts: dict[str, str] = field(default_factory=dict)
    domain: Name | None = None
    chunk_strategy: Strategy | None = None
    chunk_size: Annotated[int, Meta(ge=64, le=5000)] | None = None
    chunk_overlap: Annotated[int, Meta(ge=0, le=2500)] | None = None


class DomainConfig(Struct, forbid_unknown_fields=True):
    """A domain that has more than a description."""

    description: str = ""
    icon: Annotated[str, Meta(max_length=16, description="a short text, such as an emoji")] = ""


class ChannelConfig(Struct, forbid_unknown_fields=True):
    """Settings of recordings from one channel, such as `slack`."""

    domain: Name | None = None


class ProviderEntry(Struct, frozen=True):
    """A provider of embeddings, as `PROVIDERS` registers it."""

    factory: str
    """`module:class` of its `Embedder`, imported at the first use of the provider; "" for none."""
    foreign: bool = False
    """Whether its models do not come with djinn. The user names such a model, and must trust it."""


PROVIDERS = {
    "auto": ProviderEntry("djinn_memory.embedding.local:LocalEmbedder"),
    "local": ProviderEntry("djinn_memory.embedding.local:LocalEmbedder"),
    "sentence-transformers": ProviderEntry("djinn_memory.embedding.local:LocalEmbedder", True),
    "ollama": ProviderEntry("djinn_memory.embedding.remote:RemoteEmbedder", True),
    "openai": ProviderEntry("djinn_memory.embedding.remote:RemoteEmbedder", True),
    "hashing": ProviderEntry("djinn_memory.embedding.calibration:HashingEmbedder"),
    "none": ProviderEntry(""),
}
"""The providers of embeddings by their names in `embedding.provider`."""

MULTILINGUAL = "multilingual"
"""The value of `embedding.model` that selects multilingual-e5-small for the provider `local`."""

if TYPE_CHECKING:
    Provider = str
else:
    Provider = Literal[tuple(PROVIDERS)]


class EmbeddingConfig(Struct, forbid_unknown_fields=True):
    """Settings of the embedding model."""

    provider: Provider = "auto"
    model: str | None = None
    url: Url | None = None
    key_env: Variable | None = None
    dimensions: Annotated[int, Meta(ge=1, le=8192)] | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    timeout: Annotated[float, Meta(ge=0.1, le=3600)] = 30.0
    threads: Annotated[int, Meta(ge=0, le=256)] = 0
    batch: Annotated[int, Meta(ge=1, le=1024)] = 32


class LlmConfig(Struct, forbid_unknown_fields=True):
    """A chat model that helps with queries; unused while `model` is not set."""

    provider: Literal["openai", "anthropic"] = "openai"
    model: str | None = None
    url: Url | None = None
    key_env: Variable | None = None
    timeout: Annotated[float, Meta(ge=0.1, le=3600)] = 5.0


CHAT_MODEL = "llm"
"""The value of `search.rerank` that selects the model of the section `llm`."""


class SearchConfig(Struct, forbid_unknown_fields=True):
    """Defaults of a search's options."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 10
    mode: Mode = "hybrid"
    per_note: Annotated[int, Meta(ge=1, le=100)] = 2
    per_document: Annotated[int, Meta(ge=1, le=100)] = 5
    sweep_ms: Annotated[int, Meta(ge=0, le=10_000)] = 50
    sweep_notes: Annotated[int, Meta(ge=0, le=1000)] = 20
    rerank: str | None = None
    rerank_ms: Annotated[int, Meta(ge=1, le=600_000)] = 2000
    expand: Expand = "none"
    dates: bool = True
    excerpt: Annotated[int, Meta(ge=0, le=100_000)] = 800


class DocumentsConfig(Struct, forbid_unknown_fields=True):
    """Settings for ingesting documents."""

    strategy: Strategy = "adaptive"
    model_context: str = "default"
    model_contexts: dict[str, Annotated[int, Meta(ge=1)]] = field(default_factory=dict)
    keep_originals: Literal["copy", "link", "no"] = "copy"
    ocr_languages: Languages = "eng"
    timeout: Annotated[float, Meta(ge=1, le=86_400)] = 120.0
    memory: Annotated[int, Meta(ge=100, le=1_000_000)] = 1000
    workers: Annotated[int, Meta(ge=0, le=64)] = 0


class WatchConfig(Struct, forbid_unknown_fields=True):
    """Settings of `djinn watch`."""

    debounce_ms: Annotated[int, Meta(ge=1, le=10_000)] = 100
    reconcile_seconds: Annotated[float, Meta(ge=1, le=86_400)] = 300.0
    poll: Literal["auto", "always"] = "auto"
    poll_seconds: Annotated[float, Meta(ge=0.1, le=3600)] = 3.0


class WorkingConfig(Struct, forbid_unknown_fields=True):
    """Settings of working memory."""

    key_env: Variable | None = None
    ttl: Annotated[int, Meta(ge=1, le=LONGEST_TTL)] = 300
    short_ttl: Annotated[int, Meta(ge=1, le=LONGEST_TTL)] = 3600
    task_ttl: Annotated[int, Meta(ge=1, le=LONGEST_TTL)] = 604_800
    history: Annotated[int, Meta(ge=1, le=10_000)] = 50


class SessionsConfig(Struct, forbid_unknown_fields=True):
    """Settings of sessions: their history, and the extraction from them."""

    history: Annotated[int, Meta(ge=1, le=10_000)] = 50
    wake: Annotated[int, Meta(ge=0, le=1000)] = 10
    idle_minutes: Annotated[float, Meta(ge=0, le=525_600)] = 30.0
    open_hours: Annotated[float, Meta(ge=1, le=87_600)] = 24.0
    extract: bool = True


class PatternsConfig(Struct, forbid_unknown_fields=True):
    """Settings of consolidation, which finds patterns in episodes."""

    min_age: Annotated[
        str, Meta(pattern=r"^\d{1,4}[dw]\Z", description="a time such as 7d or 2w")
    ] = "7d"
    history_days: Annotated[int, Meta(ge=30, le=3650)] = 400
    deprecated_days: Annotated[int, Meta(ge=1, le=3650)] = 90
    active: Annotated[float, Meta(ge=0, le=0.95)] = 0.6
    significance: Annotated[float, Meta(gt=0, le=0.1)] = 0.05
    evidence: Annotated[int, Meta(ge=1, le=200)] = 20


Span = Annotated[
    str,
    Meta(
        pattern=r"^(?:\d{1,4}[dw]|\d{1,2}y)\Z",
        description="a time such as 30d, 8w or 2y, at most 99y",
    ),
]


class ImportConfig(Struct, forbid_unknown_fields=True):
    """Settings of `djinn import`."""

    calendar_past: Span = "2y"
    calendar_future: Span = "1y"


class SyncConfig(Struct, forbid_unknown_fields=True):
    """Settings of `djinn sync`."""

    url: Postgres | None = None
    key_env: Variable | None = None
    vaults: list[Name] | None = None
    read_all: list[Name] = field(default_factory=list)
    attachments_mb: Annotated[int, Meta(ge=0, le=500)] = 20
    merge: Literal["none", "clean"] = "none"
    keep_days: Annotated[int, Meta(ge=1, le=36_500)] = 180
    seconds: Annotated[float, Meta(ge=1, le=86_400)] = 30.0


class SecretsConfig(Struct, forbid_unknown_fields=True):
    """Exceptions from the detection of secrets."""

    allow: list[str] = field(default_factory=list)


Cosine = Annotated[float, Meta(ge=-1, le=1)]


class Thresholds(Struct, forbid_unknown_fields=True):
    """Minimum cosines of texts that count as similar, on the scale of the packaged MiniLM."""

    duplicate: Cosine = 0.92
    fact: Cosine = 0.3
    gap: Cosine = 0.5


class ThresholdsConfig(Thresholds, forbid_unknown_fields=True):
    """The thresholds for all models. `models` overrides them for single models, by identity."""

    models: dict[str, Thresholds] = field(default_factory=dict)


class ProfileConfig(Struct, forbid_unknown_fields=True):
    """The purpose of a recall. With an empty profile, a recall returns what a search finds."""

    types: dict[str, Factor] = field(default_factory=dict)
    others: Factor = 1.0
    status: dict[str, Factor] = field(default_factory=dict)
    recency_weight: Factor = 0.0
    recency_half_life_days: Days = 30.0
    since_days: Days | None = None
    lasting: list[str] = field(default_factory=list)
    pull: list[str] = field(default_factory=list)
    newest: Annotated[int, Meta(ge=0, le=100)] = 0
    hops: Annotated[int, Meta(ge=0, le=3)] = 0
    words: list[str] = field(default_factory=list)


PROFILES: dict[str, dict[str, Any]] = {
    "default": {"status": {"superseded": 0.0, "proposed": 0.0, "archived": 0.0}},
    "planning": {
        "types": {"decision": 1.4, "plan": 1.4, "commitment": 1.3, "project": 1.3},
        "status": {"superseded": 0.0, "proposed": 0.0, "archived": 0.0, "done": 0.0, "closed": 0.0},
        "pull": ["decision", "plan", "commitment", "project"],
        "hops": 1,
        "words": [
            "plan", "plans", "planning", "roadmap", "priority", "priorities", "milestone",
            "deadline", "decide", "decided", "decision", "decisions", "commitment", "commitments",
        ],
    },
    "incident": {
        "types": {"lesson": 1.5, "error": 1.5, "incident": 1.5, "outcome": 1.2},
        "status": {"superseded": 0.0, "proposed": 0.0, "archived": 0.0},
        "recency_weight": 0.5,
        "recency_half_life_days": 7.0,
        "pull": ["lesson", "error", "incident"],
        "words": [
            "error", "errors", "fails", "failed", "failing", "failure", "crash", "crashed",
            "crashes", "broke", "breaks", "broken", "bug", "bugs", "incident", "incidents",
            "outage", "exception", "traceback", "timeout", "went wrong", "goes wrong",
            "post-mortem", "postmortem",
        ],
    },
    "handoff": {
        "types": {"handoff": 1.6, "checkpoint": 1.4, "commitment": 1.3},
        "status": {"superseded": 0.0, "proposed": 0.0, "archived": 0.0, "done": 0.0, "closed": 0.0},
        "recency_weight": 2.0,
        "recency_half_life_days": 3.0,
        "since_days": 14.0,
        "lasting": ["commitment"],
        "pull": ["handoff", "checkpoint", "commitment"],
        "newest": 3,
        "words": [
            "handoff", "hand over", "left off", "leave off", "resume", "continue", "last session",
            "yesterday", "blocked", "where were we", "where did we stop", "what is next",
            "what's next", "whats next", "what comes next", "what to do next", "next for",
            "next step", "next steps",
        ],
    },
}  # fmt: skip
"""The packaged profiles. A key in the settings replaces only that key of a profile."""


class RecallConfig(Struct, forbid_unknown_fields=True):
    """Defaults of a recall's options."""

    profile: str = "default"
    limit: Annotated[int, Meta(ge=1, le=100)] = 8
    budget: Annotated[int, Meta(ge=50, le=1_000_000)] = 2000
    profiles: dict[Name, ProfileConfig] = field(
        default_factory=lambda: convert(PROFILES, dict[str, ProfileConfig])
    )


class ContextConfig(Struct, forbid_unknown_fields=True):
    """Settings of the context of a task. The thresholds are on the scale of relevance."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 5
    semantic: Annotated[float, Meta(ge=0, le=10)] = 0.5
    documents: Annotated[float, Meta(ge=0, le=10)] = 0.3
    turns: Annotated[int, Meta(ge=0, le=1000)] = 0


class ServerConfig(Struct, forbid_unknown_fields=True):
    """Settings of `djinn serve`."""

    rate: Annotated[float, Meta(ge=1, le=1_000_000)] = 1000.0
    hosts: list[str] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)


class HooksConfig(Struct, forbid_unknown_fields=True):
    """Settings of `djinn hook`."""

    recall: bool = False
    checkpoint: Annotated[int, Meta(ge=0, le=10_000)] = 10


class UpkeepConfig(Struct, forbid_unknown_fields=True):
    """Settings of `djinn maintain`, and of the jobs that `djinn watch` runs."""

    skip: list[str] = field(default_factory=list)
    times: dict[str, ClockTime] = field(default_factory=dict)
    keep_days: Annotated[float, Meta(ge=1, le=100_000)] = 30.0
    observation_days: Annotated[float, Meta(ge=1, le=100_000)] = 400.0
    stale_at: Annotated[float, Meta(gt=0, le=1)] = 0.9
    half_life_days: Days = 180.0
    half_lives: dict[str, Days] = field(default_factory=dict)


class BackupConfig(Struct, forbid_unknown_fields=True):
    """Settings of `djinn backup create`."""

    keep: Annotated[int, Meta(ge=1, le=10_000)] = 7


class Config(Struct, forbid_unknown_fields=True, rename={"imports": "import"}):
    """All settings of `config.yaml`."""

    agents: Annotated[list[Name], Meta(min_length=1)] = field(default_factory=lambda: ["me"])
    vaults: dict[Name, VaultConfig] = field(default_factory=dict)
    state_dir: str = ".djinn"
    inbox: str | None = None
    working_memory: Redis | None = None
    backend: Backend = "sqlite"
    exclude: list[str] = field(default_factory=list)
    domains: dict[Name, str | DomainConfig] = field(default_factory=dict)
    access: dict[Name, list[Name]] = field(default_factory=dict)
    channels: dict[str, ChannelConfig] = field(default_factory=dict)
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    documents: DocumentsConfig = field(default_factory=DocumentsConfig)
    llm: LlmConfig = field(default_factory=LlmConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)
    working: WorkingConfig = field(default_factory=WorkingConfig)
    sessions: SessionsConfig = field(default_factory=SessionsConfig)
    imports: ImportConfig = field(default_factory=ImportConfig)
    patterns: PatternsConfig = field(default_factory=PatternsConfig)
    sync: SyncConfig = field(default_factory=SyncConfig)
    secrets: SecretsConfig = field(default_factory=SecretsConfig)
    thresholds: ThresholdsConfig = field(default_factory=ThresholdsConfig)

    scoring: ScoringConfig = field(default_factory=ScoringConfig)
    recall: RecallConfig = field(default_factory=RecallConfig)
    context: ContextConfig = field(default_factory=ContextConfig)
    upkeep: UpkeepConfig = field(default_factory=UpkeepConfig)
    backup: BackupConfig = field(default_factory=BackupConfig)
    hooks: HooksConfig = field(default_factory=HooksConfig)
    server: ServerConfig = field(default_factory=ServerConfig)

    @property
    def described_domains(self) -> dict[str, DomainConfig]:
        """The domains by name, also those with only a description."""
        return {
            name: DomainConfig(entry) if isinstance(entry, str) else entry
            for name, entry in self.domains.items()
        }


HOME_ONLY = ("agents", "vaults", "state_dir", "hooks", "domains", "access", "channels")
"""Settings of a single home. They are not allowed in the user's own file."""

RECIPE = (
    "provider", "model", "url", "key_env", "dimensions", "query_prompt", "document_prompt",
)  # fmt: skip
"""The settings that determine the vectors. The others in the section affect only the speed."""
