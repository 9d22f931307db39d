"""The two benchmarks: what DuckDB calls them, and the primary keys of their tables as the specifications state them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Benchmark:
    """One of TPC's benchmarks.

    Attributes:
        name: how it is asked for, and the name of DuckDB's extension.
        title: what it is called.
        generator: the function of the extension that makes the tables.
        queries: how many queries it has.
        keys: the primary key of each table.
    """

    name: str
    title: str
    generator: str
    queries: int
    keys: dict[str, tuple[str, ...]]

    @property
    def numbers(self) -> range:
        """The numbers of its queries."""
        return range(1, self.queries + 1)


def _keys(text: str) -> dict[str, tuple[str, ...]]:
    tables = (line.split() for line in text.strip().splitlines())
    return {table: tuple(key) for table, *key in tables}


TPC_H = Benchmark(
    "tpch",
    "TPC-H",
    "dbgen",
    22,
    _keys("""
        customer c_custkey
        lineitem l_orderkey l_linenumber
        nation n_nationkey
        orders o_orderkey
        part p_partkey
        partsupp ps_partkey ps_suppkey
        region r_regionkey
        supplier s_suppkey
    """),
)
TPC_DS = Benchmark(
    "tpcds",
    "TPC-DS",
    "dsdgen",
    99,
    _keys("""
        call_center cc_call_center_sk
        catalog_page cp_catalog_page_sk
        catalog_returns cr_item_sk cr_order_number
        catalog_sales cs_item_sk cs_order_number
        customer c_customer_sk
        customer_address ca_address_sk
        customer_demographics cd_demo_sk
        date_dim d_date_sk
        household_demographics hd_demo_sk
        income_band ib_income_band_sk
        inventory inv_date_sk inv_item_sk inv_warehouse_sk
        item i_item_sk
        promotion p_promo_sk
        reason r_reason_sk
        ship_mode sm_ship_mode_sk
        store s_store_sk
        store_returns sr_item_sk sr_ticket_number
        store_sales ss_item_sk ss_ticket_number
        time_dim t_time_sk
        warehouse w_warehouse_sk
        web_page wp_web_page_sk
        web_returns wr_item_sk wr_order_number
        web_sales ws_item_sk ws_order_number
        web_site web_site_sk
    """),
)
BENCHMARKS = {benchmark.name: benchmark for benchmark in (TPC_H, TPC_DS)}
