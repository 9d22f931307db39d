"""The rows of files in the columns of a table, and what is wrong with those that cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.types import DataField
from paimon_sql.spark.copy_into.failures import one_error
from paimon_sql.spark.copy_into.formats import FileFormat
from paimon_sql.spark.copy_into.places import literal_path
from paimon_sql.spark.hadoop_files import hadoop_text
from paimon_sql.spark.types import row_struct
from paimon_sql.sql.names import quote_name
from paimon_sql.storage.load_history import SourceFile

_NESTED = (ArrayType, MapType, StructType, VariantType)
_SHOWN_RECORD, _SHOWN_VALUE = 500, 100


@dataclass(frozen=True)
class FileRows:
    """What was found in one file.

    Attributes:
        parsed: its rows.
        errors: how many of them cannot be loaded.
        first_error: what is wrong with one of these, None without any.
    """

    parsed: int = 0
    errors: int = 0
    first_error: str | None = None

    @property
    def good(self) -> int:
        """How many can be loaded."""
        return self.parsed - self.errors


@dataclass(frozen=True)
class SourceColumn:
    """A column of files: where its values are found, of what type, and the column of the table that takes them."""

    target: DataField
    wanted: DataType
    values: Column
    kind: DataType

    @property
    def is_cast(self) -> bool:
        """Whether values are cast; nested ones must fit as they are, as in any write."""
        return self.kind != self.wanted and not isinstance(self.wanted, _NESTED)

    @property
    def taken(self) -> Column:
        """The values in the type of the table's column, null where they cannot be."""
        return self.values.try_cast(self.wanted) if self.is_cast else self.values

    @property
    def failure(self) -> Column:
        """What is wrong with a value that cannot be taken."""
        shown = f.left(self.values.cast("string"), f.lit(_SHOWN_VALUE))
        kind = self.target.type.as_nullable().sql()
        return f.concat(f.lit(f"Cast failure in column '{self.target.name}': '"), shown, f.lit(f"' is no {kind}"))


