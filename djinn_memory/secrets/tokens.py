"""Keys and tokens that are known by their shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from djinn_memory.secrets.values import various

Found = tuple[str, int, int, int]
"""Kind, start and stop of the secret, and where what says that it is one begins."""

LONGEST_KEY = 20_000
"""Characters in which a private key ends."""

_TOKENS = (
    ("an AWS access key", "akia asia abia acca", r"[A-Z2-7]{16}"),
    ("a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,255}"),
    ("a GitHub token", "github_pat_", r"[A-Za-z0-9_]{36,255}"),
    ("a GitLab token", "glpat- gldt- glrt- glptt- glcbt- glsoat-", r"[\w-]{20,300}"),
    ("a Slack token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd-",
     r"[A-Za-z0-9%.+/=-]{10,500}"),
    ("a Slack token", "xapp-", r"\d-[A-Z0-9]{6,20}-\d{6,20}-[A-Fa-f0-9]{20,100}"),
    ("a Slack webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/-]{20,200}"),
    ("a Discord webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
     r"\d{15,22}/[\w-]{40,100}"),
    ("a Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_", r"[A-Za-z0-9]{16,255}"),
    ("a Stripe key", "whsec_", r"[A-Za-z0-9+/=]{24,100}"),
    ("a Google key", "aiza", r"[\w-]{35}"),
    ("a Google key", "gocspx-", r"[\w-]{24,40}"),
    ("a Google key", "ya29.", r"[\w-]{30,500}"),
    ("an Anthropic key", "sk-ant-", r"[\w-]{24,300}"),
    ("an OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-none-", r"[\w-]{20,300}"),
    ("an API key", "sk-or-v1- sk-lf- pk-lf- sk-", r"[A-Za-z0-9]{20,200}"),
    ("an npm token", "npm_", r"[A-Za-z0-9]{36}"),
    ("a PyPI token", "pypi-age", r"[\w-]{30,500}"),
    ("a Hugging Face token", "hf_ api_org_", r"[A-Za-z0-9]{30,60}"),
    ("a SendGrid key", "sg.", r"[\w-]{16,32}\.[\w-]{30,64}"),
    ("a DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{64}"),
    ("a Docker token", "dckr_pat_ dckr_oat_", r"[\w-]{20,100}"),
    ("a Shopify token", "shpat_ shpca_ shppa_ shpss_", r"[a-fA-F0-9]{32}"),
    ("a Databricks token", "dapi", r"[a-f0-9]{32}"),
    ("a Groq key", "gsk_", r"[A-Za-z0-9]{40,80}"),
    ("an xAI key", "xai-", r"[A-Za-z0-9]{60,100}"),
    ("a Perplexity key", "pplx-", r"[A-Za-z0-9]{40,80}"),
    ("a Vault token", "hvs. hvb. hvr.", r"[\w-]{24,300}"),
    ("a Linear key", "lin_api_", r"[A-Za-z0-9]{32,64}"),
    ("a Notion token", "ntn_", r"[A-Za-z0-9]{40,60}"),
    ("a Grafana token", "glsa_", r"[A-Za-z0-9]{32}_[a-fA-F0-9]{8}"),
    ("a Postman key", "pmak-", r"[a-f0-9]{24}-[a-f0-9]{34}"),
    ("a Supabase key", "sbp_ sb_secret_", r"[\w-]{20,64}"),
    ("an Atlassian token", "atatt3", r"[\w=+/-]{60,300}"),
    ("a Square token", "sq0atp- sq0csp- eaaa", r"[\w-]{22,64}"),
    ("a New Relic key", "nrak-", r"[A-Z0-9]{27}"),
    ("a Sentry token", "sntrys_ sntryu_", r"[\w=+/-]{40,400}"),
    ("a RubyGems key", "rubygems_", r"[a-f0-9]{48}"),
    ("a Replicate token", "r8_", r"[A-Za-z0-9]{37}"),
    ("a Telegram bot token", ":aa", r"(?<=\d{8}:AA)[\w-]{33}"),
    ("an Azure key", "accountkey= sharedaccesskey=", r"[A-Za-z0-9+/]{40,100}={0,2}"),
    ("an Azure signature", "sig=", r"[A-Za-z0-9%+/]{41,110}(?:=|%3[Dd])"),
    ("a Mailgun key", "key-", r"(?<![\w-]key-)[a-f0-9]{32}"),
    ("an age key", "age-secret-key-1", r"[0-9A-Za-z]{58}"),
    ("a JSON web token", "eyj",
     r"(?<![\w-]eyJ)[\w-]{10,2000}+\.ey[\w-]{10,8000}+\.[\w-]{16,2000}"),
)  # fmt: skip
"""What a token is called, what it begins with (in lower case) and what follows."""

_CASED = frozenset({"akia", "asia", "abia", "acca", "aiza", "sg.", "dapi", "eyj", "eaaa", "atatt3"})
"""Beginnings that are also beginnings of words, and so count in their own case only."""
_LETTERED = frozenset({"akia", "asia", "abia", "acca"})
"""Beginnings of what may be without a digit."""

_PRIVATE = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"(?=.{0,400}?[A-Za-z0-9+/]{38})",
    re.DOTALL,
)
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d: [\w-]{4,30}(?=.{0,600}?Private-Lines)", re.DOTALL)


_DISCORD = re.compile(
    r"\.(?:(?<=\b[MNO][A-Za-z\d]{23}\.)|(?<=\b[MNO][A-Za-z\d]{25}\.))[\w-]{6}\.[\w-]{27,38}(?![\w-])",
    re.ASCII,
)
"""The number of a bot, which is no secret, is before the first full stop."""


_Known = dict[str, tuple[str, re.Pattern[str]]]
_Searches = list[tuple[list[str], re.Pattern[str]]]


@lru_cache(maxsize=1)
def _compiled_tokens() -> tuple[_Known, _Searches]:
    """By its beginning: kind and rest of a token; and what searches for beginnings.

    Those that end in `_`, `-` or the like are searched for by that, which is rare in a text: a
    pass for each of a hundred beginnings would be slow.
    """
    known: _Known = {}
    for kind, beginnings, pattern in _TOKENS:
        compiled = re.compile(pattern, re.ASCII)
        known |= dict.fromkeys(beginnings.split(), (kind, compiled))
    groups: dict[str, list[str]] = {}
    for one in sorted(known, key=len, reverse=True):
        groups.setdefault(one if one[-1].isalnum() else one[-1], []).append(one)
    searches: _Searches = []
    for end, group in groups.items():
        any_of = "|".join(f"(?<={re.escape(one)})" for one in group)
        searches.append((group, re.compile(f"{re.escape(end)}(?:{any_of})")))
    return known, searches


def private_keys(text: str, lower: str) -> Iterator[Found]:
    """Blocks of key material; a heading without any is none. `lower` is `text` in lower case."""
    end = 0
    for match in _PRIVATE.finditer(text):
        if match.start() < end:
            continue
        near = text[match.end() : match.end() + LONGEST_KEY]
        last = re.search(r"-----END [A-Z0-9 ]{1,80}-----", near)
        end = match.end() + (last.end() if last else min(len(near), 4000))
        yield "a private key", match.start(), end, match.start()
    for match in _PUTTY.finditer(text):
        mac = lower.find("private-mac", match.end(), match.end() + LONGEST_KEY)
        stop = mac if mac > 0 else match.end()
        yield "a private key", match.start(), stop, match.start()


def tokens(text: str, lower: str) -> Iterator[Found]:
    """Tokens that begin as their provider's do. `lower` is `text` in lower case."""
    known, searches = _compiled_tokens()
    looked = dict.fromkeys(known, 0)
    for beginnings, search in searches:
        for place in search.finditer(lower):
            stop = place.end()
            beginning = next(one for one in beginnings if lower.endswith(one, 0, stop))
            at = stop - len(beginning)
            if at < looked[beginning]:
                # What was looked at holds no other one: that would not stand alone.
                continue
            kind, pattern = known[beginning]
            match = pattern.match(text, stop)
            if match:
                looked[beginning] = match.end()
                if _issued(text, at, stop, match.end(), beginning):
                    yield kind, at, match.end(), at


def discord(text: str) -> Iterator[Found]:
    """Tokens of Discord's bots, which begin with a number in base 64."""
    for match in _DISCORD.finditer(text):
        if various(match[0]):
            yield "a Discord token", match.start(), match.end(), match.start()


def _issued(text: str, at: int, stop: int, end: int, beginning: str) -> bool:
    """Whether what begins `at` with `beginning` and ends at `end` is a token."""
    own = beginning not in _CASED or text[at:stop] != beginning
    # A token is not followed by more of its letters: that is another, longer thing.
    alone = (beginning[0] == ":" or not re.match(r"\w", text[at - 1 : at])) and (
        not text[end : end + 1].isalnum()
    )
    body = text[stop:end]
    return (
        own
        and alone
        and various(body)
        and (beginning in _LETTERED or any(one.isdigit() for one in body))
    )
