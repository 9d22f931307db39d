"""The settings of Spark that say what a query means: kept with it, and in force while it is worked out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_KEPT = (
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.session.timeZone",
)


def kept_settings(session: Any) -> dict[str, str]:
    """What a session says of them now."""
    return {key: str(session.conf().get(key)) for key in _KEPT}


@contextmanager
def under_settings(session: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """Let a session work under these settings; afterwards it has its own again."""
    conf = session.conf()
    changed = {k: v for k, v in settings.items() if k in _KEPT and str(conf.get(k)) != v}
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
