-- SPDX-License-Identifier: Apache-2.0
-- A decision, from locking its roots to its answer.
--
-- Every decision first locks the rows of its roots, in byte order, and then reads: at READ
-- COMMITTED each later statement sees everything that earlier decisions about these roots have
-- committed. Every change that adds, grants or strengthens a request also updates these rows (it
-- draws, R4).
--
-- Procedures pass the state of a decision on: `locked`, its roots as '/a/b/', and `has_waiting`,
-- whether a request may wait below them. The store's row is read once after the locks: @lk_tells
-- says whether to write events (R21), @lk_bounded whether there are bounds (R22).
--
-- Lists are words with a space between; the nth is SUBSTRING_INDEX(SUBSTRING_INDEX(words, ' ', n),
-- ' ', -1).
--
-- Each statement reads the time, always after the locks: that of the statement, and what has passed
-- since, by SYSDATE. This difference is one of local times. Where daylight saving time begins or ends
-- between the two, it is an hour wrong: all leases would have ended, or a new one would have ended
-- before its grant. Zones differ by quarters of an hour, so whole ones do not count: what is left is
-- -450 to 450 seconds, and a statement runs for less. (Added and taken away again so that MOD sees
-- nothing negative: ten million quarters and a half.)
--
-- In a trigger the time of the statement is the outer statement's, which may run for hours: there
-- the whole difference counts, less the jump of the zone (@lk_jump_us, of lk_jump_of()). SET timestamp
-- moves the time of the statement, and with an option of the server SYSDATE is NOW; lk_check_clock()
-- refuses both.
--
-- A caller's transaction may have a snapshot from before the locks (92_public_locks). The row of a
-- root tells it: what others have changed below the root since has changed its `last_draw`, by a draw
-- or by lk_mark_roots(), unless it has only made room. What such a change has removed is found missing
-- when it is to be changed.

DELIMITER //