class SourceRows:
    """The rows of files, read when they are asked for, each time anew and by Spark's own readers.

    Args:
        spark: the session.
        file_format: the format of the files.
        options: what Spark's reader is told.
        files: the files.
        targets: the table's columns that they hold: by position in CSV, by name in the others.
        case_sensitive: whether names of Parquet columns that differ in their case are different.

    Raises:
        InvalidInputError: the files have no columns that these can take.
    """

    def __init__(
        self,
        spark: SparkSession,
        file_format: FileFormat,
        options: Mapping[str, str],
        files: Sequence[SourceFile],
        targets: Sequence[DataField],
        *,
        case_sensitive: bool,
    ) -> None:
        self._reader = spark.read.format(file_format.source).options(**options)
        self._format = file_format
        self._paths = [literal_path(hadoop_text(file.path)) for file in files]
        self._targets = targets
        self._exact = case_sensitive
        wanted: list[StructField] = StructType.fromJson(row_struct(targets)).fields
        self._wanted = [field.dataType for field in wanted]
        self._record = _free("text_of_record", targets)
        self._file = _free("name_of_file", targets)
        self._problem = _free("problem_of_row", targets)
        with one_error(f"The {file_format.kind} files cannot be read into these columns"):
            self._read, columns = self._parquet() if file_format.kind == "PARQUET" else self._text()
            self._rows = self._found(columns)

    @property
    def _is_checked(self) -> bool:
        return self._problem in self._rows.columns

    def counted(self) -> dict[str, FileRows]:
        """What is in the files, by their names; files without rows are left out.

        Raises:
            InvalidInputError: a file cannot be read at all.
        """
        found: list[Column] = [f.count(f.lit(1))]
        if self._is_checked:
            problem = f.col(self._problem)
            # What is wrong is found in columns that are read, and those that nobody asks for are not.
            touched = f.count_if(reduce(or_, (f.col(quote_name(t.name)).isNotNull() for t in self._targets)))
            found += [f.count(problem), f.first(problem, ignorenulls=True), touched]
        with one_error("The files cannot be read"):
            rows = self._rows.groupBy(self._file).agg(*found).collect()
        return {unquote(row[0]): FileRows(*row[1:4]) for row in rows}

    def good(self) -> DataFrame:
        """The rows that can be loaded, in the columns of the table and its types; nulls fail where none may be."""
        rows = self._rows.filter(f.col(self._problem).isNull()) if self._is_checked else self._rows
        return rows.select(*(self._value(t) for t in self._targets))

    def _value(self, target: DataField) -> Column:
        value = f.col(quote_name(target.name))
        if target.type.nullable:
            return value
        told = f.concat(
            f.lit(f"Column {target.name} is NOT NULL, and a row has no value for it in "), f.col(self._file)
        )
        return f.coalesce(value, f.raise_error(told)).alias(target.name)

    def _found(self, columns: Sequence[SourceColumn]) -> DataFrame:
        """The columns, the name of the file (escaped as in a URL), and what is wrong with the row."""
        name = self._read.metadataColumn("_metadata").getField("file_name").alias(self._file)
        cases = [(c.values.isNotNull() & c.taken.isNull(), c.failure) for c in columns if c.is_cast]
        if self._record in self._read.columns:
            record = f.col(self._record)
            told = f.concat(f.lit("Malformed record: "), f.left(record, f.lit(_SHOWN_RECORD)))
            cases.insert(0, (record.isNotNull(), told))
        problem = [_first_case(cases).alias(self._problem)] if cases else []
        return self._read.select(*(c.taken.alias(c.target.name) for c in columns), name, *problem)

    def _text(self) -> tuple[DataFrame, list[SourceColumn]]:
        """CSV and JSON: texts that are cast, but for nested values of JSON."""
        schema = StructType()
        for target, wanted in zip(self._targets, self._wanted, strict=True):
            nested = isinstance(wanted, _NESTED)
            if nested and self._format.kind == "CSV":
                raise UnsupportedError(
                    f"CSV files cannot hold column {target.name}, which is {target.type.as_nullable().sql()}.",
                    remedy="Copy JSON or Parquet files, or name the other columns: COPY INTO t (a, b) FROM ..",
                )
            schema = schema.add(target.name, wanted if nested else StringType())
        permissive = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": self._record}
        read = self._reader.options(**permissive).schema(schema.add(self._record, StringType())).load(self._paths)
        pairs = zip(self._targets, self._wanted, schema.fields, strict=False)
        return read, [SourceColumn(t, w, self._nulled(s), s.dataType) for t, w, s in pairs]

    def _nulled(self, field: StructField) -> Column:
        column, nulls = f.col(quote_name(field.name)), self._format.nulls()
        if not nulls or not isinstance(field.dataType, StringType):
            return column
        return f.when(~column.isin(*nulls), column)

    def _parquet(self) -> tuple[DataFrame, list[SourceColumn]]:
        """Parquet: the columns of these names in any of the files."""
        read = self._reader.option("mergeSchema", "true").load(self._paths)
        found: dict[str, list[StructField]] = {}
        for field in read.schema.fields:
            found.setdefault(self._key(field.name), []).append(field)
        columns = []
        for target, wanted in zip(self._targets, self._wanted, strict=True):
            named = found.get(self._key(target.name), [])
            if len(named) > 1:
                names = " and ".join(field.name for field in named)
                raise InvalidInputError(
                    f"The files have the columns {names}, and column {target.name} can take one of them only.",
                    remedy="SET spark.sql.caseSensitive = true to tell them apart.",
                )
            values = f.col(quote_name(named[0].name)) if named else f.lit(None).cast(wanted)
            columns.append(SourceColumn(target, wanted, values, named[0].dataType if named else wanted))
        return read, columns

    def _key(self, name: str) -> str:
        return name if self._exact else name.lower()


def _first_case(cases: Iterable[tuple[Column, Column]]) -> Column:
    (condition, value), *others = cases
    found = f.when(condition, value)
    for condition, value in others:
        found = found.when(condition, value)
    return found


def _free(name: str, taken: Sequence[DataField]) -> str:
    """A name that no column has."""
    names = {field.name.lower() for field in taken}
    while name in names:
        name = f"_{name}"
    return name
