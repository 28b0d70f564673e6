"""Texts that look like secrets, and texts that do not."""

from __future__ import annotations

import re
import string
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import ConfigError, Refused
from djinn_memory.home.home import Home
from djinn_memory.home.settings import SecretsConfig
from djinn_memory.secrets import find, guard, mask
from tests.conftest import Run
from tests.growth import assert_linear
from tests.secrets.everyday import LOOKALIKES, SAID
from tests.secrets.shapes import BELOW, PASS, SECRETS


@pytest.mark.parametrize("text", SECRETS)
def test_seen(text: str) -> None:
    found = find(f"First line.\n{text}\nLast line, password unsaid.")
    assert [one.line for one in found] == [2], found


@pytest.mark.parametrize("text", BELOW)
def test_seen_where_it_stands(text: str) -> None:
    assert [text[one.start : one.stop] for one in find(text)] == ["Sup3rS3cret!"]


@pytest.mark.parametrize("text", SAID)
def test_what_people_write_down_is_seen(text: str) -> None:
    secrets = find(f"First line.\n{text}\nLast line.")
    assert secrets and all(secret.line > 1 for secret in secrets)


@pytest.mark.parametrize("text", LOOKALIKES)
def test_what_only_looks_like_it_passes(text: str) -> None:
    assert not find(f"First line.\n{text}\nLast line.")


