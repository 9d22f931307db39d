-- A primary key makes INSERT an upsert; sequence.field decides which row is newer when rows come late.
DROP TABLE IF EXISTS prices;
CREATE TABLE prices (
    item STRING,
    price DECIMAL(10, 2),
    changed_at TIMESTAMP_NTZ
) TBLPROPERTIES ('primary-key' = 'item', 'bucket' = '1', 'sequence.field' = 'changed_at');

INSERT INTO prices VALUES
    ('lamp', 20.00, TIMESTAMP_NTZ '2024-05-01 10:00:00'),
    ('desk', 90.00, TIMESTAMP_NTZ '2024-05-01 10:00:00');

-- A newer price replaces the old one, a late one does not.
INSERT INTO prices VALUES
    ('lamp', 22.50, TIMESTAMP_NTZ '2024-05-03 10:00:00'),
    ('desk', 85.00, TIMESTAMP_NTZ '2024-04-01 10:00:00');

SELECT item, price FROM prices ORDER BY item;

-- Where several writers work for long, the order of their commits can decide: rows of the later snapshot win.
DROP TABLE IF EXISTS readings;
CREATE TABLE readings (id INT, value INT) TBLPROPERTIES (
    'primary-key' = 'id', 'bucket' = '1', 'sequence.snapshot-ordering' = 'true', 'write-only' = 'true');
INSERT INTO readings VALUES (1, 10), (2, 20);
INSERT INTO readings VALUES (1, 11);
CALL sys.compact(table => 'default.readings');
SELECT * FROM readings ORDER BY id;
