"""The addresses of the pages of entities and facts."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def entity_address(entity: Any) -> str:
    """The address of the page of an entity."""
    place = f"{entity.vault}/{entity.path}"
    return f"/entity/{quote(getattr(entity, 'id', None) or place)}"


def fact_address(fact: Any) -> str:
    """The address of the page of a fact, or of its note if it has no category."""
    if not fact.category:
        return f"/note/{quote(f'{fact.vault}/{fact.path}')}"
    # A slash in the category is no part of the path.
    category = fact.category.replace("%", "%25").replace("/", "%2F")
    return f"/fact/{quote(category)}/{quote(fact.key)}"
