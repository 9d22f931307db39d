"""The tag that a batch write leaves behind (``tag.automatic-creation`` = ``batch``)."""

from __future__ import annotations

import re

from paimon_sql.format.options.operations.tag import (
    SINK_PROCESS_TIME_ZONE,
    TAG_AUTOMATIC_CREATION,
    TAG_BATCH_CUSTOMIZED_NAME,
    TAG_NUM_RETAINED_MAX,
)
from paimon_sql.storage.maintenance.tags.automatic import wall_millis
from paimon_sql.storage.maintenance.tags.management import create_tag, delete_tags, replace_tag
from paimon_sql.storage.maintenance.tags.periods import TagPeriod
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.local_times import zone_of

_PREFIX = "batch-write-"
_NAME = re.compile(r"batch-write-\d{4}-\d{2}-\d{2}", re.ASCII)
_DAY = TagPeriod(86_400_000, "{0}-{1}-{2}")


def tag_batch(table: Table) -> str | None:
    """Let the tag of batch writes keep the newest snapshot, and delete the oldest such tags over the limit.

    The tag is called by the day, ``batch-write-2024-01-31``, or as the table says; one of that name moves on. Those of
    the names that the table said before count, but no others: who has made them nobody can tell.

    Returns:
        The tag's name; None if the table wants none.
    """
    if table.options.get(TAG_AUTOMATIC_CREATION) != "batch" or (latest := table.snapshots.latest()) is None:
        return None
    zone_name: str | None = table.options.get(SINK_PROCESS_TIME_ZONE)
    custom: str | None = table.options.get(TAG_BATCH_CUSTOMIZED_NAME)
    wall = wall_millis(latest.time_millis, None if zone_name is None else zone_of(zone_name))
    name = custom or f"{_PREFIX}{_DAY.name_of(wall or 0)}"
    if table.tags.exists(name):
        replace_tag(table, name, latest.id)
    else:
        create_tag(table, name, latest.id, ignore_if_exists=True)
    most: int | None = table.options.get(TAG_NUM_RETAINED_MAX)
    if most:
        customs = {name, *(s.options.get(TAG_BATCH_CUSTOMIZED_NAME.key) for s in table.schemas.all())}
        own = [t for t in table.tags.all() if t.name in customs or _NAME.fullmatch(t.name)]
        own.sort(key=lambda t: (t.snapshot.id, t.name == name, t.name))
        delete_tags(table, [t.name for t in own[: max(0, len(own) - most)]])
    return name
