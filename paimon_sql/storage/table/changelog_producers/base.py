"""Base class of changelog producers, which say where a table's changelog comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa

from paimon_sql.errors import PaimonError
from paimon_sql.storage.metadata.definition import Definition


class ChangelogProducer:
    """Where the changelog of a primary-key table comes from (Paimon: `CoreOptions.ChangelogProducer`).

    Class attributes:
        name: the value of the option ``changelog-producer``.
        produces: whether commits have changelog files.
        from_input: whether writers write the changelog, from their rows.
        looks_up: whether compactions look up the older rows of new ones.
        from_full_compactions: whether full compactions compare their result with the one before.
    """

    name: ClassVar[str]
    produces: ClassVar[bool] = True
    from_input: ClassVar[bool] = False
    looks_up: ClassVar[bool] = False
    from_full_compactions: ClassVar[bool] = False

    @property
    def from_compactions(self) -> bool:
        """Whether compactions write the changelog."""
        return self.looks_up or self.from_full_compactions

    def written(self, rows: pa.Table) -> pa.Table:
        """The changelog of written rows, sorted by key and age, of a producer `from_input`."""
        return rows

    def problems(self, table: Definition) -> Iterator[PaimonError]:
        """Yield an error for each option of a table that conflicts with the producer."""
        yield from ()
