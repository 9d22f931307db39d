-- A changelog tells of each update the old row and the new one; here every write looks the old rows up.
DROP TABLE IF EXISTS stock;
CREATE TABLE stock (item STRING, n INT, PRIMARY KEY (item) NOT ENFORCED)
WITH ('bucket' = '1', 'changelog-producer' = 'lookup');

INSERT INTO stock VALUES ('lamp', 4), ('desk', 1);
INSERT INTO stock VALUES ('lamp', 3), ('sofa', 2);
DELETE FROM stock WHERE item = 'desk';

-- What changed after the second snapshot, with the kind of each row.
SELECT rowkind, item, n FROM paimon_incremental_query('stock$audit_log', '2', '6') ORDER BY item, n;

-- An update as one row of old and new values.
SELECT * FROM paimon_incremental_query('stock$binlog', '2', '6') ORDER BY item[0];

-- The rows that are new or changed between two tags.
CREATE OR REPLACE TABLE prices (item STRING, price INT, PRIMARY KEY (item) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO prices VALUES ('lamp', 20), ('desk', 90);
CALL sys.create_tag(table => 'prices', tag => 'monday');
INSERT INTO prices VALUES ('lamp', 22);
CALL sys.create_tag(table => 'prices', tag => 'tuesday');
SELECT * FROM paimon_incremental_query('prices', 'monday', 'tuesday');
