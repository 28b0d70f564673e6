"""Time: which time a question asks about, and what that changes. `read` and `ask` are the doors."""

from __future__ import annotations

from msgspec.structs import replace

from djinn_memory.languages.days import has_words_of_time
from djinn_memory.search.state import Search
from djinn_memory.search.time.now import FormerValues, Now, asks_for_former


def _asks_for_time(search: Search) -> bool:
    wanted = search.runtime.home.config.search.dates and not search.query.only_phrases
    return wanted and has_words_of_time(search.query.text)


def read(search: Search) -> None:
    """Read the periods in the question's words, which are not searched for."""
    if _asks_for_time(search):
        # Imported here: it compiles patterns for tens of milliseconds, and few questions need them.
        from djinn_memory.search.time.question import dates_in_question

        today = search.runtime.now().astimezone().date()
        if dates := dates_in_question(search.query.text, today):
            search.query = replace(search.query, text=dates.rest, dates=dates)


def ask(search: Search) -> None:
    """Find out which time the question asks about."""
    if search.query.dates or _asks_for_time(search):
        from djinn_memory.search.time.period import asked_period

        if period := asked_period(search):
            search.time = period
            return
    wanted = search.runtime.home.config.search.dates and search.query.asks
    former = wanted and not search.as_of and asks_for_former(search.query.text)
    search.time = FormerValues(search) if former else Now(search)


def put_first(search: Search) -> None:
    """Put the candidates of that time first."""
    search.time.put_first(search)


def prefer_current(search: Search) -> None:
    """Lower the scores of values that no longer hold, unless the question asks for them."""
    search.time.prefer_current(search)
