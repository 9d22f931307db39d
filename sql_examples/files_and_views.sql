-- Paimon tables beside files and views: a real CSV file, a temporary view that follows the newest snapshot, joins.
-- Run it from the project's folder.
DROP TABLE IF EXISTS cities;
CREATE TABLE cities (city STRING, orders BIGINT, PRIMARY KEY (city) NOT ENFORCED) WITH ('bucket' = '1');

CREATE OR REPLACE TEMPORARY VIEW orders_file
USING csv OPTIONS (path 'sql_examples/data/orders.csv', header 'true', inferSchema 'true');

INSERT INTO cities SELECT city, count(*) FROM orders_file GROUP BY city;
CREATE OR REPLACE TEMPORARY VIEW busy AS SELECT * FROM cities WHERE orders > 10;
SELECT count(*) AS busy_cities FROM busy;

-- The view sees what is written after it was made.
INSERT INTO cities VALUES ('Atlantis', 1000);
SELECT * FROM busy ORDER BY orders DESC LIMIT 1;

SELECT o.order_id, o.city, c.orders AS orders_of_city
FROM orders_file AS o JOIN cities AS c ON c.city = o.city
ORDER BY o.order_id LIMIT 3;
