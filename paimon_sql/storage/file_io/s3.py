"""Amazon S3 and what speaks its language: Arrow reads and writes, boto3 does what Arrow has not.

Arrow's client has no conditional put, by which rival commits are kept apart, and removes objects one by one, each with
a question before and the mark of an empty folder behind.
"""

from __future__ import annotations

import importlib
import importlib.util
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow.fs as pafs

from paimon_sql.errors import InvalidInputError
from paimon_sql.storage.file_io.backends import Backend, ConditionRefusedError, Objects, Options

_TRUE = "true"
_PREFIXES = ("fs.s3a.", "s3a.", "s3.")
_OF_BUCKET = "bucket."
_ATTEMPTS = 5
_SECONDS = 60.0
_CONNECT_SECONDS = 10.0
_MOST_KEYS = 1000
"""How many objects one request removes at most."""
_TAKEN = ("PreconditionFailed", "412")
_GONE = ("NoSuchKey", "404")
_RIVAL = ("ConditionalRequestConflict", "409")
"""Another conditional put of the same name goes on: whether there is an object then is not known yet."""
_REFUSED = ("NotImplemented", "501", "InvalidArgument", "InvalidRequest")


class S3Backend(Backend):
    """Amazon S3 and its likes. Options ``s3.*``, ``s3a.*`` and ``fs.s3a.*`` mean the same.

    Those of one bucket, ``s3.bucket.<bucket>.*``, go over the others.
    """

    why_not = "a conditional put needs the package boto3, which the extra 's3' brings"

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
            allow_delayed_open=True,  # one request for a small file, and not three
        )

    def objects(self, authority: str, options: Options) -> Objects | None:
        if importlib.util.find_spec("boto3") is None:
            return None
        return _S3Objects(S3Settings(options, authority))


class S3Settings:
    """What a catalog's options say of an S3 store, in the words of the client.

    Args:
        options: the catalog's options.
        bucket: the bucket, which may have options of its own.
    """

    def __init__(self, options: Options, bucket: str) -> None:
        self._given = s3_options(options, bucket)

    def get(self, name: str) -> str | None:
        """The option of a name, its words parted by dots."""
        return self._given.get(name) or None

    @property
    def endpoint(self) -> str | None:
        """The store's address with its protocol; None for Amazon's own."""
        given = self.get("endpoint")
        if given is None or "://" in given:
            return given and given.rstrip("/")
        return f"{'https' if self._given.get('connection.ssl.enabled', _TRUE) == _TRUE else 'http'}://{given}"

    @property
    def region(self) -> str | None:
        """The store's region; stores of one's own take any."""
        named = self.get("endpoint.region") or self.get("region")
        return named or ("us-east-1" if self.endpoint and "amazonaws" not in self.endpoint else None)

    @property
    def has_paths(self) -> bool:
        """Whether the bucket stands in the path of a request, and not in the name of the host."""
        return self._given.get("path.style.access", _TRUE if self.endpoint else "false") == _TRUE

    @property
    def is_anonymous(self) -> bool:
        """Whether requests are not signed."""
        return "AnonymousAWSCredentialsProvider" in self._given.get("aws.credentials.provider", "")

    @property
    def role(self) -> str | None:
        """The role to assume, by the credentials of the environment, the profile or the machine."""
        role = self.get("assumed.role.arn")
        if role and self.get("access.key"):
            raise InvalidInputError(
                "The role 's3.assumed.role.arn' is assumed by the credentials of the environment, the profile or the"
                " machine, and 's3.access-key' is given.",
                remedy="Leave the keys out, or the role.",
            )
        return role

    @property
    def attempts(self) -> int:
        """How often a request is made before it has failed."""
        given = self.get("attempts.maximum") or str(_ATTEMPTS)
        if not given.isdigit() or not int(given):
            raise InvalidInputError(f"The option 's3.attempts.maximum' is '{given}', which is no number of attempts.")
        return int(given)


def s3_options(options: Options, bucket: str) -> dict[str, str]:
    """The S3 options without their prefix, words parted by dots: ``s3.access-key`` is ``access.key``.

    Args:
        options: the catalog's options.
        bucket: the bucket for which they are asked; those of other buckets are left out.
    """
    found: dict[str, str] = {}
    for start in (*_PREFIXES, *(f"{prefix}{_OF_BUCKET}{bucket}." for prefix in _PREFIXES)):
        named = {k.removeprefix(start): v for k, v in options.items() if k.startswith(start)}
        found |= {name.replace("-", "."): v for name, v in named.items() if not name.startswith(_OF_BUCKET)}
    return found


