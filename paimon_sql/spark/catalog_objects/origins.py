"""Where and how a view or function was made, so that its text means the same wherever it is read.

Spark resolves names in such a text where it was made and works it out under the settings of then. The JSON of views
and functions has no members for that; it stands among their options under names of our own, which SQL does not show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

OWN_PREFIX = "paimon-sql."
_CATALOG = f"{OWN_PREFIX}current-catalog"
_DATABASE = f"{OWN_PREFIX}current-database"
_SETTING = f"{OWN_PREFIX}setting."
_KEPT = "spark.sql."
_NOT_KEPT = ("spark.sql.catalog.", "spark.sql.defaultCatalog", "spark.sql.artifact.")
"""Settings that name catalogs, with their secrets, and those of a session alone."""


@dataclass(frozen=True)
class Origin:
    """What was current when a text was written.

    Attributes:
        catalog: the catalog; None for the one that keeps the text, which other sessions may name otherwise.
        database: the database.
        settings: Spark's settings that change what SQL means.
    """

    catalog: str | None
    database: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(catalog: str, namespace: Iterable[str], settings: Mapping[str, str], home: str) -> Origin:
        """What Spark says of a text that the catalog ``home`` is to keep."""
        kept = {k: v for k, v in settings.items() if k.startswith(_KEPT) and not k.startswith(_NOT_KEPT)}
        return Origin(catalog if catalog and catalog != home else None, ".".join(namespace), kept)

    def options(self) -> dict[str, str]:
        """The options that keep it."""
        found = {_DATABASE: self.database} | {_SETTING + k: v for k, v in self.settings.items()}
        return found if self.catalog is None else {_CATALOG: self.catalog} | found

    @staticmethod
    def read(options: Mapping[str, str], database: str) -> Origin:
        """What options keep; a text of another engine counts as written in its own database."""
        settings = {k.removeprefix(_SETTING): v for k, v in options.items() if k.startswith(_SETTING)}
        return Origin(options.get(_CATALOG), options.get(_DATABASE, database), settings)


def shown_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options as SQL shows them: without ours."""
    return {k: v for k, v in options.items() if not k.startswith(OWN_PREFIX)}
