"""The argument ``where`` of procedures: a condition on partition columns chooses what SQL's would, or is refused."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.storage.expressions.condition_text import ConditionParser

_FIELDS = (DataField(0, "dt", string_type()), DataField(1, "h", IntType()))
_ROWS = [(dt, h) for dt in (None, "", "2024-01-01", "2024-01-02", "a_b", "axb", "a%b") for h in (None, -1, 0, 7)]
PARSER = ConditionParser(_FIELDS, "partition column")


def chosen(condition: str) -> list[tuple[str | None, int | None]]:
    """The rows that a condition chooses."""
    dts, hs = zip(*_ROWS, strict=True)
    batch = pa.RecordBatch.from_pydict({"dt": pa.array(dts, pa.string()), "h": pa.array(hs, pa.int32())})
    holds = PARSER.parse(condition).holds(batch).to_pylist()
    return [row for row, is_chosen in zip(_ROWS, holds, strict=True) if is_chosen]


Holds = Callable[[str | None, int | None], bool]
CONDITIONS: list[tuple[str, Holds]] = [
    ("dt LIKE '2024%'", lambda dt, h: dt is not None and dt.startswith("2024")),
    ("dt NOT LIKE '2024%'", lambda dt, h: dt is not None and not dt.startswith("2024")),
    ("NOT dt LIKE '2024%'", lambda dt, h: dt is not None and not dt.startswith("2024")),
    ("NOT dt NOT LIKE '2024%'", lambda dt, h: dt is not None and dt.startswith("2024")),
    ("dt LIKE 'a_b'", lambda dt, h: dt in ("a_b", "axb", "a%b")),
    ("dt LIKE 'a\\\\_b'", lambda dt, h: dt == "a_b"),
    ("dt LIKE '%b'", lambda dt, h: dt is not None and dt.endswith("b")),
    ("dt LIKE '%'", lambda dt, h: dt is not None),
    ("h NOT IN (0, 7)", lambda dt, h: h == -1),
    ("h NOT BETWEEN 0 AND 6", lambda dt, h: h in (-1, 7)),
    ("NOT (dt = 'axb' OR h > 0)", lambda dt, h: dt not in (None, "axb") and h in (-1, 0)),
    ("dt IS NULL AND h IS NOT NULL", lambda dt, h: dt is None and h is not None),
    ("0 <= H", lambda dt, h: h in (0, 7)),
]


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS, ids=[text for text, _ in CONDITIONS])
def test_a_condition_means_what_it_does_in_sql(condition: str, holds: Holds) -> None:
    assert chosen(condition) == [row for row in _ROWS if holds(*row)]


@pytest.mark.parametrize(
    "condition",
    [
        "h BETWEEN SYMMETRIC 7 AND 0",
        "dt ILIKE 'A%'",
        "dt NOT ILIKE 'A%'",
        "dt RLIKE 'a'",
        "dt LIKE 'a/_b' ESCAPE '/'",
        "h IN (SELECT 1)",
        "h = h",
        "h + 1 = 2",
        "dt IS DISTINCT FROM 'x'",
        "upper(dt) = 'A'",
        "true",
    ],
)
def test_what_is_not_understood_is_refused(condition: str) -> None:
    with pytest.raises(InvalidInputError):
        PARSER.parse(condition)
