"""Options of primary-key tables: merge engine, sequence fields, aggregation, deletes."""

from __future__ import annotations

from paimon_sql.format.options.values import at_least, boolean, choice, integer, kept_for, string

MERGE_ENGINE = choice(
    "merge-engine",
    "deduplicate",
    "What becomes of several rows with one key: the last stays, later values fill earlier rows, values are aggregated,"
    " or the first stays.",
    ("deduplicate", "partial-update", "aggregation", "first-row"),
    immutable=True,
)
SEQUENCE_FIELD = string(
    "sequence.field",
    None,
    "The columns, with commas between, whose values decide which row with a key is the latest; then the last written.",
)
SEQUENCE_FIELD_SORT_ORDER = choice(
    "sequence.field.sort-order",
    "ascending",
    "Whether the row with the greatest or with the least sequence value is the latest.",
    ("ascending", "descending"),
)
SEQUENCE_SNAPSHOT_ORDERING = boolean(
    "sequence.snapshot-ordering",
    "false",
    "Whether rows of a later snapshot win whatever their sequence numbers are, for several writers on one table; it"
    " needs `write-only`, so that only compactions of their own merge rows.",
    immutable=True,
)
ROWKIND_FIELD = string(
    "rowkind.field", None, "The column that says with +I, -U, +U or -D what a written row does.", immutable=True
)
IGNORE_DELETE = boolean(
    "ignore-delete",
    "false",
    "Whether deletes in the input and in unmerged files are passed over.",
    alternatives=("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"),
)
IGNORE_UPDATE_BEFORE = boolean(
    "ignore-update-before", "false", "Whether rows that tell the state before an update are passed over."
)
AGGREGATION_REMOVE_RECORD_ON_DELETE = boolean(
    "aggregation.remove-record-on-delete",
    "false",
    "Whether a delete removes the whole aggregated row and does not only retract its own values.",
    immutable=True,
)
PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE = boolean(
    "partial-update.remove-record-on-delete",
    "false",
    "Whether a delete removes the whole row of a partial-update table.",
    immutable=True,
)
PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP = string(
    "partial-update.remove-record-on-sequence-group",
    None,
    "The sequence fields, with commas between, of the groups whose delete removes the whole row.",
    immutable=True,
)
FIELDS_DEFAULT_AGG_FUNCTION = string(
    "fields.default-aggregate-function", None, "The aggregate function of columns that name none of their own."
)
FIELD_AGG_FUNCTION = string(
    "fields.<column>.aggregate-function", None, "The function that combines the values of the column."
)
FIELD_SEQUENCE_GROUP = string(
    "fields.<columns>.sequence-group",
    None,
    "The columns, with commas between, that change only when these sequence columns grow.",
)
FIELD_IGNORE_RETRACT = boolean(
    "fields.<column>.ignore-retract", "false", "Whether the aggregate function of the column passes retractions over."
)
FIELD_DISTINCT = boolean(
    "fields.<column>.distinct", "false", "Whether collect or listagg keeps each value of the column once only."
)
FIELD_LIST_AGG_DELIMITER = string(
    "fields.<column>.list-agg-delimiter", ",", "What listagg puts between the values of the column."
)
FIELD_NESTED_KEY = string(
    "fields.<column>.nested-key",
    None,
    "The members, with commas between, that are the key of the rows that nested_update collects in the column.",
)
FIELD_NESTED_KEY_NULL_STRATEGY = choice(
    "fields.<column>.nested-key-null-strategy",
    "merge",
    "Whether nested_update takes a row whose nested key holds a null, passes it over or refuses it.",
    ("merge", "ignore", "error"),
)
FIELD_NESTED_SEQUENCE_FIELD = string(
    "fields.<column>.nested-sequence-field",
    None,
    "The members, with commas between, by which nested_update tells the latest of the rows with one nested key.",
)
FIELD_COUNT_LIMIT = integer(
    "fields.<column>.count-limit",
    "2147483647",
    "The greatest number of rows that nested_update keeps in the column without a nested key.",
    check=at_least(1),
)
FIELD_TS_FIELD = string(
    "fields.<column>.ts-field",
    None,
    "The member of a map's values by which merge_map_with_keytime finds the latest one of a map key; else the last.",
)
FIELD_DEFAULT_VALUE = string(
    "fields.<column>.default-value",
    None,
    "What reads show where the column is null (a default in DDL is better).",
    status=kept_for("Java engines older than 1.3"),
)
FIELD_MAP_STORAGE_LAYOUT = choice(
    "fields.<column>.map.storage-layout",
    "default",
    "Whether a map column is stored as keys and values or as columns that frequent keys share.",
    ("default", "shared-shredding"),
    status=kept_for("Java engines"),
)
FIELD_MAP_SHARED_SHREDDING_MAX_COLUMNS = integer(
    "fields.<column>.map.shared-shredding.max-columns",
    "256",
    "How many columns a shredded map may take in a data file.",
    check=at_least(1),
    status=kept_for("Java engines"),
)
FIELD_MAP_SHARED_SHREDDING_PLACEMENT = choice(
    "fields.<column>.map.shared-shredding.column-placement-policy",
    "lru",
    "Which keys of a shredded map get a column: the first of a row, the first ever seen or those used lately.",
    ("plain", "sequential", "lru"),
    status=kept_for("Java engines"),
)
