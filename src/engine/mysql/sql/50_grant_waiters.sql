-- SPDX-License-Identifier: Apache-2.0
-- Grants waiting requests after something has ended or become weaker, in the order of their
-- tickets, until none can be granted (R7, R8). Ends requests, with the consequences of a death
-- (R11).

DELIMITER //

DROP PROCEDURE IF EXISTS lk_grant_waiting
//
CREATE PROCEDURE lk_grant_waiting(
    IN waiting BIGINT, IN its_roots BLOB, IN moment_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE drawn BIGINT;
    CALL lk_draw(its_roots, drawn);
    UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
    SET r.held = TRUE, r.token = drawn,
        r.deadline_us = IF(r.attended AND NOT r.fixed, -- R10
                           GREATEST(moment_us + r.ttl_ms * 1000, r.deadline_us), r.deadline_us)
    WHERE r.id = waiting;
    IF @lk_tells THEN
        CALL lk_tell_request('granted', waiting, 0);
    END IF;
END
//

-- Which of the locked roots still have a request that waits.
DROP PROCEDURE IF EXISTS lk_check_waiting
//
CREATE PROCEDURE lk_check_waiting(IN locked BLOB, INOUT has_waiting BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE i INT DEFAULT LENGTH(locked) - LENGTH(REPLACE(locked, '/', '')) - 1;
    DECLARE its_root VARBINARY(255);
    DECLARE has_more BOOLEAN;
    SET has_waiting = FALSE;
    WHILE i > 0 DO
        SET its_root = SUBSTRING_INDEX(SUBSTRING_INDEX(locked, '/', i + 1), '/', -1);
        SELECT EXISTS (SELECT 1 FROM lk_requests AS w FORCE INDEX (requests_by_root)
                       WHERE w.root = its_root AND w.held = 0) INTO has_more;
        IF has_more THEN
            SET has_waiting = TRUE;
        ELSE
            UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
            SET r.has_waiting = FALSE WHERE r.root = its_root AND r.has_waiting;
        END IF;
        SET i = i - 1;
    END WHILE;
END
//

-- The next request that waits after (its_ticket, waiting); NULL: none. It is at one of the paths
-- `near`, below one of `below`, or of one of `owners`, in hexadecimal.
--
-- It reads the queues of these paths and what these owners wait for, however many others wait below
-- the same roots; of a queue at a path it reads the first that may be granted.
--
-- It skips requests that cannot be granted: those at or below `closed`, the path of an exclusive one
-- before them, unless they have a limit and their owner holds something (R8); and those at
-- `short_path` with `short_limit` or a smaller limit. Both conditions on limits are read from the
-- index. The conditions are written out in each statement, because a function would be called for
-- each row.
DROP PROCEDURE IF EXISTS lk_next_waiting
//
CREATE PROCEDURE lk_next_waiting(
    IN locked BLOB, IN near MEDIUMBLOB, IN below MEDIUMBLOB, IN owners MEDIUMBLOB,
    IN closed VARBINARY(512), IN short_path VARBINARY(512), IN short_limit INT,
    IN moment_us BIGINT, INOUT waiting BIGINT, INOUT its_ticket BIGINT, OUT its_part TINYINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE first BIGINT DEFAULT NULL;
    DECLARE first_ticket BIGINT DEFAULT @LK_NEVER@;
    DECLARE its_path VARBINARY(512);
    DECLARE least_limit INT; -- limits up to `most_limit` are skipped, and those below this one
    DECLARE most_limit INT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    WHILE near <> '' DO
        SET its_path = SUBSTRING_INDEX(near, ' ', 1);
        SET near = SUBSTRING(near, LENGTH(its_path) + 2),
            least_limit = closed IS NOT NULL
                AND (its_path = closed
                     OR LEFT(its_path, LENGTH(closed) + 1) = CONCAT(closed, '/')),
            most_limit = IF(its_path = short_path, short_limit, 0);
        SELECT w.id, w.ticket, w.part INTO first, first_ticket, its_part
        FROM lk_requests AS w FORCE INDEX (requests_by_path)
        WHERE w.path = its_path AND w.held = 0 AND w.deadline_us > moment_us
          AND w.ticket BETWEEN its_ticket AND first_ticket
          AND (w.ticket > its_ticket OR w.id > waiting)
          AND (first IS NULL OR w.ticket < first_ticket OR w.id < first)
          AND w.unit_limit >= least_limit AND w.unit_limit NOT BETWEEN 1 AND most_limit
          AND (least_limit = 0
               OR (SELECT 1 FROM lk_requests AS h FORCE INDEX (requests_by_owner)
                   WHERE h.owner = w.owner AND h.held = 1 LIMIT 1) IS NOT NULL)
        ORDER BY w.ticket LIMIT 1; -- each has its own there
    END WHILE;
    WHILE below <> '' DO
        SET its_path = SUBSTRING_INDEX(below, ' ', 1);
        SET below = SUBSTRING(below, LENGTH(its_path) + 2);
        SELECT w.id, w.ticket, w.part INTO first, first_ticket, its_part
        FROM lk_requests AS w FORCE INDEX (requests_by_path)
        WHERE w.path > CONCAT(its_path, '/') AND w.path < CONCAT(its_path, '0')
          AND w.held = 0 AND w.deadline_us > moment_us
          AND (w.ticket > its_ticket OR (w.ticket = its_ticket AND w.id > waiting))
          AND (first IS NULL OR w.ticket < first_ticket OR (w.ticket = first_ticket AND w.id < first))
          AND NOT (short_path IS NOT NULL AND w.path = short_path AND w.unit_limit > 0
                   AND w.unit_limit <= short_limit)
          AND NOT (closed IS NOT NULL
                   AND (w.path = closed OR LEFT(w.path, LENGTH(closed) + 1) = CONCAT(closed, '/'))
                   AND (w.unit_limit = 0
                        OR (SELECT 1 FROM lk_requests AS h FORCE INDEX (requests_by_owner)
                            WHERE h.owner = w.owner AND h.held = 1 LIMIT 1) IS NULL))
        ORDER BY w.ticket, w.id LIMIT 1;
    END WHILE;
    IF owners <> '' THEN
        SELECT w.id, w.ticket, w.part INTO first, first_ticket, its_part
        FROM lk_numbers AS n STRAIGHT_JOIN lk_requests AS w FORCE INDEX (requests_by_owner)
        WHERE n.n <= 1 + LENGTH(owners) - LENGTH(REPLACE(owners, ' ', ''))
          AND w.owner = UNHEX(SUBSTRING_INDEX(SUBSTRING_INDEX(owners, ' ', n.n), ' ', -1))
          AND w.held = 0 AND w.deadline_us > moment_us
          AND LOCATE(CONCAT('/', w.root, '/'), locked) > 0
          AND (w.ticket > its_ticket OR (w.ticket = its_ticket AND w.id > waiting))
          AND (first IS NULL OR w.ticket < first_ticket OR (w.ticket = first_ticket AND w.id < first))
        ORDER BY w.ticket, w.id LIMIT 1;
    END IF;
    SET waiting = first, its_ticket = IF(first IS NULL, NULL, first_ticket);
END
//

-- The paths at and above those released that have a queue, and those released that have requests
-- below them. `sole`: the only path released; NULL: there are several, or none.
DROP PROCEDURE IF EXISTS lk_near
//
CREATE PROCEDURE lk_near(
    IN released MEDIUMBLOB, OUT near MEDIUMBLOB, OUT below MEDIUMBLOB, OUT sole VARBINARY(512))
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE seen MEDIUMBLOB DEFAULT ' ';
    DECLARE its_path VARBINARY(512);
    DECLARE at VARBINARY(512);
    DECLARE first_below VARBINARY(512);
    DECLARE first_ticket BIGINT;
    SET near = '', below = '', sole = IF(LOCATE(' ', released) = 0, released, NULL);
    WHILE released <> '' DO
        SET its_path = SUBSTRING_INDEX(released, ' ', 1);
        SET released = SUBSTRING(released, LENGTH(its_path) + 2), at = its_path;
        SELECT MIN(r.path) INTO first_below FROM lk_requests AS r FORCE INDEX (requests_by_path)
        WHERE r.path > CONCAT(its_path, '/') AND r.path < CONCAT(its_path, '0');
        IF first_below IS NOT NULL
           AND LOCATE(CONCAT(' ', its_path, ' '), CONCAT(' ', below, ' ')) = 0 THEN
            SET below = CONCAT_WS(' ', NULLIF(below, ''), its_path);
        END IF;
        WHILE at <> '' AND LOCATE(CONCAT(' ', at, ' '), seen) = 0 DO -- those above are seen, too
            SELECT MIN(w.ticket) INTO first_ticket
            FROM lk_requests AS w FORCE INDEX (requests_by_path)
            WHERE w.path = at AND w.held = 0;
            IF first_ticket IS NOT NULL THEN
                SET near = CONCAT_WS(' ', NULLIF(near, ''), at);
            END IF;
            SET seen = CONCAT(seen, at, ' '),
                at = LEFT(at, GREATEST(0, CAST(LENGTH(at) AS SIGNED) - 1
                                          - LENGTH(SUBSTRING_INDEX(at, '/', -1))));
        END WHILE;
    END WHILE;
END
//

-- Grants what can be granted related to the paths `released` (with a space between; NULL: none)
-- after something there has ended or become weaker, and of the requests of `the_owner` (NULL:
-- none), which may be covered now (R8). After a grant its owner may be covered: its other requests
-- are checked from the beginning.
--
-- What was covered without a limit has been granted before, so behind an exclusive request only a
-- limit at a path that was released can have got room.
DROP PROCEDURE IF EXISTS lk_grant_waiters
//
CREATE PROCEDURE lk_grant_waiters(
    INOUT locked BLOB, INOUT has_waiting BOOLEAN, IN released MEDIUMBLOB,
    IN the_owner VARBINARY(128), IN moment_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE owners MEDIUMBLOB DEFAULT COALESCE(HEX(the_owner), '');
    DECLARE near MEDIUMBLOB DEFAULT '';
    DECLARE below MEDIUMBLOB DEFAULT '';
    DECLARE sole VARBINARY(512) DEFAULT NULL;
    DECLARE waiting BIGINT DEFAULT 0;
    DECLARE waiter VARBINARY(128);
    DECLARE its_ticket BIGINT DEFAULT -1;
    DECLARE its_part TINYINT;
    DECLARE its_roots BLOB;
    DECLARE its_path VARBINARY(512);
    DECLARE its_limit INT;
    DECLARE its_units INT;
    DECLARE its_parts INT;
    DECLARE closed VARBINARY(512) DEFAULT NULL;     -- the path of an exclusive request
    DECLARE short_path VARBINARY(512) DEFAULT NULL; -- a path where a limit had no room
    DECLARE short_limit INT DEFAULT 0;
    DECLARE has_all BOOLEAN;
    DECLARE has_more BOOLEAN;
    DECLARE has_granted BOOLEAN DEFAULT FALSE;
    DECLARE verdict VARBINARY(8);
    DECLARE ignored BIGINT;
    IF has_waiting THEN
        CALL lk_check_waiting(locked, has_waiting);
    END IF;
    IF has_waiting AND released <> '' THEN
        CALL lk_near(released, near, below, sole);
    END IF;
    WHILE has_waiting AND waiting IS NOT NULL DO
        CALL lk_next_waiting(locked, near, below, owners, closed, short_path, short_limit,
                             moment_us, waiting, its_ticket, its_part);
        IF waiting IS NOT NULL THEN
            SELECT w.owner, w.roots, w.path, w.unit_limit, w.units, w.part_count
            INTO waiter, its_roots, its_path, its_limit, its_units, its_parts
            FROM lk_requests AS w WHERE w.id = waiting AND w.part = its_part;
        END IF;
        SET has_all = TRUE;
        IF waiting IS NOT NULL AND its_parts > 1 THEN
            CALL lk_lock_more_roots(its_roots, locked, has_waiting, has_all);
        END IF;
        IF waiting IS NOT NULL AND has_all THEN -- else its client asks again, within a second
            CALL lk_check_grant(waiting, waiter, its_ticket, FALSE, moment_us, verdict, ignored, ignored);
            IF verdict = 'limit' AND its_parts = 1 THEN
                SET short_path = its_path, short_limit = its_limit;
            END IF;
            IF its_units = 0 THEN
                SELECT EXISTS (
                    SELECT 1 FROM lk_requests AS r FORCE INDEX (requests_by_owner)
                    WHERE r.owner = waiter AND r.held = 0 AND r.id <> waiting
                      AND (r.path = its_path
                           OR LEFT(r.path, LENGTH(its_path) + 1) = CONCAT(its_path, '/')))
                INTO has_more;
                SET closed = IF(has_more, closed, its_path); -- one of its own may pass it
            END IF;
            IF verdict = 'grant' THEN
                CALL lk_grant_waiting(waiting, its_roots, moment_us);
                SET has_granted = TRUE;
                SELECT EXISTS (SELECT 1 FROM lk_requests AS r FORCE INDEX (requests_by_owner)
                               WHERE r.owner = waiter AND r.held = 0) INTO has_more;
                IF its_units = 0 AND (sole = its_path
                                      OR LEFT(sole, LENGTH(its_path) + 1) = CONCAT(its_path, '/'))
                THEN
                    SET near = '', below = ''; -- it blocks all others there
                END IF;
                IF has_more THEN
                    SET owners = CONCAT_WS(' ', NULLIF(owners, ''), HEX(waiter));
                    SET waiting = 0, its_ticket = -1, closed = NULL, short_path = NULL;
                END IF;
            END IF;
        END IF;
    END WHILE;
    IF has_granted THEN
        CALL lk_check_waiting(locked, has_waiting);
    END IF;
END
//

-- Locks the root of `its_paths`, whose lease has been deleted, and grants what can be granted, where no
-- events are written: at once if only the queue at its path can have got room, because all requests
-- below the root have its depth and one part (kind). A request of the same depth covers no other
-- (R8). `is_done` false: something there is overdue, and comes first. @lk_had_waiting: requests wait.
DROP PROCEDURE IF EXISTS lk_hand_on
//
CREATE PROCEDURE lk_hand_on(
    IN the_root VARBINARY(255), IN its_paths BLOB, OUT is_done BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE moment_us BIGINT;
    DECLARE locked BLOB DEFAULT CONCAT('/', the_root, '/');
    DECLARE has_waiting BOOLEAN DEFAULT FALSE;
    DECLARE is_due BOOLEAN DEFAULT FALSE;
    DECLARE waiting BIGINT DEFAULT NULL;
    DECLARE its_ticket BIGINT DEFAULT -1;
    DECLARE its_limit BIGINT;
    DECLARE its_units BIGINT;
    DECLARE is_closed BOOLEAN; -- an exclusive request is held there
    DECLARE in_use BIGINT;
    DECLARE drawn BIGINT;
    DECLARE first_us BIGINT;
    DECLARE is_plain BOOLEAN DEFAULT FALSE;
    DECLARE is_over BOOLEAN;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT r.has_waiting,
           r.due_us <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                       + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                         MOD 900000000 - 450000000,
           LOCATE(' ', its_paths) = 0
           AND r.mixed_until_us <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                   + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                     MOD 900000000 - 450000000
           AND r.kind = 2 + 2 * (LENGTH(its_paths) - LENGTH(REPLACE(its_paths, '/', '')))
    INTO has_waiting, is_due, is_plain
    FROM lk_roots AS r WHERE r.root = the_root FOR UPDATE;
    SET moment_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                    + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                      MOD 900000000 - 450000000,
        is_done = NOT (has_waiting AND is_due), is_over = NOT (has_waiting AND is_done AND is_plain),
        @lk_tells = FALSE, @lk_had_waiting = has_waiting;
    WHILE NOT is_over DO
        SET waiting = NULL;
        SELECT w.id, w.ticket, w.unit_limit, w.units INTO waiting, its_ticket, its_limit, its_units
        FROM lk_requests AS w FORCE INDEX (requests_by_path)
        WHERE w.path = its_paths AND w.held = 0 AND w.ticket > its_ticket
          AND w.deadline_us > moment_us
        ORDER BY w.ticket LIMIT 1;
        IF waiting IS NOT NULL THEN
            SELECT MAX(r.units = 0), SUM(r.units) INTO is_closed, in_use
            FROM lk_requests AS r FORCE INDEX (requests_by_path)
            WHERE r.path = its_paths AND r.held = 1 AND r.deadline_us > moment_us;
        END IF;
        IF waiting IS NULL OR is_closed OR (its_units = 0 AND in_use > 0) THEN
            SET is_over = TRUE;
        ELSEIF its_limit > 0 AND its_units + COALESCE(in_use, 0) > its_limit THEN
            SET is_plain = FALSE, is_over = TRUE; -- one with a wider limit may pass it
        ELSE
            UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
            SET r.last_draw = LAST_INSERT_ID(GREATEST(r.last_draw + 1, moment_us))
            WHERE r.root = the_root;
            SET drawn = LAST_INSERT_ID(), is_over = its_units = 0;
            UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
            SET r.held = TRUE, r.token = drawn,
                r.deadline_us = IF(r.attended AND NOT r.fixed, -- R10
                                   GREATEST(moment_us + r.ttl_ms * 1000, r.deadline_us),
                                   r.deadline_us)
            WHERE r.id = waiting AND r.part = 1;
        END IF;
    END WHILE;
    IF NOT has_waiting OR NOT is_done THEN
        SET is_over = TRUE;
    ELSEIF is_plain THEN
        SELECT MIN(w.deadline_us) INTO first_us FROM lk_requests AS w FORCE INDEX (requests_by_root)
        WHERE w.root = the_root AND w.held = 0;
        IF first_us IS NULL THEN
            UPDATE lk_roots AS r FORCE INDEX (PRIMARY) SET r.has_waiting = FALSE
            WHERE r.root = the_root;
        END IF;
    ELSE
        CALL lk_grant_waiters(locked, has_waiting, its_paths, NULL, moment_us);
    END IF;
END
//

-- Ends a request. `event`: how; NULL: the event has been written. `released`: its paths. If it has
-- perished or was broken, its holder's work may be half done (R15), and its item is ready again, parked
-- after too many attempts, as new if it was pushed again, or gone if it was cancelled (R16).
DROP PROCEDURE IF EXISTS lk_remove_request
//
CREATE PROCEDURE lk_remove_request(
    IN gone BIGINT, IN event VARBINARY(16), OUT released BLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_path VARBINARY(512);
    DECLARE its_parts INT;
    DECLARE puts_in_doubt BOOLEAN;
    DECLARE its_claim BOOLEAN;
    DECLARE the_queue VARBINARY(512);
    DECLARE the_id VARBINARY(255);
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE its_deadline_us BIGINT;
    DECLARE is_lost BOOLEAN DEFAULT COALESCE(event IN ('perished', 'broken'), FALSE);
    DECLARE last_attempt INT UNSIGNED;
    SELECT r.path, r.part_count, r.held AND r.wants_value, r.is_claim, r.deadline_us
    INTO its_path, its_parts, puts_in_doubt, its_claim, its_deadline_us
    FROM lk_requests AS r WHERE r.id = gone AND r.part = 1;
    IF event IS NOT NULL AND @lk_tells THEN
        CALL lk_tell_request(event, gone, 0);
    END IF;
    IF is_lost AND puts_in_doubt THEN
        UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
        STRAIGHT_JOIN lk_values AS v FORCE INDEX (PRIMARY) ON v.path = r.path
        SET v.in_doubt = TRUE WHERE r.id = gone AND r.units = 0;
    END IF;
    IF is_lost AND its_claim THEN
        SET the_id = SUBSTRING_INDEX(its_path, '/', -1);
        SET the_queue = LEFT(its_path, LENGTH(its_path) - LENGTH(the_id) - 1);
        SELECT MAX(i.attempts) INTO last_attempt FROM lk_items AS i
        WHERE i.queue = the_queue AND i.id = the_id AND i.claim = gone AND i.max_attempts > 0
          AND i.attempts >= i.max_attempts AND i.state = 'claimed';
        IF last_attempt IS NOT NULL THEN
            UPDATE lk_queues AS q FORCE INDEX (PRIMARY) SET q.parked = q.parked + 1
            WHERE q.path = the_queue;
            IF @lk_tells THEN
                CALL lk_tell_request('parked', gone, last_attempt);
            END IF;
        END IF;
        UPDATE lk_items AS i FORCE INDEX (PRIMARY)
        SET i.was_lost = TRUE, i.claim = 0, i.ask_number = 0, i.due_us = 0,
            i.ready_us = LEAST(its_deadline_us, now_us),
            i.state = IF(last_attempt IS NOT NULL, 'parked', 'ready'),
            i.last_exit = IF(last_attempt IS NOT NULL, NULL, i.last_exit),
            i.last_error = IF(last_attempt IS NOT NULL, '@LK_TEXT_CLAIM_LOST@', i.last_error)
        WHERE i.queue = the_queue AND i.id = the_id AND i.claim = gone AND i.state = 'claimed';
        IF ROW_COUNT() = 0 THEN
            CALL lk_begin_again(the_queue, the_id, gone, TRUE, LEAST(its_deadline_us, now_us));
            CALL lk_drop_claimed(the_queue, the_id, gone);
        ELSEIF its_parts > 1 THEN
            CALL lk_item_comes(the_queue, the_id);
        END IF;
    END IF;
    SET released = its_path;
    IF its_parts > 1 THEN
        SET SESSION group_concat_max_len = 4194304;
        SELECT GROUP_CONCAT(r.path SEPARATOR ' ') INTO released
        FROM lk_requests AS r WHERE r.id = gone;
    END IF;
    DELETE r FROM lk_requests AS r FORCE INDEX (PRIMARY) WHERE r.id = gone;
    IF @lk_inside AND ROW_COUNT() = 0 THEN
        CALL lk_refuse_snapshot();
    END IF;
END
//

-- The first request below a root that is overdue, except those in `kept`.
DROP PROCEDURE IF EXISTS lk_first_overdue
//
CREATE PROCEDURE lk_first_overdue(
    IN the_root VARBINARY(255), IN now_us BIGINT, IN kept MEDIUMBLOB,
    INOUT first BIGINT, INOUT its_deadline_us BIGINT, INOUT its_ticket BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT d.id, d.deadline_us, d.ticket INTO first, its_deadline_us, its_ticket
    FROM ((SELECT r.id, r.deadline_us, r.ticket
           FROM lk_requests AS r FORCE INDEX (requests_by_root)
           WHERE r.root = the_root AND r.held = 1 AND r.deadline_us <= now_us
             AND LOCATE(CONCAT(' ', r.id, ' '), kept) = 0
           ORDER BY r.deadline_us, r.ticket LIMIT 1)
          UNION ALL
          (SELECT r.id, r.deadline_us, r.ticket
           FROM lk_requests AS r FORCE INDEX (requests_by_root)
           WHERE r.root = the_root AND r.held = 0 AND r.deadline_us <= now_us
             AND LOCATE(CONCAT(' ', r.id, ' '), kept) = 0
           ORDER BY r.deadline_us, r.ticket LIMIT 1)) AS d
    WHERE its_deadline_us IS NULL OR d.deadline_us < its_deadline_us
       OR (d.deadline_us = its_deadline_us AND d.ticket < its_ticket)
    ORDER BY d.deadline_us, d.ticket LIMIT 1;
END
//

-- R16: makes the delayed items below these roots ready whose time has come.
DROP PROCEDURE IF EXISTS lk_ripen
//
CREATE PROCEDURE lk_ripen(IN locked BLOB, IN now_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE i INT DEFAULT LENGTH(locked) - LENGTH(REPLACE(locked, '/', '')) - 1;
    DECLARE the_root VARBINARY(255);
    DECLARE its_queue VARBINARY(512);
    DECLARE its_id VARBINARY(255);
    DECLARE needs_more BOOLEAN;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET its_queue = NULL;
    WHILE i > 0 DO
        SET the_root = SUBSTRING_INDEX(SUBSTRING_INDEX(locked, '/', i + 1), '/', -1);
        SET its_queue = '';
        WHILE its_queue IS NOT NULL DO
            SELECT d.queue, d.id, d.needs <> '' INTO its_queue, its_id, needs_more
            FROM lk_queues AS q FORCE INDEX (PRIMARY)
            STRAIGHT_JOIN lk_items AS d FORCE INDEX (items_by_state)
              ON d.queue = q.path AND d.state = 'delayed' AND d.due_us <= now_us
            WHERE q.path = the_root
               OR (q.path > CONCAT(the_root, '/') AND q.path < CONCAT(the_root, '0'))
            LIMIT 1;
            IF its_queue IS NOT NULL THEN
                UPDATE lk_items AS d FORCE INDEX (PRIMARY)
                SET d.state = 'ready', d.ready_us = d.due_us, d.due_us = 0
                WHERE d.queue = its_queue AND d.id = its_id;
                IF needs_more THEN
                    CALL lk_item_comes(its_queue, its_id);
                END IF;
            END IF;
        END WHILE;
        SET i = i - 1;
    END WHILE;
END
//

-- When the next item below a root is ready; far away if none is delayed.
DROP PROCEDURE IF EXISTS lk_first_delayed
//
CREATE PROCEDURE lk_first_delayed(IN the_root VARBINARY(255), OUT ripe_us BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT COALESCE(MIN((SELECT MIN(d.due_us) FROM lk_items AS d FORCE INDEX (items_by_state)
                         WHERE d.queue = q.path AND d.state = 'delayed')), @LK_NEVER@)
    INTO ripe_us
    FROM lk_queues AS q FORCE INDEX (PRIMARY)
    WHERE q.path = the_root
       OR (q.path > CONCAT(the_root, '/') AND q.path < CONCAT(the_root, '0'));
END
//

-- The first deadline below a root after a moment; far away if there is none.
DROP PROCEDURE IF EXISTS lk_first_deadline
//
CREATE PROCEDURE lk_first_deadline(
    IN the_root VARBINARY(255), IN behind_us BIGINT, OUT first_us BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT LEAST(
        COALESCE((SELECT MIN(q.deadline_us) FROM lk_requests AS q FORCE INDEX (requests_by_root)
                  WHERE q.root = the_root AND q.held = 1 AND q.deadline_us > behind_us),
                 @LK_NEVER@),
        COALESCE((SELECT MIN(q.deadline_us) FROM lk_requests AS q FORCE INDEX (requests_by_root)
                  WHERE q.root = the_root AND q.held = 0 AND q.deadline_us > behind_us),
                 @LK_NEVER@))
    INTO first_us;
END
//

-- R11: overdue deadlines take effect, in their order, each with the grants that follow at that
-- moment. If no request waits, only a few do, because dead requests block nothing. A request with a
-- root that cannot be locked at once is left to a later call.
DROP PROCEDURE IF EXISTS lk_perish
//
CREATE PROCEDURE lk_perish(
    INOUT locked BLOB, INOUT has_waiting BOOLEAN, IN now_us BIGINT, IN few INT)
SQL SECURITY INVOKER MODIFIES SQL DATA
perish: BEGIN
    DECLARE kept MEDIUMBLOB DEFAULT '';
    DECLARE lost BIGINT;
    DECLARE its_deadline_us BIGINT;
    DECLARE its_ticket BIGINT;
    DECLARE its_roots BLOB;
    DECLARE has_all BOOLEAN;
    DECLARE released BLOB;
    DECLARE the_root VARBINARY(255);
    DECLARE first_us BIGINT;
    DECLARE ripe_us BIGINT;
    DECLARE i INT;
    DECLARE rounds INT DEFAULT IF(has_waiting, 256, few);
    CALL lk_ripen(locked, now_us);
    WHILE rounds > 0 DO
        SET lost = NULL, its_deadline_us = NULL, its_ticket = NULL;
        SET i = LENGTH(locked) - LENGTH(REPLACE(locked, '/', '')) - 1;
        WHILE i > 0 DO
            SET the_root = SUBSTRING_INDEX(SUBSTRING_INDEX(locked, '/', i + 1), '/', -1);
            CALL lk_first_overdue(the_root, now_us, kept, lost, its_deadline_us, its_ticket);
            SET i = i - 1;
        END WHILE;
        IF lost IS NULL THEN
            IF kept = '' THEN
                SET i = LENGTH(locked) - LENGTH(REPLACE(locked, '/', '')) - 1;
                WHILE i > 0 DO
                    SET the_root = SUBSTRING_INDEX(SUBSTRING_INDEX(locked, '/', i + 1), '/', -1);
                    CALL lk_first_deadline(the_root, -1, first_us);
                    CALL lk_first_delayed(the_root, ripe_us);
                    UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
                    SET r.due_us = LEAST(first_us, ripe_us),
                        r.kind = IF(first_us = @LK_NEVER@, 0, r.kind),
                        r.mixed_until_us = IF(first_us = @LK_NEVER@, 0, r.mixed_until_us)
                    WHERE r.root = the_root;
                    SET i = i - 1;
                END WHILE;
            END IF;
            LEAVE perish;
        END IF;
        SELECT r.roots INTO its_roots FROM lk_requests AS r WHERE r.id = lost AND r.part = 1;
        SET i = LENGTH(locked);
        CALL lk_lock_more_roots(its_roots, locked, has_waiting, has_all);
        IF has_all AND LENGTH(locked) > i THEN
            DO 0; -- the other roots may have an earlier deadline
        ELSEIF has_all THEN
            CALL lk_remove_request(lost, 'perished', released);
            IF has_waiting THEN
                CALL lk_grant_waiters(locked, has_waiting, released, NULL, its_deadline_us);
            END IF;
        ELSE
            SET kept = CONCAT(kept, ' ', lost, ' ');
        END IF;
        SET rounds = rounds - 1;
    END WHILE;
END
//
DELIMITER ;
