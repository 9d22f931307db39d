"""Options of catalogs: location, cache, lock."""

from __future__ import annotations

from paimon_sql.format.options.values import (
    Scope,
    at_least,
    boolean,
    choice,
    duration,
    integer,
    kept_for,
    long,
    memory_size,
    optional_choice,
    string,
)

_CATALOG = Scope.CATALOG

METASTORE = string("metastore", "filesystem", "The kind of catalog: filesystem, jdbc, hive or rest.", scope=_CATALOG)
WAREHOUSE = string(
    "warehouse",
    None,
    "The directory of the catalog's databases; for a REST catalog the name that its server knows.",
    scope=_CATALOG,
)
URI = string("uri", None, "The address of the catalog's server or database.", scope=_CATALOG)
TABLE_TYPE = choice(
    "table.type",
    "managed",
    "Whether dropping a table removes its files.",
    ("managed", "external"),
    scope=_CATALOG,
)
CASE_SENSITIVE = boolean(
    "case-sensitive",
    None,
    "Whether names may have upper case; without it the catalog's kind decides.",
    scope=_CATALOG,
    alternatives=("allow-upper-case",),
    status=kept_for("Flink's CDC"),
)
SYNC_ALL_PROPERTIES = boolean(
    "sync-all-properties", "true", "Whether the metastore is told all properties of a table.", scope=_CATALOG
)
FORMAT_TABLE_ENABLED = boolean("format-table.enabled", "true", "Whether the catalog has format tables.", scope=_CATALOG)
CATALOG_OPTIONS_TABLE_ENABLED = boolean(
    "catalog-options-table.enabled", "false", "Whether sys.catalog_options shows these options.", scope=_CATALOG
)
MAINTENANCE_RUNS_RETAINED = integer(
    "maintenance-runs.retained",
    "500",
    "How many calls of procedures sys.maintenance_runs remembers, and how many runs after commits; 0 for none.",
    scope=_CATALOG,
    check=at_least(0),
)
RESOLVING_FILE_IO_ENABLED = boolean(
    "resolving-file-io.enabled",
    "false",
    "Whether each path chooses its file system by its scheme.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
FILE_IO_ALLOW_CACHE = boolean(
    "file-io.allow-cache",
    "true",
    "Whether file systems are opened once and kept.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
FILE_IO_SYNC = boolean(
    "file-io.sync",
    "true",
    "Whether what a statement acknowledges is on the disk by then, so that it survives a loss of power; local files"
    " only.",
    scope=_CATALOG,
)
LOCK_ENABLED = boolean(
    "lock.enabled", None, "Whether commits take the catalog's lock; without it the storage decides.", scope=_CATALOG
)
LOCK_TYPE = string(
    "lock.type", None, "The kind of lock, such as jdbc or hive.", scope=_CATALOG, status=kept_for("Java's catalogs")
)
LOCK_CHECK_MAX_SLEEP = duration(
    "lock-check-max-sleep", "8 s", "How long a commit waits at most before it asks for the lock again.", scope=_CATALOG
)
LOCK_ACQUIRE_TIMEOUT = duration(
    "lock-acquire-timeout",
    "8 min",
    "How long a commit asks for the lock, and how long a JDBC catalog's lock lasts if its holder dies.",
    scope=_CATALOG,
)
CLIENT_POOL_SIZE = integer(
    "client-pool-size", "2", "How many connections to the metastore are kept.", scope=_CATALOG, check=at_least(1)
)
CACHE_ENABLED = boolean(
    "cache-enabled",
    "true",
    "Whether databases, tables, manifests and partitions are cached.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
CACHE_EXPIRE_AFTER_ACCESS = duration(
    "cache.expire-after-access",
    "10 min",
    "How long after its last use a cached thing stays.",
    scope=_CATALOG,
    alternatives=("cache.expiration-interval",),
    status=kept_for("Java's catalogs"),
)
CACHE_EXPIRE_AFTER_WRITE = duration(
    "cache.expire-after-write",
    "30 min",
    "How long after it was read a cached thing stays.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
CACHE_PARTITION_MAX_NUM = long(
    "cache.partition.max-num",
    "0",
    "For how many partitions the catalog caches what it knows.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
CACHE_SNAPSHOT_MAX_NUM_PER_TABLE = integer(
    "cache.snapshot.max-num-per-table",
    "20",
    "How many snapshots of a table are cached.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
CACHE_DELETION_VECTORS_MAX_NUM = integer(
    "cache.deletion-vectors.max-num",
    "100000",
    "How many deletion vectors are cached.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
CACHE_MANIFEST_SMALL_FILE_MEMORY = memory_size(
    "cache.manifest.small-file-memory",
    "128 mb",
    "How much memory cached small manifests take.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
CACHE_MANIFEST_SMALL_FILE_THRESHOLD = memory_size(
    "cache.manifest.small-file-threshold",
    "1 mb",
    "Up to which size a manifest counts as small.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
CACHE_MANIFEST_MAX_MEMORY = memory_size(
    "cache.manifest.max-memory",
    None,
    "How much memory cached manifests of any size take.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
CACHE_MANIFEST_SOFT_VALUES = boolean(
    "cache.manifest.soft-values",
    "true",
    "Whether cached manifests give way when memory is short.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
LOCAL_CACHE_ENABLED = boolean(
    "local-cache.enabled",
    "false",
    "Whether blocks of remote files are cached on this machine.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
LOCAL_CACHE_DIR = string(
    "local-cache.dir",
    None,
    "The directory of cached blocks; without it they stay in memory.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
LOCAL_CACHE_MAX_SIZE = memory_size(
    "local-cache.max-size",
    None,
    "How much cached blocks take; without it there is no limit.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
LOCAL_CACHE_BLOCK_SIZE = memory_size(
    "local-cache.block-size", "1 mb", "The size of a cached block.", scope=_CATALOG, status=kept_for("Java's catalogs")
)
LOCAL_CACHE_WHITELIST = string(
    "local-cache.whitelist",
    "meta,global-index",
    "Which files are cached, with commas between: meta, global-index, bucket-index, data, file-index.",
    scope=_CATALOG,
    status=kept_for("Java's catalogs"),
)
CATALOG_KEY = string(
    "catalog-key",
    "jdbc",
    "The name under which a JDBC catalog keeps its tables, for several in one database.",
    scope=_CATALOG,
)
LOCK_KEY_MAX_LENGTH = integer(
    "lock-key-max-length",
    "255",
    "How long the name of a JDBC catalog's lock may be.",
    scope=_CATALOG,
    check=at_least(1),
)
JDBC_PROPERTY = string(
    "jdbc.<property>", None, "A setting of the connection of a JDBC catalog, such as user.", scope=_CATALOG
)
TOKEN_PROVIDER = string(
    "token.provider",
    None,
    "How a REST catalog says who asks: bear, by a token, or dlf, by signing requests.",
    scope=_CATALOG,
)
TOKEN = string("token", None, "The token of a REST catalog with the provider bear.", scope=_CATALOG)
DLF_ACCESS_KEY_ID = string("dlf.access-key-id", None, "The id of the key that signs requests.", scope=_CATALOG)
DLF_ACCESS_KEY_SECRET = string("dlf.access-key-secret", None, "The secret of that key.", scope=_CATALOG)
DLF_SECURITY_TOKEN = string("dlf.security-token", None, "What goes with a key that ends.", scope=_CATALOG)
DLF_TOKEN_PATH = string(
    "dlf.token-path",
    None,
    "The file that holds the key which signs requests, as JSON; somebody else keeps it fresh.",
    scope=_CATALOG,
)
DLF_TOKEN_LOADER = optional_choice(
    "dlf.token-loader",
    "Where the key that signs requests comes from, if the options do not say it: a file, or the machine's role.",
    ("local_file", "ecs"),
    scope=_CATALOG,
)
DLF_TOKEN_ECS_METADATA_URL = string(
    "dlf.token-ecs-metadata-url",
    "http://100.100.100.200/latest/meta-data/Ram/security-credentials/",
    "The service that gives a machine the key of its role.",
    scope=_CATALOG,
)
DLF_TOKEN_ECS_ROLE_NAME = string("dlf.token-ecs-role-name", None, "The role, if not the machine's.", scope=_CATALOG)
DLF_REGION = string("dlf.region", None, "The server's region, if its address does not say it.", scope=_CATALOG)
DLF_SIGNING_ALGORITHM = optional_choice(
    "dlf.signing-algorithm",
    "How requests are signed; where nothing is said the server's address decides.",
    ("default", "openapi"),
    scope=_CATALOG,
)
DLF_OSS_ENDPOINT = string(
    "dlf.oss-endpoint", None, "Where files in OSS are reached, if not where the server's tokens say.", scope=_CATALOG
)
HEADER = string("header.<name>", None, "A header of all requests of a REST catalog.", scope=_CATALOG)
PREFIX = string(
    "prefix", None, "What the paths of a REST catalog's server begin with; the server says it.", scope=_CATALOG
)
DATA_TOKEN_ENABLED = boolean(
    "data-token.enabled",
    "false",
    "Whether a REST catalog's server gives out tokens for the files of tables; the server says it.",
    scope=_CATALOG,
)
HIVE_CONF_DIR = string("hive-conf-dir", None, "The directory of hive-site.xml.", scope=_CATALOG)
HADOOP_CONF_DIR = string(
    "hadoop-conf-dir",
    None,
    "The directory of core-site.xml and its kin.",
    scope=_CATALOG,
    status=kept_for("Java's Hive catalogs"),
)
ALTER_TABLE_CASCADE = boolean(
    "alter-table-cascade", "true", "Whether a change of columns also changes Hive's partitions.", scope=_CATALOG
)
LOCATION_IN_PROPERTIES = boolean(
    "location-in-properties",
    "false",
    "Whether Hive holds locations as properties, which it does not look into.",
    scope=_CATALOG,
)
METASTORE_CLIENT_CLASS = string(
    "metastore.client.class",
    "org.apache.hadoop.hive.metastore.HiveMetaStoreClient",
    "The Java class of the client of Hive's metastore.",
    scope=_CATALOG,
    status=kept_for("Java's Hive catalogs"),
)
CLIENT_POOL_CACHE_EVICTION_INTERVAL_MS = long(
    "client-pool-cache.eviction-interval-ms",
    "300000",
    "After how many milliseconds without use connections to Hive are closed.",
    scope=_CATALOG,
)
CLIENT_POOL_CACHE_KEYS = string(
    "client-pool-cache.keys",
    None,
    "What tells connections to Hive apart: ugi, user_name or conf:<name>.",
    scope=_CATALOG,
    status=kept_for("Java's Hive catalogs"),
)
HIVE_SKIP_UPDATE_STATS = boolean(
    "hive.skip-update-stats", "false", "Whether Hive leaves its statistics alone when a table changes.", scope=_CATALOG
)
CREATE_UNDERLYING_SESSION_CATALOG = boolean(
    "catalog.create-underlying-session-catalog",
    "false",
    "Whether the generic catalog makes a session catalog of its own.",
    scope=_CATALOG,
    status=kept_for("Java's Spark connector"),
)
DEFAULT_DATABASE = string(
    "defaultDatabase",
    "default",
    "The database in which a session is that has chosen the catalog and none of its databases; it is made.",
    scope=_CATALOG,
)
V1_FUNCTION_ENABLED = boolean(
    "v1Function.enabled",
    "true",
    "Whether functions of Hive's kind are found.",
    scope=_CATALOG,
    status=kept_for("Java's Spark connector"),
)
TABLE_DEFAULT_PROPERTY = string(
    "table-default.<option>", None, "The value of a table option for new tables that do not set it.", scope=_CATALOG
)
EXTERNAL_ALLOWED_ROOTS = string(
    "external-paths.allowed-roots",
    None,
    "The directories and buckets, with commas between, under which those must be that options of tables name in"
    " data-file.external-paths and global-index.external-path. Without it a table's own options say where its files"
    " may stand.",
    scope=_CATALOG,
)
BLOB_ALLOWED_ROOTS = string(
    "blob.allowed-roots",
    None,
    "The directories, buckets and http(s) addresses, with commas between, from which blobs are fetched that descriptors"
    " name, beside the warehouse and a table's own directory.",
    scope=_CATALOG,
)
BLOB_FETCH_MAX_SIZE = memory_size(
    "blob.fetch.max-size", "2 gb", "How large a blob may be that is fetched over http(s).", scope=_CATALOG
)
BLOB_FETCH_TIMEOUT = duration(
    "blob.fetch.timeout", "10 min", "How long it may take to fetch a blob over http(s).", scope=_CATALOG
)
HTTP_ALLOWED_URLS = string(
    "http.allowed-urls",
    None,
    "The http(s) addresses, with commas between, at or below which those must be that options of tables name:"
    " partition.mark-done-action.http.url and endpoints among blob-descriptor.<property>.",
    scope=_CATALOG,
)