-- R11, in the first call of each connection: has the server restarted, or another one taken over?
-- Then requests that lived when it went down live on for a while, once until their next renewal: a
-- deadline that a restart has set is recorded, and the next restart does not move it. A request
-- lived if its deadline is later than the last sign of life that the store has kept. `until` ends
-- when it says.
--
-- The start time and the server_id identify a server's run: a primary and its replica often start
-- in the same second, but never have the same server_id. The difference between the clock and
-- Uptime is exact, because both are taken when the statement begins.
DROP PROCEDURE IF EXISTS lk_read_start
//
CREATE PROCEDURE lk_read_start(OUT present BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SET present = 0;
    BEGIN -- it may be unreadable
        DECLARE EXIT HANDLER FOR SQLEXCEPTION SET present = NULL;
        -- As text, because each of the two servers rejects a table that only the other one has.
        SET @lk_question = CONCAT(
            'SELECT CONV(LEFT(SHA2(CONCAT_WS(''|'', ',
            'UNIX_TIMESTAMP() - CAST(CAST(s.VARIABLE_VALUE AS UNSIGNED) AS SIGNED), ',
            '@@GLOBAL.server_id, @@GLOBAL.hostname, @@GLOBAL.port, @@GLOBAL.datadir), 256), ',
            '15), 16, 10) INTO @lk_present FROM ',
            IF(VERSION() LIKE '%MariaDB%', 'information_schema.GLOBAL_STATUS',
               'performance_schema.global_status'),
            ' AS s WHERE s.VARIABLE_NAME = ''Uptime''');
        PREPARE lk_asking FROM @lk_question;
        EXECUTE lk_asking;
        DEALLOCATE PREPARE lk_asking;
        SET present = @lk_present;
    END;
END
//

-- The grace of this run of the server, in the transaction that is open.
DROP PROCEDURE IF EXISTS lk_give_grace
//
CREATE PROCEDURE lk_give_grace(IN present BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE known BIGINT DEFAULT 0;
    DECLARE alive_us BIGINT DEFAULT 0;
    DECLARE start_us BIGINT;
    SELECT m.server_start INTO known FROM lk_meta AS m FOR UPDATE;
    IF known <> present THEN -- else another connection was first
        SET start_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                       + IF(@lk_inside = 2,
                            TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) - @lk_jump_us,
                            (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                            MOD 900000000 - 450000000);
        SELECT GREATEST((SELECT COALESCE(MAX(r.last_draw), 0) FROM lk_roots AS r),
                        (SELECT COALESCE(MAX(q.deadline_us - q.ttl_ms * 1000), 0)
                         FROM lk_requests AS q WHERE NOT q.fixed)) INTO alive_us;
        UPDATE lk_requests AS q
        SET q.deadline_us = start_us + LEAST(q.ttl_ms, @LK_GRACE_MAX_MS@) * 1000,
            q.grace_us = start_us + LEAST(q.ttl_ms, @LK_GRACE_MAX_MS@) * 1000
        WHERE NOT q.fixed AND q.deadline_us > alive_us AND q.deadline_us <> q.grace_us
          AND q.deadline_us < start_us + LEAST(q.ttl_ms, @LK_GRACE_MAX_MS@) * 1000;
        UPDATE lk_roots AS r SET r.mixed_until_us = start_us + @LK_GRACE_MAX_MS@ * 1000
        WHERE r.mixed_until_us > alive_us AND r.mixed_until_us < start_us + @LK_GRACE_MAX_MS@ * 1000;
        UPDATE lk_meta AS m SET m.server_start = present;
    END IF;
END
//

-- In a transaction of its own.
DROP PROCEDURE IF EXISTS lk_awake
//
CREATE PROCEDURE lk_awake()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE present BIGINT;
    DECLARE known BIGINT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL lk_read_start(present);
    SELECT m.server_start INTO known FROM lk_meta AS m;
    IF known <> present THEN
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
        CALL lk_give_grace(present);
        COMMIT;
    END IF;
    SET @lk_server_start = COALESCE(present, 0);
END
//

-- In the transaction that is open. `has_changed`: the caller's rollback would undo it.
DROP PROCEDURE IF EXISTS lk_awake_within
//
CREATE PROCEDURE lk_awake_within(OUT present BIGINT, OUT has_changed BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE known BIGINT DEFAULT 0;
    CALL lk_read_start(present);
    SELECT m.server_start INTO known FROM lk_meta AS m;
    SET has_changed = COALESCE(known <> present, FALSE);
    IF has_changed THEN
        CALL lk_give_grace(present);
    END IF;
END
//

-- The caller's transaction reads what was there before the root was locked.
DROP PROCEDURE IF EXISTS lk_refuse_snapshot
//
CREATE PROCEDURE lk_refuse_snapshot()
SQL SECURITY INVOKER NO SQL
BEGIN
    CALL lk_refuse('unsupported', CONCAT('ROLLBACK: this transaction has an older snapshot; ',
                                         'decisions need READ COMMITTED from its beginning'));
END
//

-- Behind the lock of a root, whose row has these values now: whether the transaction reads them, too.
DROP PROCEDURE IF EXISTS lk_read_root
//
CREATE PROCEDURE lk_read_root(
    IN the_root VARBINARY(255), IN its_draw BIGINT, IN its_due_us BIGINT, IN waits BOOLEAN,
    OUT is_same BOOLEAN)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT COUNT(*) INTO is_same FROM lk_roots AS r
    WHERE r.root = the_root AND r.last_draw = its_draw AND r.due_us = its_due_us
      AND r.has_waiting = waits;
END
//

-- Refuses a transaction that reads other values.
DROP PROCEDURE IF EXISTS lk_check_snapshot
//
CREATE PROCEDURE lk_check_snapshot(
    IN the_root VARBINARY(255), IN its_draw BIGINT, IN its_due_us BIGINT, IN waits BOOLEAN)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE is_same BOOLEAN;
    CALL lk_read_root(the_root, its_draw, its_due_us, waits, is_same);
    IF NOT is_same THEN
        CALL lk_refuse_snapshot();
    END IF;
    IF LOCATE(CONCAT('/', the_root, '/'), @lk_unread) > 0 THEN
        ROLLBACK;
        SET @lk_unread = NULL;
        SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213,
            MESSAGE_TEXT = 'rolled back: a trigger''s push may have read an older snapshot; try again';
    END IF;
END
//

-- The same for a push inside of a statement in a transaction that goes on. Its snapshot may be the
-- statement's, which is no harm, or the transaction's, and what the push writes to the row of the root
-- would hide that from lk_check_snapshot(). @lk_unread has these roots, as `locked`. It outlives the
-- transaction, so a call that meets one of them ends the transaction, as a deadlock would.
DROP PROCEDURE IF EXISTS lk_note_snapshot
//
CREATE PROCEDURE lk_note_snapshot(
    IN the_root VARBINARY(255), IN its_draw BIGINT, IN its_due_us BIGINT, IN waits BOOLEAN)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE is_same BOOLEAN;
    CALL lk_read_root(the_root, its_draw, its_due_us, waits, is_same);
    IF NOT is_same AND LOCATE(CONCAT('/', the_root, '/'), COALESCE(@lk_unread, '')) = 0 THEN
        SET @lk_unread = CONCAT(COALESCE(@lk_unread, '/'), the_root, '/');
    END IF;
END
//

-- A lease that the transaction reads, and which a release may have ended since.
DROP PROCEDURE IF EXISTS lk_check_there
//
CREATE PROCEDURE lk_check_there(IN its_owner VARBINARY(128), IN its_token BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE self BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT r.id INTO self FROM lk_requests AS r FORCE INDEX (requests_by_owner)
    WHERE r.owner = its_owner AND r.token = its_token AND r.part = 1 LIMIT 1 FOR UPDATE;
    IF self IS NULL THEN
        CALL lk_refuse_snapshot();
    END IF;
END
//

-- Locks roots, given in byte order. @lk_inside: in a caller's transaction; 2: this is a push in a
-- statement of the caller's, all of which has one snapshot. It reads what is locked.
DROP PROCEDURE IF EXISTS lk_lock_roots
//
CREATE PROCEDURE lk_lock_roots(
    IN the_roots BLOB, OUT locked BLOB, OUT now_us BIGINT,
    OUT is_due BOOLEAN, OUT has_waiting BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE count INT DEFAULT 1 + LENGTH(the_roots) - LENGTH(REPLACE(the_roots, ' ', ''));
    DECLARE i INT DEFAULT 1;
    DECLARE the_root VARBINARY(255);
    DECLARE found_draw BIGINT;
    DECLARE found_due_us BIGINT;
    DECLARE found_waiting BOOLEAN;
    DECLARE first_due_us BIGINT DEFAULT @LK_NEVER@;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET locked = '/', has_waiting = FALSE;
    WHILE i <= count DO
        SET the_root = SUBSTRING_INDEX(SUBSTRING_INDEX(the_roots, ' ', i), ' ', -1);
        SET found_draw = NULL;
        SELECT r.last_draw, r.due_us, r.has_waiting INTO found_draw, found_due_us, found_waiting
        FROM lk_roots AS r WHERE r.root = the_root FOR UPDATE;
        IF found_draw IS NULL THEN -- the update serves only to lock
            INSERT INTO lk_roots (root, last_draw, due_us, has_waiting, mixed_until_us)
            VALUES (the_root, 0, @LK_NEVER@, FALSE, 0)
            ON DUPLICATE KEY UPDATE root = the_root;
            UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
            SET r.last_draw = GREATEST(r.last_draw, (SELECT m.draw_floor FROM lk_meta AS m))
            WHERE r.root = the_root;
            SELECT r.last_draw, r.due_us, r.has_waiting
            INTO found_draw, found_due_us, found_waiting
            FROM lk_roots AS r WHERE r.root = the_root FOR UPDATE;
        END IF;
        IF @lk_inside = 1 THEN
            CALL lk_check_snapshot(the_root, found_draw, found_due_us, found_waiting);
        ELSEIF @lk_inside = 2 AND @lk_goes_on THEN
            CALL lk_note_snapshot(the_root, found_draw, found_due_us, found_waiting);
        END IF;
        SET locked = CONCAT(locked, the_root, '/');
        SET has_waiting = has_waiting OR found_waiting;
        SET first_due_us = LEAST(first_due_us, found_due_us);
        SET i = i + 1;
    END WHILE;
    SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
           + IF(@lk_inside = 2,
                TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) - @lk_jump_us,
                (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                MOD 900000000 - 450000000),
           m.told_until_us > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                             + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                               MOD 900000000 - 450000000,
           m.is_bounded
    INTO now_us, @lk_tells, @lk_bounded FROM lk_meta AS m WHERE m.only_row = 1;
    SET is_due = first_due_us <= now_us;
END
//

-- Locks more roots, out of order, so without waiting: two decisions that wait might wait for each
-- other. A root that cannot be locked at once stays out of `locked`.
DROP PROCEDURE IF EXISTS lk_lock_more_roots
//
CREATE PROCEDURE lk_lock_more_roots(
    IN wanted BLOB, INOUT locked BLOB, INOUT has_waiting BOOLEAN,
    OUT has_all BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE count INT DEFAULT 1 + LENGTH(wanted) - LENGTH(REPLACE(wanted, ' ', ''));
    DECLARE i INT DEFAULT 1;
    DECLARE the_root VARBINARY(255);
    DECLARE found_draw BIGINT;
    DECLARE found_due_us BIGINT;
    DECLARE found_waiting BOOLEAN;
    DECLARE is_known BOOLEAN;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET has_all = TRUE;
    WHILE i <= count DO
        SET the_root = SUBSTRING_INDEX(SUBSTRING_INDEX(wanted, ' ', i), ' ', -1);
        IF LOCATE(CONCAT('/', the_root, '/'), locked) = 0 THEN
            SELECT COUNT(*) INTO is_known FROM lk_roots AS r WHERE r.root = the_root;
            IF NOT is_known THEN
                INSERT INTO lk_roots (root, last_draw, due_us, has_waiting, mixed_until_us)
                SELECT the_root, m.draw_floor, @LK_NEVER@, FALSE, 0 FROM lk_meta AS m
                ON DUPLICATE KEY UPDATE root = the_root;
            END IF;
            SET found_waiting = NULL;
            SELECT r.last_draw, r.due_us, r.has_waiting
            INTO found_draw, found_due_us, found_waiting
            FROM lk_roots AS r WHERE r.root = the_root FOR UPDATE SKIP LOCKED;
            IF found_waiting IS NULL OR LENGTH(locked) > 19000 THEN
                SET has_all = FALSE;
            ELSE
                IF @lk_inside THEN
                    CALL lk_check_snapshot(the_root, found_draw, found_due_us, found_waiting);
                END IF;
                SET locked = CONCAT(locked, the_root, '/');
                SET has_waiting = has_waiting OR found_waiting;
            END IF;
        END IF;
        SET i = i + 1;
    END WHILE;
END
//

-- R4: a unique number for a request with these roots, recorded by each of them.
DROP PROCEDURE IF EXISTS lk_draw
//
CREATE PROCEDURE lk_draw(IN the_roots BLOB, OUT drawn BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE count INT DEFAULT 1 + LENGTH(the_roots) - LENGTH(REPLACE(the_roots, ' ', ''));
    DECLARE i INT DEFAULT 1;
    DECLARE the_root VARBINARY(255);
    DECLARE last BIGINT;
    SET drawn = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                + IF(@lk_inside = 2,
                     TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) - @lk_jump_us,
                     (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                     MOD 900000000 - 450000000);
    WHILE i <= count DO
        SET the_root = SUBSTRING_INDEX(SUBSTRING_INDEX(the_roots, ' ', i), ' ', -1);
        IF @lk_inside = 2 THEN
            SELECT r.last_draw INTO last FROM lk_roots AS r WHERE r.root = the_root FOR UPDATE;
        ELSE
            SELECT r.last_draw INTO last FROM lk_roots AS r WHERE r.root = the_root;
        END IF;
        SET drawn = GREATEST(drawn, last + 1);
        SET i = i + 1;
    END WHILE;
    SET i = 1;
    WHILE i <= count DO
        SET the_root = SUBSTRING_INDEX(SUBSTRING_INDEX(the_roots, ' ', i), ' ', -1);
        UPDATE lk_roots AS r FORCE INDEX (PRIMARY) SET r.last_draw = drawn WHERE r.root = the_root;
        SET i = i + 1;
    END WHILE;
END
//

-- A change below these roots that draws no number, and does more than make room: the next number
-- there is greater, so a transaction that has read a root before sees that.
DROP PROCEDURE IF EXISTS lk_mark_roots
//
CREATE PROCEDURE lk_mark_roots(IN the_roots BLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE i INT DEFAULT 1 + LENGTH(the_roots) - LENGTH(REPLACE(the_roots, ' ', ''));
    WHILE i > 0 DO
        UPDATE lk_roots AS r FORCE INDEX (PRIMARY) SET r.last_draw = r.last_draw + 1
        WHERE r.root = SUBSTRING_INDEX(SUBSTRING_INDEX(the_roots, ' ', i), ' ', -1);
        SET i = i - 1;
    END WHILE;
END
//

-- R4: a number drawn by the same decision before, if none of these roots has drawn a greater one;
-- else a new one.
DROP PROCEDURE IF EXISTS lk_share_draw
//
CREATE PROCEDURE lk_share_draw(IN the_roots BLOB, IN shared BIGINT, OUT drawn BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE count INT DEFAULT 1 + LENGTH(the_roots) - LENGTH(REPLACE(the_roots, ' ', ''));
    DECLARE i INT DEFAULT 1;
    DECLARE the_root VARBINARY(255);
    DECLARE last BIGINT DEFAULT 0;
    WHILE i <= count AND last <= shared DO
        SET the_root = SUBSTRING_INDEX(SUBSTRING_INDEX(the_roots, ' ', i), ' ', -1);
        SELECT r.last_draw INTO last FROM lk_roots AS r WHERE r.root = the_root;
        SET i = i + 1;
    END WHILE;
    IF last > shared THEN
        CALL lk_draw(the_roots, drawn);
    ELSE
        SET drawn = shared;
        WHILE i > 1 DO
            SET i = i - 1;
            SET the_root = SUBSTRING_INDEX(SUBSTRING_INDEX(the_roots, ' ', i), ' ', -1);
            UPDATE lk_roots AS r FORCE INDEX (PRIMARY) SET r.last_draw = shared
            WHERE r.root = the_root AND r.last_draw < shared;
        END WHILE;
    END IF;
END
//

-- Records at these roots a request with these paths, whose deadline is `the_due_us`, and may become
-- `end_us` when it is granted.
DROP PROCEDURE IF EXISTS lk_record_deadline
//
CREATE PROCEDURE lk_record_deadline(
    IN the_roots BLOB, IN the_due_us BIGINT, IN end_us BIGINT,
    IN its_paths BLOB, IN its_claim BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_kind TINYINT DEFAULT IF(LOCATE(' ', its_paths) > 0, 0,
        2 + 2 * (LENGTH(its_paths) - LENGTH(REPLACE(its_paths, '/', ''))) + its_claim);
    DECLARE count INT DEFAULT 1 + LENGTH(the_roots) - LENGTH(REPLACE(the_roots, ' ', ''));
    DECLARE i INT DEFAULT 1;
    WHILE i <= count DO
        UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
        SET r.due_us = LEAST(r.due_us, the_due_us),
            r.mixed_until_us = IF(its_kind > 0 AND r.kind IN (0, its_kind), r.mixed_until_us,
                                  GREATEST(r.mixed_until_us, end_us)),
            r.kind = IF(r.kind = 0, its_kind, r.kind)
        WHERE r.root = SUBSTRING_INDEX(SUBSTRING_INDEX(the_roots, ' ', i), ' ', -1);
        SET i = i + 1;
    END WHILE;
END
//
DELIMITER ;
