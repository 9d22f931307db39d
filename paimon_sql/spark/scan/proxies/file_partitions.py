"""Spark's partitions of files, many made in one call: with a call for each file, those would take most of a plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast
from urllib.parse import quote

import numpy as np

from paimon_sql.spark.java.catalyst import InternalRow
from paimon_sql.spark.java.objects import JavaMethod, JavaObject
from paimon_sql.spark.jvm.gateway import CATALYST, CONNECTOR, DATASOURCES, EXPRESSIONS, Jvm
from paimon_sql.spark.jvm.hadoop_files import hadoop_url
from paimon_sql.storage.scan.plan import PlannedRange

_CLASS = "paimon.FilePartitions"
_FILE, _PARTITION = f"{DATASOURCES}.PartitionedFile", f"{DATASOURCES}.FilePartition"
_INPUT, _ROW = f"{CONNECTOR}.read.InputPartition", f"{CATALYST}.InternalRow"
_PATH, _MAP = "org.apache.spark.paths.SparkPath", "scala.collection.immutable.Map"
_NUMBERS = """
    private static java.nio.LongBuffer numbers(byte[] data) {
        return java.nio.ByteBuffer.wrap(data).order(java.nio.ByteOrder.LITTLE_ENDIAN).asLongBuffer();
    }"""
_FILES = f"""
    public static {_FILE}[] files(String urls, byte[] ranges, {_ROW}[] rows, {_MAP} noMetadata) {{
        String[] each = urls.split("\\n");
        {_PATH}[] paths = new {_PATH}[each.length];
        for (int i = 0; i < each.length; i++) paths[i] = {_PATH}$.MODULE$.fromUrlString(each[i]);
        java.nio.LongBuffer next = numbers(ranges);
        {_FILE}[] made = new {_FILE}[next.remaining() / 4];
        for (int i = 0; i < made.length; i++) {{
            int file = (int) next.get();
            long start = next.get();
            long length = next.get();
            long size = next.get();
            {_ROW} row = rows[rows.length == 1 ? 0 : file];
            made[i] = new {_FILE}(row, paths[file], start, length, new String[0], 0L, size, noMetadata);
        }}
        return made;
    }}"""
_PARTITIONS = f"""
    public static {_INPUT}[] partitions({_FILE}[] files, byte[] counts) {{
        java.nio.LongBuffer next = numbers(counts);
        {_INPUT}[] made = new {_INPUT}[next.remaining()];
        int start = 0;
        for (int i = 0; i < made.length; i++) {{
            {_FILE}[] own = new {_FILE}[(int) next.get()];
            System.arraycopy(files, start, own, 0, own.length);
            start += own.length;
            made[i] = new {_PARTITION}(i, own);
        }}
        return made;
    }}"""
_VALUES = """
    public static java.util.List values(byte[] values, byte[] lengths) {
        java.nio.LongBuffer next = numbers(lengths);
        java.util.ArrayList made = new java.util.ArrayList(next.remaining());
        int start = 0;
        while (next.hasRemaining()) {
            int end = start + (int) next.get();
            made.add(java.util.Arrays.copyOfRange(values, start, end));
            start = end;
        }
        return made;
    }"""
_BINARY_ROWS = f"""
    public static {_ROW}[] binaryRows(java.util.List values) {{
        {_ROW}[] made = new {_ROW}[values.size()];
        for (int i = 0; i < made.length; i++) {{
            made[i] = new {EXPRESSIONS}.GenericInternalRow(new Object[] {{ values.get(i) }});
        }}
        return made;
    }}"""
_INT_ROWS = f"""
    public static {_ROW}[] intRows(byte[] values) {{
        java.nio.LongBuffer next = numbers(values);
        {_ROW}[] made = new {_ROW}[next.remaining()];
        for (int i = 0; i < made.length; i++) {{
            Object value = Integer.valueOf((int) next.get());
            made[i] = new {EXPRESSIONS}.GenericInternalRow(new Object[] {{ value }});
        }}
        return made;
    }}"""


def partitioned_files(
    jvm: Jvm, ranges: Sequence[PlannedRange], constants: Callable[[Sequence[str]], Sequence[InternalRow]]
) -> Sequence[JavaObject]:
    """Ranges of files as an array of Spark's ``PartitionedFile``.

    Args:
        jvm: the JVM.
        ranges: the ranges.
        constants: an array with the row of each file's constant values, from the files' paths, or with one row for all
            files.
    """
    paths = list(dict.fromkeys(r.path for r in ranges))
    numbers = {path: number for number, path in enumerate(paths)}
    packed = np.array([(numbers[r.path], r.start, r.length, r.file_size) for r in ranges], dtype="<i8").tobytes()
    made = _call(jvm, "files")("\n".join(urls(paths)), packed, constants(paths), jvm.empty_map())
    return cast("Sequence[JavaObject]", made)


def file_partitions(jvm: Jvm, files: Sequence[JavaObject], counts: Sequence[int]) -> Sequence[JavaObject]:
    """Files of `partitioned_files` as an array of Spark's ``FilePartition``, of so many files each, in order."""
    packed = np.array(counts, dtype="<i8").tobytes()
    return cast("Sequence[JavaObject]", _call(jvm, "partitions")(files, packed))


def binary_values(jvm: Jvm, values: Sequence[bytes]) -> JavaObject:
    """A Java list of binary values."""
    lengths = np.array(list(map(len, values)), dtype="<i8")
    return _call(jvm, "values")(b"".join(values), lengths.tobytes())


def binary_rows(jvm: Jvm, values: Sequence[bytes]) -> Sequence[InternalRow]:
    """An array of rows with one binary value each."""
    return cast("Sequence[InternalRow]", _call(jvm, "binaryRows")(binary_values(jvm, values)))


def int_rows(jvm: Jvm, values: Sequence[int]) -> Sequence[InternalRow]:
    """An array of rows with one int each."""
    packed = np.array(values, dtype="<i8").tobytes()
    return cast("Sequence[InternalRow]", _call(jvm, "intRows")(packed))


def urls(paths: Iterable[str]) -> list[str]:
    """Paths as URLs for Spark's readers."""
    known: dict[str, str] = {}
    found = []
    for path in paths:
        directory, _, name = path.rpartition("/")
        if directory not in known:
            known[directory] = _url(directory)
        found.append(f"{known[directory]}/{quote(name)}")
    return found


def _url(path: str) -> str:
    return Path(os.path.normpath(path)).as_uri() if path.startswith("/") else hadoop_url(path)


def _call(jvm: Jvm, method: str) -> JavaMethod:
    jvm.compiled_class(_CLASS, (_NUMBERS, _FILES, _PARTITIONS, _VALUES, _BINARY_ROWS, _INT_ROWS), beside=_FILE)
    return jvm.static(_CLASS, method)
