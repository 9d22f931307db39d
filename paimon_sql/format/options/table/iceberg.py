"""Options of Iceberg's metadata, with which Iceberg's readers read the data files of a table."""

from __future__ import annotations

from paimon_sql.format.options.values import at_least, boolean, choice, integer, kept_for, optional_choice, string

DISABLED = "disabled"
TABLE_LOCATION, CATALOG_LOCATION = "table-location", "catalog-location"
HADOOP_CATALOG, HIVE_CATALOG, REST_CATALOG = "hadoop-catalog", "hive-catalog", "rest-catalog"

METADATA_ICEBERG_STORAGE = choice(
    "metadata.iceberg.storage",
    DISABLED,
    "Whether commits publish Iceberg metadata, and where Iceberg's readers find it: in the table's directory, in a"
    " directory that is the warehouse of an Iceberg Hadoop catalog, or there and in a Hive metastore or REST catalog.",
    allowed=(DISABLED, TABLE_LOCATION, HADOOP_CATALOG, HIVE_CATALOG, REST_CATALOG),
)
METADATA_ICEBERG_STORAGE_LOCATION = optional_choice(
    "metadata.iceberg.storage-location",
    "Where the metadata is stored, whatever the storage: in the table's directory, or in `iceberg/<database>/<table>`"
    " of the warehouse; defaults to the former for `table-location`, to the latter for catalogs.",
    allowed=(TABLE_LOCATION, CATALOG_LOCATION),
)
METADATA_ICEBERG_FORMAT_VERSION = integer(
    "metadata.iceberg.format-version",
    "2",
    "The version of Iceberg's format: 2, or 3, which has deletion vectors and row lineage.",
    check=lambda value: None if value in (2, 3) else "it must be 2 or 3",
)
METADATA_ICEBERG_COMPACTION_MIN_FILE_NUM = integer(
    "metadata.iceberg.compaction.min.file-num",
    "10",
    "The minimum number of small Iceberg manifests to merge.",
    check=at_least(1),
)
METADATA_ICEBERG_COMPACTION_MAX_FILE_NUM = integer(
    "metadata.iceberg.compaction.max.file-num",
    "50",
    "The number of small Iceberg manifests that are merged regardless of their total size.",
    check=at_least(1),
)
METADATA_ICEBERG_DELETE_AFTER_COMMIT = boolean(
    "metadata.iceberg.delete-after-commit.enabled",
    "true",
    "Whether old versions of Iceberg's table metadata are deleted.",
)
METADATA_ICEBERG_PREVIOUS_VERSIONS_MAX = integer(
    "metadata.iceberg.previous-versions-max",
    "0",
    "The maximum number of old versions of Iceberg's table metadata to keep; with `rest-catalog` at least one is kept.",
    check=at_least(0),
)
METADATA_ICEBERG_URI = string("metadata.iceberg.uri", None, "The URI of the Hive metastore for `hive-catalog`.")
METADATA_ICEBERG_HIVE_CONF_DIR = string(
    "metadata.iceberg.hive-conf-dir",
    None,
    "The directory of the `hive-site.xml` that names the Hive metastore for `hive-catalog`.",
)
METADATA_ICEBERG_HADOOP_CONF_DIR = string(
    "metadata.iceberg.hadoop-conf-dir",
    None,
    "The directory of the Hadoop configuration for `hive-catalog`, which Java engines read.",
    status=kept_for("Java engines with a Hive metastore"),
)
METADATA_ICEBERG_MANIFEST_COMPRESSION = string(
    "metadata.iceberg.manifest-compression", "snappy", "The compression of Iceberg's manifests."
)
METADATA_ICEBERG_MANIFEST_LEGACY_VERSION = boolean(
    "metadata.iceberg.manifest-legacy-version",
    "false",
    "Whether manifest lists name their counts as Iceberg 1.4 did, which some readers require, such as AWS Athena.",
)
METADATA_ICEBERG_HIVE_CLIENT_CLASS = string(
    "metadata.iceberg.hive-client-class",
    "org.apache.hadoop.hive.metastore.HiveMetaStoreClient",
    "The class of the Hive metastore client in Java engines.",
    status=kept_for("Java engines with a Hive metastore"),
)
METADATA_ICEBERG_DATABASE = string(
    "metadata.iceberg.database",
    None,
    "The database in the Hive metastore or REST catalog, if its name differs; a metastore takes several, separated by"
    " semicolons.",
)
METADATA_ICEBERG_TABLE = string(
    "metadata.iceberg.table", None, "The table in the Hive metastore or REST catalog, if its name differs."
)
METADATA_ICEBERG_GLUE_SKIP_ARCHIVE = boolean(
    "metadata.iceberg.glue.skip-archive", "false", "Whether AWS Glue keeps no old versions of the table."
)
METADATA_ICEBERG_HIVE_SKIP_UPDATE_STATS = boolean(
    "metadata.iceberg.hive-skip-update-stats", "false", "Whether Hive computes no statistics of the table."
)
METADATA_ICEBERG_REST = string(
    "metadata.iceberg.rest.<property>",
    None,
    "A property of the REST catalog for `rest-catalog`, such as `uri`, `warehouse`, `prefix` and `token`.",
)
METADATA_ICEBERG_TABLE_PROPERTIES = string(
    "metadata.iceberg.table-properties.<property>", None, "A property of the Iceberg table."
)
