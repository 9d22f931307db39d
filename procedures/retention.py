"""The arguments that say how much of a history stays, as calls that let some of it expire have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any

from paimon_sql.format.options import TableOptions
from paimon_sql.format.schema.types import IntType, string_type
from paimon_sql.procedures.base import Argument
from paimon_sql.procedures.values import instant_of
from paimon_sql.storage.retention.policy import Retention

OLDER_THAN = Argument(
    "older_than", string_type(), "Between the two, only older ones go: '2024-01-31 08:00:00' of the session's clock."
)
MAX_DELETES = Argument("max_deletes", IntType(), "How many go at most in this call.")


def asked(
    options: TableOptions,
    now_millis: int,
    arguments: Mapping[str, Any],
    zone: tzinfo | None,
    retention: Callable[..., Retention],
) -> Retention:
    """What stays, as a call and, where it is silent, the table say.

    Args:
        options: the table's options.
        now_millis: the time, in milliseconds since the epoch.
        arguments: the call's ``retain_max``, ``retain_min``, ``older_than`` and ``max_deletes``.
        zone: the zone whose clock ``older_than`` means.
        retention: what reads the table's options.
    """
    return retention(
        options,
        now_millis,
        retain_max=arguments["retain_max"],
        retain_min=arguments["retain_min"],
        older_than_millis=instant_of(arguments["older_than"], zone),
        max_deletes=arguments["max_deletes"],
    )