class _S3Objects(Objects):
    """Objects of a store, through boto3; a client is shared by the threads of a process."""

    def __init__(self, settings: S3Settings) -> None:
        self._settings = settings
        self._heeds: dict[str, bool] = {}

    @cached_property
    def _client(self) -> Any:
        settings = self._settings
        core = importlib.import_module("botocore.config")
        unsigned = {"signature_version": importlib.import_module("botocore").UNSIGNED} if settings.is_anonymous else {}
        config = core.Config(
            s3={"addressing_style": "path" if settings.has_paths else "auto"},
            retries={"mode": "standard", "total_max_attempts": settings.attempts},
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_SECONDS,
            # Stores of other makers do not know the newer checksums.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            **unsigned,
        )
        session = importlib.import_module("boto3").session.Session(
            aws_access_key_id=settings.get("access.key"),
            aws_secret_access_key=settings.get("secret.key"),
            aws_session_token=settings.get("session.token"),
            region_name=settings.region,
            botocore_session=_in_role(settings.role, settings.region) if settings.role else None,
        )
        return session.client("s3", endpoint_url=settings.endpoint, config=config)

    def create(self, path: str, data: bytes) -> bool:
        bucket, key = _parted(path)
        if not self._is_conditional_put_supported(bucket, key):
            raise ConditionRefusedError
        return self._put(bucket, key, data)

    def _is_conditional_put_supported(self, bucket: str, key: str) -> bool:
        """Whether the store heeds conditions; others pass over them, so that stores of one's own are tried once."""
        if self._settings.endpoint is None or "amazonaws" in self._settings.endpoint:
            return True
        if bucket not in self._heeds:
            trial = f"{key.rpartition('/')[0]}/.{uuid.uuid4()}.tmp".lstrip("/")
            try:
                self._heeds[bucket] = self._put(bucket, trial, b"") and not self._put(bucket, trial, b"again")
            except ConditionRefusedError:
                self._heeds[bucket] = False
            finally:
                self._answered("delete_object", Bucket=bucket, Key=trial)
        return self._heeds[bucket]

    def _put(self, bucket: str, key: str, data: bytes) -> bool:
        errors = importlib.import_module("botocore.exceptions")
        for attempt in range(self._settings.attempts):
            try:
                self._client.put_object(Bucket=bucket, Key=key, Body=data, IfNoneMatch="*")
                return True
            except errors.ClientError as error:
                code = _code(error)
                if code in _TAKEN:
                    # The answer to our own first attempt may have been lost: then the object is ours.
                    again = attempt or error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0)
                    return bool(again) and self._holds(bucket, key, data)
                if code in _REFUSED:
                    raise ConditionRefusedError from error
                if code not in _RIVAL:
                    raise _refused(error) from error
            except errors.BotoCoreError as error:
                raise _refused(error) from error
        return False

    def _holds(self, bucket: str, key: str, data: bytes) -> bool:
        return bool(self._answered("get_object", Bucket=bucket, Key=key)["Body"].read() == data)

    def remove(self, paths: Sequence[str]) -> bool:
        of_buckets: dict[str, list[dict[str, str]]] = {}
        for path in paths:
            bucket, key = _parted(path)
            of_buckets.setdefault(bucket, []).append({"Key": key})
        for bucket, keys in of_buckets.items():
            for first in range(0, len(keys), _MOST_KEYS):
                some = {"Objects": keys[first : first + _MOST_KEYS], "Quiet": True}
                for failed in self._answered("delete_objects", Bucket=bucket, Delete=some).get("Errors", ()):
                    if failed.get("Code") != "NoSuchKey":
                        raise OSError(f"{failed.get('Key')}: {failed.get('Code')}: {failed.get('Message')}")
        return True

    def remove_if(self, path: str, is_meant: Callable[[bytes], bool]) -> bool | None:
        errors = importlib.import_module("botocore.exceptions")
        bucket, key = _parted(path)
        try:
            found = self._client.get_object(Bucket=bucket, Key=key)
            if not is_meant(found["Body"].read()):
                return False
            self._client.delete_object(Bucket=bucket, Key=key, IfMatch=found["ETag"])
            return True
        except errors.ClientError as error:
            if _code(error) in (*_TAKEN, *_GONE):
                return False
            if _code(error) in _REFUSED:
                return None
            raise _refused(error) from error
        except errors.BotoCoreError as error:
            raise _refused(error) from error

    def copy(self, source: str, target: str) -> bool:
        (bucket, key), (to_bucket, to_key) = _parted(source), _parted(target)
        self._answered("copy", CopySource={"Bucket": bucket, "Key": key}, Bucket=to_bucket, Key=to_key)
        return True

    def _answered(self, request: str, **arguments: Any) -> Mapping[str, Any]:
        errors = importlib.import_module("botocore.exceptions")
        try:
            answer: Mapping[str, Any] = getattr(self._client, request)(**arguments)
        except (errors.ClientError, errors.BotoCoreError) as error:
            raise _refused(error) from error
        return answer


def _in_role(role: str, region: str | None) -> Any:
    """A session of botocore's in a role, whose credentials are made anew before they end."""
    sessions, credentials = (importlib.import_module(f"botocore.{name}") for name in ("session", "credentials"))
    own, assumed = sessions.Session(), sessions.Session()
    own.set_config_variable("region", region)
    fetcher = credentials.AssumeRoleCredentialFetcher(own.create_client, own.get_credentials(), role)
    assumed._credentials = credentials.DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")
    return assumed


def _parted(path: str) -> tuple[str, str]:
    """Bucket and key of a path inside the store."""
    bucket, _, key = path.partition("/")
    return bucket, key


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _refused(error: Exception) -> OSError:
    """What boto3 says as an error of the operating system's kind, as Arrow's are."""
    return OSError(str(error))
