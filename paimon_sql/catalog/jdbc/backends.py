"""Backends of the JDBC catalog: the supported databases, their addresses for SQLAlchemy and differences in SQL.

A backend is a small class; new ones are added to `BACKENDS`.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

from sqlalchemy import URL, BigInteger, ColumnElement, String, Table, cast, extract, func, literal
from sqlalchemy.dialects.mysql import VARCHAR
from sqlalchemy.sql.type_api import TypeEngine

from paimon_sql.errors import InvalidOptionError
from paimon_sql.storage.file_io.base import MAKE_DIRECTORY, translate_errors

_MAX_BEHIND_UTC = 12 * 3600
"""The max seconds that the clocks of any time zone are behind UTC."""

Arguments = dict[str, object]
"""Arguments of a driver's ``connect``."""


class Backend(ABC):
    """A kind of database.

    Attributes:
        protocols: the protocols after ``jdbc:`` in its addresses.
        driver: the module of its driver.
        extra: the extra of this package with the driver; None if Python has it.
        pooled: whether connections are pooled.
    """

    protocols: ClassVar[tuple[str, ...]]
    driver: ClassVar[str]
    extra: ClassVar[str | None] = None
    pooled: ClassVar[bool] = True

    @abstractmethod
    def address(self, rest: str, properties: Mapping[str, str]) -> tuple[URL, Arguments]:
        """The address and arguments for SQLAlchemy.

        Args:
            rest: the JDBC address after ``jdbc:<protocol>:``.
            properties: the settings of the connection, by their names in the Java driver.

        Raises:
            InvalidOptionError: the address is invalid.
        """

    def prepare(self, url: URL) -> None:
        """Create what the first connection needs."""
        return

    @abstractmethod
    def is_expired(self, locks: Table) -> ColumnElement[bool]:
        """The condition of an expired lock, by the database's clock, for clients in any time zone.

        Args:
            locks: the table of locks.
        """

    def lock_owner(self, token: str) -> ColumnElement[str]:
        """The value of the column ``lock_owner`` of a new lock, at most 36 characters.

        Args:
            token: its prefix.
        """
        return literal(token)

    def key_length(self, column: str, columns: int) -> int:
        """The max length of a column in a primary key of so many columns."""
        return 255

    def key_type(self, length: int) -> TypeEngine[str]:
        """The type of a column of this length in a primary key."""
        return String(length)

    def is_conflict(self, error: BaseException) -> bool:
        """Whether the database refused a statement because of a concurrent one."""
        return False


class Sqlite(Backend):
    """A file, shared by the processes of a machine."""

    protocols = ("sqlite",)
    driver = "sqlite3"
    # Connections are cheap, and must not be used across a fork.
    pooled = False

    def address(self, rest: str, properties: Mapping[str, str]) -> tuple[URL, Arguments]:
        path, _, query = rest.partition("?")
        if path.startswith("file:"):
            path = unquote(urlsplit(path).path)
        if not path or path == ":memory:" or "mode=memory" in query:
            raise InvalidOptionError(
                f"jdbc:sqlite:{rest} would keep the catalog in the memory of one connection only.",
                key="uri",
                remedy="Name a file: jdbc:sqlite:/path/of/catalog.db.",
            )
        wait = float(properties.get("busy_timeout", "60000")) / 1000
        return URL.create("sqlite", database=str(Path(path).expanduser().absolute())), {"timeout": wait}

    def prepare(self, url: URL) -> None:
        folder = str(Path(url.database or "").parent)
        with translate_errors(MAKE_DIRECTORY, folder):
            Path(folder).mkdir(parents=True, exist_ok=True)

    def is_expired(self, locks: Table) -> ColumnElement[bool]:
        # Both times are in UTC.
        return func.strftime("%s", "now") - func.strftime("%s", locks.c.acquired_at) > locks.c.expire_time_seconds

    def is_conflict(self, error: BaseException) -> bool:
        return "locked" in str(error)


class Server(Backend):
    """A server with host and port."""

    port: ClassVar[int]
    dialect: ClassVar[str]
    given: ClassVar[tuple[str, ...]]
    """The settings of the Java driver that `arguments` supports; others are about Java and ignored."""
    secure: ClassVar[tuple[str, ...]]
    """Prefixes of settings that secure the connection, none of which may be ignored."""

    def address(self, rest: str, properties: Mapping[str, str]) -> tuple[URL, Arguments]:
        try:
            parts = urlsplit(rest if rest.startswith("//") else f"//localhost/{rest}")
            host, port = parts.hostname or "localhost", parts.port or self.port
        except ValueError as error:
            raise InvalidOptionError(f"jdbc:{self.protocols[0]}:{parts_only(rest)}: {error}.", key="uri") from None
        if "," in parts.netloc:
            raise InvalidOptionError(f"'{parts.netloc}' names several servers; name one.", key="uri")
        settings = {**dict(parse_qsl(parts.query, keep_blank_values=True)), **properties}
        for key in settings:
            if key.lower().startswith(self.secure) and key not in self.given:
                raise InvalidOptionError(
                    f"'{key}' is a setting of the Java driver that is not supported.",
                    key=f"jdbc.{key}",
                    remedy=f"Supported settings for secure connections: {', '.join(self.given)}.",
                )
        url = URL.create(
            self.dialect,
            username=settings.get("user") or (unquote(parts.username) if parts.username else None),
            password=settings.get("password") or (unquote(parts.password) if parts.password else None),
            host=host,
            port=port,
            database=unquote(parts.path.lstrip("/")) or None,
        )
        return url, self.arguments(settings)

    @abstractmethod
    def arguments(self, settings: Mapping[str, str]) -> Arguments:
        """The arguments of the driver's ``connect`` in addition to the address."""


