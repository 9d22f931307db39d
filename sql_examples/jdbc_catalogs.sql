-- A catalog whose names a database keeps, here a file of SQLite; Apache Paimon's Java engines can share it.
CREATE CATALOG lake WITH (
  'type' = 'paimon', 'metastore' = 'jdbc', 'uri' = 'jdbc:sqlite:warehouse/lake.db', 'warehouse' = 'warehouse/lake',
  'lock.enabled' = 'true'
);
DROP DATABASE IF EXISTS lake.shop CASCADE;
CREATE DATABASE lake.shop COMMENT 'what is sold' WITH DBPROPERTIES ('team' = 'blue');
ALTER DATABASE lake.shop SET DBPROPERTIES ('team' = 'green');
DESCRIBE DATABASE EXTENDED lake.shop;

CREATE TABLE lake.shop.items (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO lake.shop.items VALUES (1, 'tea'), (2, 'cups');
ALTER TABLE lake.shop.items RENAME TO shop.goods;
SELECT * FROM lake.shop.goods ORDER BY id;

-- Tables that stand in the warehouse and that the database does not know are taken up.
CALL lake.sys.repair('shop');

DROP DATABASE lake.shop CASCADE;
DROP CATALOG lake;
