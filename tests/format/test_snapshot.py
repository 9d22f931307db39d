from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.metadata.snapshot import (
    CommitKind,
    Consumer,
    Operation,
    Snapshot,
    Tag,
    parse_consumer,
    parse_snapshot,
    parse_tag,
)

MINIMAL = Snapshot(
    id=7,
    schema_id=0,
    base_manifest_list="manifest-list-a-0",
    delta_manifest_list="manifest-list-a-1",
    commit_user="me",
    commit_identifier=2**63 - 1,
    commit_kind=CommitKind.APPEND,
    time_millis=1_700_000_000_000,
    total_record_count=3,
    delta_record_count=3,
)
FULL = replace(
    MINIMAL,
    uuid="5f0c",
    base_manifest_list_size=10,
    delta_manifest_list_size=11,
    changelog_manifest_list="manifest-list-a-2",
    changelog_manifest_list_size=12,
    index_manifest="index-manifest-a-0",
    writer_version="v",
    log_offsets={"0": 5},
    changelog_record_count=1,
    watermark=-(2**63),
    statistics="stat-a-0",
    properties={"käse": "brie"},
    next_row_id=0,
    operation=Operation.MERGE,
)


@pytest.mark.parametrize("snapshot", [MINIMAL, FULL])
def test_a_written_snapshot_is_read_again(snapshot: Snapshot) -> None:
    assert parse_snapshot(snapshot.to_json(), "f") == snapshot


def test_every_field_is_written() -> None:
    assert len(json.loads(FULL.to_json())) == len(fields(Snapshot))


def test_absent_fields_are_not_written() -> None:
    assert "null" not in MINIMAL.to_json()
    assert "watermark" not in MINIMAL.to_json()


def test_snapshots_of_the_golden_tables_are_written_with_the_same_members_in_the_same_order(golden: Path) -> None:
    files = sorted(golden.glob("*/warehouse/*/*/snapshot/snapshot-*"))
    assert len(files) > 200
    for file in files:
        written = parse_snapshot(file.read_bytes(), str(file)).to_json()
        assert list(json.loads(written).items()) == list(json.loads(file.read_text()).items())


def test_unknown_members_are_passed_over() -> None:
    body = {**json.loads(MINIMAL.to_json()), "fromTheFuture": {"a": [1]}}
    assert parse_snapshot(json.dumps(body), "f") == MINIMAL


def test_an_unknown_operation_is_kept_as_it_is() -> None:
    body = {**json.loads(MINIMAL.to_json()), "operation": "REWIND"}
    assert parse_snapshot(json.dumps(body), "f").operation == "REWIND"


def test_a_snapshot_of_the_first_version_is_read() -> None:
    body = json.loads(MINIMAL.to_json())
    for name in ("version", "totalRecordCount", "deltaRecordCount"):
        del body[name]
    old = parse_snapshot(json.dumps({**body, "logOffsets": {}, "changelogManifestList": None}), "f")
    assert (old.version, old.total_record_count, old.delta_record_count) == (1, None, None)
    assert old.changelog_manifest_list is None


@pytest.mark.parametrize(
    ("text", "defect"),
    [
        ("", "not a snapshot file"),
        ("[]", "no JSON object"),
        ('{"id": 1', "not a snapshot file"),
        (MINIMAL.to_json().replace('"schemaId"', '"schema"'), "schemaId is missing"),
        (MINIMAL.to_json().replace('"id": 7', '"id": "7"'), "member id is '7'"),
        (MINIMAL.to_json().replace('"id": 7', '"id": 7.5'), "no whole number"),
        (MINIMAL.to_json().replace('"id": 7', '"id": true'), "no whole number"),
        (MINIMAL.to_json().replace('"me"', "5"), "commitUser is 5"),
        (MINIMAL.to_json().replace("APPEND", "PREPEND"), "commitKind is 'PREPEND'"),
        (MINIMAL.to_json().replace('"id": 7', '"id": 7, "properties": 1'), "properties is 1 and no object"),
        (MINIMAL.to_json().replace('"id": 7', '"id": 7, "statistics": 1'), "statistics is 1 and no text"),
    ],
)
def test_a_corrupt_snapshot_is_refused_with_its_path_and_defect(text: str, defect: str) -> None:
    with pytest.raises(CorruptFileError, match=f"t/snapshot-7: .*{defect}"):
        parse_snapshot(text, "t/snapshot-7")


def test_tags_of_the_golden_tables_are_read(golden: Path) -> None:
    tags = golden / "tags_branches/warehouse/g.db/tags_branches/tag"
    text = (tags / "tag-rel-2").read_text()
    tag = parse_tag(text, "f")
    assert tag.snapshot.id == 2
    assert tag.create_time == datetime(2026, 11, 21, 2, 37, 56, 891132)
    assert tag.time_retained == timedelta(seconds=31536000000)
    written = json.loads(tag.to_json())
    assert list(written) == list(json.loads(text))
    assert written["tagCreateTime"] == [2026, 11, 21, 2, 37, 56, 891132000]
    assert written["tagTimeRetained"] == 31536000000.0
    old = parse_tag((tags / "tag-t1").read_text(), "f")
    assert (old.create_time, old.time_retained) == (None, None)


@pytest.mark.parametrize(
    ("created", "retained", "expected"),
    [
        ("[2024, 2, 29, 23, 59]", "60", (datetime(2024, 2, 29, 23, 59), timedelta(minutes=1))),
        ("[2024, 2, 29, 23, 59, 1]", "0.5", (datetime(2024, 2, 29, 23, 59, 1), timedelta(seconds=0.5))),
        ('"2024-02-29T23:59:01.123456789"', '"PT36H"', (datetime(2024, 2, 29, 23, 59, 1, 123456), timedelta(hours=36))),
        ('"2024-02-29T23:59"', "1e30", (datetime(2024, 2, 29, 23, 59), timedelta.max)),
    ],
)
def test_the_times_of_a_tag_are_read_in_every_form(
    created: str, retained: str, expected: tuple[datetime, timedelta]
) -> None:
    body = MINIMAL.to_json()[:-1] + f', "tagCreateTime": {created}, "tagTimeRetained": {retained}}}'
    tag = parse_tag(body, "f")
    assert (tag.create_time, tag.time_retained) == expected
    assert parse_tag(tag.to_json(), "f") == tag or expected[1] == timedelta.max


@pytest.mark.parametrize("created", ["[2024, 13, 1, 0, 0]", "[2024]", '"yesterday"', "5", "[true, 1, 1, 1, 1]"])
def test_a_tag_with_an_impossible_time_is_refused(created: str) -> None:
    with pytest.raises(CorruptFileError, match="not a tag file"):
        parse_tag(MINIMAL.to_json()[:-1] + f', "tagCreateTime": {created}}}', "f")


def test_a_tag_without_times_is_written_as_its_snapshot() -> None:
    assert Tag(MINIMAL).to_json() == MINIMAL.to_json()


def test_a_consumer_is_read_and_written() -> None:
    assert parse_consumer(Consumer(5).to_json(), "f") == Consumer(5)
    assert json.loads(Consumer(5).to_json()) == {"nextSnapshot": 5}


@pytest.mark.parametrize("text", ["", "{}", '{"nextSnapshot": "5"}', '{"nextSnapshot": true}', "5"])
def test_a_corrupt_consumer_is_refused(text: str) -> None:
    with pytest.raises(CorruptFileError, match="c/consumer-x: not a consumer file"):
        parse_consumer(text, "c/consumer-x")
