"""Options of a table: kind, keys, location, rules for changes of columns."""

from __future__ import annotations

from paimon_sql.format.options.values import boolean, choice, refused, string

TYPE = choice(
    "type",
    "table",
    "The type of the table.",
    ("table", "format-table", "materialized-table", "object-table", "lance-table", "iceberg-table"),
    immutable=True,
)
PRIMARY_KEY = string(
    "primary-key", None, "The primary key columns, comma-separated, if the DDL does not define them.", immutable=True
)
PRIMARY_KEY_NULLABLE = boolean(
    "primary-key.nullable",
    "false",
    "Whether columns of the primary key may be null; two nulls are the same key.",
    immutable=True,
)
PARTITION = string(
    "partition", None, "The partition columns, comma-separated, if the DDL does not define them.", immutable=True
)
PATH = string("path", None, "The directory of the table.")
BRANCH = string("branch", "main", "The branch that is read and written.")
AUTO_CREATE = boolean(
    "auto-create",
    "false",
    "Whether a table is created when it is first read or written.",
    status=refused("it is for definitions of Flink's connector, not for tables of a catalog"),
)
ADD_COLUMN_BEFORE_PARTITION = boolean(
    "add-column-before-partition",
    "false",
    "Whether a new column without an explicit position is added before the first partition column instead of at the"
    " end.",
)
ALTER_COLUMN_NULL_TO_NOT_NULL_DISABLED = boolean(
    "alter-column-null-to-not-null.disabled", "true", "Whether a nullable column cannot be changed to NOT NULL."
)
DISABLE_EXPLICIT_TYPE_CASTING = boolean(
    "disable-explicit-type-casting",
    "false",
    "Whether a column's type may only be changed to one that holds all of its values.",
)
QUERY_AUTH_ENABLED = boolean(
    "query-auth.enabled",
    "false",
    "Whether row and column permissions are requested from the catalog before a query.",
    status=refused("only the server of a REST catalog can enforce it"),
)
BRANCH_MERGE_ENABLED = boolean(
    "branch-merge.enabled", "false", "Whether a branch of this append table may be merged into another one."
)
OBJECT_LOCATION = string("object-location", None, "The directory whose files an object table lists.")