def lines(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()


SEED = "legal winner thank year wave sausage worth useful legal winner thank yellow"
IN_LINES = [
    "Number: 4539 5787 6362 1486\nExpiry: 04/29\nCVC: 219",
    "Exodus recovery\nlegal winner thank year wave sausage\nworth useful legal winner thank yellow",
    "\n".join(f"{number} {word}" for number, word in enumerate(SEED.split(), 1)),
    "\n".join(f"- {word}" for word in SEED.split()),
]


@pytest.mark.parametrize("text", [*lines("noted.txt"), *IN_LINES])
def test_what_was_missed_is_seen(text: str) -> None:
    assert find(f"First line.\n{text}\nLast line.")


@pytest.mark.parametrize("text", lines("lookalikes.txt"))
def test_what_is_no_secret_passes(text: str) -> None:
    assert not find(f"First line.\n{text}\nLast line.")


PHRASE = "gravel antenna puppy cloud ribbon tomato wisdom harvest lunar shell piano drift"


@pytest.mark.parametrize("between", ["\n", "; ", "\n\n", " and the "])
def test_each_of_several_recovery_phrases_is_masked(between: str) -> None:
    text = between.join(f"recovery phrase = {PHRASE}" for _ in range(4))
    assert not any(word in mask(text).split() for word in PHRASE.split())


def test_each_of_several_passwords_is_masked() -> None:
    text = "passwords: Kiefer!2019, Birke!2020; Buche!2021 and Eiche!2022"
    assert mask(text) == "passwords: Ki****, Bi****; Bu**** and Ei****"


def test_a_list_of_words_needs_the_checksum_of_a_wallet_or_a_word_about_one() -> None:
    # Every word is one of a wallet's.
    tags = "book film music travel food garden sport science history art nature family"
    assert not find(tags) and not find(f"Tags: {tags}")
    assert find(f"Wallet: {tags}") and find(SEED)


@pytest.mark.parametrize("text", PASS)
def test_passes(text: str) -> None:
    assert not find(f"First line.\n{text}\nLast line.")


ALNUM = string.ascii_letters + string.digits


@given(
    before=st.text(max_size=60),
    token=st.text(ALNUM, min_size=36, max_size=36).filter(
        lambda one: len(set(one)) >= 8 and re.search(r"\d", one) and "xxxx" not in one.lower()
    ),
    after=st.text(max_size=60),
)
def test_a_token_is_seen_in_any_text_and_masked(before: str, token: str, after: str) -> None:
    secret = f"ghp_{token}"
    text = f"{before} {secret} {after}"
    assert any(text[one.start : one.stop] == secret for one in find(text))
    assert secret not in mask(text)


@given(st.text(max_size=200))
def test_any_text_can_be_looked_at(text: str) -> None:
    found = find(text)
    assert all(0 <= one.start < one.stop <= len(text) for one in found)
    assert all(one.stop <= two.start for one, two in pairwise(found))
    assert all(one.line == text[: one.start].count("\n") + 1 for one in found)
    if not found:
        assert mask(text) == text


PIECES = [
    "password", "=", ": ", "'", '"', "\n", " ", "token", "://", "a:b@c", "bearer ", "ghp_", "eyJ",
    "sk-", "a1", "İ", "-----BEGIN PRIVATE KEY-----", "--", "x" * 30, "is ", "4fG7", "$", "<", "@",
    "|", "\n|-|-|\n", "pass:", "curl -u ",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_mixed_pieces(pieces: list[str]) -> None:
    text = "".join(pieces)
    for one in find(text):
        shown = one.shown.removesuffix("****")
        assert len(shown) <= 4 and text[one.start :].startswith(shown)


@pytest.mark.soak
@pytest.mark.parametrize(
    "piece",
    ["eyJ-", "eyJaaaaaaaaaaaa.ey", "ghp_a1", "password=", "password is ", "xoxb-", "://a:", "sk-",
     "-----BEGIN PRIVATE KEY-----\n", "bearer ", "--a-", "token.", "12345678:AA", "pwd-_", "a",
     "password:\n", "password|x\n-|-\n", "|-|\n", "|", "curl -u ",
     "login b password ", "pass:", "pin 4821", "door code 48", "4539 5787 ", "otp jbsw ", "wallet ",
     "seed: abc ", "log in as b with ", "mysql -u ", "sshpass -p x ", "x is the ", "left 1, ",
     "passphrase ab-cd-", "code for the ", "backup code 1-", "enter 4", "user a pw ", "echo a | ",
     "MTA4NTYzMjE4OTM0NTY3ODkw.", "sig=%", "://a:b/", " ", "\n", "1", "1-", "12 ", "ab ", "- ",
     "abandon\n", " -p a", "--password ", "wifi key ", "the password ", "user: a, ", "htpasswd -b ",
     "wpa_passphrase a ", "net use /user:a ", "password send ", "recovery code ", "enter 1 at the ",
     "aGVsbG8gd29ybGQ+/", "passwords: Ab1!efgh, ", "passwords: A1!efgh and ", "cookie: a=b; ",
     "a=b;", "wifi:T:a;", "a:5432:b:c:", ":*:", "$2b$12$", "$6$a", "{sha}", "sessionid=", " / ",
     "\"'", "'\"\"", "密码是", "пароль ", "wachtwoord van de ", "clave: ", "passphrase a 1 ",
     "recovery phrase = abandon ", "name=\"password\" value=", "<password>", "('pw_pass', '",
     "jdbc:oracle:thin:a/", "auth: aGVsbG8gd29ybGQ+", "use a1b2c3d4 as password ",
     "|password|\n|-|\n"],
)  # fmt: skip
def test_hostile_lines_take_bounded_work(piece: str) -> None:
    assert_linear(lambda size: find(piece * (size // len(piece))), 1_000_000)


def test_a_key_of_many_lines_is_masked_whole() -> None:
    body = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"] * 20)
    text = f"a\n-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\nb"
    assert mask(text) == "a\n****\nb"
    assert find(text)[0].kind == "a private key"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password: Tr0ub4dor&3", "password: Tr****"),
        ("password: Ab1&defgh9,", "password: Ab****,"),
        ("password=Tr0ub4dor&user=finn", "password=Tr****&user=finn"),
        ("PWD=Ab1defgh;Data Source=prod", "PWD=Ab****;Data Source=prod"),
        ("password: required|min:8|max:20", "password: required|min:8|max:20"),
    ],
)
def test_a_password_is_masked_up_to_the_next_value(text: str, masked: str) -> None:
    assert mask(text) == masked


def test_a_refusal_says_what_was_seen_and_not_what_it_is() -> None:
    text = "one\ntwo ghp_a8Kd0sPq2LmN4vBx7ZcR1tYw6UeJ3hGf9iOo"
    with pytest.raises(
        Refused, match=r"the text contains .* a GitHub token \(ghp_\*\*\*\*, line 2\);"
    ):
        guard(text, what="the text", settings=SecretsConfig())
    guard(text, what="the text", settings=SecretsConfig(), allow=True)
    guard(text, what="the text", settings=SecretsConfig([r"^ghp_a8Kd"]))
    # A short one does not show a half of itself.
    assert find("password: hunter2")[0].shown == "h****"


def test_a_pattern_sees_name_and_value() -> None:
    text = "postgres://dev:s3same@localhost/db and https://dev:s3same@prod/"
    [left] = find(text, ["postgres://dev:"])
    assert text[left.start - 12 : left.start] == "https://dev:"


def test_a_bad_pattern_is_named() -> None:
    from djinn_memory.home.config import validate

    with pytest.raises(ConfigError, match=r"here: secrets\.allow\[1\]: \(a is not a valid regular"):
        validate({"secrets": {"allow": ["fine", "(a"]}}, "here")


TOKEN = "ghp_" + "a8Kd0sPq2LmN4vBx7ZcR1tYw6UeJ3hGf9iOo"


def holders(home: Home) -> list[str]:
    return [
        path.name
        for path in home.root.rglob("*")
        if path.is_file() and TOKEN.encode() in path.read_bytes()
    ]


def test_the_gate_stands_before_every_write(home: Home, run: Run, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "leak.txt").write_text(f"First.\n\nDeploy with {TOKEN}.\n")
    (papers / "fine.txt").write_text("Nothing to hide.\n")
    done = run("ingest", papers, home=home.root)
    assert done.returncode == 1 and "done 1, skipped 0, failed 1" in done.stdout
    assert "its text contains what looks like a GitHub token (ghp_****, line 3)" in done.stderr
    said = (
        ["remember", "lesson", "Deploying", f"with {TOKEN}"],
        ["remember", "lesson", f"Deploying with {TOKEN}", "quickly"],
        ["remember", "lesson", "Deploying", "quickly", "--source", TOKEN],
        ["fact", "set", "deploy", "token", TOKEN],
        ["fact", "set", "deploy", "day", "Monday", "--context", TOKEN],
        ["agent", "summary", "set", f"Deploys with {TOKEN}."],
        ["vault", "describe", "shared", f"Deployed with {TOKEN}"],
        ["config", "set", "exclude", f"{TOKEN}"],
        ["checkpoint", f"deploying with {TOKEN}"],
        ["sleep", "--summary", f"deployed with {TOKEN}"],
        ["gap", "report", f"whose is {TOKEN}"],
    )
    for words in said:
        done = run(*words, home=home.root)
        assert done.returncode in (2, 3), (words, done)
        assert TOKEN not in done.stdout + done.stderr and "Traceback" not in done.stderr
        assert words[0] == "config" or "looks like a GitHub token (ghp_****" in done.stderr
    # A question may hold one; what is kept of it does not.
    run("recall", f"nothing to hide from {TOKEN}", home=home.root)
    assert holders(home) == []
    assert run("ingest", papers, "--allow-secret", home=home.root).returncode == 0
    assert sorted({name.split(".")[0] for name in holders(home)}) == ["index", "leak"]
    cut = ["document", "reprocess", "leak.txt", "--strategy", "words"]
    assert run(*cut, home=home.root).returncode == 3
    assert run(*cut, "--allow-secret", home=home.root).returncode == 0


def test_a_memory_that_holds_a_secret_is_found_and_purged(home: Home) -> None:
    title = f"Deploying with {TOKEN}"
    with Djinn(home) as djinn:
        djinn.remember("lesson", title, f"The token is {TOKEN}.", allow_secret=True)
        assert [hit.title for hit in djinn.search(TOKEN).hits] == [title]
        assert djinn.recall(TOKEN).memories and djinn.memories.show(title).title == title
        djinn.rate(useful=[title])
        djinn.memories.delete(title)
        djinn.memories.restore(title)
        djinn.memories.purge(title)
    assert holders(home) == []


def test_what_may_pass_counts_from_the_users_own_settings(home: Home, run: Run) -> None:
    pattern = '["^ghp_a8Kd"]'
    words = ["remember", "lesson", "Deploying", f"with {TOKEN}"]
    run("config", "set", "secrets.allow", pattern, home=home.root)
    done = run(*words, home=home.root)
    assert done.returncode == 3 and "secrets.allow" in done.stderr
    assert "is only read from your own settings" in run("status", home=home.root).stderr
    run("config", "set", "--user", "secrets.allow", pattern, home=home.root)
    assert run(*words, home=home.root).returncode == 0
    assert run("config", "set", "--user", "secrets.allow", '["("]').returncode == 2
