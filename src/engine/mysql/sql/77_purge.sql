-- SPDX-License-Identifier: Apache-2.0
-- Parked items of a table's queue (R17), which the engine checks in portions: those whose rows no
-- longer match are removed, as marks of such rows are (75_table).

DELIMITER //

-- Removes items, if they are parked still. `ids`: with a space between.
DROP PROCEDURE IF EXISTS lk_drop_parked
//
CREATE PROCEDURE lk_drop_parked(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN ids MEDIUMBLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE its_id VARBINARY(255);
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE dropped BIGINT DEFAULT 0;
    CALL lk_begin();
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_lock_roots(the_root, locked, now_us, is_due, has_waiting);
        WHILE ids <> '' DO
            SET its_id = SUBSTRING_INDEX(ids, ' ', 1), ids = SUBSTRING(ids, LENGTH(its_id) + 2);
            CALL lk_remove_item(the_queue, its_id, TRUE, outcome, sentence);
            SET dropped = dropped + (outcome = 'ok');
        END WHILE;
        COMMIT;
    END;
    SELECT dropped;
END
//
DELIMITER ;
