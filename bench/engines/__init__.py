"""The engines: one module each, loaded only in the environment that holds what it needs."""

from __future__ import annotations

import importlib

from bench.engines.base import Engine

OURS = "ours"
PEERS = "peers"
CONNECTOR = "connector"
PLACES = (OURS, PEERS, CONNECTOR)
"""The environments, ours first."""

# The environments that an engine runs in. Plain Parquet runs in all: each engine is measured against its own Spark.
ENVIRONMENTS = {
    "before": (OURS,),
    "paimon": (OURS,),
    "parquet": (OURS, PEERS, CONNECTOR),
    "delta": (PEERS,),
    "iceberg": (PEERS,),
    "java": (CONNECTOR,),
}
TITLES = {
    "before": "paimon-sql before",
    "paimon": "paimon-sql",
    "parquet": "Parquet",
    "delta": "Delta",
    "iceberg": "Iceberg",
    "java": "Java connector",
}
BASE = "parquet"
BEFORE = "before"


def engine_class(name: str) -> type[Engine]:
    """The class of an engine."""
    module = importlib.import_module(f"{__name__}.{name}")
    found: type[Engine] = module.ENGINE
    return found
