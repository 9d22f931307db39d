-- UPDATE, DELETE and MERGE INTO, on tables with a primary key and on append tables.
DROP TABLE IF EXISTS customers;
CREATE TABLE customers (
    id INT,
    name STRING,
    city STRING,
    PRIMARY KEY (id) NOT ENFORCED
) WITH ('bucket' = '1');

INSERT INTO customers VALUES (1, 'Ann', 'Oslo'), (2, 'Bob', 'Rome'), (3, 'Cid', 'Rome'), (4, 'Dot', NULL);

-- Each statement answers with the number of rows that it changed.
UPDATE customers SET city = 'Paris' WHERE name = 'Bob';
DELETE FROM customers WHERE city IS NULL;

-- A day's changes: one customer has moved, one has left, one is new.
CREATE OR REPLACE TEMPORARY VIEW changes AS
SELECT * FROM VALUES (1, 'Ann', 'Bergen', false), (3, 'Cid', NULL, true), (5, 'Eve', 'Lima', false)
    AS c(id, name, city, has_left);

MERGE INTO customers t USING changes c ON t.id = c.id
    WHEN MATCHED AND c.has_left THEN DELETE
    WHEN MATCHED THEN UPDATE SET city = c.city
    WHEN NOT MATCHED THEN INSERT (id, name, city) VALUES (c.id, c.name, c.city);

SELECT * FROM customers ORDER BY id;

-- What became of whom since the table was filled.
SELECT rowkind, id, city FROM customers$audit_log ORDER BY id;

-- Without a key, deletion vectors spare the files: only a mark says which rows are gone.
DROP TABLE IF EXISTS readings;
CREATE TABLE readings (sensor INT, celsius DOUBLE, dt STRING)
PARTITIONED BY (dt) WITH ('deletion-vectors.enabled' = 'true');
INSERT INTO readings SELECT id % 10, CAST(id AS DOUBLE), '2024-06-01' FROM range(1000);
INSERT INTO readings VALUES (1, 20.5, '2024-06-02');

DELETE FROM readings WHERE sensor = 3 AND celsius > 500;
UPDATE readings SET celsius = celsius - 0.5 WHERE sensor = 1;

-- A condition on partitions alone takes their files away and reads no row.
DELETE FROM readings WHERE dt = '2024-06-02';

-- What a statement would do, and how it would find the rows.
EXPLAIN UPDATE readings SET celsius = 0 WHERE celsius IS NULL;

SELECT count(*), round(sum(celsius), 1) FROM readings;
