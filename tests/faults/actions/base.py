"""Operations: small classes in a registry with weights."""

from __future__ import annotations

from abc import ABC, abstractmethod

from tests.faults.actions.job import Job
from tests.faults.history import Role
from tests.faults.tables import TableKind

ACTIONS: dict[str, Action] = {}
"""All operations by name."""


class Action(ABC):
    """Something that a party does.

    Attributes:
        name: its name.
        weight: how often it is chosen.
        role: how it changes the history.
    """

    name: str
    weight: float
    role: Role = Role.OTHER

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        if hasattr(cls, "name"):
            ACTIONS[cls.name] = cls()

    def fits(self, kind: TableKind) -> bool:
        """Whether it can be done to such a table."""
        return True

    @abstractmethod
    def run(self, job: Job) -> None:
        """Do it."""
