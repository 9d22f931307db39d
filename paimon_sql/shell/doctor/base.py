"""Base class of checks, and their findings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import ClassVar

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.registry import open_default_catalog
from paimon_sql.errors import PaimonError


class State(Enum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes:
        state: how serious it is.
        what: what was found.
        remedy: what to do about it.
    """

    state: State
    what: str
    remedy: str | None = None


@dataclass(frozen=True)
class Place:
    """What is checked.

    Attributes:
        warehouse: the catalog's warehouse; ``./warehouse`` by default.
        options: the catalog's options.
        conf: settings of Spark.
        starts_spark: whether Spark may be started.
    """

    warehouse: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    starts_spark: bool = True

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog, opened.

        Raises:
            PaimonError: it cannot be opened.
        """
        return open_default_catalog(self.warehouse, self.options)


class Check(ABC):
    """One check.

    Class attributes:
        name: its name, in lower case.
    """

    name: ClassVar[str]

    @abstractmethod
    def findings(self, place: Place) -> Iterator[Finding]:
        """Look, and say what was found; a `PaimonError` is a failure.

        Args:
            place: what is checked.
        """

    def all_findings(self, place: Place) -> Iterator[Finding]:
        """The findings, with an error as the last of them."""
        try:
            yield from self.findings(place)
        except PaimonError as error:
            yield Finding(State.FAILED, error.message, error.remedy)
        except OSError as error:
            yield Finding(State.FAILED, str(error))
