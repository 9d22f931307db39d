"""Signed requests of REST catalogs, checked by Java's own signatures in the server of Paimon's tests."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.registry import open_catalog
from paimon_sql.catalog.rest.catalog import RestCatalog
from paimon_sql.catalog.rest.http import authentication
from paimon_sql.catalog.rest.http.authentication import (
    DlfSignature,
    GivenKeys,
    InstanceRole,
    OpenApiSignature,
    TokenFile,
    signature_of,
    source_of,
)
from paimon_sql.errors import CatalogUnavailableError, InvalidOptionError
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.process import PROCESS
from tests.rest_server import TOKEN, RestServer
from tests.web import Handler, listening

SCHEMA = new_schema((DataField(0, "id", IntType(False)),), primary_keys=["id"], options={"bucket": "1"})
KEYS = {"dlf.access-key-id": "the key", "dlf.access-key-secret": TOKEN}


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test meet the credentials of another, and none wait for a file that will not come."""
    PROCESS.clear_caches()
    monkeypatch.setattr(authentication, "_PAUSE", 0.01)


def signing(rest: RestServer, **more: str) -> dict[str, str]:
    """The options of a catalog on the server that signs its requests."""
    given = {k: v for k, v in rest.options.items() if not k.startswith("token")}
    return {**given, "token.provider": "dlf", "dlf.region": "cn-hangzhou", **more}


