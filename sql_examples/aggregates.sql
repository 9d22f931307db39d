-- Rows that Python workers read are put together by groups before they reach Spark: EXPLAIN says "groups by".
DROP TABLE IF EXISTS sales;
CREATE TABLE sales (id BIGINT, shop STRING, amount DECIMAL(10, 2), weight DOUBLE, day DATE)
TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2', 'write-only' = 'true', 'file.format' = 'orc');
INSERT INTO sales SELECT id, concat('shop ', id % 3), id, id / 4, date_add(DATE '2024-06-01', CAST(id % 30 AS INT)) FROM range(1000);
INSERT INTO sales SELECT id, 'shop 0', 1.50, double('NaN'), DATE '2024-07-01' FROM range(50);

EXPLAIN SELECT shop, count(*), sum(amount), avg(amount), max(weight) FROM sales GROUP BY shop;
SELECT shop, count(*), sum(amount), avg(amount), max(weight) FROM sales GROUP BY shop ORDER BY shop;

-- Conditions that compare columns with values are decided there, too.
EXPLAIN SELECT day, min(amount) FROM sales WHERE amount >= 10 AND shop = 'shop 1' GROUP BY day;
SELECT count(*), min(amount), max(day) FROM sales WHERE amount >= 10 AND shop = 'shop 1';
SELECT DISTINCT shop FROM sales ORDER BY shop;

-- Spark does these by itself: DISTINCT within a function, a group that is computed.
SELECT shop, count(DISTINCT day) FROM sales GROUP BY shop ORDER BY shop;
SELECT month(day), sum(amount) FROM sales GROUP BY month(day) ORDER BY 1;
