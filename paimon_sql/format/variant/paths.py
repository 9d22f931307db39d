"""Paths into variants, as in SQL functions: ``$.user.id``, ``$['first name']``, ``$.items[0].sku``."""

from __future__ import annotations

import re

Path = tuple[str | int, ...]
"""Object keys and array indexes, from the root."""

_STEP = re.compile(r"""\.([^.\[]+)|\['([^']*)'\]|\["([^"]*)"\]|\[(\d+)\]""")


def parse_path(text: str) -> Path | None:
    """Parse a path; None if it is invalid."""
    if not text.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            return None
        steps.append(int(step[4]) if step[4] is not None else next(k for k in step.groups() if k is not None))
        at = step.end()
    return tuple(steps)


def path_text(path: Path) -> str:
    """Format a path."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
