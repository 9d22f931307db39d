"""Tables, views and materialized tables as dbt names them in statements, and the columns of tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.base.relation import Policy
from dbt.adapters.contracts.relation import HasQuoting, RelationConfig
from dbt.adapters.spark import SparkColumn, SparkRelation

ON_BRANCHES = ("table", "incremental")
"""The materializations that can be built on a branch."""


@dataclass
class PaimonQuotePolicy(Policy):
    """Names are quoted, because catalogs distinguish upper and lower case."""

    database: bool = False
    schema: bool = True
    identifier: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class PaimonRelation(SparkRelation):
    """A relation of a catalog.

    Attributes:
        branch: the branch of the table that statements read and write; the name in the catalog is that of the table.
    """

    quote_policy: Policy = field(default_factory=PaimonQuotePolicy)
    branch: str | None = None

    @classmethod
    def create_from(cls, quoting: HasQuoting, relation_config: RelationConfig, **kwargs: Any) -> PaimonRelation:
        """The relation of a model, a seed or a source: a model is on the branch that it is configured with."""
        config = getattr(relation_config, "config", None)
        if config is not None and config.get("materialized") in ON_BRANCHES:
            kwargs.setdefault("branch", config.get("branch") or None)
        return super().create_from(quoting, relation_config, **kwargs)

    @property
    def main(self) -> PaimonRelation:
        """The table itself, without a branch."""
        return self.replace(branch=None)

    def system_table(self, name: str) -> PaimonRelation:
        """A system table of the table, or of its branch."""
        of_branch = f"$branch_{self.branch}" if self.branch else ""
        return self.replace_path(identifier=f"{self.identifier}{of_branch}${name}").main

    def render(self) -> str:
        """The name in statements."""
        if self.branch is None or self.identifier is None:
            return super().render()
        return self.replace_path(identifier=f"{self.identifier}$branch_{self.branch}").main.render()


@dataclass
class PaimonColumn(SparkColumn):
    """A column of a relation; comments are shown in dbt's documentation."""

    column_comment: str | None = None
    table_comment: str | None = None

    @classmethod
    def translate_type(cls, dtype: str) -> str:
        """The name of a type in Spark; dbt's own projects say TEXT."""
        return "string" if dtype.lower() == "text" else dtype
