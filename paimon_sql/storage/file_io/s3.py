"""Amazon S3 and compatible stores: Arrow reads and writes, boto3 does what Arrow lacks.

Arrow's client has no conditional put, which isolates concurrent commits, and deletes objects one by one, with a request
before and a directory marker after each.
"""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import BinaryIO, NotRequired, TypedDict

import pyarrow.fs as pafs

from paimon_sql.discovery import is_installed
from paimon_sql.errors import InvalidInputError
from paimon_sql.storage.file_io.backends import Backend, ConditionRefusedError, Objects, Options

_TRUE = "true"
_PREFIXES = ("fs.s3a.", "s3a.", "s3.")
_BUCKET_PREFIX = "bucket."
_ATTEMPTS = 5
_SECONDS = 60.0
_CONNECT_SECONDS = 10.0
_MAX_KEYS = 1000
"""Maximum number of objects per delete request."""
_PRECONDITION_FAILED = ("PreconditionFailed", "412")
_MISSING = ("NoSuchKey", "404")
_CONCURRENT = ("ConditionalRequestConflict", "409")
"""A concurrent conditional put of the same name is running: whether the object will exist is not known yet."""
_REFUSED = ("NotImplemented", "501", "InvalidArgument", "InvalidRequest")


class S3Backend(Backend):
    """Amazon S3 and compatible stores. Options ``s3.*``, ``s3a.*`` and ``fs.s3a.*`` are equivalent.

    Those of one bucket, ``s3.bucket.<bucket>.*``, take precedence.
    """

    why_not = "a conditional put needs the package boto3, which the extra 's3' installs"

    def open(self, authority: str, options: Options) -> pafs.FileSystem:
        settings = S3Settings(options, authority)
        endpoint = settings.endpoint
        return pafs.S3FileSystem(
            access_key=settings.get("access.key"),
            secret_key=settings.get("secret.key"),
            session_token=settings.get("session.token"),
            region=settings.region,
            endpoint_override=endpoint.partition("://")[2] if endpoint else None,
            scheme=endpoint.partition("://")[0] if endpoint else "https",
            role_arn=settings.role,
            anonymous=settings.is_anonymous,
            force_virtual_addressing=endpoint is not None and not settings.has_paths,
            connect_timeout=_CONNECT_SECONDS,
            request_timeout=_SECONDS,
            retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=settings.attempts),
            allow_delayed_open=True,  # one request for a small file instead of three
        )

    def objects(self, authority: str, options: Options) -> Objects | None:
        if not is_installed("boto3"):
            return None
        return _S3Objects(S3Settings(options, authority))


class S3Settings:
    """The S3 settings of a catalog's options.

    Args:
        options: the catalog's options.
        bucket: the bucket, which may have its own options.
    """

    def __init__(self, options: Options, bucket: str) -> None:
        self._options = s3_options(options, bucket)

    def get(self, name: str) -> str | None:
        """Return the option of a name, with dots between its words; None if unset or empty."""
        return self._options.get(name) or None

    @property
    def endpoint(self) -> str | None:
        """The store's URL with its scheme; None for Amazon's."""
        given = self.get("endpoint")
        if given is None or "://" in given:
            return given and given.rstrip("/")
        return f"{'https' if self._options.get('connection.ssl.enabled', _TRUE) == _TRUE else 'http'}://{given}"

    @property
    def region(self) -> str | None:
        """The store's region; self-hosted stores accept any."""
        named = self.get("endpoint.region") or self.get("region")
        return named or ("us-east-1" if self.endpoint and "amazonaws" not in self.endpoint else None)

    @property
    def has_paths(self) -> bool:
        """Whether requests are path-style: the bucket is in the path, not in the host name."""
        return self._options.get("path.style.access", _TRUE if self.endpoint else "false") == _TRUE

    @property
    def is_anonymous(self) -> bool:
        """Whether requests are not signed."""
        return "AnonymousAWSCredentialsProvider" in self._options.get("aws.credentials.provider", "")

    @property
    def role(self) -> str | None:
        """The role to assume with the credentials of the environment, the profile or the machine; None without one."""
        role = self.get("assumed.role.arn")
        if role and self.get("access.key"):
            raise InvalidInputError(
                "The role 's3.assumed.role.arn' is assumed with the credentials of the environment, the profile"
                " or the machine, but 's3.access-key' is set.",
                remedy="Leave the keys out, or the role.",
            )
        return role

    @property
    def attempts(self) -> int:
        """The maximum number of attempts per request."""
        given = self.get("attempts.maximum") or str(_ATTEMPTS)
        if not given.isdigit() or not int(given):
            raise InvalidInputError(
                f"Invalid value '{given}' of option 's3.attempts.maximum': it must be a positive integer."
            )
        return int(given)


