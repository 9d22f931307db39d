-- Old snapshots go, with the files that only they needed.
DROP TABLE IF EXISTS prices;
CREATE TABLE prices (item STRING, price INT) TBLPROPERTIES ('write-only' = 'true');
INSERT OVERWRITE prices VALUES ('lamp', 1);
INSERT OVERWRITE prices VALUES ('lamp', 2);
INSERT OVERWRITE prices VALUES ('lamp', 3);
INSERT OVERWRITE prices VALUES ('lamp', 4);

-- First look, then do it. A tag keeps what it names.
CALL sys.create_tag(table => 'prices', tag => 'second', snapshot => 2);
CALL sys.expire_snapshots(table => 'prices', retain_max => 1, retain_min => 1, dry_run => true);
CALL sys.expire_snapshots(table => 'prices', retain_max => 1, retain_min => 1);
SELECT snapshot_id FROM prices$snapshots;
SELECT * FROM prices VERSION AS OF 'second';

-- Or leave it to the commits.
ALTER TABLE prices UNSET TBLPROPERTIES ('write-only');
ALTER TABLE prices SET TBLPROPERTIES ('snapshot.num-retained.min' = '2', 'snapshot.num-retained.max' = '2');
INSERT OVERWRITE prices VALUES ('lamp', 5);
INSERT OVERWRITE prices VALUES ('lamp', 6);
SELECT count(*) AS snapshots FROM prices$snapshots;
