"""The dbt adapter ``paimon``: dbt-spark's, for the tables of Paimon catalogs."""

from dbt.adapters.base import AdapterPlugin

from dbt.adapters.paimon.connections import PaimonCredentials
from dbt.adapters.paimon.impl import PaimonAdapter
from dbt.include import paimon

Plugin = AdapterPlugin(
    adapter=PaimonAdapter,
    credentials=PaimonCredentials,
    include_path=paimon.PACKAGE_PATH,
    dependencies=["spark"],
)