def s3_options(options: Options, bucket: str) -> dict[str, str]:
    """Return the S3 options without their prefix, with dots between words: ``s3.access-key`` is ``access.key``.

    Args:
        options: the catalog's options.
        bucket: the bucket; options of other buckets are ignored.
    """
    merged: dict[str, str] = {}
    for prefix_or_bucket in (*_PREFIXES, *(f"{prefix}{_BUCKET_PREFIX}{bucket}." for prefix in _PREFIXES)):
        named = {k.removeprefix(prefix_or_bucket): v for k, v in options.items() if k.startswith(prefix_or_bucket)}
        merged |= {name.replace("-", "."): v for name, v in named.items() if not name.startswith(_BUCKET_PREFIX)}
    return merged


class _Found(TypedDict):
    Body: BinaryIO
    ETag: str
    Errors: NotRequired[list[dict[str, str]]]


class _StoreError(OSError):
    """An error of boto3, as an ``OSError`` like Arrow's errors.

    Attributes:
        code: the store's code of the error; empty without an answer.
        retried: whether boto3 has sent the request repeatedly.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        answer = getattr(error, "response", None) or {}  # errors of the connection have a response of None
        self.code = str(answer.get("Error", {}).get("Code", ""))
        self.retried = bool(answer.get("ResponseMetadata", {}).get("RetryAttempts", 0))


@contextmanager
def _store_errors() -> Iterator[None]:
    errors = importlib.import_module("botocore.exceptions")
    try:
        yield
    except (errors.ClientError, errors.BotoCoreError) as error:
        raise _StoreError(error) from error


class _S3Objects(Objects):
    """Objects of a store, through boto3; the threads of a process share a client."""

    def __init__(self, settings: S3Settings) -> None:
        self._settings = settings
        self._conditional: dict[str, bool] = {}

    @cached_property
    def _client(self) -> object:
        settings = self._settings
        core = importlib.import_module("botocore.config")
        unsigned = {"signature_version": importlib.import_module("botocore").UNSIGNED} if settings.is_anonymous else {}
        config = core.Config(
            s3={"addressing_style": "path" if settings.has_paths else "auto"},
            retries={"mode": "standard", "total_max_attempts": settings.attempts},
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_SECONDS,
            # Compatible stores do not support the newer checksums.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            **unsigned,
        )
        session = importlib.import_module("boto3").session.Session(
            aws_access_key_id=settings.get("access.key"),
            aws_secret_access_key=settings.get("secret.key"),
            aws_session_token=settings.get("session.token"),
            region_name=settings.region,
            botocore_session=_assumed_role_session(settings.role, settings.region) if settings.role else None,
        )
        client: object = session.client("s3", endpoint_url=settings.endpoint, config=config)
        return client

    def create(self, path: str, data: bytes) -> bool:
        bucket, key = _bucket_and_key(path)
        if not self._is_conditional_put_supported(bucket, key):
            raise ConditionRefusedError
        return self._put(bucket, key, data)

    def _is_conditional_put_supported(self, bucket: str, key: str) -> bool:
        """Whether the store supports conditional puts; other stores ignore them, so each bucket is probed once."""
        if self._settings.endpoint is None or "amazonaws" in self._settings.endpoint:
            return True
        if bucket not in self._conditional:
            trial = f"{key.rpartition('/')[0]}/.{uuid.uuid4()}.tmp".lstrip("/")
            try:
                self._conditional[bucket] = self._put(bucket, trial, b"") and not self._put(bucket, trial, b"again")
            except ConditionRefusedError:
                self._conditional[bucket] = False
            finally:
                self._call("delete_object", Bucket=bucket, Key=trial)
        return self._conditional[bucket]

    def _put(self, bucket: str, key: str, data: bytes) -> bool:
        for attempt in range(self._settings.attempts):
            try:
                self._call("put_object", Bucket=bucket, Key=key, Body=data, IfNoneMatch="*")
                return True
            except _StoreError as error:
                if error.code in _PRECONDITION_FAILED:
                    # The response to our own first attempt may have been lost: then the object is ours.
                    return (attempt > 0 or error.retried) and self._get(bucket, key)[0] == data
                if error.code in _REFUSED:
                    raise ConditionRefusedError from error
                if error.code not in _CONCURRENT:
                    raise
        return False

    def _get(self, bucket: str, key: str) -> tuple[bytes, str]:
        """Return an object's content and its version tag."""
        found = self._call("get_object", Bucket=bucket, Key=key)
        with _store_errors():
            return found["Body"].read(), found["ETag"]

    def remove(self, paths: Sequence[str]) -> bool:
        keys_by_bucket: dict[str, list[dict[str, str]]] = {}
        for path in paths:
            bucket, key = _bucket_and_key(path)
            keys_by_bucket.setdefault(bucket, []).append({"Key": key})
        for bucket, keys in keys_by_bucket.items():
            for first in range(0, len(keys), _MAX_KEYS):
                batch = {"Objects": keys[first : first + _MAX_KEYS], "Quiet": True}
                for failed in self._call("delete_objects", Bucket=bucket, Delete=batch).get("Errors", ()):
                    if failed.get("Code") != "NoSuchKey":
                        raise OSError(f"{failed.get('Key')}: {failed.get('Code')}: {failed.get('Message')}")
        return True

    def remove_if(self, path: str, is_meant: Callable[[bytes], bool]) -> bool | None:
        bucket, key = _bucket_and_key(path)
        try:
            content, tag = self._get(bucket, key)
            if is_meant(content):
                self._call("delete_object", Bucket=bucket, Key=key, IfMatch=tag)
                return True
        except _StoreError as error:
            if error.code in _REFUSED:
                return None
            if error.code not in (*_PRECONDITION_FAILED, *_MISSING):
                raise
        return False

    def copy(self, source: str, target: str) -> bool:
        (bucket, key), (to_bucket, to_key) = _bucket_and_key(source), _bucket_and_key(target)
        self._call("copy", CopySource={"Bucket": bucket, "Key": key}, Bucket=to_bucket, Key=to_key)
        return True

    def _call(self, request: str, **arguments: object) -> _Found:
        with _store_errors():
            answer: _Found = getattr(self._client, request)(**arguments)
            return answer


def _assumed_role_session(role: str, region: str | None) -> object:
    """Return a botocore session in a role, whose credentials are refreshed before they expire."""
    sessions, credentials = (importlib.import_module(f"botocore.{name}") for name in ("session", "credentials"))
    own, assumed = sessions.Session(), sessions.Session()
    own.set_config_variable("region", region)
    fetcher = credentials.AssumeRoleCredentialFetcher(own.create_client, own.get_credentials(), role)
    assumed._credentials = credentials.DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")
    return assumed


def _bucket_and_key(path: str) -> tuple[str, str]:
    """Split a path inside the store into bucket and key."""
    bucket, _, key = path.partition("/")
    return bucket, key
