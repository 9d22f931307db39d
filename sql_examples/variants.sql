-- Variants: JSON of any shape in one column, whose common fields are columns of their own in the files.
DROP TABLE IF EXISTS events;
CREATE TABLE events (id BIGINT, payload VARIANT) TBLPROPERTIES ('variant.inferShreddingSchema' = 'true');
INSERT INTO events VALUES
    (1, parse_json('{"user": {"id": 7, "name": "Ada"}, "city": "Berlin", "items": [{"sku": "a", "n": 2}]}')),
    (2, parse_json('{"user": {"id": 8}, "city": "Rome", "items": [], "coupon": "x1"}')),
    (3, parse_json('{"user": {"id": "guest"}, "city": null}')),
    (4, NULL);
-- A query reads the columns of the fields that it names.
SELECT id, variant_get(payload, '$.city', 'string') AS city, try_variant_get(payload, '$.user.id', 'int') AS user_id
FROM events ORDER BY id;
SELECT try_variant_get(payload, '$.user.id', 'int') AS user_id, count(*) AS events
FROM events WHERE variant_get(payload, '$.city', 'string') <> 'Rome' GROUP BY ALL ORDER BY ALL;
-- The whole value comes back as it was written, whatever its shape.
SELECT id, to_json(payload) AS payload FROM events ORDER BY id;
-- Or say which fields become columns; the rest stays beside them.
DROP TABLE IF EXISTS orders_by_customer;
CREATE TABLE orders_by_customer (customer STRING, doc VARIANT, PRIMARY KEY (customer) NOT ENFORCED) WITH (
    'bucket' = '1',
    'variant.shreddingSchema' =
        '{"type": "ROW", "fields": [{"name": "doc", "type": {"type": "ROW", "fields": [
            {"name": "total", "type": "DECIMAL(10, 2)"}, {"name": "tags", "type": {"type": "ARRAY", "element": "STRING"}}]}}]}'
);
INSERT INTO orders_by_customer VALUES ('ada', parse_json('{"total": 12.5, "tags": ["new"], "note": "ring twice"}'));
INSERT INTO orders_by_customer VALUES ('ada', parse_json('{"total": 20, "tags": []}')), ('bob', parse_json('[1, 2]'));
SELECT customer, variant_get(doc, '$.total', 'decimal(10, 2)') AS total, to_json(doc) AS doc
FROM orders_by_customer ORDER BY customer;
DROP TABLE events;
DROP TABLE orders_by_customer;
