-- SPDX-License-Identifier: Apache-2.0
-- Created last: if this row exists, with this format, everything does.

DELIMITER //

-- What lk_close_store() has closed.
DROP PROCEDURE IF EXISTS lk_open_store
//
CREATE PROCEDURE lk_open_store()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE is_closed BOOLEAN;
    SELECT COUNT(*) INTO is_closed FROM information_schema.TABLE_CONSTRAINTS AS c
    WHERE c.CONSTRAINT_SCHEMA = DATABASE() AND c.TABLE_NAME = 'lk_requests'
      AND c.CONSTRAINT_NAME = 'lk_requests_closed';
    IF is_closed THEN
        ALTER TABLE lk_requests DROP CONSTRAINT lk_requests_closed;
    END IF;
END
//
CALL lk_open_store()
//
INSERT IGNORE INTO lk_meta (format, server_start) VALUES (1, 0)
//
UPDATE lk_meta SET format = 1 WHERE format < 1
//
DO RELEASE_LOCK(CONCAT('lockkeeper ', LEFT(SHA2(CONCAT(DATABASE(), '.lk_'), 256), 40)))
//
DELIMITER ;
