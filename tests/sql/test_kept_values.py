"""What a statement holds that nobody is to see."""

from __future__ import annotations

import pytest

from paimon_sql.sql.kept_values import keep, kept, without_secrets


@pytest.mark.parametrize(
    "text",
    [
        "CREATE CATALOG c WITH ('s3.secret-key' = 'hun''ter', 's3.region' = 'eu')",
        """CREATE CATALOG c WITH ("s3.secret-key"="hun'ter", 's3.region' = 'eu')""",
        "SET `spark.sql.catalog.c.s3.access-key` = 'hunter'",
        "ALTER TABLE t SET TBLPROPERTIES ('fs.azure.account.key.x.y.z'='hunter')",
    ],
)
def test_secrets_of_a_statement_are_not_shown(text: str) -> None:
    shown = without_secrets(text)
    assert "hun" not in shown
    assert "redacted" in shown
    assert ("eu" in text) == ("'s3.region' = 'eu'" in shown)


def test_a_text_without_secrets_is_shown_as_it_is() -> None:
    text = "SELECT token, 'secret' AS x FROM t WHERE password = name AND a = 'b'"
    assert without_secrets(text) == text


def test_a_kept_value_is_found_again_and_nothing_else_is() -> None:
    assert kept(keep("hunter")) == "hunter"
    assert keep("hunter") == keep("hunter") != keep("hunters")
    assert kept("hunter") == "hunter"
    assert "hunter" not in keep("hunter")
