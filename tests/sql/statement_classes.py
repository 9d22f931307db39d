"""The classes of statements by their names."""

from __future__ import annotations

from types import SimpleNamespace

from paimon_sql.sql.carried_statements import classes

s = SimpleNamespace(**classes())
