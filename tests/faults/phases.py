"""Names for the moments of an operation: what is done to which kind of file."""

from __future__ import annotations

import re

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("hint", re.compile(r"/(?:LATEST|EARLIEST)$")),
    ("rewind", re.compile(r"/REWIND$")),
    ("snapshot", re.compile(r"/snapshot(?:/snapshot-\d+)?$")),
    ("schema", re.compile(r"/schema(?:/schema-\d+)?$")),
    ("tag", re.compile(r"/tag(?:/tag-[^/]*)?$")),
    ("manifest", re.compile(r"/manifest(?:/[^/]*)?$")),
    ("index", re.compile(r"/(?:index|statistics)(?:/[^/]*)?$")),
    ("consumer", re.compile(r"/consumer(?:/[^/]*)?$")),
    ("changelog", re.compile(r"/changelog(?:/changelog-\d+)?$")),
    ("load", re.compile(r"/copy-into/")),
    ("data", re.compile(r"/bucket-[^/]*(?:/[^/]*)?$")),
    ("branch", re.compile(r"/branch(?:/[^/]*)?$")),
)
_SNAPSHOT = re.compile(r"(?:/branch/branch-(?P<branch>[^/]+))?/snapshot/snapshot-(?P<number>\d+)$")


def kind_of(path: str) -> str:
    """The kind of file that a path of a table names."""
    return next((kind for kind, pattern in _KINDS if pattern.search(path)), "other")


def phase_of(operation: str, path: str) -> str:
    """The moment at which an operation on a path begins: ``create snapshot``, ``read hint``."""
    return f"{operation} {kind_of(path)}"


def after(phase: str) -> str:
    """The moment at which it is done."""
    return f"after {phase}"


def touches_history(path: str) -> bool:
    """Whether a change of this path may be one of a table's or branch's snapshots."""
    return "/snapshot" in path or path.endswith("/REWIND") or "/branch" in path or kind_of(path) == "other"


def branch_of_snapshot(path: str) -> tuple[str, int] | None:
    """The branch and number of a snapshot's file; None for other paths."""
    found = _SNAPSHOT.search(path)
    return (found["branch"] or "main", int(found["number"])) if found else None
