"""Options of catalogs: location, cache, lock."""

from __future__ import annotations

from paimon_sql.format.options import values
from paimon_sql.format.options.values import Scope, at_least, choice, kept_for, optional_choice

boolean = values.boolean.scoped(Scope.CATALOG)
duration = values.duration.scoped(Scope.CATALOG)
integer = values.integer.scoped(Scope.CATALOG)
long = values.long.scoped(Scope.CATALOG)
memory_size = values.memory_size.scoped(Scope.CATALOG)
string = values.string.scoped(Scope.CATALOG)

METASTORE = string("metastore", "filesystem", "The type of the catalog: filesystem, jdbc, hive or rest.")
WAREHOUSE = string(
    "warehouse",
    None,
    "The directory of the catalog's databases; for a REST catalog the warehouse's name on the server.",
)
URI = string("uri", None, "The URI of the catalog's server or database.")
TABLE_TYPE = choice(
    "table.type", "managed", "Whether dropping a table removes its files.", ("managed", "external"), scope=Scope.CATALOG
)
CASE_SENSITIVE = boolean(
    "case-sensitive",
    None,
    "Whether names may contain upper case; if not set, the catalog's type decides.",
    alternatives=("allow-upper-case",),
    status=kept_for("Flink's CDC"),
)
SYNC_ALL_PROPERTIES = boolean(
    "sync-all-properties", "true", "Whether all properties of a table are written to the metastore."
)
FORMAT_TABLE_ENABLED = boolean("format-table.enabled", "true", "Whether the catalog supports format tables.")
CATALOG_OPTIONS_TABLE_ENABLED = boolean(
    "catalog-options-table.enabled", "false", "Whether sys.catalog_options shows these options."
)
MAINTENANCE_RUNS_RETAINED = integer(
    "maintenance-runs.retained",
    "500",
    "The number of procedure calls, and of runs after commits, that sys.maintenance_runs retains; 0 for none.",
    check=at_least(0),
)
RESOLVING_FILE_IO_ENABLED = boolean(
    "resolving-file-io.enabled",
    "false",
    "Whether the file system of each path is chosen by its scheme.",
    status=kept_for("Java's catalogs"),
)
FILE_IO_ALLOW_CACHE = boolean(
    "file-io.allow-cache", "true", "Whether opened file systems are cached.", status=kept_for("Java's catalogs")
)
FILE_IO_SYNC = boolean(
    "file-io.sync",
    "true",
    "Whether acknowledged statements are synced to disk, so that they survive a power failure; local files only.",
)
LOCK_ENABLED = boolean(
    "lock.enabled", None, "Whether commits acquire the catalog's lock; if not set, the storage decides."
)
LOCK_TYPE = string("lock.type", None, "The type of lock, such as jdbc or hive.", status=kept_for("Java's catalogs"))
LOCK_CHECK_MAX_SLEEP = duration(
    "lock-check-max-sleep", "8 s", "The maximum wait of a commit before it tries to acquire the lock again."
)
LOCK_ACQUIRE_TIMEOUT = duration(
    "lock-acquire-timeout",
    "8 min",
    "The time for which a commit tries to acquire the lock, and after which a JDBC catalog's lock expires if its"
    " holder dies.",
)
CLIENT_POOL_SIZE = integer(
    "client-pool-size", "2", "The number of pooled connections to the metastore.", check=at_least(1)
)
CACHE_ENABLED = boolean(
    "cache-enabled",
    "true",
    "Whether databases, tables, manifests and partitions are cached.",
    status=kept_for("Java's catalogs"),
)
CACHE_EXPIRE_AFTER_ACCESS = duration(
    "cache.expire-after-access",
    "10 min",
    "The time after its last use at which a cache entry expires.",
    alternatives=("cache.expiration-interval",),
    status=kept_for("Java's catalogs"),
)
CACHE_EXPIRE_AFTER_WRITE = duration(
    "cache.expire-after-write",
    "30 min",
    "The time after it was read at which a cache entry expires.",
    status=kept_for("Java's catalogs"),
)
CACHE_PARTITION_MAX_NUM = long(
    "cache.partition.max-num",
    "0",
    "The maximum number of partitions that the catalog caches.",
    status=kept_for("Java's catalogs"),
)
CACHE_SNAPSHOT_MAX_NUM_PER_TABLE = integer(
    "cache.snapshot.max-num-per-table",
    "20",
    "The maximum number of cached snapshots per table.",
    status=kept_for("Java's catalogs"),
)
CACHE_DELETION_VECTORS_MAX_NUM = integer(
    "cache.deletion-vectors.max-num",
    "100000",
    "The maximum number of cached deletion vectors.",
    status=kept_for("Java's catalogs"),
)
CACHE_MANIFEST_SMALL_FILE_MEMORY = memory_size(
    "cache.manifest.small-file-memory",
    "128 mb",
    "The memory for cached small manifests.",
    status=kept_for("Java's catalogs"),
)
CACHE_MANIFEST_SMALL_FILE_THRESHOLD = memory_size(
    "cache.manifest.small-file-threshold",
    "1 mb",
    "The maximum size of a small manifest.",
    status=kept_for("Java's catalogs"),
)
CACHE_MANIFEST_MAX_MEMORY = memory_size(
    "cache.manifest.max-memory",
    None,
    "The memory for cached manifests of any size.",
    status=kept_for("Java's catalogs"),
)
CACHE_MANIFEST_SOFT_VALUES = boolean(
    "cache.manifest.soft-values",
    "true",
    "Whether cached manifests are evicted when memory is short.",
    status=kept_for("Java's catalogs"),
)
LOCAL_CACHE_ENABLED = boolean(
    "local-cache.enabled",
    "false",
    "Whether blocks of remote files are cached on this machine.",
    status=kept_for("Java's catalogs"),
)
LOCAL_CACHE_DIR = string(
    "local-cache.dir",
    None,
    "The directory of cached blocks; if not set, they are cached in memory.",
    status=kept_for("Java's catalogs"),
)
LOCAL_CACHE_MAX_SIZE = memory_size(
    "local-cache.max-size",
    None,
    "The maximum size of cached blocks; no limit if not set.",
    status=kept_for("Java's catalogs"),
)
LOCAL_CACHE_BLOCK_SIZE = memory_size(
    "local-cache.block-size", "1 mb", "The size of a cached block.", status=kept_for("Java's catalogs")
)
LOCAL_CACHE_WHITELIST = string(
    "local-cache.whitelist",
    "meta,global-index",
    "The types of files to cache, comma-separated: meta, global-index, bucket-index, data, file-index.",
    status=kept_for("Java's catalogs"),
)
CATALOG_KEY = string("catalog-key", "jdbc", "The name that distinguishes several JDBC catalogs in one database.")
LOCK_KEY_MAX_LENGTH = integer(
    "lock-key-max-length", "255", "The maximum length of the name of a JDBC catalog's lock.", check=at_least(1)
)
JDBC_PROPERTY = string("jdbc.<property>", None, "A setting of the connection of a JDBC catalog, such as user.")
TOKEN_PROVIDER = string(
    "token.provider", None, "How a REST catalog authenticates: bear, by a token, or dlf, by signing requests."
)
TOKEN = string("token", None, "The token of a REST catalog with the provider bear.")
DLF_ACCESS_KEY_ID = string("dlf.access-key-id", None, "The id of the key that signs requests.")
DLF_ACCESS_KEY_SECRET = string("dlf.access-key-secret", None, "The secret of that key.")
DLF_SECURITY_TOKEN = string("dlf.security-token", None, "The security token of a temporary key.")
DLF_TOKEN_PATH = string(
    "dlf.token-path", None, "The JSON file with the key that signs requests; another process keeps it up to date."
)
DLF_TOKEN_LOADER = optional_choice(
    "dlf.token-loader",
    "Where the key that signs requests is read from if it is not set: a file, or the machine's role.",
    ("local_file", "ecs"),
    scope=Scope.CATALOG,
)
DLF_TOKEN_ECS_METADATA_URL = string(
    "dlf.token-ecs-metadata-url",
    "http://100.100.100.200/latest/meta-data/Ram/security-credentials/",
    "The service that provides a machine with the key of its role.",
)
DLF_TOKEN_ECS_ROLE_NAME = string("dlf.token-ecs-role-name", None, "The role; defaults to the machine's.")
DLF_REGION = string("dlf.region", None, "The server's region; defaults to that in its URI.")
DLF_SIGNING_ALGORITHM = optional_choice(
    "dlf.signing-algorithm",
    "How requests are signed; if not set, the server's URI decides.",
    ("default", "openapi"),
    scope=Scope.CATALOG,
)
DLF_OSS_ENDPOINT = string("dlf.oss-endpoint", None, "The endpoint of OSS; defaults to that of the server's tokens.")
HEADER = string("header.<name>", None, "A header of all requests to a REST catalog.")
PREFIX = string("prefix", None, "The prefix of the paths of a REST catalog's server; the server sets it.")
DATA_TOKEN_ENABLED = boolean(
    "data-token.enabled",
    "false",
    "Whether a REST catalog's server provides tokens for the files of tables; the server sets it.",
)
HIVE_CONF_DIR = string("hive-conf-dir", None, "The directory of hive-site.xml.")
HADOOP_CONF_DIR = string(
    "hadoop-conf-dir",
    None,
    "The directory of core-site.xml and related files.",
    status=kept_for("Java's Hive catalogs"),
)
ALTER_TABLE_CASCADE = boolean(
    "alter-table-cascade", "true", "Whether a change of columns also changes Hive's partitions."
)
LOCATION_IN_PROPERTIES = boolean(
    "location-in-properties", "false", "Whether Hive stores locations as properties, which it does not validate."
)
METASTORE_CLIENT_CLASS = string(
    "metastore.client.class",
    "org.apache.hadoop.hive.metastore.HiveMetaStoreClient",
    "The Java class of the Hive metastore client.",
    status=kept_for("Java's Hive catalogs"),
)
CLIENT_POOL_CACHE_EVICTION_INTERVAL_MS = long(
    "client-pool-cache.eviction-interval-ms",
    "300000",
    "The time in milliseconds without use after which connections to Hive are closed.",
)
CLIENT_POOL_CACHE_KEYS = string(
    "client-pool-cache.keys",
    None,
    "What distinguishes connections to Hive: ugi, user_name or conf:<name>.",
    status=kept_for("Java's Hive catalogs"),
)
HIVE_SKIP_UPDATE_STATS = boolean(
    "hive.skip-update-stats", "false", "Whether Hive does not update its statistics when a table changes."
)
CREATE_UNDERLYING_SESSION_CATALOG = boolean(
    "catalog.create-underlying-session-catalog",
    "false",
    "Whether the generic catalog creates its own session catalog.",
    status=kept_for("Java's Spark connector"),
)
DEFAULT_DATABASE = string(
    "defaultDatabase", "default", "The initial database of the catalog; it is created if it does not exist."
)
V1_FUNCTION_ENABLED = boolean(
    "v1Function.enabled", "true", "Whether Hive functions are supported.", status=kept_for("Java's Spark connector")
)
TABLE_DEFAULT_PROPERTY = string(
    "table-default.<option>", None, "The value of a table option for new tables that do not set it."
)
EXTERNAL_ALLOWED_ROOTS = string(
    "external-paths.allowed-roots",
    None,
    "The directories and buckets, comma-separated, that must contain the paths in the table options"
    " data-file.external-paths and global-index.external-path. If not set, a table's own options decide where its"
    " files may be.",
)
BLOB_ALLOWED_ROOTS = string(
    "blob.allowed-roots",
    None,
    "The directories, buckets and http(s) URLs, comma-separated, from which the blobs of descriptors may be fetched,"
    " beside the warehouse and a table's own directory.",
)
BLOB_FETCH_MAX_SIZE = memory_size(
    "blob.fetch.max-size", "2 gb", "The maximum size of a blob that is fetched over http(s)."
)
BLOB_FETCH_TIMEOUT = duration("blob.fetch.timeout", "10 min", "The timeout for fetching a blob over http(s).")
HTTP_ALLOWED_URLS = string(
    "http.allowed-urls",
    None,
    "The http(s) URLs, comma-separated, that table options may use, or URLs below them:"
    " partition.mark-done-action.http.url and endpoints among blob-descriptor.<property>.",
)
