-- SPDX-License-Identifier: Apache-2.0
-- Public procedures for values (R15, docs/sql-mysql.md), as 92_public_locks.

DELIMITER //

-- Answers a row, or none: value, in_doubt.
DROP PROCEDURE IF EXISTS lk_value_get
//
CREATE PROCEDURE lk_value_get(IN path MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER READS SQL DATA
COMMENT 'The value of a path: a row, or none.'
BEGIN
    DECLARE the_path VARBINARY(512);
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6));
    CALL lk_path_of(path, the_path);
    SELECT v.bytes AS value, v.in_doubt OR EXISTS ( -- its holder is dead and unswept
               SELECT 1 FROM lk_requests AS r FORCE INDEX (requests_by_path)
               WHERE r.path = the_path AND r.deadline_us <= now_us AND r.units = 0
                 AND r.held AND r.wants_value) AS in_doubt
    FROM lk_values AS v WHERE v.path = the_path;
END
//

-- `value` NULL: deletes it. Answers one row: outcome (ok, busy, lost).
DROP PROCEDURE IF EXISTS lk_write_value
//
CREATE PROCEDURE lk_write_value(
    IN path MEDIUMTEXT CHARACTER SET utf8mb4, IN value LONGBLOB,
    IN owner MEDIUMTEXT CHARACTER SET utf8mb4, IN token BIGINT,
    IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE the_path VARBINARY(512);
    DECLARE above BLOB;
    DECLARE asker VARBINARY(128);
    DECLARE or_fail BOOLEAN DEFAULT TRUE;
    DECLARE is_own BOOLEAN;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    CALL lk_path_of(path, the_path);
    CALL lk_check_owner(owner);
    CALL lk_check_value(value);
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' or_fail ');
        CALL lk_flag(options, 'or_fail', TRUE, or_fail);
    END IF;
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        SET SESSION group_concat_max_len = 4194304;
        SELECT GROUP_CONCAT(SUBSTRING_INDEX(the_path, '/', n.n) SEPARATOR ' ') INTO above
        FROM lk_numbers AS n
        WHERE n.n <= 1 + LENGTH(the_path) - LENGTH(REPLACE(the_path, '/', ''));
        CALL lk_owner_or_found(owner, above, token, asker);
        CALL lk_decide_put(the_path, SUBSTRING_INDEX(the_path, '/', 1), asker, COALESCE(token, 0),
                           value, outcome, sentence);
        IF or_fail AND outcome <> 'ok' THEN
            CALL lk_refuse(outcome, sentence);
        END IF;
        CALL lk_leave(is_own);
    END;
    SELECT outcome;
END
//

DROP PROCEDURE IF EXISTS lk_value_put
//
CREATE PROCEDURE lk_value_put(
    IN path MEDIUMTEXT CHARACTER SET utf8mb4, IN value LONGBLOB,
    IN owner MEDIUMTEXT CHARACTER SET utf8mb4, IN token BIGINT,
    IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Writes the value of a path.'
BEGIN
    IF value IS NULL THEN
        CALL lk_refuse('invalid', 'R15: a value is not NULL; lk_value_delete() deletes one');
    END IF;
    CALL lk_write_value(path, value, owner, token, options);
END
//

DROP PROCEDURE IF EXISTS lk_value_delete
//
CREATE PROCEDURE lk_value_delete(
    IN path MEDIUMTEXT CHARACTER SET utf8mb4, IN owner MEDIUMTEXT CHARACTER SET utf8mb4,
    IN token BIGINT, IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Deletes the value of a path.'
BEGIN
    CALL lk_write_value(path, NULL, owner, token, options);
END
//
DELIMITER ;
