"""Options of Iceberg's metadata, with which Iceberg's readers read the data files of a table."""

from __future__ import annotations

from paimon_sql.format.options.values import option

java_hive = option.kept_for("Java engines with a Hive metastore")

DISABLED = "disabled"
TABLE_LOCATION, CATALOG_LOCATION = "table-location", "catalog-location"
HADOOP_CATALOG, HIVE_CATALOG, REST_CATALOG = "hadoop-catalog", "hive-catalog", "rest-catalog"

METADATA_ICEBERG_STORAGE = option.one_of(DISABLED, TABLE_LOCATION, HADOOP_CATALOG, HIVE_CATALOG, REST_CATALOG)(
    "metadata.iceberg.storage",
    "Whether commits publish Iceberg metadata, and where Iceberg's readers find it: in the table's directory, in a"
    " directory that is the warehouse of an Iceberg Hadoop catalog, or there and in a Hive metastore or REST catalog.",
    DISABLED,
)
METADATA_ICEBERG_STORAGE_LOCATION = option.one_of(TABLE_LOCATION, CATALOG_LOCATION)(
    "metadata.iceberg.storage-location",
    "Where the metadata is stored, whatever the storage: in the table's directory, or in `iceberg/<database>/<table>`"
    " of the warehouse; defaults to the former for `table-location`, to the latter for catalogs.",
)
METADATA_ICEBERG_FORMAT_VERSION = option.integer.checked(
    lambda value: None if value in (2, 3) else "it must be 2 or 3"
)(
    "metadata.iceberg.format-version",
    "The version of Iceberg's format: 2, or 3, which has deletion vectors and row lineage.",
    "2",
)
METADATA_ICEBERG_COMPACTION_MIN_FILE_NUM = option.integer.at_least(1)(
    "metadata.iceberg.compaction.min.file-num", "The minimum number of small Iceberg manifests to merge.", "10"
)
METADATA_ICEBERG_COMPACTION_MAX_FILE_NUM = option.integer.at_least(1)(
    "metadata.iceberg.compaction.max.file-num",
    "The number of small Iceberg manifests that are merged regardless of their total size.",
    "50",
)
METADATA_ICEBERG_DELETE_AFTER_COMMIT = option.boolean(
    "metadata.iceberg.delete-after-commit.enabled",
    "Whether old versions of Iceberg's table metadata are deleted.",
    "true",
)
METADATA_ICEBERG_PREVIOUS_VERSIONS_MAX = option.integer.at_least(0)(
    "metadata.iceberg.previous-versions-max",
    "The maximum number of old versions of Iceberg's table metadata to keep; with `rest-catalog` at least one is kept.",
    "0",
)
METADATA_ICEBERG_URI = option.string("metadata.iceberg.uri", "The URI of the Hive metastore for `hive-catalog`.")
METADATA_ICEBERG_HIVE_CONF_DIR = option.string(
    "metadata.iceberg.hive-conf-dir",
    "The directory of the `hive-site.xml` that names the Hive metastore for `hive-catalog`.",
)
METADATA_ICEBERG_MANIFEST_COMPRESSION = option.string(
    "metadata.iceberg.manifest-compression", "The compression of Iceberg's manifests.", "snappy"
)
METADATA_ICEBERG_MANIFEST_LEGACY_VERSION = option.flag(
    "metadata.iceberg.manifest-legacy-version",
    "Whether manifest lists name their counts as Iceberg 1.4 did, which some readers require, such as AWS Athena.",
)
METADATA_ICEBERG_DATABASE = option.string(
    "metadata.iceberg.database",
    "The database in the Hive metastore or REST catalog, if its name differs; a metastore takes several, separated by"
    " semicolons.",
)
METADATA_ICEBERG_TABLE = option.string(
    "metadata.iceberg.table", "The table in the Hive metastore or REST catalog, if its name differs."
)
METADATA_ICEBERG_GLUE_SKIP_ARCHIVE = option.flag(
    "metadata.iceberg.glue.skip-archive", "Whether AWS Glue keeps no old versions of the table."
)
METADATA_ICEBERG_HIVE_SKIP_UPDATE_STATS = option.flag(
    "metadata.iceberg.hive-skip-update-stats", "Whether Hive computes no statistics of the table."
)
METADATA_ICEBERG_REST = option.string(
    "metadata.iceberg.rest.<property>",
    "A property of the REST catalog for `rest-catalog`, such as `uri`, `warehouse`, `prefix` and `token`.",
)
METADATA_ICEBERG_TABLE_PROPERTIES = option.string(
    "metadata.iceberg.table-properties.<property>", "A property of the Iceberg table."
)

KEPT = (
    java_hive.string(
        "metadata.iceberg.hadoop-conf-dir",
        "The directory of the Hadoop configuration for `hive-catalog`, which Java engines read.",
    ),
    java_hive.string(
        "metadata.iceberg.hive-client-class",
        "The class of the Hive metastore client in Java engines.",
        "org.apache.hadoop.hive.metastore.HiveMetaStoreClient",
    ),
)
