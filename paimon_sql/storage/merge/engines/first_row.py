"""The merge engine ``first-row``."""

from __future__ import annotations

from paimon_sql.errors import ConstraintViolationError, PaimonError
from paimon_sql.storage.expressions.kernels.sorting import Indices
from paimon_sql.storage.merge.engines.base import RowKinds, SelectingEngine, is_retract
from paimon_sql.storage.merge.windows import Window


class FirstRow(SelectingEngine):
    """Selects the oldest row; deletes are rejected or ignored.

    Reads see compacted files only, and so need not merge.
    """

    name = "first-row"

    def select(self, window: Window) -> Indices:
        if self.ignores_deletes:
            return self.select_non_retractions(window, newest=False)
        if problem := self.write_error(window.kinds):
            raise problem
        return window.oldest

    def write_error(self, kinds: RowKinds) -> PaimonError | None:
        if self.ignores_deletes or not is_retract(kinds).any():
            return None
        return ConstraintViolationError(
            "By default, the merge engine 'first-row' cannot accept DELETE/UPDATE_BEFORE records.",
            remedy="Set 'ignore-delete' = 'true' to ignore them.",
        )
