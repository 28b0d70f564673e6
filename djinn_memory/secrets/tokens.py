"""Keys and tokens with a recognisable shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from djinn_memory.secrets.rules import Candidate, SearchedText
from djinn_memory.secrets.values import varied
from djinn_memory.system.expressions import expression

LONGEST_KEY = 20_000
"""Maximum length of a private key, in characters."""

_TOKENS = (
    ("an AWS access key", "AKIA ASIA ABIA ACCA", r"[A-Z2-7]{16}"),
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
    ("a Google key", "AIza", r"[\w-]{35}"),
    ("a Google key", "GOCSPX-", r"[\w-]{24,40}"),
    ("a Google key", "ya29.", r"[\w-]{30,500}"),
    ("an Anthropic key", "sk-ant-", r"[\w-]{24,300}"),
    ("an OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-none-", r"[\w-]{20,300}"),
    ("an API key", "sk-or-v1- sk-lf- pk-lf- sk-", r"[A-Za-z0-9]{20,200}"),
    ("an npm token", "npm_", r"[A-Za-z0-9]{36}"),
    ("a PyPI token", "pypi-AgE", r"[\w-]{30,500}"),
    ("a Hugging Face token", "hf_ api_org_", r"[A-Za-z0-9]{30,60}"),
    ("a SendGrid key", "SG.", r"[\w-]{16,32}\.[\w-]{30,64}"),
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
    ("a Postman key", "PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}"),
    ("a Supabase key", "sbp_ sb_secret_", r"[\w-]{20,64}"),
    ("an Atlassian token", "ATATT3", r"[\w=+/-]{60,300}"),
    ("a Square token", "sq0atp- sq0csp- EAAA", r"[\w-]{22,64}"),
    ("a New Relic key", "NRAK-", r"[A-Z0-9]{27}"),
    ("a Sentry token", "sntrys_ sntryu_", r"[\w=+/-]{40,400}"),
    ("a RubyGems key", "rubygems_", r"[a-f0-9]{48}"),
    ("a Replicate token", "r8_", r"[A-Za-z0-9]{37}"),
    ("a Telegram bot token", ":AA", r"(?<=\d{8}:AA)[\w-]{33}"),
    ("an Azure key", "AccountKey= SharedAccessKey=", r"[A-Za-z0-9+/]{40,100}={0,2}"),
    ("an Azure signature", "sig=", r"[A-Za-z0-9%+/]{41,110}(?:=|%3[Dd])"),
    ("a Mailgun key", "key-", r"(?<![\w-]key-)[a-f0-9]{32}"),
    ("an age key", "AGE-SECRET-KEY-1", r"[0-9A-Za-z]{50,70}"),
    ("a JSON web token", "eyJ",
     r"(?<![\w-]eyJ)[\w-]{10,2000}+\.ey[\w-]{10,8000}+\.[\w-]{16,2000}"),
)  # fmt: skip
"""The name of a token, its prefixes, and the pattern of the rest."""

_LETTERED = ("AKIA", "ASIA", "ABIA", "ACCA")
"""Prefixes of tokens that may have no digit."""

_PRIVATE = expression(
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"(?=.{0,400}?[A-Za-z0-9+/]{38})",
    re.DOTALL,
)
_PUTTY = expression(r"PuTTY-User-Key-File-\d: [\w-]{4,30}(?=.{0,600}?Private-Lines)", re.DOTALL)


_DISCORD = expression(
    r"\.(?=[\w-]{6}\.[\w-]{27})(?:(?<=\b[MNO][A-Za-z\d]{23}\.)|(?<=\b[MNO][A-Za-z\d]{25}\.))"
    r"[\w-]{6}\.[\w-]{27,38}(?![\w-])",
    re.ASCII,
)
"""The part before the first full stop is the bot's number, which is not secret."""


_Kinds = dict[str, tuple[str, re.Pattern[str]]]
_Searches = list[tuple[str, list[str], re.Pattern[str]]]


@lru_cache(maxsize=1)
def _token_searches() -> tuple[_Kinds, _Searches]:
    """Kind and pattern of the rest by prefix; and for each rare character, how to find prefixes.

    A hundred searches would be slow. Prefixes share a search for a character that is rare in texts:
    the last character, or the first that is not a lower-case letter.
    """
    kinds: _Kinds = {}
    for kind, beginnings, pattern in _TOKENS:
        kinds |= dict.fromkeys(beginnings.split(), (kind, expression(pattern, re.ASCII)))
    groups: dict[str, list[str]] = {}
    for prefix in sorted(kinds, key=len, reverse=True):
        rare = re.search(r"[^a-zA-Z\d]\Z", prefix) or re.search(r"[^a-z\d]", prefix)
        groups.setdefault(rare[0] if rare else prefix, []).append(prefix)
    searches: _Searches = []
    for rare_character, prefixes in groups.items():
        any_of = "|".join(
            f"(?<={re.escape(before + rare_character)}){re.escape(after)}"
            for before, _, after in (prefix.rpartition(rare_character) for prefix in prefixes)
        )
        apart = "" if rare_character.isalnum() else rf"(?<=\w{re.escape(rare_character)})"
        search = rf"{re.escape(rare_character)}{apart}(?=[\w%+/=.-]{{14}})(?:{any_of})"
        searches.append((rare_character, prefixes, expression(search)))
    return kinds, searches


def _private_keys(searched: SearchedText) -> Iterator[Candidate]:
    """Blocks of key material. A header alone does not count."""
    text, lower, end = searched.text, searched.lower, 0
    if "-----begin " not in lower and "putty-user-key-file-" not in lower:
        return
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


def _tokens(searched: SearchedText) -> Iterator[Candidate]:
    """Tokens that begin with the prefix of their provider."""
    text = searched.text
    kinds, searches = _token_searches()
    ends: dict[str, int] = {}
    for rare_character, prefixes, search in searches:
        for hit in search.finditer(text) if rare_character in text else ():
            stop = hit.end()
            prefix = next(prefix for prefix in prefixes if text.endswith(prefix, 0, stop))
            at = stop - len(prefix)
            if at < ends.get(prefix, 0):
                # Inside an earlier match, a token would not stand alone.
                continue
            kind, pattern = kinds[prefix]
            match = pattern.match(text, stop)
            if match:
                ends[prefix] = match.end()
                if _is_token(text, at, stop, match.end(), prefix):
                    yield kind, at, match.end(), at


def _discord(text: SearchedText) -> Iterator[Candidate]:
    """Tokens of Discord bots. They begin with a number in base 64."""
    for match in _DISCORD.finditer(text.text):
        if varied(match[0]):
            yield "a Discord token", match.start(), match.end(), match.start()


def _is_token(text: str, at: int, stop: int, end: int, prefix: str) -> bool:
    """Whether the text from `at` to `end`, which begins with `prefix`, is a token."""
    # A token stands alone; with more letters around it, it is part of something longer.
    if (prefix[0] != ":" and re.match(r"\w", text[at - 1 : at])) or text[end : end + 1].isalnum():
        return False
    body = text[stop:end]
    return varied(body) and (prefix in _LETTERED or any(map(str.isdigit, body)))


SEARCHES = (_private_keys, _tokens, _discord)
