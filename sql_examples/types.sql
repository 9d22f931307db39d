-- Every type: numbers, texts, bytes, times, nested values and variants, at their edges.
DROP TABLE IF EXISTS everything;
CREATE TABLE everything (
    t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, b BOOLEAN,
    n DECIMAL(38, 10),
    c CHAR(3), v VARCHAR(10), x STRING,
    raw BYTES,
    day DATE,
    at TIMESTAMP(3), seen TIMESTAMP_LTZ(6),
    list ARRAY<INT>, dict MAP<STRING, INT>, person ROW<name STRING, born INT>, bag MULTISET<STRING>,
    doc VARIANT
);
INSERT INTO everything VALUES (
    -128, 32767, 0, 9223372036854775807, float('NaN'), double('-Infinity'), true,
    1234567890123456789012345678.0123456789,
    'abc', 'grün', '',
    X'00FF',
    DATE '1582-10-15',
    TIMESTAMP_NTZ '2024-05-14 10:00:00.123', TIMESTAMP '2024-05-14 10:00:00.123456',
    array(1, NULL), map('a', 1), named_struct('name', 'Ada', 'born', 1815), map('x', 2),
    parse_json('{"a": [1, 2]}')
);
INSERT INTO everything (i) VALUES (NULL);
SELECT * FROM everything;
SELECT variant_get(doc, '$.a[1]', 'int') AS second, person.name, dict['a'] AS a, bag['x'] AS xs
FROM everything WHERE d < 0;
