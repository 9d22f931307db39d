"""Arrow without pandas, for calls of procedures.

pyarrow imports pandas at the first array or scalar that it makes, to recognize pandas' objects among Python's. That
takes longer than most calls, and no procedure takes or returns objects of pandas. pyarrow has no setting for it, but
works without pandas, too, and looks for it only once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

import pyarrow as pa

_PANDAS = "pandas"


class _NoPandas(MetaPathFinder):
    """Finds no pandas where others would."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name == _PANDAS:
            raise ModuleNotFoundError(f"No module named '{_PANDAS}'", name=_PANDAS)


def do_without_pandas() -> None:
    """Let pyarrow find no pandas in this process, unless it is imported already; other code can import it.

    Without pandas, timestamps finer than microseconds have no Python object: code that converts them to one fails.
    """
    if _PANDAS in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(finder)
