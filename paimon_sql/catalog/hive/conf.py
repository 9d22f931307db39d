"""Configuration of the metastore: a catalog's options, with defaults from ``hive-site.xml``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from paimon_sql.errors import InvalidOptionError, UnsupportedError
from paimon_sql.format.options.engines.catalog import HIVE_CONF_DIR, URI, WAREHOUSE

_SITE = "hive-site.xml"
_URIS, _WAREHOUSE = "hive.metastore.uris", "hive.metastore.warehouse.dir"
_UNSUPPORTED = {
    "hive.metastore.sasl.enabled": "Kerberos",
    "hive.metastore.use.SSL": "TLS",
    "hive.metastore.thrift.framed.transport.enabled": "framed transport",
    "hive.metastore.thrift.compact.protocol.enabled": "the compact protocol",
}


def with_site(catalog: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options of a catalog, with defaults from ``hive-site.xml``.

    The file is in the directory of the option ``hive-conf-dir``, or else of the environment variable ``HIVE_CONF_DIR``.

    Raises:
        InvalidOptionError: the file cannot be read.
        UnsupportedError: the metastore needs a protocol that is not supported.
    """
    directory = options.get(HIVE_CONF_DIR.key) or os.environ.get("HIVE_CONF_DIR", "")
    site = _read(catalog, Path(directory.removeprefix("file://")) / _SITE) if directory else {}
    found = {**site, **options}
    for key, what in _UNSUPPORTED.items():
        if found.get(key, "").strip().lower() == "true":
            raise UnsupportedError(
                f"Catalog {catalog}: Hive's metastore is to be spoken with by {what} ('{key}'), which is not offered."
            )
    defaults = {URI.key: found.get(_URIS, ""), WAREHOUSE.key: found.get(_WAREHOUSE, "")}
    return {**{k: v for k, v in defaults.items() if v}, **options}


def _read(catalog: str, path: Path) -> dict[str, str]:
    try:
        properties = ElementTree.parse(path).getroot().findall("property")
    except (OSError, ElementTree.ParseError) as error:
        raise InvalidOptionError(
            f"Catalog {catalog}: {path} cannot be read: {error}.",
            key=HIVE_CONF_DIR.key,
            remedy=f"Set '{HIVE_CONF_DIR.key}' to the folder that holds {_SITE}, or leave it out.",
        ) from None
    return {p.findtext("name", "").strip(): p.findtext("value", "").strip() for p in properties}
