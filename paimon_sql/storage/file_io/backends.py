"""Backends: create the file system of a scheme from a catalog's options.

Option names are those of Paimon's Java connectors (``s3.access-key``, ``fs.oss.endpoint``,
``fs.azure.account.key.<account>`` ...).
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol, TypeAlias

import pyarrow.fs as pafs

from paimon_sql.errors import SetupError, UnsupportedError

Options: TypeAlias = Mapping[str, str]


class ConditionRefusedError(Exception):
    """A store does not support conditional puts."""


class Objects(ABC):
    """Operations of an object store that Arrow's file system lacks; paths are those inside the store."""

    @abstractmethod
    def create(self, path: str, data: bytes) -> bool:
        """Create an object if the name is free; return whether it was created.

        Raises:
            ConditionRefusedError: the store does not support conditional puts.
        """

    def remove(self, paths: Sequence[str]) -> bool:
        """Delete objects, existing or not; False, without an effect, if not supported."""
        return False

    def remove_if(self, path: str, is_meant: Callable[[bytes], bool]) -> bool | None:
        """Delete an object if its content is the expected one; return whether it was deleted, None if not supported."""
        return None

    def copy(self, source: str, target: str) -> bool:
        """Copy an object inside the store; False, without an effect, if not supported."""
        return False


class Backend:
    """One kind of file system.

    ``object_store``: directories are prefixes. ``why_not`` completes "cannot create ... safely: ..." if conditional
    creation is not available.
    """

    object_store = True
    why_not = "this file system has no conditional creation"
    conditional: str | None = None
    """The fsspec protocol that offers a put conditional on the object's absence; None without one."""

    def open(self, authority: str, options: Options) -> pafs.FileSystem:
        """Open the file system of an authority."""
        raise UnsupportedError(f"No client is available for the file system of '{authority}'.")

    def inner(self, authority: str, rest: str) -> str:
        """Return the path inside the file system, from a path's authority and rest."""
        return f"{authority}{rest}"

    def objects(self, authority: str, options: Options) -> Objects | None:
        """Return the object operations; None if conditional creation is not available."""
        if self.conditional is None or not has_fsspec(self.conditional):
            return None
        return _ConditionalPut(_fsspec(self.conditional, self.fsspec_arguments(options)))

    def fsspec_arguments(self, options: Options) -> dict[str, object]:
        """Return the arguments of the fsspec file system that ``objects`` uses."""
        return {}


class _FileSystem(Protocol):
    """A file system of fsspec."""

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> None: ...


class _ConditionalPut(Objects):
    """Create an object through fsspec with the store's own "only if absent" condition."""

    def __init__(self, filesystem: _FileSystem) -> None:
        self._filesystem = filesystem

    def create(self, path: str, data: bytes) -> bool:
        try:
            self._filesystem.pipe_file(path, data, mode="create")
        except FileExistsError:
            return False
        except OSError as error:
            if any(word in str(error) for word in ("PreconditionFailed", "412", "pre-conditions", "conditionNotMet")):
                return False
            raise
        return True


class OssBackend(Backend):
    """Alibaba Cloud OSS through its S3 interface."""

    why_not = "this store has no conditional put over its S3 interface"

    def open(self, authority: str, options: Options) -> pafs.FileSystem:
        return pafs.S3FileSystem(
            access_key=options.get("fs.oss.accessKeyId"),
            secret_key=options.get("fs.oss.accessKeySecret"),
            session_token=options.get("fs.oss.securityToken"),
            region=options.get("fs.oss.region"),
            endpoint_override=options.get("fs.oss.endpoint"),
            force_virtual_addressing=True,
        )


class GcsBackend(Backend):
    """Google Cloud Storage."""

    why_not = "a conditional put needs the package gcsfs"
    conditional = "gs"

    def open(self, authority: str, options: Options) -> pafs.FileSystem:
        return pafs.GcsFileSystem(
            project_id=options.get("fs.gs.project.id"),
            endpoint_override=options.get("fs.gs.storage.root.url"),
            anonymous=options.get("fs.gs.auth.type", "").upper() == "UNAUTHENTICATED",
        )

    def fsspec_arguments(self, options: Options) -> dict[str, object]:
        token = options.get("fs.gs.auth.service.account.json.keyfile")
        return {"project": options.get("fs.gs.project.id"), "token": token}


class AzureBackend(Backend):
    """Azure Data Lake: ``abfss://container@account.dfs.core.windows.net/path``."""

    why_not = "conditional puts are not supported for Azure"

    def open(self, authority: str, options: Options) -> pafs.FileSystem:
        host = authority.rpartition("@")[2]
        account = host.partition(".")[0]
        key = options.get(f"fs.azure.account.key.{host}") or options.get("fs.azure.account.key")
        return pafs.AzureFileSystem(account_name=account, account_key=key)

    def inner(self, authority: str, rest: str) -> str:
        return f"{authority.partition('@')[0]}{rest}"


class HdfsBackend(Backend):
    """HDFS through libhdfs: a Hadoop client with ``CLASSPATH`` and ``JAVA_HOME`` set must be installed."""

    object_store = False
    why_not = "Arrow's HDFS client replaces the target of a rename"

    def open(self, authority: str, options: Options) -> pafs.FileSystem:
        host, _, port = authority.partition(":")
        extra = {k: v for k, v in options.items() if k.startswith(("dfs.", "hadoop."))}
        try:
            return pafs.HadoopFileSystem(
                host or "default", int(port or 0), user=options.get("hadoop.user.name"), extra_conf=extra or None
            )
        except OSError as error:
            if "libhdfs" not in str(error) and "libjvm" not in str(error):
                raise
            raise SetupError(
                f"HDFS needs a Hadoop client on this machine: {error}.",
                remedy="Set HADOOP_HOME, JAVA_HOME and CLASSPATH (hadoop classpath --glob).",
            ) from error

    def inner(self, authority: str, rest: str) -> str:
        return rest or "/"


class FsspecBackend(Backend):
    """A file system of fsspec, with the options ``fs.<scheme>.*`` as its arguments."""

    why_not = "fsspec guarantees no conditional creation for it"

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        # The memory file system is local to a process, where its check is as good as a condition.
        self.conditional = protocol if protocol == "memory" else None

    def open(self, authority: str, options: Options) -> pafs.FileSystem:
        return pafs.PyFileSystem(pafs.FSSpecHandler(_fsspec(self._protocol, self.fsspec_arguments(options))))

    def fsspec_arguments(self, options: Options) -> dict[str, object]:
        prefix = f"fs.{self._protocol}."
        return {k.removeprefix(prefix): v for k, v in options.items() if k.startswith(prefix)}


def has_fsspec(protocol: str) -> bool:
    """Whether fsspec is installed and supports the protocol."""
    with suppress(ValueError, ImportError):
        importlib.import_module("fsspec").get_filesystem_class(protocol)
        return True
    return False


def _fsspec(protocol: str, arguments: dict[str, object]) -> _FileSystem:
    filesystem: _FileSystem = importlib.import_module("fsspec").filesystem(protocol, **arguments)
    return filesystem
