-- Names for states of a table, and the way back to them.
DROP TABLE IF EXISTS ledger;
CREATE TABLE ledger (account STRING, balance INT, PRIMARY KEY (account) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO ledger VALUES ('a', 100), ('b', 50);
ALTER TABLE ledger CREATE TAG `2024-06` RETAIN 365 DAYS;
INSERT INTO ledger VALUES ('a', 80), ('b', 70);
CALL sys.create_tag(table => 'ledger', tag => '2024-07', time_retained => '365 d');
SHOW TAGS ledger;
SELECT tag_name, snapshot_id, record_count, time_retained FROM ledger$tags ORDER BY tag_name;

-- What changed between two tags.
SELECT june.account, june.balance AS june, july.balance AS july
FROM ledger /*+ OPTIONS('scan.tag-name' = '2024-06') */ AS june
JOIN ledger /*+ OPTIONS('scan.tag-name' = '2024-07') */ AS july ON july.account = june.account
ORDER BY june.account;

-- A mistake, and its end.
INSERT INTO ledger VALUES ('a', -1), ('b', -1);
CALL sys.rollback(table => 'ledger', tag => '2024-07');
SELECT * FROM ledger ORDER BY account;
CALL sys.rename_tag(table => 'ledger', tag => '2024-07', target_tag => 'july');
CALL sys.delete_tag(table => 'ledger', tag => '2024-06,july');
SELECT count(*) AS tags FROM ledger$tags;
