-- SPDX-License-Identifier: Apache-2.0
-- Applies overdue deadlines and removes what is no longer needed. The engine calls it now and then,
-- in transactions of its own.

DELIMITER //

-- R11: overdue deadlines below a root (NULL: anywhere) take effect, each root in a transaction of
-- its own. Writes nothing if there is none.
DROP PROCEDURE IF EXISTS lk_tick
//
CREATE PROCEDURE lk_tick(IN the_root VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE its_root VARBINARY(255) DEFAULT '';
    DECLARE its_due_us BIGINT DEFAULT -1;
    DECLARE rounds INT DEFAULT 1024;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF @lk_server_start IS NULL THEN
        CALL lk_awake();
    END IF;
    WHILE its_root IS NOT NULL AND rounds > 0 DO
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
        BEGIN
            DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
            DECLARE CONTINUE HANDLER FOR NOT FOUND SET its_root = NULL;
            IF the_root IS NULL THEN
                SELECT r.root, r.due_us INTO its_root, its_due_us
                FROM lk_roots AS r FORCE INDEX (roots_by_due)
                WHERE r.due_us <= now_us AND (r.due_us > its_due_us
                                              OR (r.due_us = its_due_us AND r.root > its_root))
                ORDER BY r.due_us, r.root LIMIT 1;
            ELSE
                SELECT r.root INTO its_root FROM lk_roots AS r
                WHERE r.root = the_root AND r.due_us <= now_us;
                SET rounds = 1;
            END IF;
            IF its_root IS NOT NULL THEN
                CALL lk_lock_roots(its_root, locked, now_us, is_due, has_waiting);
                CALL lk_perish(locked, has_waiting, now_us, 256);
            END IF;
            COMMIT;
        END;
        SET rounds = rounds - 1;
    END WHILE;
END
//

-- Removes many dead requests at once, below a root where no request waits, if their death has no
-- consequence. The last one found stays, so that the search for the end of the range stays below
-- this root. Two for each call since the last sweep; `is_enough`: the rest is left to the next
-- sweep.
DROP PROCEDURE IF EXISTS lk_sweep_root
//
CREATE PROCEDURE lk_sweep_root(
    IN the_root VARBINARY(255), IN now_us BIGINT, OUT is_enough BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE last_us BIGINT;
    SET is_enough = FALSE;
    SELECT MAX(x.deadline_us) INTO last_us
    FROM (SELECT r.deadline_us FROM lk_requests AS r FORCE INDEX (requests_by_root)
          WHERE r.root = the_root AND r.held = 1 AND r.deadline_us <= now_us
          ORDER BY r.deadline_us LIMIT 128) AS x;
    IF last_us IS NOT NULL THEN
        DELETE r FROM lk_requests AS r FORCE INDEX (requests_by_root)
        WHERE r.root = the_root AND r.held = 1 AND r.deadline_us < last_us
          AND r.part_count = 1 AND NOT r.wants_value AND NOT r.is_claim;
        SET is_enough = ROW_COUNT() >= 64;
    END IF;
END
//

-- R4: removes roots that were not used for a minute; draws never fall below theirs. Each call
-- checks a few, the next ones.
DROP PROCEDURE IF EXISTS lk_forget_roots
//
CREATE PROCEDURE lk_forget_roots(IN now_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE rounds INT DEFAULT 64;
    DECLARE its_root VARBINARY(255) DEFAULT COALESCE(@lk_swept, '');
    DECLARE its_draw BIGINT;
    DECLARE is_used BOOLEAN;
    DECLARE is_locked BOOLEAN;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_locked = FALSE;
    WHILE rounds > 0 DO
        SET is_locked = TRUE;
        SELECT r.root, r.last_draw INTO its_root, its_draw
        FROM lk_roots AS r FORCE INDEX (roots_by_due)
        WHERE r.due_us = @LK_NEVER@ AND r.root > its_root ORDER BY r.root LIMIT 1;
        IF NOT is_locked THEN
            SET rounds = 0, its_root = '';
        ELSEIF its_draw < now_us - @LK_ROOT_IDLE_US@ THEN
            SELECT r.last_draw INTO its_draw FROM lk_roots AS r
            WHERE r.root = its_root AND r.due_us = @LK_NEVER@ FOR UPDATE SKIP LOCKED;
            SELECT EXISTS (SELECT 1 FROM lk_requests AS q FORCE INDEX (requests_by_root)
                           WHERE q.root = its_root) INTO is_used;
            IF is_locked AND NOT is_used AND its_draw < now_us - @LK_ROOT_IDLE_US@ THEN
                UPDATE lk_meta AS m SET m.draw_floor = GREATEST(m.draw_floor, its_draw);
                DELETE r FROM lk_roots AS r FORCE INDEX (PRIMARY) WHERE r.root = its_root;
            END IF;
        END IF;
        SET rounds = rounds - 1;
    END WHILE;
    SET @lk_swept = its_root;
END
//

-- Sweeping: every Nth call sweeps a little after its own answer. It is bounded, and skips what is
-- locked.
DROP PROCEDURE IF EXISTS lk_sweep
//
CREATE PROCEDURE lk_sweep()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE is_there BOOLEAN DEFAULT TRUE;
    DECLARE is_enough BOOLEAN;
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE its_root VARBINARY(255) DEFAULT '';
    DECLARE its_due_us BIGINT DEFAULT -1;
    DECLARE rounds INT DEFAULT 64;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF @lk_server_start IS NULL THEN
        CALL lk_awake();
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    START TRANSACTION;
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_there = FALSE;
        WHILE rounds > 0 DO
            SET is_there = TRUE;
            SELECT r.root, r.due_us INTO its_root, its_due_us
            FROM lk_roots AS r FORCE INDEX (roots_by_due)
            WHERE r.due_us <= now_us
              AND (r.due_us > its_due_us OR (r.due_us = its_due_us AND r.root > its_root))
            ORDER BY r.due_us, r.root LIMIT 1;
            IF NOT is_there THEN
                SET rounds = 0;
            ELSE
                SELECT r.has_waiting INTO has_waiting FROM lk_roots AS r
                WHERE r.root = its_root FOR UPDATE SKIP LOCKED;
            END IF;
            IF is_there THEN
                CALL lk_lock_roots(its_root, locked, now_us, is_due, has_waiting);
                SET is_enough = FALSE;
                IF NOT has_waiting AND NOT @lk_tells THEN
                    CALL lk_sweep_root(its_root, now_us, is_enough);
                END IF;
                IF NOT is_enough THEN
                    CALL lk_perish(locked, has_waiting, now_us, 16);
                END IF;
            END IF;
            SET rounds = rounds - 1;
        END WHILE;
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
        -- An old row has an old token as well: a lease ends after its grant.
        DELETE FROM lk_ended
        WHERE token <= now_us - @LK_ENDED_MEMORY_US@ AND ended_us <= now_us - @LK_ENDED_MEMORY_US@
        ORDER BY token LIMIT 64;
        SELECT COALESCE(MAX(m.told_until_us < now_us - @LK_EVENTS_LINGER_US@), FALSE) INTO is_there
        FROM lk_meta AS m;
        IF is_there THEN -- not watched for five minutes
            DELETE FROM lk_happenings ORDER BY sequence LIMIT 128;
        END IF;
        CALL lk_forget_roots(now_us);
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
        CALL lk_forget_items(now_us);
        COMMIT;
    END;
END
//
DELIMITER ;
