"""Rows of source files, converted to the columns of a table, with an error message for each invalid row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType, VariantType

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import row_struct
from paimon_sql.spark.copy_into.files import FileFormat, literal_path
from paimon_sql.spark.jvm.errors import one_error
from paimon_sql.spark.jvm.hadoop_files import hadoop_path_string
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.copy.load_history import SourceFile

_NESTED = (ArrayType, MapType, StructType, VariantType)
_MAX_SHOWN_RECORD, _MAX_SHOWN_VALUE = 500, 100


@dataclass(frozen=True)
class FileRows:
    """The counts of one file's rows.

    Attributes:
        parsed: the number of rows.
        errors: the number of rows that cannot be loaded.
        first_error: the error of one of these; None without any.
    """

    parsed: int = 0
    errors: int = 0
    first_error: str | None = None

    @property
    def good(self) -> int:
        """The number of rows that can be loaded."""
        return self.parsed - self.errors


@dataclass(frozen=True)
class SourceColumn:
    """A column of source files: its values and their type, the table's column and its type in Spark."""

    target: DataField
    wanted: DataType
    values: Column
    kind: DataType

    @property
    def is_cast(self) -> bool:
        """Whether values are cast; nested values must have the table's type, as in any write."""
        return self.kind != self.wanted and not isinstance(self.wanted, _NESTED)

    @property
    def taken(self) -> Column:
        """The values in the type of the table's column, null if a cast fails."""
        return self.values.try_cast(self.wanted) if self.is_cast else self.values

    @property
    def failure(self) -> Column:
        """The error message of a value whose cast fails."""
        shown = f.left(self.values.cast("string"), f.lit(_MAX_SHOWN_VALUE))
        kind = self.target.type.as_nullable().sql()
        return f.concat(
            f.lit(f"Cast failure in column '{self.target.name}': '"), shown, f.lit(f"' is not a valid {kind}")
        )


