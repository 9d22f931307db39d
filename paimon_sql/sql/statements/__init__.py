"""Statements, one module per family: grammar, node, data and rewrite."""

from __future__ import annotations

from paimon_sql.discovery import modules_below

list(modules_below(__name__))  # each registers its readers, writers and rewrites
