-- Paimon's tables and ordinary ones under one name: Spark's own catalog replaced, for this session.
CREATE CATALOG IF NOT EXISTS spark_catalog WITH ('type' = 'paimon', 'warehouse' = 'warehouse/shared');
DROP DATABASE IF EXISTS spark_catalog.both CASCADE;
CREATE DATABASE spark_catalog.both;
USE spark_catalog.both;

-- USING says what a table is made of.
CREATE TABLE stock (id INT, n INT, PRIMARY KEY (id) NOT ENFORCED) USING paimon;
CREATE TABLE names USING parquet AS SELECT 1 AS id, 'tea' AS name;
INSERT INTO stock VALUES (1, 10), (2, 20);

MERGE INTO stock AS s USING names AS n ON s.id = n.id
WHEN MATCHED THEN UPDATE SET n = s.n - 1;
SELECT * FROM stock LEFT JOIN names USING (id) ORDER BY id;
SELECT * FROM stock VERSION AS OF 1;
SHOW TABLES;
CALL sys.compact(table => 'both.stock');

-- Both kinds go with their database.
USE paimon.default;
DROP DATABASE spark_catalog.both CASCADE;
