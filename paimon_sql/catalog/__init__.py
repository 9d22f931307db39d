"""Where tables live: catalogs and the names of the things in them."""

from __future__ import annotations

import paimon_sql.catalog.iceberg  # noqa: F401 - makes the kinds of registrations known
