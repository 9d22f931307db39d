"""What a statement holds that nobody is to see."""

from __future__ import annotations

import threading
import time

import pytest

from paimon_sql.errors import InvalidInputError
from paimon_sql.sql.text.secrets import SecretStore, without_any_secrets, without_secrets


@pytest.mark.parametrize(
    "text",
    [
        "CREATE CATALOG c WITH ('s3.secret-key' = 'hun''ter', 's3.region' = 'eu')",
        """CREATE CATALOG c WITH ("s3.secret-key"="hun'ter", 's3.region' = 'eu')""",
        "SET `spark.sql.catalog.c.s3.access-key` = 'hunter'",
        "ALTER TABLE t SET TBLPROPERTIES ('fs.azure.account.key.x.y.z'='hunter')",
        r"CREATE CATALOG c WITH ('s3.secret-key' = 'a\'hunter', 's3.region' = 'eu')",
        "CREATE TABLE t (a INT) USING csv OPTIONS (password 'hunter', 's3.secret.key' \"hunter\")",
        "CREATE CATALOG c WITH ('secret.token-password' = 'hunter' 'token",
        "CREATE CATALOG c WITH ('secret-key' = 'hunter",
        "CREATE CATALOG c WITH ('secret-key' = 'hunter\\",
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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SET fs.s3a.secret.key=hun,ter", "SET fs.s3a.*********(redacted)"),
        ("SET `c.token` = hunter", "SET `c.*********(redacted)"),
        ("'jdbc:x://h/d?user=me&password=hunter&ssl=1'", "'jdbc:x://h/d?user=me&*********(redacted)&ssl=1'"),
        ("CALL p(password => hunter)", "CALL p(*********(redacted)"),
        ("WITH ('secret-key' = 'hunter', 'a' = 'b')", "WITH ('*********(redacted), 'a' = 'b')"),
        ("SELECT token, x FROM t", "SELECT token, x FROM t"),
    ],
)
def test_a_log_shows_no_values_without_quotes_either(text: str, shown: str) -> None:
    assert without_any_secrets(text) == shown


def test_long_values_are_hidden_as_a_whole() -> None:
    value = "hunter''\\'" * 20_000
    assert without_secrets(f"SET `secret` = '{value}', a = 'b'") == "SET `*********(redacted), a = 'b'"


def test_a_kept_value_is_found_again_and_nothing_else_is() -> None:
    store = SecretStore()
    keep, kept = store.store, store.resolve
    assert kept(keep("hunter")) == "hunter"
    assert keep("hunter") == keep("hunter") != keep("hunters")
    assert kept("hunter") == "hunter"
    assert "hunter" not in keep("hunter")


def test_a_value_leaves_with_the_last_statement_that_brought_it() -> None:
    store = SecretStore()
    reference = store.store("hunter")
    assert store.store("hunter") == reference
    store.release([reference, "other text"])
    assert store.resolve(reference) == "hunter"
    store.release([reference])
    assert len(store) == 0
    with pytest.raises(InvalidInputError, match=r"expired\. Run it again"):
        store.resolve(reference)


def test_values_of_statements_that_never_run_leave_by_themselves() -> None:
    store = SecretStore(seconds=0.1)
    store.store("hunter")
    deadline = time.monotonic() + 10
    while len(store) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(store) == 0


def test_the_oldest_values_leave_where_there_are_too_many() -> None:
    store = SecretStore(most=10)
    references = [store.store(f"hunter {i}") for i in range(100)]
    assert len(store) == 10
    assert store.resolve(references[-1]) == "hunter 99"


def test_statements_of_many_threads_share_values() -> None:
    store = SecretStore()

    def run() -> None:
        for _ in range(200):
            reference = store.store("hunter")
            assert store.resolve(reference) == "hunter"
            store.release([reference])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store) == 0
