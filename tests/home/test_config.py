import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.errors import ConfigError
from djinn_memory.home import config
from djinn_memory.home.settings import Config

EXAMPLE = Path(__file__).resolve().parents[2] / "config.example.yaml"


def load(path: Path, text: str | bytes, **environment: str) -> Config:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return config.load(path, environment)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


@pytest.mark.parametrize(
    "text", ["", "# only\n", "---\n", "~", "search:\n", "search: {}\n", b"\xef\xbb\xbfagents: [me]"]
)
def test_what_is_left_out_has_its_default(file: Path, text: str) -> None:
    assert load(file, text) == Config()


def test_the_example_names_every_key_with_its_default(file: Path) -> None:
    text = EXAMPLE.read_text()
    plain = config.as_data(load(file, text))
    lines = [line.replace("# ", "", 1) if ": " in line else line for line in text.splitlines()]
    assert load(file, text).agents == ["me"]
    for key in config.as_data(Config()):
        assert any(line.startswith(f"{key}:") for line in lines), key
    for section in ("embedding", "search", "llm", "working"):
        for key, value in plain[section].items():
            shown = "null" if value is None else value
            shown = str(value).lower() if isinstance(value, bool) else shown
            assert f"# {key}: {shown}" in text


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ("serch: {}", "serch", "did you mean search"),
        ("search: {limt: 1}", "search.limt", "did you mean limit"),
        ("search: {limit: x}", "search.limit", "whole number from 1 to 1000"),
        ("scoring: {recency_half_life_days: 0}", "recency_half_life_days", "above 0 to 100000"),
        ("search: {limit: 0}", "search.limit", "whole number from 1 to 1000"),
        ("search: {limit: true}", "search.limit", "whole number"),
        ("search: {limit: 1.5}", "search.limit", "whole number"),
        ("search: {limit: .nan}", "search.limit", "whole number"),
        ("search: {limit: 99999999999999999999}", "search.limit", "whole number"),
        ("search: {mode: 'a\n\nb'}", "search.mode", "hybrid, meaning, words"),
        ("embedding: {provider: magic}", "embedding.provider", "auto, hashing, local"),
        ("embedding: {url: localhost}", "embedding.url", "http://host:port"),
        ("embedding: {url: 'http://me:pw@host'}", "embedding.url", "without a password"),
        ("llm: {key_env: sk-0123}", "llm.key_env", "not the key itself"),
        ("working_memory: localhost", "working_memory", "redis://host:port"),
        ("working_memory: 'redis://:pw@host'", "working_memory", "without a password"),
        ("working_memory: 'redis://h?ssl_cert_reqs=none'", "working_memory", "redis://host:port"),
        ("working_memory: 'redis://h:x'", "working_memory", "redis://host:port"),
        ("sync: {url: localhost}", "sync.url", "postgresql://user@host"),
        ("sync: {url: 'postgresql://me:pw@h/d'}", "sync.url", "without a password"),
        ("sync: {url: 'postgresql://h/d?x=1&password=pw'}", "sync.url", "without a password"),
        ("sync: {url: 'postgresql://h/d?sslpassword=pw'}", "sync.url", "without a password"),
        ("sync: {url: 'embedded:'}", "sync.url", "embedded:/path"),
        ("sync: {merge: all}", "sync.merge", "one of"),
        ("backend: mysql", "backend", "one of"),
        ("working: {ttl: 0}", "working.ttl", "from 1 to 2592000"),
        ("search: 3", "search", "section"),
        ("agents: me", "agents", "list"),
        ("agents: []", "agents", "not empty"),
        ("agents: [a/b]", "agents.0", "letters, digits"),
        ('agents: ["a\\n"]', "agents.0", "letters, digits"),
        ("agents: [1]", "agents.0", "name"),
        ("vaults: [1]", "vaults", "section"),
        ("vaults: {x: }", "vaults.x", "section"),
        ("vaults: {x: {}}", "vaults.x.path", "missing"),
        ("vaults: {x: {path: 1}}", "vaults.x.path", "text"),
        ("vaults: {x: {path: a, to: b}}", "vaults.x.to", "path, id, for, read_only"),
        ("vaults: {x: {path: a, for: zed}}", "vaults.x.for", "allowed: me"),
        ("vaults: {a: {path: a}, x: {path: a, read_only: 1}}", "vaults.x.read_only", "true or"),
        ("domains: {work: 3}", "domains.work", "text or a section"),
        ("domains: {home: A, work: {icn: x}}", "domains.work.icn", "did you mean icon"),
        ("domains: {a b: x}", "domains.a b", "letters, digits"),
        ("vaults: {a b: {path: a}}", "vaults.a b", "letters, digits"),
        ("vaults: {1: {path: a}}", "vaults", "not text"),
        ("vaults: {x: {1: a}}", "vaults.x", "not text"),
        ("search: {1: 2}", "search", "not text"),
        ("1: 2", "the file", "not text"),
        ("state_dir: 2024-01-01", "state_dir", "text"),
        ("exclude: '*.md'", "exclude", "list"),
        ("exclude: [1]", "exclude.0", "text"),
        ('state_dir: "\\0"', "state_dir", "NUL"),
        ('inbox: "a\\0b"', "inbox", "NUL"),
        ('vaults: {work: {path: "\\0"}}', "vaults.work.path", "NUL"),
        ('"se\\narch": 1', "se arch", "allowed here"),
        ("search: &a {limit: *a}", "search.limit", "whole number"),
        ("- a", "config.yaml", "`key: value`"),
        ("words", "config.yaml", "`key: value`"),
    ],
)  # fmt: skip
def test_an_error_names_the_key_and_what_is_allowed(
    file: Path, text: str, key: str, allowed: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load(file, text)
    message = str(error.value)
    assert message.startswith(f"{file}: ")
    assert key in message
    assert allowed in message
    assert len(message.splitlines()) == 1
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    "text",
    [b"a: [", b"a: b: c", b"\xff\xfe\0", b"\0", b"caf\xe9: 1", b"[" * 60_000, b"n: " + b"9" * 6000,
     b"!!python/object/apply:os.system ['touch /tmp/pwned']", b"d: 2024-99-99", b"? [a]\n: b",
     b"&a [*a]", b"a: *b", b"\tx: 1", b"a: &a [x]\nb: &b [*a,*a]\nc: [*b,*b]", "a: \ud800".encode(
         errors="surrogatepass")],
)  # fmt: skip
def test_what_is_no_config_is_one_line(file: Path, text: bytes) -> None:
    with pytest.raises(ConfigError) as error:
        load(file, text)
    assert str(file) in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert len(str(error.value)) < 400


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes a pipe")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.yaml")
    with pytest.raises(ConfigError, match=r"config\.yaml is a pipe"):
        config.read(tmp_path / "config.yaml")


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="`djinn init "):
        config.load(tmp_path / "config.yaml", {})
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load(tmp_path, {})


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["search", "vaults", "path", "limit", "agents", "for", "a.b", "x\ny"])
            | st.integers()
            | st.text(),
            inner,
            max_size=3,
        )
    ),
)


