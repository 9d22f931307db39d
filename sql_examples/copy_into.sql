-- COPY INTO: files into a table, each file once, and rows out of tables into files. Run it from the project's folder.
DROP TABLE IF EXISTS orders;
CREATE TABLE orders (
  order_id BIGINT, ordered_at TIMESTAMP_NTZ, city STRING, item STRING, quantity INT, price DECIMAL(10, 2), state STRING,
  source STRING DEFAULT 'file'
);

-- Columns of a CSV file are matched by their place; those that are not named get their defaults.
COPY INTO orders (order_id, ordered_at, city, item, quantity, price, state)
FROM 'sql_examples/data'
FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 1)
PATTERN = '^orders\.csv$';
SELECT source, count(*) AS orders FROM orders GROUP BY source;

-- The table knows the files that it has, so that running it again for all files loads the new one alone.
COPY INTO orders (order_id, ordered_at, city, item, quantity, price, state)
FROM 'sql_examples/data'
FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 1);
SELECT source, count(*) AS orders FROM orders GROUP BY source;

-- Out again, a query or a whole table; OVERWRITE replaces what an earlier run has written.
COPY INTO '/tmp/paimon-sql-examples/cities'
FROM (SELECT city, count(*) AS orders, sum(price) AS price FROM orders GROUP BY city)
FILE_FORMAT = (TYPE = JSON)
OVERWRITE = TRUE;

-- JSON and Parquet are matched by name; rows that cannot be read are left out and counted.
CREATE OR REPLACE TABLE whole_prices (city STRING, price INT);
COPY INTO whole_prices FROM '/tmp/paimon-sql-examples/cities' FILE_FORMAT = (TYPE = JSON) ON_ERROR = CONTINUE;
SELECT * FROM whole_prices ORDER BY city;
