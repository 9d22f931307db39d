"""The merge engine ``deduplicate``."""

from __future__ import annotations

from paimon_sql.storage.expressions.kernels.sorting import Indices
from paimon_sql.storage.merge.engines.base import SelectingEngine
from paimon_sql.storage.merge.windows import Window


class Deduplicate(SelectingEngine):
    """Selects the newest row; a newest row of kind ``-D`` deletes the key, unless deletes are ignored."""

    name = "deduplicate"

    def select(self, window: Window) -> Indices:
        if self.ignores_deletes:
            return self.select_non_retractions(window, newest=True)
        return window.newest
