-- Every commit leaves a snapshot: read it by number, by tag or by time.
DROP TABLE IF EXISTS counters;
CREATE TABLE counters (name STRING, n INT) TBLPROPERTIES ('primary-key' = 'name', 'bucket' = '1');
INSERT INTO counters VALUES ('a', 1);
CALL sys.create_tag('default.counters', 'first');
INSERT INTO counters VALUES ('a', 2), ('b', 2);

SELECT * FROM counters ORDER BY name;
SELECT * FROM counters VERSION AS OF 1;
SELECT * FROM counters VERSION AS OF 'first';
SELECT * FROM counters FOR SYSTEM_VERSION AS OF 1;
SELECT now.name, old.n AS before, now.n AS after
FROM counters AS now LEFT JOIN counters /*+ OPTIONS('scan.tag-name' = 'first') */ AS old ON old.name = now.name
ORDER BY now.name;

-- And go back for good.
CALL sys.rollback(table => 'default.counters', version => 'first');
SELECT * FROM counters;
