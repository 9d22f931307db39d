"""Options of catalogs: location, cache, lock."""

from __future__ import annotations

from paimon_sql.format.options.values import Kinds, Scope

option = Kinds(scope=Scope.CATALOG)
java = option.kept_for("Java's catalogs")
java_hive = option.kept_for("Java's Hive catalogs")
java_spark = option.kept_for("Java's Spark connector")


METASTORE = option.string("metastore", "The type of the catalog: filesystem, jdbc, hive or rest.", "filesystem")
WAREHOUSE = option.string(
    "warehouse", "The directory of the catalog's databases; for a REST catalog the warehouse's name on the server."
)
URI = option.string("uri", "The URI of the catalog's server or database.")
TABLE_TYPE = option.one_of("managed", "external")(
    "table.type", "Whether dropping a table removes its files.", "managed"
)
SYNC_ALL_PROPERTIES = option.boolean(
    "sync-all-properties", "Whether all properties of a table are written to the metastore.", "true"
)
FORMAT_TABLE_ENABLED = option.boolean("format-table.enabled", "Whether the catalog supports format tables.", "true")
CATALOG_OPTIONS_TABLE_ENABLED = option.flag(
    "catalog-options-table.enabled", "Whether sys.catalog_options shows these options."
)
MAINTENANCE_RUNS_RETAINED = option.integer.at_least(0)(
    "maintenance-runs.retained",
    "The number of procedure calls, and of runs after commits, that sys.maintenance_runs retains; 0 for none.",
    "500",
)
FILE_IO_SYNC = option.boolean(
    "file-io.sync",
    "Whether acknowledged statements are synced to disk, so that they survive a power failure; local files only.",
    "true",
)
LOCK_ENABLED = option.boolean(
    "lock.enabled", "Whether commits acquire the catalog's lock; if not set, the storage decides."
)
LOCK_CHECK_MAX_SLEEP = option.duration(
    "lock-check-max-sleep", "The maximum wait of a commit before it tries to acquire the lock again.", "8 s"
)
LOCK_ACQUIRE_TIMEOUT = option.duration(
    "lock-acquire-timeout",
    "The time for which a commit tries to acquire the lock, and after which a JDBC catalog's lock expires if its"
    " holder dies.",
    "8 min",
)
CLIENT_POOL_SIZE = option.integer.at_least(1)(
    "client-pool-size", "The number of pooled connections to the metastore.", "2"
)
CATALOG_KEY = option.string("catalog-key", "The name that distinguishes several JDBC catalogs in one database.", "jdbc")
LOCK_KEY_MAX_LENGTH = option.integer.at_least(1)(
    "lock-key-max-length", "The maximum length of the name of a JDBC catalog's lock.", "255"
)
JDBC_PROPERTY = option.string("jdbc.<property>", "A setting of the connection of a JDBC catalog, such as user.")
TOKEN_PROVIDER = option.string(
    "token.provider", "How a REST catalog authenticates: bear, by a token, or dlf, by signing requests."
)
TOKEN = option.string("token", "The token of a REST catalog with the provider bear.")
DLF_ACCESS_KEY_ID = option.string("dlf.access-key-id", "The id of the key that signs requests.")
DLF_ACCESS_KEY_SECRET = option.string("dlf.access-key-secret", "The secret of that key.")
DLF_SECURITY_TOKEN = option.string("dlf.security-token", "The security token of a temporary key.")
DLF_TOKEN_PATH = option.string(
    "dlf.token-path", "The JSON file with the key that signs requests; another process keeps it up to date."
)
DLF_TOKEN_LOADER = option.one_of("local_file", "ecs")(
    "dlf.token-loader",
    "Where the key that signs requests is read from if it is not set: a file, or the machine's role.",
)
DLF_TOKEN_ECS_METADATA_URL = option.string(
    "dlf.token-ecs-metadata-url",
    "The service that provides a machine with the key of its role.",
    "http://100.100.100.200/latest/meta-data/Ram/security-credentials/",
)
DLF_TOKEN_ECS_ROLE_NAME = option.string("dlf.token-ecs-role-name", "The role; defaults to the machine's.")
DLF_REGION = option.string("dlf.region", "The server's region; defaults to that in its URI.")
DLF_SIGNING_ALGORITHM = option.one_of("default", "openapi")(
    "dlf.signing-algorithm", "How requests are signed; if not set, the server's URI decides."
)
DLF_OSS_ENDPOINT = option.string("dlf.oss-endpoint", "The endpoint of OSS; defaults to that of the server's tokens.")
HEADER = option.string("header.<name>", "A header of all requests to a REST catalog.")
PREFIX = option.string("prefix", "The prefix of the paths of a REST catalog's server; the server sets it.")
DATA_TOKEN_ENABLED = option.flag(
    "data-token.enabled", "Whether a REST catalog's server provides tokens for the files of tables; the server sets it."
)
HIVE_CONF_DIR = option.string("hive-conf-dir", "The directory of hive-site.xml.")
ALTER_TABLE_CASCADE = option.boolean(
    "alter-table-cascade", "Whether a change of columns also changes Hive's partitions.", "true"
)
LOCATION_IN_PROPERTIES = option.flag(
    "location-in-properties", "Whether Hive stores locations as properties, which it does not validate."
)
CLIENT_POOL_CACHE_EVICTION_INTERVAL_MS = option.long(
    "client-pool-cache.eviction-interval-ms",
    "The time in milliseconds without use after which connections to Hive are closed.",
    "300000",
)
HIVE_SKIP_UPDATE_STATS = option.flag(
    "hive.skip-update-stats", "Whether Hive does not update its statistics when a table changes."
)
DEFAULT_DATABASE = option.string(
    "defaultDatabase", "The initial database of the catalog; it is created if it does not exist.", "default"
)
TABLE_DEFAULT_PROPERTY = option.string(
    "table-default.<option>", "The value of a table option for new tables that do not set it."
)
EXTERNAL_ALLOWED_ROOTS = option.string(
    "external-paths.allowed-roots",
    "The directories and buckets, comma-separated, that must contain the paths in the table options"
    " data-file.external-paths and global-index.external-path. If not set, a table's own options decide where its"
    " files may be.",
)
BLOB_ALLOWED_ROOTS = option.string(
    "blob.allowed-roots",
    "The directories, buckets and http(s) URLs, comma-separated, from which the blobs of descriptors may be fetched,"
    " beside the warehouse and a table's own directory.",
)
BLOB_FETCH_MAX_SIZE = option.memory_size(
    "blob.fetch.max-size", "The maximum size of a blob that is fetched over http(s).", "2 gb"
)
BLOB_FETCH_TIMEOUT = option.duration("blob.fetch.timeout", "The timeout for fetching a blob over http(s).", "10 min")
HTTP_ALLOWED_URLS = option.string(
    "http.allowed-urls",
    "The http(s) URLs, comma-separated, that table options may use, or URLs below them:"
    " partition.mark-done-action.http.url and endpoints among blob-descriptor.<property>.",
)

