"""Time: which time a question asks about, and what that changes. `ask` is the door."""

from __future__ import annotations

from djinn_memory.languages.days import has_words_of_time
from djinn_memory.search.state import Search
from djinn_memory.search.time.now import FormerValues, Now, asks_for_former


def ask(search: Search) -> None:
    """Find out which time the question asks about, and gather more candidates from it."""
    question, wanted = search.query, search.runtime.home.config.search.dates and search.query.asks
    if wanted and has_words_of_time(question.text):
        # Imported here: it compiles patterns for tens of milliseconds, and few questions need them.
        from djinn_memory.search.time.period import asked_period

        if period := asked_period(search):
            search.time = period
            return
    former = wanted and not search.as_of and asks_for_former(question.text)
    search.time = FormerValues(search) if former else Now(search)


def put_first(search: Search) -> None:
    """Put the candidates of that time first."""
    search.time.put_first(search)


def prefer_current(search: Search) -> None:
    """Lower the scores of values that no longer hold, unless the question asks for them."""
    search.time.prefer_current(search)
