"""Stored procedures of ``sys``: one module each.

A module declares one `Procedure`; signature, ``DESCRIBE PROCEDURE``, reference page and listing follow from the
declaration. `call` runs a procedure without Spark:

>>> from paimon_sql import procedures
>>> procedures.call("/tmp/warehouse", "expire_snapshots", table="db.t", retain_max=5)  # doctest: +SKIP
"""

from __future__ import annotations

from paimon_sql.procedures.base import Procedure
from paimon_sql.procedures.calling import ProcedureResult, call, find_procedure, procedures, run

__all__ = ["Procedure", "ProcedureResult", "call", "find_procedure", "procedures", "run"]
