"""Options of primary-key tables: merge engine, sequence fields, aggregation, deletes."""

from __future__ import annotations

from paimon_sql.format.options.values import at_least, boolean, choice, integer, kept_for, string

MERGE_ENGINE = choice(
    "merge-engine",
    "deduplicate",
    "How rows with the same key are merged: keep the last one, update it with later values, aggregate the values,"
    " or keep the first one.",
    ("deduplicate", "partial-update", "aggregation", "first-row"),
    registry="paimon_sql.storage.merge.registry:ENGINES.keys",
    immutable=True,
)
SEQUENCE_FIELD = string(
    "sequence.field",
    None,
    "The columns, comma-separated, whose values determine the latest row of a key; with equal values it is the last"
    " written one.",
)
SEQUENCE_FIELD_SORT_ORDER = choice(
    "sequence.field.sort-order",
    "ascending",
    "Whether the row with the maximum or the minimum sequence value is the latest.",
    ("ascending", "descending"),
)
SEQUENCE_SNAPSHOT_ORDERING = boolean(
    "sequence.snapshot-ordering",
    "false",
    "Whether rows of a later snapshot win regardless of their sequence numbers, for several writers on one table;"
    " it needs `write-only`, so that only dedicated compactions merge rows.",
    immutable=True,
)
ROWKIND_FIELD = string(
    "rowkind.field", None, "The column that holds the row kind (+I, -U, +U or -D) of a written row.", immutable=True
)
IGNORE_DELETE = boolean(
    "ignore-delete",
    "false",
    "Whether deletes in the input and in unmerged files are ignored.",
    alternatives=("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"),
)
IGNORE_UPDATE_BEFORE = boolean(
    "ignore-update-before", "false", "Whether rows of kind -U, the state before an update, are ignored."
)
AGGREGATION_REMOVE_RECORD_ON_DELETE = boolean(
    "aggregation.remove-record-on-delete",
    "false",
    "Whether a delete removes the whole aggregated row instead of only retracting its own values.",
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
    "The sequence fields, comma-separated, of the groups whose delete removes the whole row.",
    immutable=True,
)
FIELDS_DEFAULT_AGG_FUNCTION = string(
    "fields.default-aggregate-function", None, "The aggregate function of columns that do not set their own."
)
FIELD_AGG_FUNCTION = string("fields.<column>.aggregate-function", None, "The aggregate function of the column.")
FIELD_SEQUENCE_GROUP = string(
    "fields.<columns>.sequence-group",
    None,
    "The columns, comma-separated, that are updated only when these sequence columns increase.",
)
FIELD_IGNORE_RETRACT = boolean(
    "fields.<column>.ignore-retract", "false", "Whether the aggregate function of the column ignores retractions."
)
FIELD_DISTINCT = boolean(
    "fields.<column>.distinct", "false", "Whether collect or listagg keeps only distinct values of the column."
)
FIELD_LIST_AGG_DELIMITER = string(
    "fields.<column>.list-agg-delimiter", ",", "The delimiter between the values that listagg concatenates."
)
FIELD_NESTED_KEY = string(
    "fields.<column>.nested-key",
    None,
    "The fields, comma-separated, that are the key of the rows that nested_update collects in the column.",
)
FIELD_NESTED_KEY_NULL_STRATEGY = choice(
    "fields.<column>.nested-key-null-strategy",
    "merge",
    "Whether nested_update accepts, ignores or rejects a row whose nested key contains a null.",
    ("merge", "ignore", "error"),
)
FIELD_NESTED_SEQUENCE_FIELD = string(
    "fields.<column>.nested-sequence-field",
    None,
    "The fields, comma-separated, by which nested_update determines the latest row of a nested key.",
)
FIELD_COUNT_LIMIT = integer(
    "fields.<column>.count-limit",
    "2147483647",
    "The maximum number of rows that nested_update keeps in the column without a nested key.",
    check=at_least(1),
)
FIELD_TS_FIELD = string(
    "fields.<column>.ts-field",
    None,
    "The field of a map's values by which merge_map_with_keytime determines the latest value of a map key; by default"
    " it is the last written one.",
)
FIELD_DEFAULT_VALUE = string(
    "fields.<column>.default-value",
    None,
    "The value that reads return for nulls of the column (a default in DDL is better).",
    status=kept_for("Java engines older than 1.3"),
)
FIELD_MAP_STORAGE_LAYOUT = choice(
    "fields.<column>.map.storage-layout",
    "default",
    "Whether a map column is stored as keys and values or as columns shared by frequent keys.",
    ("default", "shared-shredding"),
    status=kept_for("Java engines"),
)
FIELD_MAP_SHARED_SHREDDING_MAX_COLUMNS = integer(
    "fields.<column>.map.shared-shredding.max-columns",
    "256",
    "The maximum number of columns of a shredded map in a data file.",
    check=at_least(1),
    status=kept_for("Java engines"),
)
FIELD_MAP_SHARED_SHREDDING_PLACEMENT = choice(
    "fields.<column>.map.shared-shredding.column-placement-policy",
    "lru",
    "Which keys of a shredded map get a column: the first of a row, the first ever seen or the recently used ones.",
    ("plain", "sequential", "lru"),
    status=kept_for("Java engines"),
)
