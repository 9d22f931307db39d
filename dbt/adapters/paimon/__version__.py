"""The version that dbt shows: the adapter is released with paimon-sql."""

from paimon_sql import __version__

version = __version__
