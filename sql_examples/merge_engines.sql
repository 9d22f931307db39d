-- The option merge-engine says what becomes of several rows with one key.

-- partial-update: every source fills its own columns; a NULL leaves what is there.
DROP TABLE IF EXISTS orders;
CREATE TABLE orders (
    id INT,
    state STRING,
    state_at INT,
    paid INT,
    paid_at INT
) TBLPROPERTIES (
    'primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'partial-update',
    -- Late rows do not change a group; payments add up.
    'fields.state_at.sequence-group' = 'state',
    'fields.paid_at.sequence-group' = 'paid', 'fields.paid.aggregate-function' = 'sum'
);
INSERT INTO orders (id, state, state_at) VALUES (1, 'sent', 20), (2, 'new', 5);
INSERT INTO orders (id, paid, paid_at) VALUES (1, 10, 1), (1, 5, 2);
INSERT INTO orders (id, state, state_at) VALUES (1, 'packed', 10);
SELECT * FROM orders ORDER BY id;

-- aggregation: every column has a function.
DROP TABLE IF EXISTS sales;
CREATE TABLE sales (
    item STRING,
    sold BIGINT,
    best DECIMAL(10, 2),
    shops ARRAY<STRING>
) TBLPROPERTIES (
    'primary-key' = 'item', 'bucket' = '1', 'merge-engine' = 'aggregation',
    'fields.sold.aggregate-function' = 'sum', 'fields.best.aggregate-function' = 'max',
    'fields.shops.aggregate-function' = 'collect', 'fields.shops.distinct' = 'true'
);
INSERT INTO sales VALUES ('lamp', 2, 20.00, array('Bonn')), ('desk', 1, 90.00, array('Cork'));
INSERT INTO sales VALUES ('lamp', 4, 22.50, array('Bonn', 'Cork'));
SELECT item, sold, best, shops FROM sales ORDER BY item;

-- Sketches count distinct values without keeping them.
DROP TABLE IF EXISTS visits;
CREATE TABLE visits (day DATE, visitors BINARY) TBLPROPERTIES (
    'primary-key' = 'day', 'bucket' = '1', 'merge-engine' = 'aggregation',
    'fields.visitors.aggregate-function' = 'hll_sketch'
);
INSERT INTO visits SELECT DATE '2024-05-01', hll_sketch_agg(id) FROM range(10);
INSERT INTO visits SELECT DATE '2024-05-01', hll_sketch_agg(id) FROM range(5, 20);
SELECT day, hll_sketch_estimate(visitors) AS visitors FROM visits;

-- first-row: the oldest row of a key stays.
DROP TABLE IF EXISTS first_seen;
CREATE TABLE first_seen (id INT, came_from STRING) TBLPROPERTIES (
    'primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'first-row'
);
INSERT INTO first_seen VALUES (1, 'search');
INSERT INTO first_seen VALUES (1, 'mail'), (2, 'mail');
SELECT * FROM first_seen ORDER BY id;

-- A changelog from elsewhere: the column op says what a row does.
DROP TABLE IF EXISTS customers;
CREATE TABLE customers (id INT, name STRING, op STRING) TBLPROPERTIES (
    'primary-key' = 'id', 'bucket' = '1', 'rowkind.field' = 'op'
);
INSERT INTO customers VALUES (1, 'Ann', '+I'), (2, 'Bob', '+I');
INSERT INTO customers VALUES (1, 'Anna', '+U'), (2, 'Bob', '-D');
SELECT id, name FROM customers;
