-- Materialized tables: tables that a query defines, refreshed by hand or by a scheduler.
DROP TABLE IF EXISTS orders;
CREATE TABLE orders (id INT, city STRING, price INT, day STRING);
INSERT INTO orders VALUES (1, 'Oslo', 10, '2024-05-01'), (2, 'Bergen', 25, '2024-05-01');

-- A row for each city, at most an hour old.
CREATE OR ALTER MATERIALIZED TABLE cities (PRIMARY KEY (city) NOT ENFORCED)
  FRESHNESS = INTERVAL '1' HOUR
  AS SELECT city, count(*) AS orders, sum(price) AS price FROM orders GROUP BY city;
SELECT * FROM cities ORDER BY city;

-- Rows that pass a condition: of these a refresh takes what is new alone.
CREATE OR ALTER MATERIALIZED TABLE dear
  PARTITIONED BY (day)
  FRESHNESS = INTERVAL '1' MINUTE
  REFRESH_MODE = CONTINUOUS
  AS SELECT id, price, day FROM orders WHERE price >= 10;

INSERT INTO orders VALUES (3, 'Oslo', 5, '2024-05-02'), (4, 'Bergen', 30, '2024-05-02');
CALL sys.refresh_materialized_table(table => 'dear', dry_run => true);
CALL sys.refresh_materialized_table(table => 'dear');
ALTER MATERIALIZED TABLE cities REFRESH;
SELECT * FROM cities ORDER BY city;

-- Some partitions alone, worked out anew.
ALTER MATERIALIZED TABLE dear REFRESH PARTITION (day = '2024-05-02');

-- What a scheduler calls: tables that are due, each behind those that it reads.
CALL sys.refresh_materialized_tables();
SELECT table_name, freshness, refresh_mode, status, last_refresh, due FROM sys.materialized_tables;

-- Another query, whose new columns come last; it is in force from the next refresh on.
ALTER MATERIALIZED TABLE cities
  AS SELECT city, count(*) AS orders, sum(price) AS price, max(day) AS last FROM orders GROUP BY city;
ALTER MATERIALIZED TABLE cities REFRESH;
SELECT * FROM cities ORDER BY city;

-- While it is suspended, it is left alone.
ALTER MATERIALIZED TABLE cities SUSPEND;
CALL sys.refresh_materialized_tables();
ALTER MATERIALIZED TABLE cities RESUME;

SHOW MATERIALIZED TABLES;
SHOW CREATE MATERIALIZED TABLE cities;
DROP MATERIALIZED TABLE dear;
DROP MATERIALIZED TABLE cities;
