"""What settings there are: the model of `config.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from djinn_memory.models import Dialect, Expand, Mode, Strategy

NAME = r"^[^\W_][\w.-]{0,63}\Z"
"""Names of vaults and agents: they become folder names and command line words."""

Name = Annotated[str, Meta(pattern=NAME, description="a name of letters, digits, '.', '-' and '_'")]
Url = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s@]+\Z",
        description="http://host:port or https://host, without a password (that is key_env's)",
    ),
]
Variable = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}\Z",
        description="the name of an environment variable, never a key itself",
    ),
]

Languages = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z_]{3,20}(?:\+[A-Za-z_]{3,20})*\Z",
        description="names that tesseract knows, such as deu+eng",
    ),
]


class VaultConfig(Struct, forbid_unknown_fields=True, rename={"agent": "for"}):
    """One folder of notes."""

    path: str
    id: str | None = None
    agent: Name | None = None
    read_only: bool = False
    dialect: Dialect = "obsidian"
    contexts: dict[str, str] = field(default_factory=dict)


Provider = Literal["auto", "local", "sentence-transformers", "ollama", "openai", "hashing", "none"]
FOREIGN: tuple[Provider, ...] = ("sentence-transformers", "ollama", "openai")
"""The providers of models that are not djinn's own: a model is named, and trust is needed."""


class EmbeddingConfig(Struct, forbid_unknown_fields=True):
    """How texts become vectors."""

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
    """A chat model that may be asked for help; none is asked while `model` is not set."""

    provider: Literal["openai", "anthropic"] = "openai"
    model: str | None = None
    url: Url | None = None
    key_env: Variable | None = None
    timeout: Annotated[float, Meta(ge=0.1, le=3600)] = 5.0


class SearchConfig(Struct, forbid_unknown_fields=True):
    """What a search does unless its options say otherwise."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 10
    mode: Mode = "hybrid"
    per_note: Annotated[int, Meta(ge=1, le=100)] = 2
    per_document: Annotated[int, Meta(ge=1, le=100)] = 5
    sweep_ms: Annotated[int, Meta(ge=0, le=10_000)] = 50
    sweep_notes: Annotated[int, Meta(ge=0, le=1000)] = 20
    rerank: str | None = None
    rerank_ms: Annotated[int, Meta(ge=1, le=600_000)] = 2000
    expand: Expand = "none"
    excerpt: Annotated[int, Meta(ge=0, le=100_000)] = 800


class DocumentsConfig(Struct, forbid_unknown_fields=True):
    """How files become documents."""

    strategy: Strategy = "adaptive"
    model_context: str = "default"
    model_contexts: dict[str, Annotated[int, Meta(ge=1)]] = field(default_factory=dict)
    keep_originals: Literal["copy", "link", "no"] = "copy"
    ocr_languages: Languages = "eng"
    timeout: Annotated[float, Meta(ge=1, le=86_400)] = 120.0
    memory: Annotated[int, Meta(ge=100, le=1_000_000)] = 1000
    workers: Annotated[int, Meta(ge=0, le=64)] = 0


class WatchConfig(Struct, forbid_unknown_fields=True):
    """How `djinn watch` follows the vaults."""

    debounce_ms: Annotated[int, Meta(ge=1, le=10_000)] = 100
    reconcile_seconds: Annotated[float, Meta(ge=1, le=86_400)] = 300.0
    poll: Literal["auto", "always"] = "auto"
    poll_seconds: Annotated[float, Meta(ge=0.1, le=3600)] = 3.0


class Config(Struct, forbid_unknown_fields=True):
    """Everything that `config.yaml` may say."""

    agents: Annotated[list[Name], Meta(min_length=1)] = field(default_factory=lambda: ["me"])
    vaults: dict[Name, VaultConfig] = field(default_factory=dict)
    state_dir: str = ".djinn"
    inbox: str | None = None
    exclude: list[str] = field(default_factory=list)
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    documents: DocumentsConfig = field(default_factory=DocumentsConfig)
    llm: LlmConfig = field(default_factory=LlmConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)


HOME_ONLY = ("agents", "vaults", "state_dir")
"""What one home has and another has not."""

RECIPE = (
    "provider", "model", "url", "key_env", "dimensions", "query_prompt", "document_prompt",
)  # fmt: skip
"""The settings that say which model makes a vector; the others say how fast."""
