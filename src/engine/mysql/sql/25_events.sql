-- SPDX-License-Identifier: Apache-2.0
-- Events (R21): written in the transaction of the change, and only while a client watches or the
-- bounds keep some. Each costs a row, and its number is the next one of the store. Other
-- transactions that write events wait until this one has committed, so the numbers are in the order
-- of the commits, without gaps.
--
-- @lk_tells, which lk_lock_roots() sets, says whether a decision writes events. Callers check it first,
-- so that an unwatched store pays nothing. Every decision locks the roots first, and then the row of
-- the store. @lk_broken_by and @lk_reason, which lk_decide_break() sets, are who breaks and why.

DELIMITER //

-- Gives the event a number, writes it, and deletes old ones: two for one, so that their number
-- falls.
DROP PROCEDURE IF EXISTS lk_tell
//
CREATE PROCEDURE lk_tell(
    IN its_event VARBINARY(16), IN its_parts BLOB, IN its_owner VARBINARY(128),
    IN its_note VARBINARY(255), IN its_ticket BIGINT, IN its_token BIGINT,
    IN its_attempt INT UNSIGNED, IN is_of_item BOOLEAN, IN its_refusal VARBINARY(16),
    IN is_deletion BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE number BIGINT;
    DECLARE kept_max BIGINT;
    IF @lk_tells THEN
        UPDATE lk_meta AS m SET m.last_event = m.last_event + 1 WHERE m.only_row = 1;
        SELECT m.last_event, IF(m.events_max > 0, m.events_max, @LK_WATCHED_EVENTS_MAX@)
        INTO number, kept_max
        FROM lk_meta AS m WHERE m.only_row = 1;
        INSERT INTO lk_happenings (sequence, at_us, event, refusal, parts, owner, note, ticket,
            token, attempt, is_of_item, is_deletion, broken_by, reason)
        VALUES (number, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                        + IF(@lk_inside = 2,
                             TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) - @lk_jump_us,
                             (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                             MOD 900000000 - 450000000),
            its_event,
            its_refusal, its_parts, its_owner, its_note, its_ticket, its_token, its_attempt,
            is_of_item, is_deletion, IF(its_event = 'broken', @lk_broken_by, ''),
            IF(its_event = 'broken', @lk_reason, ''));
        DELETE FROM lk_happenings WHERE sequence <= number - kept_max ORDER BY sequence LIMIT 2;
    END IF;
END
//

-- An event of a request in its present state.
DROP PROCEDURE IF EXISTS lk_tell_request
//
CREATE PROCEDURE lk_tell_request(
    IN its_event VARBINARY(16), IN self BIGINT, IN its_attempt INT UNSIGNED)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_parts BLOB;
    DECLARE its_owner VARBINARY(128);
    DECLARE its_note VARBINARY(255);
    DECLARE its_ticket BIGINT;
    DECLARE its_token BIGINT;
    DECLARE its_claim BOOLEAN;
    SET SESSION group_concat_max_len = 4194304;
    SELECT GROUP_CONCAT(CONCAT(r.path, CASE WHEN r.units = 0 THEN ''
                                            WHEN r.unit_limit = 0 THEN '?shared'
                                            ELSE CONCAT('?limit=', r.unit_limit,
                                                        '&units=', r.units) END)
                        ORDER BY r.part SEPARATOR ' '),
           MIN(r.owner), MIN(r.note), MIN(r.ticket), MIN(r.token), MIN(r.is_claim)
    INTO its_parts, its_owner, its_note, its_ticket, its_token, its_claim
    FROM lk_requests AS r WHERE r.id = self;
    CALL lk_tell(its_event, its_parts, its_owner, its_note, its_ticket, its_token, its_attempt,
                 its_claim, '', FALSE);
END
//

-- Updates the events of a request that this decision has written since the number `told` to its present
-- state: it has been granted after it was converted.
DROP PROCEDURE IF EXISTS lk_tell_granted
//
CREATE PROCEDURE lk_tell_granted(IN told BIGINT, IN self BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_owner VARBINARY(128);
    DECLARE its_ticket BIGINT;
    DECLARE its_token BIGINT;
    SELECT r.owner, r.ticket, r.token INTO its_owner, its_ticket, its_token
    FROM lk_requests AS r WHERE r.id = self AND r.part = 1;
    UPDATE lk_happenings AS h FORCE INDEX (PRIMARY) SET h.token = its_token
    WHERE h.sequence > told AND h.event = 'converted' AND h.owner = its_owner
      AND h.ticket = its_ticket AND h.token = 0;
END
//

-- An event of a claim whose item still exists (R16).
DROP PROCEDURE IF EXISTS lk_tell_claim
//
CREATE PROCEDURE lk_tell_claim(
    IN its_event VARBINARY(16), IN self BIGINT, IN the_queue VARBINARY(512),
    IN the_id VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_attempt INT UNSIGNED;
    SELECT MAX(i.attempts) INTO its_attempt FROM lk_items AS i
    WHERE i.queue = the_queue AND i.id = the_id;
    CALL lk_tell_request(its_event, self, its_attempt);
END
//

-- An event of an item without a claim.
DROP PROCEDURE IF EXISTS lk_tell_item
//
CREATE PROCEDURE lk_tell_item(
    IN its_event VARBINARY(16), IN the_queue VARBINARY(512), IN the_id VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    CALL lk_tell(its_event, CONCAT(the_queue, '/', the_id), '', '', 0, 0, 0, TRUE, '', FALSE);
END
//

-- R21: only BUSY, DEADLOCK and FULL are events.
DROP PROCEDURE IF EXISTS lk_tell_refusal
//
CREATE PROCEDURE lk_tell_refusal(
    IN outcome VARCHAR(16) CHARACTER SET utf8mb4, IN paths BLOB,
    IN limits VARBINARY(255), IN counts VARBINARY(255), IN asker VARBINARY(128),
    IN the_note VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_parts BLOB;
    IF outcome IN ('busy', 'deadlock', 'full') THEN
        SET SESSION group_concat_max_len = 4194304;
        SELECT GROUP_CONCAT(CONCAT(a.path, CASE WHEN a.units = '0' THEN ''
                                                WHEN a.unit_limit = '0' THEN '?shared'
                                                ELSE CONCAT('?limit=', a.unit_limit,
                                                            '&units=', a.units) END)
                            ORDER BY a.n SEPARATOR ' ')
        INTO its_parts
        FROM (SELECT n.n, SUBSTRING_INDEX(SUBSTRING_INDEX(paths, ' ', n.n), ' ', -1) AS path,
                     SUBSTRING_INDEX(SUBSTRING_INDEX(limits, ' ', n.n), ' ', -1) AS unit_limit,
                     SUBSTRING_INDEX(SUBSTRING_INDEX(counts, ' ', n.n), ' ', -1) AS units
              FROM lk_numbers AS n
              WHERE n.n <= 1 + LENGTH(paths) - LENGTH(REPLACE(paths, ' ', ''))) AS a;
        CALL lk_tell('refused', its_parts, asker, COALESCE(the_note, ''), 0, 0, 0, FALSE, outcome,
                     FALSE);
    END IF;
END
//

-- Marks the store as watched for another half minute; overdue deadlines take effect.
DROP PROCEDURE IF EXISTS lk_watch
//
CREATE PROCEDURE lk_watch()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE until_us BIGINT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SELECT m.watched_until_us INTO until_us FROM lk_meta AS m WHERE m.only_row = 1;
    IF until_us < now_us + @LK_WATCHED_LEAST_US@ THEN
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
        BEGIN
            DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
            -- If events were not kept until now, some may be missing: skips a number.
            UPDATE lk_meta AS m
            SET m.last_event = m.last_event + (m.events_max = 0 AND m.watched_until_us <= now_us),
                m.watched_until_us = GREATEST(m.watched_until_us, now_us + @LK_WATCHED_US@)
            WHERE m.only_row = 1;
            COMMIT;
        END;
    END IF;
    CALL lk_tick(NULL);
END
//

-- Up to `most` events after `behind`; one row without an event if there is none.
DROP PROCEDURE IF EXISTS lk_events_after
//
CREATE PROCEDURE lk_events_after(IN behind BIGINT, IN most BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
           + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
             MOD 900000000 - 450000000 AS now_us, m.last_event,
           e.sequence, e.at_us, e.event, e.refusal, e.parts, e.owner, e.note, e.ticket, e.token,
           e.attempt, e.is_of_item, e.is_deletion, e.broken_by, e.reason
    FROM lk_meta AS m
    LEFT JOIN (SELECT x.* FROM lk_happenings AS x FORCE INDEX (PRIMARY) WHERE x.sequence > behind
               ORDER BY x.sequence LIMIT most) AS e ON TRUE
    WHERE m.only_row = 1
    ORDER BY e.sequence;
END
//

-- For waiting clients: the last event, and the microseconds until something is due.
DROP PROCEDURE IF EXISTS lk_events_due
//
CREATE PROCEDURE lk_events_due()
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT m.last_event, NULLIF((SELECT MIN(r.due_us) FROM lk_roots AS r), @LK_NEVER@)
                         - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                         - (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                           MOD 900000000 + 450000000 AS due_in_us
    FROM lk_meta AS m WHERE m.only_row = 1;
END
//

-- ---- bounds (R22) ----

DROP PROCEDURE IF EXISTS lk_limits
//
CREATE PROCEDURE lk_limits()
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT m.live_max, m.live_per_owner_max, m.live_per_root_max, m.waiters_per_path_max,
           m.events_max
    FROM lk_meta AS m WHERE m.only_row = 1;
END
//

-- NULL leaves a bound as it is.
DROP PROCEDURE IF EXISTS lk_set_limits
//
CREATE PROCEDURE lk_set_limits(
    IN new_live BIGINT, IN new_live_per_owner BIGINT, IN new_live_per_root BIGINT,
    IN new_waiters_per_path BIGINT, IN new_events BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        UPDATE lk_meta AS m
        SET m.last_event = m.last_event + (COALESCE(new_events, 0) > 0 AND m.events_max = 0
                                           AND m.watched_until_us <= now_us),
            m.live_max = COALESCE(new_live, m.live_max),
            m.live_per_owner_max = COALESCE(new_live_per_owner, m.live_per_owner_max),
            m.live_per_root_max = COALESCE(new_live_per_root, m.live_per_root_max),
            m.waiters_per_path_max = COALESCE(new_waiters_per_path, m.waiters_per_path_max),
            m.events_max = COALESCE(new_events, m.events_max)
        WHERE m.only_row = 1;
        COMMIT;
    END;
END
//
DELIMITER ;
