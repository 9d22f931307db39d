"""Hadoop's file system for S3, for tests: 13 MB of jars, where the bundle that it names itself holds 690 MB."""

from __future__ import annotations

from pathlib import Path

import pyspark

from tests import packages

_SDK = "2.35.4"
_IN_SPARK = ("io.netty:*", "org.slf4j:*", "org.apache.httpcomponents:*", "commons-logging:*", "commons-codec:*")


def hadoop_version() -> str:
    """The version of Hadoop's client among PySpark's jars."""
    (jar,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    return jar.stem.rpartition("-")[2]


def jars() -> list[Path]:
    """The jars, fetched once."""
    version = hadoop_version()
    aws = [f"software.amazon.awssdk:{name}:{_SDK}" for name in ("s3-transfer-manager", "sts")]
    wanted = [f"org.apache.hadoop:hadoop-aws:{version}", *aws]
    return packages.fetched_together(
        f"hadoop-aws-{version}", wanted, without=["software.amazon.awssdk:bundle", *_IN_SPARK]
    )
