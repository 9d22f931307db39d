-- A page with charts of how a table is doing: its history, its files, what holds the space, what expiry would do.
DROP TABLE IF EXISTS orders;
CREATE TABLE orders (id BIGINT, city STRING, amount DOUBLE, PRIMARY KEY (id) NOT ENFORCED)
WITH ('bucket' = '2', 'snapshot.num-retained.min' = '2', 'snapshot.num-retained.max' = '4', 'write-only' = 'true');

INSERT INTO orders SELECT id, concat('city ', id % 7), id * 1.5 FROM range(2000);
INSERT INTO orders SELECT id, concat('city ', id % 5), id * 2.5 FROM range(500);
INSERT INTO orders VALUES (1, 'Oslo', 12.5), (5000, 'Quito', 8.0);
CALL sys.create_tag(table => 'orders', tag => 'first', snapshot => 1);
DELETE FROM orders WHERE id % 100 = 0;
INSERT INTO orders VALUES (2, 'Lima', 99.0);

-- Open the file in a browser. Without a path it is written into the current folder.
CALL sys.report(table => 'orders', path => '/tmp/paimon-sql-orders.html');

-- The same charts as PNG, with a search for files that nobody uses.
CALL sys.report(table => 'orders', path => '/tmp/paimon-sql-orders.html', images => '/tmp/paimon-sql-orders', orphans => true);

-- What the page advises stands in a system table as well.
SELECT metric, value, advice FROM orders$summary WHERE advice IS NOT NULL;