class MySql(Server):
    """MySQL and MariaDB."""

    protocols = ("mysql", "mariadb")
    driver = "pymysql"
    extra = "jdbc-mysql"
    port = 3306
    dialect = "mysql+pymysql"
    given = ("sslMode", "useSSL", "sslCa")
    secure = (
        "ssl",
        "usessl",
        "requiressl",
        "verifyserver",
        "trustcert",
        "clientcert",
        "tls",
        "enabledtls",
        "serverrsa",
    )

    def arguments(self, settings: Mapping[str, str]) -> Arguments:
        mode = settings.get("sslMode", "REQUIRED" if settings.get("useSSL") == "true" else "PREFERRED").upper()
        if mode not in _MYSQL_TLS:
            raise InvalidOptionError(
                f"'{mode}' is not a valid sslMode.", key="jdbc.sslMode", remedy=f"Use one of {', '.join(_MYSQL_TLS)}."
            )
        found: Arguments = {"charset": "utf8mb4"}
        tls = _MYSQL_TLS[mode]
        if tls is None:
            found["ssl_disabled"] = True
        elif tls:
            found["ssl"] = {**tls, "ca": settings.get("sslCa")}
        if "connectTimeout" in settings:
            found["connect_timeout"] = max(1, int(settings["connectTimeout"]) // 1000)
        return found

    def is_expired(self, locks: Table) -> ColumnElement[bool]:
        # The value of a TIMESTAMP as stored by the server, independent of time zones and daylight saving.
        age = func.unix_timestamp() - func.unix_timestamp(locks.c.acquired_at)
        return age > locks.c.expire_time_seconds

    def key_length(self, column: str, columns: int) -> int:
        # A key has at most 3,072 bytes, 4 per character: three columns of 255 fit, four do not (Java fails there).
        return _FOUR_COLUMNS[column] if columns == len(_FOUR_COLUMNS) else 255

    def key_type(self, length: int) -> TypeEngine[str]:
        # Names are case-sensitive.
        return VARCHAR(length, collation="utf8mb4_bin")

    def is_conflict(self, error: BaseException) -> bool:
        return bool(getattr(error, "args", ())) and error.args[0] in (1205, 1213, 1020)


_FOUR_COLUMNS = {"catalog_key": 128, "database_name": 240, "table_name": 240, "property_key": 160}

_MYSQL_TLS: dict[str, dict[str, str | bool] | None] = {
    "DISABLED": None,
    "PREFERRED": {},
    "REQUIRED": {"verify_mode": "none", "check_hostname": False},
    "VERIFY_CA": {"verify_mode": "required", "check_hostname": False},
    "VERIFY_IDENTITY": {"verify_mode": "required", "check_hostname": True},
}
"""The settings of TLS by ``sslMode``: None without TLS, empty for the driver's default."""


class PostgreSql(Server):
    """PostgreSQL."""

    protocols = ("postgresql",)
    driver = "psycopg"
    extra = "jdbc-postgresql"
    port = 5432
    dialect = "postgresql+psycopg"
    given = ("ssl", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword")
    secure = ("ssl", "gssenc", "channelbinding", "requireauth")

    def arguments(self, settings: Mapping[str, str]) -> Arguments:
        found: Arguments = {k: settings[k] for k in self.given[1:] if k in settings}
        if settings.get("ssl", "false") != "false":
            found.setdefault("sslmode", "verify-full")
        if "connectTimeout" in settings:
            found["connect_timeout"] = int(settings["connectTimeout"])
        if "ApplicationName" in settings:
            found["application_name"] = settings["ApplicationName"]
        options = [settings.get("options", "")]
        if "currentSchema" in settings:
            options.append(f"-c search_path={settings['currentSchema'].replace(' ', '')}")
        # The locks' times have no time zone: Java's driver writes them in that of its machine.
        options.append(f"-c TimeZone={local_zone()}")
        return {**found, "options": " ".join(filter(None, options))}

    def is_expired(self, locks: Table) -> ColumnElement[bool]:
        # The column `acquired_at` has no time zone: Java writes and compares it in that of its machine, which is
        # unknown here. Therefore our own locks have their instant in `lock_owner`. A lock of Java is certainly expired
        # only if it would be so in the zone whose clocks are most behind; before that, waiting writers watch it.
        now = func.clock_timestamp()
        ours = extract("epoch", now) - cast(func.substring(locks.c.lock_owner, "@([0-9]+)$"), BigInteger)
        latest = extract("epoch", func.timezone("UTC", now) - locks.c.acquired_at) - _MAX_BEHIND_UTC
        return func.coalesce(ours, latest) > locks.c.expire_time_seconds

    def lock_owner(self, token: str) -> ColumnElement[str]:
        instant = cast(extract("epoch", func.clock_timestamp()), BigInteger)
        return literal(f"{token}@").concat(cast(instant, String))


BACKENDS: dict[str, Backend] = {p: backend for backend in (Sqlite(), MySql(), PostgreSql()) for p in backend.protocols}
"""The backends by the protocol after ``jdbc:``."""


def local_zone() -> str:
    """The name of this machine's time zone for PostgreSQL; its current offset if it has no name."""
    named = os.environ.get("TZ", "").lstrip(":") or str(Path("/etc/localtime").resolve()).partition("/zoneinfo/")[2]
    if named and Path("/usr/share/zoneinfo", named).is_file():
        return named
    minutes = time.localtime().tm_gmtoff // 60
    sign, (hours, rest) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    ahead = f"{hours:02}:{rest:02}"
    return f"<{sign}{ahead}>{'+' if minutes < 0 else '-'}{ahead}" if minutes else "UTC"


def parts_only(rest: str) -> str:
    """An address without its parts that may be secret."""
    return rest.partition("?")[0].rpartition("@")[2]
