"""Options of a table: kind, keys, location, rules for changes of columns."""

from __future__ import annotations

from paimon_sql.format.options.values import boolean, choice, refused, string

TYPE = choice(
    "type",
    "table",
    "What kind of table this is.",
    ("table", "format-table", "materialized-table", "object-table", "lance-table", "iceberg-table"),
    immutable=True,
)
PRIMARY_KEY = string(
    "primary-key",
    None,
    "The columns of the primary key, with commas between, when DDL does not name them.",
    immutable=True,
)
PRIMARY_KEY_NULLABLE = boolean(
    "primary-key.nullable",
    "false",
    "Whether columns of the primary key may be null; two nulls are the same key.",
    immutable=True,
)
PARTITION = string(
    "partition", None, "The partition columns, with commas between, when DDL does not name them.", immutable=True
)
PATH = string("path", None, "The directory of the table.")
BRANCH = string("branch", "main", "The branch that is read and written.")
AUTO_CREATE = boolean(
    "auto-create",
    "false",
    "Whether a table that is first read or written is created on the way.",
    status=refused("it is for definitions of Flink's connector, not for tables of a catalog"),
)
ADD_COLUMN_BEFORE_PARTITION = boolean(
    "add-column-before-partition",
    "false",
    "Whether a new column without a stated place goes before the first partition column and not to the end.",
)
ALTER_COLUMN_NULL_TO_NOT_NULL_DISABLED = boolean(
    "alter-column-null-to-not-null.disabled", "true", "Whether a nullable column must stay nullable."
)
DISABLE_EXPLICIT_TYPE_CASTING = boolean(
    "disable-explicit-type-casting",
    "false",
    "Whether a column's type may only be changed to one that holds all of its values.",
)
QUERY_AUTH_ENABLED = boolean(
    "query-auth.enabled",
    "false",
    "Whether the catalog is asked for row and column rights before a query.",
    status=refused("what a server hides cannot be hidden here"),
)
BRANCH_MERGE_ENABLED = boolean(
    "branch-merge.enabled", "false", "Whether a branch of this append table may be merged into another one."
)
OBJECT_LOCATION = string("object-location", None, "The directory whose files an object table lists.")
