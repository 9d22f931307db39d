"""Options of Iceberg's metadata, with which Iceberg's readers read the data files of a table."""

from __future__ import annotations

from paimon_sql.format.options.values import at_least, boolean, choice, integer, kept_for, optional_choice, string

DISABLED = "disabled"
TABLE_LOCATION, CATALOG_LOCATION = "table-location", "catalog-location"
HADOOP_CATALOG, HIVE_CATALOG, REST_CATALOG = "hadoop-catalog", "hive-catalog", "rest-catalog"

METADATA_ICEBERG_STORAGE = choice(
    "metadata.iceberg.storage",
    DISABLED,
    "Whether commits are followed by metadata for Iceberg's readers, and where these find it: in the table's folder, in"
    " a folder that is the warehouse of an Iceberg Hadoop catalog, or there and in a Hive metastore or REST catalog.",
    allowed=(DISABLED, TABLE_LOCATION, HADOOP_CATALOG, HIVE_CATALOG, REST_CATALOG),
)
METADATA_ICEBERG_STORAGE_LOCATION = optional_choice(
    "metadata.iceberg.storage-location",
    "Where the metadata stands, whatever the storage: in the table's folder, or in `iceberg/<database>/<table>` of the"
    " warehouse; by default the former for `table-location`, the latter for catalogs.",
    allowed=(TABLE_LOCATION, CATALOG_LOCATION),
)
METADATA_ICEBERG_FORMAT_VERSION = integer(
    "metadata.iceberg.format-version",
    "2",
    "The version of Iceberg's format: 2, or 3, which has deletion vectors and row lineage.",
    check=lambda value: None if value in (2, 3) else "it takes 2 or 3",
)
METADATA_ICEBERG_COMPACTION_MIN_FILE_NUM = integer(
    "metadata.iceberg.compaction.min.file-num",
    "10",
    "How many small manifests of Iceberg's there must be before they are put together.",
    check=at_least(1),
)
METADATA_ICEBERG_COMPACTION_MAX_FILE_NUM = integer(
    "metadata.iceberg.compaction.max.file-num",
    "50",
    "How many small manifests of Iceberg's are put together however small they are in all.",
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
    "How many old versions of Iceberg's table metadata are kept; with `rest-catalog` one at least.",
    check=at_least(0),
)
METADATA_ICEBERG_URI = string("metadata.iceberg.uri", None, "The address of the Hive metastore for `hive-catalog`.")
METADATA_ICEBERG_HIVE_CONF_DIR = string(
    "metadata.iceberg.hive-conf-dir",
    None,
    "The folder of the `hive-site.xml` that names the Hive metastore for `hive-catalog`.",
)
METADATA_ICEBERG_HADOOP_CONF_DIR = string(
    "metadata.iceberg.hadoop-conf-dir",
    None,
    "The folder of Hadoop's configuration for `hive-catalog`, which Java engines read.",
    status=kept_for("Java engines with a Hive metastore"),
)
METADATA_ICEBERG_MANIFEST_COMPRESSION = string(
    "metadata.iceberg.manifest-compression",
    "snappy",
    "The compression of Iceberg's manifests.",
)
METADATA_ICEBERG_MANIFEST_LEGACY_VERSION = boolean(
    "metadata.iceberg.manifest-legacy-version",
    "false",
    "Whether manifest lists name their counts as Iceberg 1.4 did, which some readers want, such as AWS Athena.",
)
METADATA_ICEBERG_HIVE_CLIENT_CLASS = string(
    "metadata.iceberg.hive-client-class",
    "org.apache.hadoop.hive.metastore.HiveMetaStoreClient",
    "The class by which Java engines speak with the Hive metastore.",
    status=kept_for("Java engines with a Hive metastore"),
)
METADATA_ICEBERG_DATABASE = string(
    "metadata.iceberg.database",
    None,
    "The database in the Hive metastore or REST catalog, where it is called otherwise; a metastore takes several, with"
    " semicolons between.",
)
METADATA_ICEBERG_TABLE = string(
    "metadata.iceberg.table",
    None,
    "The table in the Hive metastore or REST catalog, where it is called otherwise.",
)
METADATA_ICEBERG_GLUE_SKIP_ARCHIVE = boolean(
    "metadata.iceberg.glue.skip-archive",
    "false",
    "Whether AWS Glue keeps no old versions of the table.",
)
METADATA_ICEBERG_HIVE_SKIP_UPDATE_STATS = boolean(
    "metadata.iceberg.hive-skip-update-stats",
    "false",
    "Whether Hive works out no statistics of the table.",
)
METADATA_ICEBERG_REST = string(
    "metadata.iceberg.rest.<property>",
    None,
    "A property of the REST catalog for `rest-catalog`, such as `uri`, `warehouse`, `prefix` and `token`.",
)
METADATA_ICEBERG_TABLE_PROPERTIES = string(
    "metadata.iceberg.table-properties.<property>", None, "A property of the Iceberg table."
)
