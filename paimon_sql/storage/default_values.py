"""Default values of columns: constants that rows take where a statement gives no value, or an explicit null.

A schema file keeps a default as text. Of a column of text it is the value itself, in quotes or not; of any other
atomic type what a cast reads, in quotes or not; of a nested one ``array(1, 2)``, ``map('k', 1)``, ``struct(1, 'a')`` or
``[1, 2]``, ``{k -> 1}``, ``{1, a}`` (spec: Schema, "Default Value").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError, InvalidSchemaError, UnsupportedError
from paimon_sql.format import types as t
from paimon_sql.format.arrow import arrow_type
from paimon_sql.storage.casts import cast
from paimon_sql.storage.constants import (
    CONSTRUCTORS,
    Constant,
    ConstantCall,
    ConstantError,
    ConstantText,
    parse_constant,
    quoted,
)

_TEXTS = (t.CharType, t.VarCharType)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
