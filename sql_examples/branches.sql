-- Another line of a table's history: try on it, compare, and take it over.
DROP TABLE IF EXISTS prices;
CREATE TABLE prices (item STRING, price INT, PRIMARY KEY (item) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO prices VALUES ('lamp', 20), ('desk', 100);
CALL sys.create_tag(table => 'prices', tag => 'before');
CALL sys.create_branch(table => 'prices', branch => 'autumn', tag => 'before');
UPDATE prices$branch_autumn SET price = price + 10;
INSERT INTO prices$branch_autumn VALUES ('chair', 40);
ALTER TABLE prices$branch_autumn ADD COLUMN currency STRING;

-- Both lines side by side.
SELECT now.item, now.price, autumn.price AS autumn
FROM prices$branch_autumn AS autumn LEFT JOIN prices AS now ON now.item = autumn.item
ORDER BY autumn.item;
SELECT count(*) AS items FROM prices /*+ OPTIONS('branch' = 'autumn') */;

-- The table becomes what the branch is.
CALL sys.fast_forward(table => 'prices', branch => 'autumn', dry_run => true);
CALL sys.fast_forward(table => 'prices', branch => 'autumn');
SELECT * FROM prices ORDER BY item;
ALTER TABLE prices DROP BRANCH autumn;
SHOW BRANCHES prices;

-- Branches of a table that only grows can be merged.
DROP TABLE IF EXISTS readings;
CREATE TABLE readings (at INT, value DOUBLE) WITH ('branch-merge.enabled' = 'true');
INSERT INTO readings VALUES (10, 1.5);
ALTER TABLE readings CREATE BRANCH backfill AS OF VERSION 1;
INSERT INTO readings$branch_backfill VALUES (8, 0.5), (9, 1.0);
CALL sys.merge_branch(table => 'readings', source_branch => 'backfill');
SELECT * FROM readings ORDER BY at;

-- Partitions that the nightly job has not brought yet come from the live branch.
DROP TABLE IF EXISTS visits;
CREATE TABLE visits (day STRING NOT NULL, page STRING NOT NULL, n BIGINT) PARTITIONED BY (day);
ALTER TABLE visits CREATE BRANCH live;
ALTER TABLE visits$branch_live SET ('primary-key' = 'day,page', 'bucket' = '1');
ALTER TABLE visits SET ('scan.fallback-branch' = 'live');
INSERT INTO visits$branch_live VALUES ('06-01', 'home', 4), ('06-02', 'home', 3);
INSERT INTO visits VALUES ('06-01', 'home', 5);
SELECT * FROM visits ORDER BY day;
