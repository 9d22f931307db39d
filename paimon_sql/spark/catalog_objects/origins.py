"""Creation context of views and functions: current catalog, database and settings, so that their SQL means the same.

Spark resolves names in such SQL text in the context of its creation and evaluates it with the settings of that session.
Paimon's JSON of views and functions has no members for it; options with a prefix of ours store it, which SQL hides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

OWN_PREFIX = "paimon-sql."
_CATALOG = f"{OWN_PREFIX}current-catalog"
_DATABASE = f"{OWN_PREFIX}current-database"
_SETTING = f"{OWN_PREFIX}setting."
_STORED = "spark.sql."
_NOT_STORED = ("spark.sql.catalog.", "spark.sql.defaultCatalog", "spark.sql.artifact.")
"""Settings of catalogs, which contain secrets, and settings that concern only one session."""


@dataclass(frozen=True)
class Origin:
    """The context in which SQL text was created.

    Attributes:
        catalog: the current catalog; None for the one that stores the text, which other sessions may name differently.
        database: the current database.
        settings: Spark's settings that affect the meaning of SQL.
    """

    catalog: str | None
    database: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(catalog: str, namespace: Iterable[str], settings: Mapping[str, str], home: str) -> Origin:
        """The origin that Spark reports for SQL text which the catalog ``home`` stores."""
        stored = {k: v for k, v in settings.items() if k.startswith(_STORED) and not k.startswith(_NOT_STORED)}
        return Origin(catalog if catalog and catalog != home else None, ".".join(namespace), stored)

    def options(self) -> dict[str, str]:
        """The options that store the origin."""
        found = {_DATABASE: self.database} | {_SETTING + k: v for k, v in self.settings.items()}
        return found if self.catalog is None else {_CATALOG: self.catalog} | found

    @staticmethod
    def read(options: Mapping[str, str], database: str) -> Origin:
        """The origin from options; text of another engine has no catalog, and the given database."""
        settings = {k.removeprefix(_SETTING): v for k, v in options.items() if k.startswith(_SETTING)}
        return Origin(options.get(_CATALOG), options.get(_DATABASE, database), settings)


def shown_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options that SQL shows: those without our prefix."""
    return {k: v for k, v in options.items() if not k.startswith(OWN_PREFIX)}
