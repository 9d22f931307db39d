-- Spark's own queries of changes (Spark 4.2 and newer): what became of each row, in which snapshot and when.
DROP TABLE IF EXISTS accounts;
CREATE TABLE accounts (id INT, balance DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO accounts VALUES (1, 100), (2, 50);
INSERT INTO accounts VALUES (1, 80), (3, 20);
DELETE FROM accounts WHERE id = 2;

-- A table without a changelog: the states before and after each commit are compared.
SELECT id, balance, _change_type, _commit_version FROM accounts CHANGES FROM VERSION 1 ORDER BY 4, 1, 3 DESC;
SELECT * FROM accounts CHANGES FROM VERSION 1 EXCLUSIVE TO VERSION 2 WHERE id = 1;
SELECT count(*) FROM accounts CHANGES FROM TIMESTAMP '2024-01-01 00:00:00';
-- What is left of all changes to a row.
SELECT id, balance, _change_type FROM accounts CHANGES FROM VERSION 1 WITH ('deduplicationMode' = 'netChanges') ORDER BY id;

-- An append table whose rows have ids: Spark tells rows that changed from those that only moved.
DROP TABLE IF EXISTS notes;
CREATE TABLE notes (id INT, note STRING) WITH ('row-tracking.enabled' = 'true');
INSERT INTO notes VALUES (1, 'a'), (2, 'b');
UPDATE notes SET note = 'B' WHERE id = 2;
SELECT id, note, _change_type FROM notes CHANGES FROM VERSION 2 WITH ('computeUpdates' = 'true') ORDER BY 3 DESC;
