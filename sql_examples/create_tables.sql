-- The first tables: Spark's spelling, keys, partitions, nested types, defaults, and tables made from others.
DROP TABLE IF EXISTS customers;
DROP TABLE IF EXISTS londoners;
DROP TABLE IF EXISTS customers_empty;

CREATE TABLE customers (
    id BIGINT NOT NULL,
    name STRING COMMENT 'as it stands on the bill',
    address STRUCT<street: STRING, city: STRING>,
    phones ARRAY<STRING>,
    joined DATE DEFAULT DATE '2024-01-01'
) COMMENT 'who buys'
TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2');

INSERT INTO customers VALUES (1, 'Ada', named_struct('street', 'St James Sq 12', 'city', 'London'), array('1-23'), DEFAULT);
INSERT INTO customers (id, name) VALUES (2, 'Grace');

DESCRIBE customers;
SELECT id, name, address.city, size(phones) AS phones, joined FROM customers ORDER BY id;

CREATE TABLE londoners AS SELECT id, name FROM customers WHERE address.city = 'London';
CREATE TABLE customers_empty LIKE customers;
SHOW TABLES;
SHOW CREATE TABLE customers;
