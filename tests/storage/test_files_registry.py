"""Formats by name, and settings of writers out of a table's options."""

from __future__ import annotations

import pytest

from paimon_sql.errors import InvalidOptionError, UnsupportedError
from paimon_sql.format.options.values import option
from paimon_sql.storage.file_formats.base import WriteSettings
from paimon_sql.storage.file_formats.registry import file_format, format_names


def test_formats_are_found_by_name_in_any_case() -> None:
    assert [file_format(name.upper()).name for name in format_names()] == ["avro", "orc", "parquet"]


def test_an_unknown_format_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UnsupportedError, match=r"Unknown file format 'csv'.*avro, orc, parquet"):
        file_format("csv")


def test_a_files_own_compression_wins_over_the_tables() -> None:
    options = {"file.compression": "snappy", "file.compression.zstd-level": "7", "file.block-size": "1 mb"}
    assert WriteSettings.of("orc", options, None).compression == "snappy"
    settings = WriteSettings.of("orc", options, "ZSTD")
    assert (settings.compression, settings.zstd_level, settings.block_size) == ("zstd", 7, 2**20)
    assert WriteSettings.of("parquet", {"parquet.compression": "gzip"}, "zstd").compression == "gzip"
    assert WriteSettings.of("parquet", {}, None).compression == "zstd"


@pytest.mark.parametrize(
    ("key", "text"),
    [("file.block-size", "big"), ("file.compression.zstd-level", "x"), ("parquet.enable.dictionary", "2")],
)
def test_a_setting_that_cannot_be_read_is_named(key: str, text: str) -> None:
    with pytest.raises(InvalidOptionError, match=key) as error:
        WriteSettings.of("parquet", {key: text}, None).read(option.boolean, "parquet.enable.dictionary", True)
    assert error.value.key == key
