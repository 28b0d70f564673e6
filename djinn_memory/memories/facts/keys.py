"""Keys of facts that mean the same, so that a value under one closes the value under another. Pure.

Only keys that are equal in every sentence are listed: a person's home town is not where they live,
and what they work as is not whom they work for.
"""

from __future__ import annotations

from djinn_memory.notes.slugs import fold

_SAME = (
    "city, lives in, living in, current city, home city, city of residence, residence",
    "from, home town, hometown",
    "job, occupation, profession, job title, works as",
    "employer, works at, works for, company, workplace",
    "phone, phone number, telephone, telephone number, mobile, mobile number",
    "email, e-mail, email address, e-mail address, mail address",
    "birthday, date of birth, birth date, birthdate",
    "time zone, timezone",
    "preferred name, goes by",
    "website, homepage",
    "address, home address, postal address",
)

_MEANINGS = {key: names.split(", ")[0] for names in _SAME for key in names.split(", ")}


def meaning_of(key: str) -> str:
    """The key that stands for all keys that mean the same, in the form for comparisons."""
    folded = fold(" ".join(key.replace("_", " ").split()))
    return _MEANINGS.get(folded, fold(key.strip()))
