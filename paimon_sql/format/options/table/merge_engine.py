"""Options of primary-key tables: merge engine, sequence fields, aggregation, deletes."""

from __future__ import annotations

from paimon_sql.format.options.values import fixed, java, option

MERGE_ENGINE = fixed.one_of(
    "deduplicate",
    "partial-update",
    "aggregation",
    "first-row",
    registry="paimon_sql.storage.merge.registry:ENGINES.keys",
)(
    "merge-engine",
    "How rows with the same key are merged: keep the last one, update it with later values, aggregate the values,"
    " or keep the first one.",
    "deduplicate",
)
SEQUENCE_FIELD = option.string(
    "sequence.field",
    "The columns, comma-separated, whose values determine the latest row of a key; with equal values it is the last"
    " written one.",
)
SEQUENCE_FIELD_SORT_ORDER = option.one_of("ascending", "descending")(
    "sequence.field.sort-order",
    "Whether the row with the maximum or the minimum sequence value is the latest.",
    "ascending",
)
SEQUENCE_SNAPSHOT_ORDERING = fixed.flag(
    "sequence.snapshot-ordering",
    "Whether rows of a later snapshot win regardless of their sequence numbers, for several writers on one table;"
    " it needs `write-only`, so that only dedicated compactions merge rows.",
)
ROWKIND_FIELD = fixed.string("rowkind.field", "The column that holds the row kind (+I, -U, +U or -D) of a written row.")
IGNORE_DELETE = option.flag(
    "ignore-delete",
    "Whether deletes in the input and in unmerged files are ignored.",
    alternatives=("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"),
)
IGNORE_UPDATE_BEFORE = option.flag(
    "ignore-update-before", "Whether rows of kind -U, the state before an update, are ignored."
)
AGGREGATION_REMOVE_RECORD_ON_DELETE = fixed.flag(
    "aggregation.remove-record-on-delete",
    "Whether a delete removes the whole aggregated row instead of only retracting its own values.",
)
PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE = fixed.flag(
    "partial-update.remove-record-on-delete", "Whether a delete removes the whole row of a partial-update table."
)
PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP = fixed.string(
    "partial-update.remove-record-on-sequence-group",
    "The sequence fields, comma-separated, of the groups whose delete removes the whole row.",
)
FIELDS_DEFAULT_AGG_FUNCTION = option.string(
    "fields.default-aggregate-function", "The aggregate function of columns that do not set their own."
)
FIELD_AGG_FUNCTION = option.string("fields.<column>.aggregate-function", "The aggregate function of the column.")
FIELD_SEQUENCE_GROUP = option.string(
    "fields.<columns>.sequence-group",
    "The columns, comma-separated, that are updated only when these sequence columns increase.",
)
FIELD_IGNORE_RETRACT = option.flag(
    "fields.<column>.ignore-retract", "Whether the aggregate function of the column ignores retractions."
)
FIELD_DISTINCT = option.flag(
    "fields.<column>.distinct", "Whether collect or listagg keeps only distinct values of the column."
)
FIELD_LIST_AGG_DELIMITER = option.string(
    "fields.<column>.list-agg-delimiter", "The delimiter between the values that listagg concatenates.", ","
)
FIELD_NESTED_KEY = option.string(
    "fields.<column>.nested-key",
    "The fields, comma-separated, that are the key of the rows that nested_update collects in the column.",
)
FIELD_NESTED_KEY_NULL_STRATEGY = option.one_of("merge", "ignore", "error")(
    "fields.<column>.nested-key-null-strategy",
    "Whether nested_update accepts, ignores or rejects a row whose nested key contains a null.",
    "merge",
)
FIELD_NESTED_SEQUENCE_FIELD = option.string(
    "fields.<column>.nested-sequence-field",
    "The fields, comma-separated, by which nested_update determines the latest row of a nested key.",
)
FIELD_COUNT_LIMIT = option.integer.at_least(1)(
    "fields.<column>.count-limit",
    "The maximum number of rows that nested_update keeps in the column without a nested key.",
    "2147483647",
)
FIELD_TS_FIELD = option.string(
    "fields.<column>.ts-field",
    "The field of a map's values by which merge_map_with_keytime determines the latest value of a map key; by default"
    " it is the last written one.",
)
FIELD_MAP_STORAGE_LAYOUT = java.one_of("default", "shared-shredding")(
    "fields.<column>.map.storage-layout",
    "Whether a map column is stored as keys and values or as columns shared by frequent keys.",
    "default",
)
FIELD_MAP_SHARED_SHREDDING_MAX_COLUMNS = java.integer.at_least(1)(
    "fields.<column>.map.shared-shredding.max-columns",
    "The maximum number of columns of a shredded map in a data file.",
    "256",
)
FIELD_MAP_SHARED_SHREDDING_PLACEMENT = java.one_of("plain", "sequential", "lru")(
    "fields.<column>.map.shared-shredding.column-placement-policy",
    "Which keys of a shredded map get a column: the first of a row, the first ever seen or the recently used ones.",
    "lru",
)

KEPT = (
    option.kept_for("Java engines older than 1.3").string(
        "fields.<column>.default-value",
        "The value that reads return for nulls of the column (a default in DDL is better).",
    ),
)
