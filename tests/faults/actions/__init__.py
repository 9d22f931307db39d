"""Everything that parties do through the storage core."""

from tests.faults.actions import definitions, exactly_once, maintenance, names, rows, strangers
from tests.faults.actions.base import ACTIONS, Action

__all__ = ["ACTIONS", "Action", "definitions", "exactly_once", "maintenance", "names", "rows", "strangers"]