KEPT = (
    option.kept_for("Flink's CDC").boolean(
        "case-sensitive",
        "Whether names may contain upper case; if not set, the catalog's type decides.",
        alternatives=("allow-upper-case",),
    ),
    java.flag("resolving-file-io.enabled", "Whether the file system of each path is chosen by its scheme."),
    java.boolean("file-io.allow-cache", "Whether opened file systems are cached.", "true"),
    java.string("lock.type", "The type of lock, such as jdbc or hive."),
    java.boolean("cache-enabled", "Whether databases, tables, manifests and partitions are cached.", "true"),
    java.duration(
        "cache.expire-after-access",
        "The time after its last use at which a cache entry expires.",
        "10 min",
        alternatives=("cache.expiration-interval",),
    ),
    java.duration("cache.expire-after-write", "The time after it was read at which a cache entry expires.", "30 min"),
    java.long("cache.partition.max-num", "The maximum number of partitions that the catalog caches.", "0"),
    java.integer("cache.snapshot.max-num-per-table", "The maximum number of cached snapshots per table.", "20"),
    java.integer("cache.deletion-vectors.max-num", "The maximum number of cached deletion vectors.", "100000"),
    java.memory_size("cache.manifest.small-file-memory", "The memory for cached small manifests.", "128 mb"),
    java.memory_size("cache.manifest.small-file-threshold", "The maximum size of a small manifest.", "1 mb"),
    java.memory_size("cache.manifest.max-memory", "The memory for cached manifests of any size."),
    java.boolean("cache.manifest.soft-values", "Whether cached manifests are evicted when memory is short.", "true"),
    java.flag("local-cache.enabled", "Whether blocks of remote files are cached on this machine."),
    java.string("local-cache.dir", "The directory of cached blocks; if not set, they are cached in memory."),
    java.memory_size("local-cache.max-size", "The maximum size of cached blocks; no limit if not set."),
    java.memory_size("local-cache.block-size", "The size of a cached block.", "1 mb"),
    java.string(
        "local-cache.whitelist",
        "The types of files to cache, comma-separated: meta, global-index, bucket-index, data, file-index.",
        "meta,global-index",
    ),
    java_hive.string("hadoop-conf-dir", "The directory of core-site.xml and related files."),
    java_hive.string(
        "metastore.client.class",
        "The Java class of the Hive metastore client.",
        "org.apache.hadoop.hive.metastore.HiveMetaStoreClient",
    ),
    java_hive.string(
        "client-pool-cache.keys", "What distinguishes connections to Hive: ugi, user_name or conf:<name>."
    ),
    java_spark.flag(
        "catalog.create-underlying-session-catalog", "Whether the generic catalog creates its own session catalog."
    ),
    java_spark.boolean("v1Function.enabled", "Whether Hive functions are supported.", "true"),
)
