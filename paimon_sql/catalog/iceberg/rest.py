"""Registration of tables in Iceberg's REST catalogs, which have their own table metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypedDict
from urllib.parse import quote, urlencode

import urllib3

from paimon_sql.catalog.iceberg.tables import databases_of, name_in_catalog
from paimon_sql.errors import CatalogUnavailableError, CommitConflictError, InvalidOptionError
from paimon_sql.format.iceberg.schemas import IcebergStruct
from paimon_sql.format.iceberg.table_metadata import COMMIT_IDENTITY, MetadataJson, TableMetadata
from paimon_sql.format.options.table.iceberg import METADATA_ICEBERG_DATABASE, METADATA_ICEBERG_REST
from paimon_sql.storage.iceberg.registration import Registration
from paimon_sql.storage.iceberg.store import MetadataStore
from paimon_sql.storage.table.table import Table

_MISSING, _CONFLICT = 404, 409
_SECONDS = 60.0
_HEADERS = "header."


class RestRegistration(Registration):
    """A table in an Iceberg REST catalog, kept equal to the table's Iceberg metadata.

    An unknown table is registered by its metadata file. Later the catalog gets updates with the differences. If these
    cannot be expressed, as after a rollback, the table is registered anew (Paimon: `IcebergRestMetadataCommitter`).

    Args:
        table: the table, whose options name the catalog.

    Raises:
        InvalidOptionError: no catalog is set.
    """

    def __init__(self, table: Table) -> None:
        self._database = databases_of(table)[0]
        if len(databases_of(table)) > 1:
            raise InvalidOptionError(
                f"{table.name}: '{METADATA_ICEBERG_DATABASE.key}' names several databases; REST catalogs support one.",
                key=METADATA_ICEBERG_DATABASE.key,
            )
        self._name = name_in_catalog(table)
        given = table.options.matching(METADATA_ICEBERG_REST)
        self._server = _Server(table.name, {name: value for (name,), value in given if value is not None})

    def register(self, store: MetadataStore, metadata: TableMetadata) -> None:
        """Update the catalog to the metadata."""
        location = store.version_path(metadata.current_snapshot_id)
        found = self._server.ask("GET", *self._path, allowed=(_MISSING,))
        if found is None:
            self._server.ask(
                "POST", "namespaces", body={"namespace": [self._database], "properties": {}}, allowed=(_CONFLICT,)
            )
            self._add(location)
            return
        updates = updates_between(found["metadata"], metadata)
        if updates == []:
            return
        if updates is not None:
            required = [{"type": "assert-table-uuid", "uuid": found["metadata"]["table-uuid"]}]
            body = {
                "identifier": {"namespace": [self._database], "name": self._name},
                "requirements": required,
                "updates": updates,
            }
            self._server.ask("POST", *self._path, body=body)
            return
        self._server.ask("DELETE", *self._path, query={"purgeRequested": "false"})
        self._add(location)

    def withdraw(self) -> None:
        """Drop the table from the catalog, without its files."""
        self._server.ask("DELETE", *self._path, query={"purgeRequested": "false"}, allowed=(_MISSING,))

    @property
    def _path(self) -> tuple[str, ...]:
        return ("namespaces", self._database, "tables", self._name)

    def _add(self, location: str) -> None:
        body = {"name": self._name, "metadata-location": location}
        self._server.ask("POST", "namespaces", self._database, "register", body=body)


def updates_between(current: MetadataJson, wanted: TableMetadata) -> list[dict[str, object]] | None:
    """Return the updates from a catalog's metadata to the wanted ones; None if the table must be registered anew.

    Args:
        current: the catalog's metadata, as JSON.
        wanted: the metadata.
    """
    stored = {s["snapshot-id"]: s for s in current.get("snapshots") or ()}
    snapshots = {s.id: s for s in wanted.snapshots}
    shared = [i for i in snapshots if i in stored]
    added = [s for s in wanted.snapshots if s.id not in stored]
    last = int(current.get("last-sequence-number") or 0)
    if (
        current["table-uuid"] != wanted.table_uuid
        or int(current["format-version"]) != wanted.format_version
        or not shared
        or any((stored[i].get("summary") or {}).get(COMMIT_IDENTITY) != snapshots[i].identity for i in shared)
        or any(s.id <= last for s in added)
        or (added and wanted.next_row_id is not None and current.get("next-row-id") != added[0].first_row_id)
        or stored[shared[-1]]["manifest-list"] != snapshots[shared[-1]].manifest_list
    ):
        return None
    updates: list[dict[str, object]] = []
    ids = {_fields(s): int(s["schema-id"]) for s in current["schemas"]}
    next_id = max(ids.values(), default=-1)
    for schema in wanted.schemas:
        if _fields(schema) not in ids:
            next_id += 1
            ids[_fields(schema)] = next_id
            updates.append({"action": "add-schema", "schema": {**schema, "schema-id": next_id}})
    schema_ids = {s["schema-id"]: ids[_fields(s)] for s in wanted.schemas}
    if schema_ids[wanted.current_schema_id] != current["current-schema-id"]:
        updates.append({"action": "set-current-schema", "schema-id": schema_ids[wanted.current_schema_id]})
    for snapshot in added:
        body = {**snapshot.to_json(), "schema-id": schema_ids[snapshot.schema_id]}
        updates.append({"action": "add-snapshot", "snapshot": body})
    refs = {name: ref["snapshot-id"] for name, ref in (current.get("refs") or {}).items() if name != "main"}
    if current.get("current-snapshot-id") != wanted.current_snapshot_id:
        updates.append(_ref("main", "branch", wanted.current_snapshot_id))
    updates += [{"action": "remove-snapshot-ref", "ref-name": name} for name in sorted(refs.keys() - wanted.tags)]
    updates += [_ref(name, "tag", i) for name, i in sorted(wanted.tags.items()) if refs.get(name) != i]
    if removed := sorted(i for i in stored if i not in snapshots):
        updates.append({"action": "remove-snapshots", "snapshot-ids": removed})
    properties = current.get("properties") or {}
    changed = {k: v for k, v in wanted.properties.items() if properties.get(k) != v}
    if changed:
        updates.append({"action": "set-properties", "updates": changed})
    return updates


def _ref(name: str, kind: str, snapshot_id: int) -> dict[str, object]:
    return {"action": "set-snapshot-ref", "ref-name": name, "type": kind, "snapshot-id": snapshot_id}


def _fields(schema: IcebergStruct) -> str:
    """The columns of a schema in a normal form, without its id."""
    return json.dumps(schema["fields"], sort_keys=True).replace(", ", ",")


class _Answer(TypedDict, total=False):
    defaults: dict[str, str] | None
    overrides: dict[str, str] | None
    metadata: MetadataJson


class _Server:
    """A REST catalog of Iceberg's.

    Args:
        table: the table, named in messages.
        properties: the properties of the catalog (``metadata.iceberg.rest.*``).
    """

    def __init__(self, table: str, properties: Mapping[str, str]) -> None:
        self._table = table
        if not properties.get("uri"):
            key = METADATA_ICEBERG_REST.for_name("uri")
            raise InvalidOptionError(
                f"{table}: the REST catalog for Iceberg's readers is not configured.",
                key=key,
                remedy=f"Set '{key}' to its address.",
            )
        self._root = properties["uri"].rstrip("/") + "/v1"
        self._pool = urllib3.PoolManager(timeout=_SECONDS, retries=False)
        self._headers = {"Content-Type": "application/json"}
        self._prefix = ""
        query = {"warehouse": properties["warehouse"]} if "warehouse" in properties else {}
        self._authorize(properties)
        config = self.ask("GET", "config", query=query) or {}
        found = {**(config.get("defaults") or {}), **properties, **(config.get("overrides") or {})}
        self._authorize(found)
        self._prefix = str(found.get("prefix", "")).strip("/")

    def _authorize(self, properties: Mapping[str, str]) -> None:
        self._headers |= {k.removeprefix(_HEADERS): str(v) for k, v in properties.items() if k.startswith(_HEADERS)}
        if properties.get("token"):
            self._headers["Authorization"] = f"Bearer {properties['token']}"
        elif properties.get("credential") and "Authorization" not in self._headers:
            client, _, secret = str(properties["credential"]).rpartition(":")
            form = {
                "grant_type": "client_credentials",
                "client_secret": secret,
                "scope": str(properties.get("scope", "catalog")),
                **({"client_id": client} if client else {}),
            }
            url = str(properties.get("oauth2-server-uri") or f"{self._root}/oauth/tokens")
            response = self._sent("POST", url, urlencode(form).encode(), "application/x-www-form-urlencoded")
            if response.status != 200:
                raise self._refused("the credential", response)
            self._headers["Authorization"] = f"Bearer {response.json()['access_token']}"

    def ask(
        self,
        method: str,
        *path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        allowed: tuple[int, ...] = (),
    ) -> _Answer | None:
        """Send a request and return the response; None for an allowed refusal.

        Args:
            method: the method.
            path: the parts of the path.
            query: the query parameters.
            body: the body, sent as JSON.
            allowed: the status codes of refusals that return None.

        Raises:
            CommitConflictError: a concurrent writer changed the table.
            CatalogUnavailableError: the server refuses, or does not respond.
        """
        parts = [quote(part, safe="") for part in path]
        if self._prefix:
            parts.insert(0, self._prefix)
        url = "/".join([self._root, *parts]) + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        response = self._sent(method, url, data, self._headers["Content-Type"])
        if response.status in allowed:
            return None
        if response.status >= 400:
            raise self._refused("/".join(path), response)
        answer: _Answer = response.json() if response.data else {}
        return answer

    def _sent(self, method: str, url: str, data: bytes | None, kind: str) -> urllib3.BaseHTTPResponse:
        try:
            return self._pool.request(method, url, body=data, headers={**self._headers, "Content-Type": kind})
        except urllib3.exceptions.HTTPError as error:
            raise CatalogUnavailableError(
                f"{self._table}: the Iceberg REST catalog does not answer: {error}.",
                remedy=f"Check that it runs, and '{METADATA_ICEBERG_REST.for_name('uri')}'.",
            ) from error

    def _refused(self, what: str, response: urllib3.BaseHTTPResponse) -> Exception:
        try:
            reason = str(response.json()["error"]["message"])
        except (ValueError, KeyError, TypeError):
            reason = f"status {response.status}"
        message = f"{self._table}: the Iceberg REST catalog rejected {what}: {reason}"
        return CommitConflictError(message) if response.status == _CONFLICT else CatalogUnavailableError(message)
