"""The command ``paimon-sql`` of this checkout, in a process of its own."""

from __future__ import annotations

import sys

COMMAND = [sys.executable, "-c", "from paimon_sql.shell.main import main; main()"]
"""The words before its arguments."""
