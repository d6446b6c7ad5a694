-- SPDX-License-Identifier: Apache-2.0
-- A script for mariadb, or mysql, that does something alone, or not at all:
--
--     mariadb shop <deploy-mariadb.sql
--
-- With autocommit, each statement takes effect at once. `or_fail` makes an error of a lock that is
-- not to be had, and the client ends with exit code 1. The owner is this session.
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET @owner = CONCAT('deploy/', UUID());
CALL lk_lock_acquire('deploy', @owner, '{"ttl": 600, "note": "release 2.0", "or_fail": true}');

CREATE TABLE IF NOT EXISTS releases (version VARCHAR(16) PRIMARY KEY, at DATETIME DEFAULT NOW());

-- What must happen only while the lease is held is one transaction with its end. If the lease is
-- lost, the release fails, the client ends, and nothing of the transaction remains.
START TRANSACTION;
INSERT INTO releases (version) VALUES ('2.0');
CALL lk_lock_release('deploy', @owner, NULL, NULL, NULL);
COMMIT;