def keys(secret: str = TOKEN, *, seconds: float | None = None) -> str:
    """Credentials as files and services write them."""
    said = {"AccessKeyId": "the key", "AccessKeySecret": secret, "SecurityToken": "t", "Code": "Success"}
    if seconds is not None:
        said["Expiration"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
    return json.dumps(said)


@pytest.mark.parametrize("more", [{}, {"dlf.security-token": "token of a day"}], ids=["keys", "with a token"])
@pytest.mark.parametrize("algorithm", ["default", "openapi"])
def test_java_finds_the_signatures_right(rest: RestServer, algorithm: str, more: Mapping[str, str]) -> None:
    options = {**signing(rest), **KEYS, "dlf.signing-algorithm": algorithm, **more}
    catalog = RestCatalog("lake", options)
    database = f"{rest.new_name()} ü~* %$😀"
    catalog.create_database(database, {"comment": "é +&="})
    tables = [Identifier(database, f"t{number:03} +ü~") for number in range(3)]
    for table in tables:
        catalog.create_table(table, SCHEMA)
    client = pickle.loads(pickle.dumps(catalog)).client
    query = {"maxResults": "2", "tableNamePattern": "x ü*~&%", "empty": ""}
    found = client.server.ask("GET", [client.prefix, "databases", database, "tables"], query)
    assert found["tables"] == []
    assert catalog.list_tables(database) == [table.table for table in tables]
    catalog.drop_database(database, cascade=True)
    with pytest.raises(CatalogUnavailableError, match="401"):
        RestCatalog("lake", {**options, "dlf.access-key-secret": "wrong"})


def test_a_file_is_read_again_before_its_keys_end(rest: RestServer, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text(keys("wrong", seconds=authentication.LEAST_SECONDS + 60))
    options = signing(rest, **{"dlf.token-path": str(file)})
    with pytest.raises(CatalogUnavailableError):
        RestCatalog("lake", options)
    file.write_text(keys())
    with pytest.raises(CatalogUnavailableError):  # what is held still holds
        RestCatalog("lake", options)
    PROCESS.clear_caches()
    file.write_text(keys("wrong", seconds=authentication.LEAST_SECONDS - 60))
    with pytest.raises(CatalogUnavailableError):
        RestCatalog("lake", options)
    file.write_text(keys(seconds=authentication.LEAST_SECONDS - 60))
    catalog = RestCatalog("lake", {**options, "dlf.token-loader": "local_file"})
    assert catalog.list_databases() is not None
    file.write_text('{"AccessKeyId": "the key", "AccessKeySecret": "shy')
    with pytest.raises(CatalogUnavailableError, match=f"{file}: it is not a JSON object") as raised:
        catalog.list_databases()
    assert "shy" not in str(raised.value)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CatalogUnavailableError, match=f"{file}: it is not a JSON object"):
        catalog.list_databases()
    file.write_text('{"AccessKeyId": "k", "AccessKeySecret": "s", "SecurityToken": "\N{EURO SIGN}"}')
    with pytest.raises(CatalogUnavailableError, match=f"{file}: its values are not valid in a header"):
        catalog.list_databases()
    file.unlink()
    writer = threading.Timer(0.015, file.write_text, [keys()])  # it is being replaced
    writer.start()
    assert catalog.list_databases() is not None
    writer.join()
    file.unlink()
    PROCESS.clear_caches()
    with pytest.raises(CatalogUnavailableError, match=f"{file}: No such file or directory"):
        catalog.list_databases()


def test_a_machine_is_asked_for_the_keys_of_its_role(rest: RestServer) -> None:
    with service({"/role/": "reader\n", "/role/reader": keys(), "/role/writer": keys("wrong")}) as address:
        given = {"dlf.token-loader": "ecs", "dlf.token-ecs-metadata-url": f"{address}/role/"}
        assert RestCatalog("lake", signing(rest, **given)).list_databases() is not None
        with pytest.raises(CatalogUnavailableError, match="401"):
            RestCatalog("lake", signing(rest, **given, **{"dlf.token-ecs-role-name": "writer"}))
        with pytest.raises(CatalogUnavailableError, match="it answered 404"):
            RestCatalog("lake", signing(rest, **given, **{"dlf.token-ecs-role-name": "nobody"}))
    with pytest.raises(CatalogUnavailableError, match="cannot be loaded from"):
        RestCatalog("lake", signing(rest, **given, **{"dlf.token-ecs-role-name": "late"}))


@contextmanager
def service(pages: Mapping[str, str]) -> Iterator[str]:
    """A service that answers with pages, and its address."""

    class Pages(Handler):
        def do_GET(self) -> None:
            page = pages.get(self.path)
            self.send_response(404 if page is None else 200)
            self.end_headers()
            self.wfile.write((page or "").encode())

    with listening(Pages) as address:
        yield address


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({}, "dlf.access-key-id"),
        ({"dlf.access-key-id": "k"}, "dlf.access-key-secret"),
        ({"dlf.token-loader": "local_file"}, "dlf.token-path"),
        ({"dlf.token-loader": "sts"}, "dlf.token-loader"),
        ({**KEYS, "dlf.region": ""}, "dlf.region"),
        ({**KEYS, "dlf.signing-algorithm": "md5"}, "dlf.signing-algorithm"),
        ({**KEYS, "dlf.access-key-id": "keyhole €"}, "dlf.access-key-id"),
        ({**KEYS, "dlf.security-token": "to\nken"}, "dlf.security-token"),
        ({**KEYS, "header.X Y": "z"}, "header.X Y"),
        ({**KEYS, "header.": "z"}, "header."),
    ],
)
def test_options_that_sign_nothing_are_refused(rest: RestServer, given: dict[str, str], key: str) -> None:
    with pytest.raises(InvalidOptionError) as raised:
        open_catalog("lake", {**signing(rest), **given})
    assert raised.value.key == key


def test_the_address_says_region_and_way(rest: RestServer) -> None:
    assert signature_of("c", {"uri": "https://cn-beijing-vpc.dlf.aliyuncs.com"}) == DlfSignature("cn-beijing")
    assert signature_of("c", {"uri": "https://dlfnext.cn-beijing.aliyuncs.com"}) == OpenApiSignature()
    assert signature_of("c", {"uri": "http://pre-us-east-1.x", "dlf.region": "eu-west-2"}) == DlfSignature("eu-west-2")
    assert isinstance(source_of("c", KEYS), GivenKeys) and isinstance(
        source_of("c", {"dlf.token-path": "f"}), TokenFile
    )
    assert isinstance(source_of("c", {"dlf.token-loader": "ecs"}), InstanceRole)
    assert source_of("c", {**KEYS, "dlf.security-token": " "}).load().security_token is None


def test_the_secret_of_a_key_is_not_shown(rest: RestServer) -> None:
    catalog = RestCatalog("lake", {**signing(rest), **KEYS})
    assert TOKEN not in repr(catalog.client) + str(source_of("c", KEYS))
