"""Catalogs: databases, tables, views and functions by name."""

from __future__ import annotations

import paimon_sql.catalog.iceberg  # noqa: F401 - makes the kinds of registrations known
