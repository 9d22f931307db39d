-- Several warehouses in one session, and a query over them.
CREATE CATALOG archive WITH ('type' = 'paimon', 'warehouse' = 'warehouse/archive');
CREATE DATABASE IF NOT EXISTS archive.sales;
DROP TABLE IF EXISTS archive.sales.orders;
DROP TABLE IF EXISTS new_orders;
CREATE TABLE archive.sales.orders (id INT, state STRING);
CREATE TABLE new_orders (id INT, state STRING);
INSERT INTO new_orders VALUES (1, 'paid'), (2, 'new');

INSERT INTO archive.sales.orders SELECT * FROM new_orders WHERE state = 'paid';
SELECT n.id, a.id IS NOT NULL AS archived
FROM new_orders AS n LEFT JOIN archive.sales.orders AS a ON a.id = n.id
ORDER BY n.id;
SHOW TABLES IN archive.sales;
CALL archive.sys.create_tag(table => 'sales.orders', tag => 'kept');

DROP DATABASE archive.sales CASCADE;
-- The catalog is forgotten; what is in its folder stays.
DROP CATALOG archive;