class SourceRows:
    """The rows of source files, which Spark's own readers read again for each method call.

    Args:
        reader: a new reader of the session.
        file_format: the format of the files.
        options: the options of Spark's reader.
        files: the files.
        targets: the table's columns in the files: by position in CSV, by name in the other formats.
        case_sensitive: whether names of Parquet columns that differ only in case are different.

    Raises:
        InvalidInputError: the files cannot be read into these columns.
    """

    def __init__(
        self,
        reader: DataFrameReader,
        file_format: FileFormat,
        options: Mapping[str, str],
        files: Sequence[SourceFile],
        targets: Sequence[DataField],
        *,
        case_sensitive: bool,
    ) -> None:
        self._reader = reader.format(file_format.kind).options(**options)
        self._format = file_format
        self._paths = [literal_path(hadoop_path_string(file.path)) for file in files]
        self._targets = targets
        self._key: Callable[[str], str] = str if case_sensitive else str.lower
        wanted: list[StructField] = StructType.fromJson(row_struct(targets)).fields
        self._wanted = [field.dataType for field in wanted]
        self._record = _unused_name("text_of_record", targets)
        self._file = _unused_name("name_of_file", targets)
        self._problem = _unused_name("problem_of_row", targets)
        with one_error(f"The {file_format.kind.upper()} files cannot be read into these columns"):
            self._read, columns = self._parquet() if file_format.kind == "parquet" else self._text()
            self._rows = self._checked(columns)

    @property
    def _is_checked(self) -> bool:
        return self._problem in self._rows.columns

    def counted(self) -> dict[str, FileRows]:
        """Count the rows and errors of each file, by file name; files without rows are not in the result.

        Raises:
            InvalidInputError: a file cannot be read at all.
        """
        counts: list[Column] = [f.count(f.lit(1))]
        if self._is_checked:
            problem = f.col(self._problem)
            # Spark parses only columns that a query uses, so this aggregate uses all of them; its value is ignored.
            all_columns = f.count_if(reduce(or_, (f.col(quote_name(t.name)).isNotNull() for t in self._targets)))
            counts += [f.count(problem), f.first(problem, ignorenulls=True), all_columns]
        with one_error("The files cannot be read"):
            rows = self._rows.groupBy(self._file).agg(*counts).collect()
        return {unquote(row[0]): FileRows(*row[1:4]) for row in rows}

    def good(self) -> DataFrame:
        """The valid rows in the table's columns and types; evaluation fails at nulls in NOT NULL columns."""
        rows = self._rows.filter(f.col(self._problem).isNull()) if self._is_checked else self._rows
        return rows.select(*(self._value(t) for t in self._targets))

    def _value(self, target: DataField) -> Column:
        value = f.col(quote_name(target.name))
        if target.type.nullable:
            return value
        message = f.concat(f.lit(f"Column {target.name} is NOT NULL, but is NULL in a row of "), f.col(self._file))
        return f.coalesce(value, f.raise_error(message)).alias(target.name)

    def _checked(self, columns: Sequence[SourceColumn]) -> DataFrame:
        """The rows with the file name (URL-encoded), and the error message of each row, null if it is valid."""
        name = self._read.metadataColumn("_metadata").getField("file_name").alias(self._file)
        cases = [(c.values.isNotNull() & c.taken.isNull(), c.failure) for c in columns if c.is_cast]
        if self._record in self._read.columns:
            record = f.col(self._record)
            message = f.concat(f.lit("Malformed record: "), f.left(record, f.lit(_MAX_SHOWN_RECORD)))
            cases.insert(0, (record.isNotNull(), message))
        problem = [_first_case(cases).alias(self._problem)] if cases else []
        return self._read.select(*(c.taken.alias(c.target.name) for c in columns), name, *problem)

    def _text(self) -> tuple[DataFrame, list[SourceColumn]]:
        """Read CSV or JSON as strings, to be cast; nested values of JSON are read in the table's types."""
        schema = StructType()
        for target, wanted in zip(self._targets, self._wanted, strict=True):
            nested = isinstance(wanted, _NESTED)
            if nested and self._format.kind == "csv":
                raise UnsupportedError(
                    f"CSV files cannot hold column {target.name}, which is {target.type.as_nullable().sql()}.",
                    remedy="Copy JSON or Parquet files, or name the other columns: COPY INTO t (a, b) FROM ..",
                )
            schema = schema.add(target.name, wanted if nested else StringType())
        permissive = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": self._record}
        read = self._reader.options(**permissive).schema(schema.add(self._record, StringType())).load(self._paths)
        pairs = zip(self._targets, self._wanted, schema.fields, strict=False)
        return read, [SourceColumn(t, w, self._with_nulls(s), s.dataType) for t, w, s in pairs]

    def _with_nulls(self, field: StructField) -> Column:
        column, nulls = f.col(quote_name(field.name)), self._format.nulls()
        if not nulls or not isinstance(field.dataType, StringType):
            return column
        return f.when(~column.isin(*nulls), column)

    def _parquet(self) -> tuple[DataFrame, list[SourceColumn]]:
        """Read Parquet columns by name from the merged schema of the files."""
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
                    f"The files have several columns that match column {target.name}: {names}.",
                    remedy="SET spark.sql.caseSensitive = true to distinguish them.",
                )
            values = f.col(quote_name(named[0].name)) if named else f.lit(None).cast(wanted)
            columns.append(SourceColumn(target, wanted, values, named[0].dataType if named else wanted))
        return read, columns


def _first_case(cases: Iterable[tuple[Column, Column]]) -> Column:
    (condition, value), *others = cases
    found = f.when(condition, value)
    for condition, value in others:
        found = found.when(condition, value)
    return found


def _unused_name(name: str, taken: Sequence[DataField]) -> str:
    """A name that is not the name of a column."""
    names = {field.name.lower() for field in taken}
    while name in names:
        name = f"_{name}"
    return name
