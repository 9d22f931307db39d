-- Views and SQL functions that the catalog keeps (PySpark 4.2 or newer).
CREATE TABLE orders (id INT, region STRING, amount DECIMAL(10, 2));
INSERT INTO orders VALUES (1, 'north', 10.50), (2, 'south', 20.00), (3, 'north', 5.25);

CREATE VIEW sales (region COMMENT 'where it was sold', total) COMMENT 'what each region brought'
AS SELECT region, SUM(amount) AS total FROM orders GROUP BY region;
SELECT * FROM sales ORDER BY region;
-- A view may look at another time, at changes and at metadata.
CREATE VIEW first_orders AS SELECT * FROM orders VERSION AS OF 1;
CREATE VIEW sizes AS SELECT file_path, record_count FROM orders$files;
SHOW VIEWS;
SHOW CREATE VIEW sales;

CREATE FUNCTION gross(net DECIMAL(10, 2), rate DOUBLE DEFAULT 0.2) RETURNS DECIMAL(10, 2) RETURN net * (1 + rate);
SELECT id, gross(amount) AS gross FROM orders WHERE gross(amount) > 10;
CREATE FUNCTION sold_in(place STRING) RETURNS DECIMAL(20, 2) RETURN SELECT SUM(amount) FROM orders WHERE region = place;
SELECT sold_in('north');
SHOW USER FUNCTIONS;
DESCRIBE FUNCTION EXTENDED gross;

-- The same by Paimon's procedures, which also serve other engines.
CALL sys.create_function('twice', '[{"id": 0, "name": "x", "type": "INT"}]', '[{"id": 0, "name": "y", "type": "INT"}]');
CALL sys.alter_function('twice', '{"action": "addDefinition", "name": "spark", "definition": {"type": "sql", "definition": "2 * x"}}');
SELECT twice(21);
CALL sys.alter_view_dialect('sales', 'add', 'flink', 'SELECT region, SUM(amount) AS total FROM orders GROUP BY region');

DROP FUNCTION twice;
DROP FUNCTION sold_in;
DROP FUNCTION gross;
DROP VIEW sizes;
DROP VIEW first_orders;
DROP VIEW sales;
DROP TABLE orders;
