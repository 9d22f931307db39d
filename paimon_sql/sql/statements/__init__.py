"""The statements of Paimon's, a module a family: grammar, node, data, and what becomes of it."""

from __future__ import annotations

from paimon_sql.discovery import modules_below

list(modules_below(__name__))  # each registers what it reads and writes
