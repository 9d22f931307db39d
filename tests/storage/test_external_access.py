"""What a catalog allows outside of tables: places are compared by what they are, not by how they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.errors import InvalidInputError, InvalidOptionError, NotAllowedError
from paimon_sql.storage.file_io.external.locations import NO_ACCESS, ExternalAccess, Location, redacted


@pytest.mark.parametrize(
    ("uri", "root"),
    [
        ("s3://bucket/a/b.jpg", "s3://bucket/a"),
        ("s3a://bucket/a/b.jpg", "s3://bucket/a/"),
        ("S3N://Bucket/a/b.jpg", "s3a://bucket"),
        ("https://Host.example/a/b?x=1", "https://host.example/a"),
        ("https://host.example:443/a", "HTTPS://host.example."),
        ("http://host.example/%61/b", "http://host.example:80/a"),
        ("/data/photos/../photos/a.jpg", "/data/photos"),
        ("file:///data/photos/a.jpg", "/data/photos"),
        ("file://localhost/data/photos/a.jpg", "file:/data/photos/"),
        ("hdfs://node:8020/a/b", "hdfs://NODE:8020/"),
    ],
)
def test_what_lies_below_a_place_is_found_there_however_it_is_written(uri: str, root: str) -> None:
    assert Location.of(uri).is_below(Location.of(root))


@pytest.mark.parametrize(
    ("uri", "root"),
    [
        ("s3://bucket/ab/c", "s3://bucket/a"),
        ("s3://bucket2/a", "s3://bucket"),
        ("s3://bucket/A/b", "s3://bucket/a"),
        ("gs://bucket/a", "s3://bucket/a"),
        ("http://host/a", "https://host/a"),
        ("https://host:8443/a", "https://host/a"),
        ("https://host.evil/a", "https://host/a"),
        ("https://host/ab", "https://host/a"),
        ("/data/photos2/a.jpg", "/data/photos"),
        ("/data/photos/../secret", "/data/photos"),
        ("/data", "/data/photos"),
        ("hdfs://node:8021/a", "hdfs://node:8020/a"),
        ("hdfs:///a", "hdfs://node:8020/a"),
    ],
)
def test_what_lies_elsewhere_is_not_below_a_place(uri: str, root: str) -> None:
    assert not Location.of(uri).is_below(Location.of(root))


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "s3://bucket/a/../b",
        "s3://bucket/a/%2e%2E/b",
        "s3://bucket/a/%252e%252e/b",
        "s3://bucket/a/..%2Fb",
        "s3://bucket/a\\..\\b",
        "https://host/a/../b",
        "https://host/a/%2e%2e/b",
        "https://host/a/./b",
        "https://user:password@host/a",
        "https://host@evil/a",
        "https:/host/a",
        "http:///a",
        "https://host/a b",
        "https://host/a\r\nHost: evil",
        "ht\ttp://host/a",
        "https://höst/a",
        "https://host:99999/a",
        "https://host:x/a",
        "file://otherhost/a",
        "/a\x00b",
    ],
)
def test_what_climbs_or_can_be_read_in_two_ways_names_no_place(uri: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Location.of(uri)


def test_symbolic_links_do_not_lead_out_of_a_place(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    (tmp_path / "alias").symlink_to(tmp_path / "in")
    root = Location.of(str(tmp_path / "in"))
    assert not Location.of(f"{tmp_path}/in/link/x").is_below(root)
    assert Location.of(f"{tmp_path}/alias/x").is_below(root)
    assert Location.of(f"{tmp_path}/in/x").is_below(Location.of(str(tmp_path / "alias")))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    try:
        assert not Location.of(f"{tmp_path}/loop/x").is_below(root)
    except ValueError as error:
        assert "links" in str(error)  # before Python 3.13


def test_messages_name_places_without_secrets() -> None:
    assert redacted("https://me:secret@host/a?token=secret#secret") == "https://host/a"
    assert redacted("s3://bucket/a\nb") == "s3://bucket/a?b"
    assert len(redacted("s3://bucket/" + "a" * 10_000)) < 600


def test_blobs_come_from_the_warehouse_and_listed_places_alone(tmp_path: Path) -> None:
    access = ExternalAccess.of({"blob.allowed-roots": "s3://images/public, https://cdn.example/i"}, "/warehouse")
    own = ("/warehouse",)
    for uri in ("/warehouse/db.db/t/x", "s3a://images/public/1.jpg", "https://cdn.example/i/1?size=2"):
        access.blob_place(uri, own)
    for uri in ("/etc/passwd", "/warehouse/../etc/passwd", "s3://images/private/1", "http://cdn.example/i/1"):
        with pytest.raises(NotAllowedError, match=r"blob\.allowed-roots"):
            access.blob_place(uri, own)
    with pytest.raises(NotAllowedError) as told:
        NO_ACCESS.blob_place("http://169.254.169.254/latest/meta-data?token=geheim", ())
    assert "geheim" not in str(told.value) and "169.254.169.254/latest/meta-data" in str(told.value)
    with pytest.raises(InvalidInputError, match="its path has"):
        access.blob_place("s3://images/public/../private/1", own)


def test_options_of_tables_lead_to_listed_addresses_alone() -> None:
    access = ExternalAccess.of({"http.allowed-urls": "https://hooks.example/paimon,http://127.0.0.1:8080"})
    access.check_url("https://hooks.example/paimon/done", "url")
    access.check_url("http://127.0.0.1:8080/any", "url")
    for url in ("https://hooks.example/other", "http://127.0.0.1:8081/", "http://localhost:8080/", "http://[::1]/"):
        with pytest.raises(NotAllowedError, match=r"http\.allowed-urls"):
            access.check_url(url, "url")
    for url in ("", "file:///etc/passwd", "ftp://hooks.example/paimon", "https://hooks.example/paimon/../x"):
        with pytest.raises(InvalidOptionError, match="'url'"):
            access.check_url(url, "url")


def test_settings_of_a_table_lead_no_request_to_other_endpoints() -> None:
    access = ExternalAccess.of({"http.allowed-urls": "https://oss.example"})
    access.check_settings({"fs.oss.endpoint": "oss.example", "fs.oss.accessKeyId": "me"}, "blob-descriptor.")
    for key in ("fs.oss.endpoint", "s3.endpoint", "fs.gs.storage.root.url", "fs.s3a.proxy.host"):
        with pytest.raises(NotAllowedError, match=rf"'blob-descriptor\.{key}' of a table names"):
            access.check_settings({key: "169.254.169.254"}, "blob-descriptor.")


@pytest.mark.parametrize(
    "options",
    [
        {"blob.allowed-roots": "s3://bucket/../other"},
        {"http.allowed-urls": "hooks.example"},
        {"http.allowed-urls": "file:///"},
        {"http.allowed-urls": "https://me@hooks.example"},
    ],
)
def test_options_of_a_catalog_that_name_no_places_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(InvalidOptionError, match="has the invalid location '"):
        ExternalAccess.of(options)
