"""Options of a table: kind, keys, location, rules for changes of columns."""

from __future__ import annotations

from paimon_sql.format.options.values import fixed, option

TYPE = fixed.one_of("table", "format-table", "materialized-table", "object-table", "lance-table", "iceberg-table")(
    "type", "The type of the table.", "table"
)
PRIMARY_KEY = fixed.string("primary-key", "The primary key columns, comma-separated, if the DDL does not define them.")
PRIMARY_KEY_NULLABLE = fixed.flag(
    "primary-key.nullable", "Whether columns of the primary key may be null; two nulls are the same key."
)
PARTITION = fixed.string("partition", "The partition columns, comma-separated, if the DDL does not define them.")
PATH = option.string("path", "The directory of the table.")
BRANCH = option.string("branch", "The branch that is read and written.", "main")
AUTO_CREATE = option.refused("it is for definitions of Flink's connector, not for tables of a catalog").flag(
    "auto-create", "Whether a table is created when it is first read or written."
)
ADD_COLUMN_BEFORE_PARTITION = option.flag(
    "add-column-before-partition",
    "Whether a new column without an explicit position is added before the first partition column instead of at the"
    " end.",
)
ALTER_COLUMN_NULL_TO_NOT_NULL_DISABLED = option.boolean(
    "alter-column-null-to-not-null.disabled", "Whether a nullable column cannot be changed to NOT NULL.", "true"
)
DISABLE_EXPLICIT_TYPE_CASTING = option.flag(
    "disable-explicit-type-casting", "Whether a column's type may only be changed to one that holds all of its values."
)
QUERY_AUTH_ENABLED = option.refused("only the server of a REST catalog can enforce it").flag(
    "query-auth.enabled", "Whether row and column permissions are requested from the catalog before a query."
)
BRANCH_MERGE_ENABLED = option.flag(
    "branch-merge.enabled", "Whether a branch of this append table may be merged into another one."
)
OBJECT_LOCATION = option.string("object-location", "The directory whose files an object table lists.")
