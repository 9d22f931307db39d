"""Settings of Spark that affect the meaning of a query: stored with its definition, and applied during a refresh."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_STORED = (
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.session.timeZone",
)


def stored_settings(session: Any) -> dict[str, str]:
    """The values of these settings in a session."""
    return {key: str(session.conf().get(key)) for key in _STORED}


@contextmanager
def with_settings(session: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """Apply settings to a session temporarily."""
    conf = session.conf()
    changed = {k: v for k, v in settings.items() if k in _STORED and str(conf.get(k)) != v}
    before = {k: str(conf.get(k)) if conf.contains(k) else None for k in changed}
    try:
        for key, value in changed.items():
            conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                conf.unset(key)
            else:
                conf.set(key, old)