@given(
    st.dictionaries(
        st.sampled_from(["search", "vaults", "agents", "exclude", "x"])
        | ANY.filter(lambda value: value is not None and not isinstance(value, (list, dict))),
        ANY,
        max_size=3,
    )
)
def test_any_data_is_settings_or_one_line(data: dict[Any, Any]) -> None:
    try:
        config.validate(data, "here")
    except ConfigError as error:
        assert str(error).startswith("here: ")
        assert len(str(error).splitlines()) == 1


def test_the_environment_overrides(file: Path) -> None:
    text = "search:\n  limit: 5\n"
    found = load(file, text, DJINN_SEARCH__LIMIT="7", DJINN_SEARCH__PER_NOTE="3",
                 DJINN_EMBEDDING__PROVIDER="none", DJINN_HOME="/x", DJINN_SEARCH__MODE="",
                 PATH="/bin", DJINN___="x")  # fmt: skip
    assert (found.search.limit, found.search.per_note) == (7, 3)
    assert found.embedding.provider == "none"
    assert found.search.mode == "hybrid"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("DJINN_SEARCH__LIMIT", "many", "search.limit: expected a whole number"),
        ("DJINN_SERCH__LIMIT", "1", "serch: unknown key; did you mean search"),
        ("DJINN_SEARCH__LIMIT__X", "1", "search.limit"),
        ("DJINN_SEARCH__LIMIT", "[", "YAML"),
    ],
)
def test_a_wrong_override_is_named(file: Path, name: str, value: str, why: str) -> None:
    with pytest.raises(ConfigError, match=name) as error:
        load(file, "", **{name: value})
    assert why in str(error.value)


def test_a_wrong_file_is_not_blamed_on_the_environment(file: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load(file, "agents: 1", DJINN_SEARCH__LIMIT="7")
    assert "environment" not in str(error.value)


def test_values_by_their_key() -> None:
    assert config.value_at(Config(), "search.limit") == 10
    assert config.value_at(Config(), "search")["mode"] == "hybrid"
    for key, why in (
        ("serch", "did you mean search"),
        ("search.limit.x", "single value"),
        ("", "allowed here"),
        ("search.", "allowed here: limit"),
    ):
        with pytest.raises(ConfigError, match=why):
            config.value_at(Config(), key)


def test_two_vaults_with_one_id_are_refused(file: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"vaults\.b\.id: x is already the id of vaults\.a"
    ) as error:
        load(file, "vaults: {a: {path: a, id: x}, c: {path: c}, b: {path: b, id: x}, d: {path: d}}")
    assert len(str(error.value).splitlines()) == 1


def test_an_unquoted_no_keeps_no_originals(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("documents:\n  keep_originals: no\n")
    assert config.load(path).documents.keep_originals == "no"
    assert config.load(path, {"DJINN_DOCUMENTS__KEEP_ORIGINALS": "no"})
    path.write_text("documents:\n  keep_originals: yes\n")
    with pytest.raises(ConfigError, match="keep_originals"):
        config.load(path)
