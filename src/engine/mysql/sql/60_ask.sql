-- SPDX-License-Identifier: Apache-2.0
-- The ask: a new request (R7, R8, R10, R13, R22) or one that exists already (R3, R9).

DELIMITER //

-- R22: the bound that the new request `self`, whose rows exist, breaks; NULL: none. Bounds that
-- span roots are counted by one transaction at a time, which sees all those before it.
DROP PROCEDURE IF EXISTS lk_check_bounds
//
CREATE PROCEDURE lk_check_bounds(
    IN self BIGINT, IN the_owner VARBINARY(128), IN waits BOOLEAN, IN now_us BIGINT,
    OUT broken VARCHAR(128) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE live_max BIGINT;
    DECLARE per_owner_max BIGINT;
    DECLARE per_root_max BIGINT;
    DECLARE waiters_max BIGINT;
    SELECT m.live_max, m.live_per_owner_max, m.live_per_root_max, m.waiters_per_path_max
    INTO live_max, per_owner_max, per_root_max, waiters_max FROM lk_meta AS m
    WHERE m.only_row = 1;
    IF live_max > 0 OR per_owner_max > 0 THEN
        SELECT m.live_max, m.live_per_owner_max INTO live_max, per_owner_max FROM lk_meta AS m
        WHERE m.only_row = 1 FOR UPDATE;
    END IF;
    SELECT CASE
        WHEN live_max > 0 AND live_max <= (
            SELECT COUNT(*) FROM lk_requests AS r
            WHERE r.part = 1 AND r.deadline_us > now_us AND r.id <> self)
            THEN 'live requests in all'
        WHEN per_owner_max > 0 AND per_owner_max <= (
            SELECT COUNT(*) FROM lk_requests AS r
            WHERE r.owner = the_owner AND r.part = 1 AND r.deadline_us > now_us AND r.id <> self)
            THEN 'live requests of one owner'
        ELSE (
            SELECT IF(x.is_full, 'live requests under one root', 'requests waiting at one path')
            FROM (SELECT m.part, per_root_max > 0 AND per_root_max <= (
                             SELECT COUNT(DISTINCT r.id) FROM lk_requests AS r
                             WHERE r.root = m.root AND r.deadline_us > now_us AND r.id <> self)
                             AS is_full,
                         waits AND waiters_max > 0 AND waiters_max <= (
                             SELECT COUNT(*)
                             FROM lk_requests AS r FORCE INDEX (requests_by_path)
                             WHERE r.path = m.path AND r.deadline_us > now_us AND r.held = 0
                               AND r.id <> self) AS is_long
                  FROM lk_requests AS m WHERE m.id = self) AS x
            WHERE x.is_full OR x.is_long ORDER BY x.part LIMIT 1) END INTO broken;
    SET broken = REPLACE('@LK_TEXT_BOUND@', '%1$s', broken);
END
//

-- Inserts the rows of a request, waiting.
DROP PROCEDURE IF EXISTS lk_add_request
//
CREATE PROCEDURE lk_add_request(
    IN the_identity BINARY(32), IN asker VARBINARY(128), IN paths BLOB,
    IN limits VARBINARY(255), IN counts VARBINARY(255), IN the_roots BLOB,
    IN the_note VARBINARY(255), IN is_attended BOOLEAN, IN is_fixed BOOLEAN,
    IN asks_value BOOLEAN, IN is_item BOOLEAN, IN its_ticket BIGINT, IN its_ttl_ms BIGINT,
    IN its_deadline_us BIGINT, OUT self BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE count INT DEFAULT 1 + LENGTH(paths) - LENGTH(REPLACE(paths, ' ', ''));
    DECLARE i INT DEFAULT 1;
    DECLARE its_path VARBINARY(512);
    SET self = NULL;
    WHILE i <= count DO
        SET its_path = SUBSTRING_INDEX(SUBSTRING_INDEX(paths, ' ', i), ' ', -1);
        INSERT INTO lk_requests (id, part, path, unit_limit, units, root, owner, note, held,
            attended, fixed, wants_value, is_claim, ticket, token, ttl_ms, deadline_us, identity,
            roots, part_count)
        VALUES (self, i, its_path, SUBSTRING_INDEX(SUBSTRING_INDEX(limits, ' ', i), ' ', -1),
            SUBSTRING_INDEX(SUBSTRING_INDEX(counts, ' ', i), ' ', -1),
            SUBSTRING_INDEX(its_path, '/', 1), asker, the_note, FALSE, is_attended, is_fixed,
            asks_value, is_item, its_ticket, 0, its_ttl_ms, its_deadline_us, the_identity,
            the_roots, count);
        IF i = 1 THEN
            SET self = LAST_INSERT_ID();
        END IF;
        SET i = i + 1;
    END WHILE;
END
//

-- R2, R3: refuses several parts of which one is there twice, another identity than theirs, by which the
-- request could be there twice, and other roots.
DROP PROCEDURE IF EXISTS lk_check_parts
//
CREATE PROCEDURE lk_check_parts(
    IN the_identity BINARY(32), IN asker VARBINARY(128), IN paths BLOB, IN the_roots BLOB)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE is_sound BOOLEAN;
    SET SESSION group_concat_max_len = 4194304;
    SELECT COUNT(*) = COUNT(DISTINCT x.path) AND COUNT(*) <= 16
           AND the_identity = UNHEX(SHA2(CONCAT(GROUP_CONCAT(x.path ORDER BY x.path SEPARATOR ' '),
                                                '\n', asker), 256))
           AND the_roots = GROUP_CONCAT(DISTINCT x.root ORDER BY x.root SEPARATOR ' ')
    INTO is_sound
    FROM (SELECT LEFT(SUBSTRING_INDEX(SUBSTRING_INDEX(paths, ' ', n.n), ' ', -1),
                          @LK_PATH_BYTES_MAX@) AS path,
                 LEFT(SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING_INDEX(paths, ' ', n.n), ' ', -1),
                                      '/', 1), @LK_SEGMENT_BYTES_MAX@) AS root
          FROM lk_numbers AS n
          WHERE n.n <= 1 + LENGTH(paths) - LENGTH(REPLACE(paths, ' ', ''))) AS x;
    IF NOT COALESCE(is_sound, FALSE) THEN
        CALL lk_refuse('invalid', 'R2: these parts, their roots and identity are not of one request');
    END IF;
END
//

-- An ask that has no request yet: inserts it, checks it, and deletes it if it is refused.
DROP PROCEDURE IF EXISTS lk_ask_new
//
CREATE PROCEDURE lk_ask_new(
    IN the_identity BINARY(32), IN asker VARBINARY(128), IN paths BLOB,
    IN limits VARBINARY(255), IN counts VARBINARY(255), IN the_roots BLOB,
    IN style VARBINARY(8), IN the_ttl_ms BIGINT, IN until_us BIGINT, IN the_note VARBINARY(255),
    IN blockers_max INT, IN asks_value BOOLEAN, IN now_us BIGINT,
    INOUT locked BLOB, INOUT has_waiting BOOLEAN,
    OUT outcome VARCHAR(16) CHARACTER SET utf8mb4, OUT sentence VARCHAR(255) CHARACTER SET utf8mb4,
    OUT self BIGINT, OUT in_use BIGINT, OUT in_the_way INT, OUT look_us BIGINT,
    OUT blockers MEDIUMTEXT CHARACTER SET utf8mb4, OUT cycle MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE drawn BIGINT;
    DECLARE its_deadline_us BIGINT DEFAULT IF(until_us > 0, until_us, now_us + the_ttl_ms * 1000);
    DECLARE its_ttl_ms BIGINT DEFAULT IF(until_us > 0, (until_us - now_us + 999) DIV 1000,
                                         the_ttl_ms);
    DECLARE verdict VARBINARY(8);
    DECLARE refused_part INT;
    DECLARE owner_waits BOOLEAN;
    DECLARE owner_lives BOOLEAN;
    DECLARE ignored BOOLEAN;
    DECLARE i INT;
    SAVEPOINT lk_not_asked;
    IF LOCATE(' ', paths) > 0 THEN
        CALL lk_check_parts(the_identity, asker, paths, the_roots);
    END IF;
    CALL lk_draw(the_roots, drawn);
    CALL lk_add_request(the_identity, asker, paths, limits, counts, the_roots,
                        COALESCE(the_note, ''), style = 'wait', until_us > 0, asks_value, FALSE,
                        drawn, its_ttl_ms, its_deadline_us, self);
    CALL lk_check_grant(self, asker, drawn, FALSE, now_us, verdict, refused_part, in_use);
    SET outcome = IF(verdict = 'grant', 'granted', 'waiting');
    IF verdict <> 'grant' AND style = 'try' THEN
        SET outcome = 'busy';
        CALL lk_explain(self, asker, drawn, blockers_max, now_us, in_the_way, look_us, blockers);
    ELSE
        IF @lk_bounded THEN
            CALL lk_check_bounds(self, asker, verdict <> 'grant', now_us, sentence);
            IF sentence IS NOT NULL THEN
                SET outcome = 'full', in_use = NULL;
            END IF;
        END IF;
    END IF;
    IF outcome IN ('granted', 'waiting') THEN
        SELECT EXISTS (SELECT 1 FROM lk_requests AS r FORCE INDEX (requests_by_owner)
                       WHERE r.owner = asker AND r.held = 0 AND r.id <> self),
               EXISTS (SELECT 1 FROM lk_requests AS r FORCE INDEX (requests_by_owner)
                       WHERE r.owner = asker AND r.id <> self)
        INTO owner_waits, owner_lives;
        IF verdict = 'grant' THEN
            UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
            SET r.held = TRUE, r.token = drawn WHERE r.id = self;
        END IF;
        IF owner_waits OR (verdict <> 'grant' AND owner_lives) THEN
            CALL lk_find_cycle(self, now_us, cycle, ignored);
            IF cycle IS NOT NULL THEN
                SET outcome = 'deadlock', in_use = NULL;
            END IF;
        END IF;
    END IF;
    IF outcome IN ('granted', 'waiting') THEN
        CALL lk_record_deadline(the_roots, its_deadline_us,
                                its_deadline_us + IF(style = 'wait', its_ttl_ms * 1000, 0), paths, FALSE);
        IF @lk_tells THEN
            CALL lk_tell_request(IF(verdict = 'grant', 'granted', 'queued'), self, 0);
        END IF;
        IF verdict = 'grant' AND owner_waits THEN -- R8: it may cover what its owner waits for
            CALL lk_grant_waiters(locked, has_waiting, NULL, asker, now_us);
        END IF;
        IF verdict <> 'grant' THEN
            SET has_waiting = TRUE, i = 1 + LENGTH(the_roots) - LENGTH(REPLACE(the_roots, ' ', ''));
            WHILE i > 0 DO
                UPDATE lk_roots AS r FORCE INDEX (PRIMARY) SET r.has_waiting = TRUE
                WHERE r.root = SUBSTRING_INDEX(SUBSTRING_INDEX(the_roots, ' ', i), ' ', -1);
                SET i = i - 1;
            END WHILE;
        END IF;
    ELSE
        ROLLBACK TO SAVEPOINT lk_not_asked;
        SET self = NULL;
    END IF;
END
//

-- R3: a repeated ask renews the deadline; a fixed one does not move (R11).
DROP PROCEDURE IF EXISTS lk_refresh
//
CREATE PROCEDURE lk_refresh(
    IN self BIGINT, IN paths BLOB, IN the_roots BLOB, IN style VARBINARY(8),
    IN the_ttl_ms BIGINT, IN until_us BIGINT, IN the_note VARBINARY(255), IN asks_value BOOLEAN,
    IN now_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE present BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    IF @lk_inside THEN -- an older snapshot has requests that a release has ended since
        SELECT r.id INTO present FROM lk_requests AS r FORCE INDEX (PRIMARY)
        WHERE r.id = self AND r.part = 1 FOR UPDATE;
        IF present IS NULL THEN
            CALL lk_refuse_snapshot();
        END IF;
    END IF;
    UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
    SET r.attended = style = 'wait',
        r.note = COALESCE(the_note, r.note),
        r.wants_value = r.wants_value OR asks_value,
        r.ttl_ms = IF(r.fixed, r.ttl_ms,
                      IF(until_us > 0, (until_us - now_us + 999) DIV 1000, the_ttl_ms)),
        r.deadline_us = IF(r.fixed, r.deadline_us,
                           IF(until_us > 0, until_us, now_us + the_ttl_ms * 1000)),
        r.fixed = r.fixed OR until_us > 0 -- last: assignments see those before them
    WHERE r.id = self;
    CALL lk_record_deadline(the_roots, IF(until_us > 0, until_us, now_us + the_ttl_ms * 1000),
                            IF(until_us > 0, until_us, now_us + the_ttl_ms * 1000)
                            + IF(style = 'wait', the_ttl_ms * 1000, 0), paths, FALSE);
    CALL lk_mark_roots(the_roots);
END
//

-- R9: gives the request the parts of the ask.
DROP PROCEDURE IF EXISTS lk_convert
//
CREATE PROCEDURE lk_convert(
    IN self BIGINT, IN paths BLOB, IN limits VARBINARY(255), IN counts VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE i INT DEFAULT 1 + LENGTH(paths) - LENGTH(REPLACE(paths, ' ', ''));
    WHILE i > 0 DO
        UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
        SET r.unit_limit = SUBSTRING_INDEX(SUBSTRING_INDEX(limits, ' ', i), ' ', -1),
            r.units = SUBSTRING_INDEX(SUBSTRING_INDEX(counts, ' ', i), ' ', -1)
        WHERE r.id = self AND r.path = SUBSTRING_INDEX(SUBSTRING_INDEX(paths, ' ', i), ' ', -1);
        SET i = i - 1;
    END WHILE;
END
//

-- R9: 'same', 'weaker' (no stronger) or 'stronger'.
DROP PROCEDURE IF EXISTS lk_compare
//
CREATE PROCEDURE lk_compare(
    IN self BIGINT, IN paths BLOB, IN limits VARBINARY(255), IN counts VARBINARY(255),
    OUT difference VARBINARY(8))
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT CASE WHEN MAX(x.units > 0 AND (x.new_units = 0 OR x.new_units > x.units))
                THEN 'stronger'
                WHEN MAX(x.units <> x.new_units OR x.unit_limit <> x.new_limit) THEN 'weaker'
                ELSE 'same' END
    INTO difference
    FROM (SELECT r.units, r.unit_limit,
                 0 + SUBSTRING_INDEX(SUBSTRING_INDEX(counts, ' ', n.n), ' ', -1) AS new_units,
                 0 + SUBSTRING_INDEX(SUBSTRING_INDEX(limits, ' ', n.n), ' ', -1) AS new_limit
          FROM lk_requests AS r
          JOIN lk_numbers AS n
            ON n.n <= r.part_count
               AND r.path = SUBSTRING_INDEX(SUBSTRING_INDEX(paths, ' ', n.n), ' ', -1)
          WHERE r.id = self) AS x;
END
//

-- An ask for a lease. It never waits for more than it has (R9).
DROP PROCEDURE IF EXISTS lk_ask_held
//
CREATE PROCEDURE lk_ask_held(
    IN self BIGINT, IN asker VARBINARY(128), IN paths BLOB, IN limits VARBINARY(255),
    IN counts VARBINARY(255), IN the_roots BLOB, IN style VARBINARY(8),
    IN the_ttl_ms BIGINT, IN until_us BIGINT, IN the_note VARBINARY(255), IN blockers_max INT,
    IN asks_value BOOLEAN, IN now_us BIGINT, INOUT locked BLOB,
    INOUT has_waiting BOOLEAN, OUT outcome VARCHAR(16) CHARACTER SET utf8mb4,
    OUT in_the_way INT, OUT look_us BIGINT, OUT blockers MEDIUMTEXT CHARACTER SET utf8mb4,
    OUT cycle MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE difference VARBINARY(8);
    DECLARE verdict VARBINARY(8);
    DECLARE drawn BIGINT;
    DECLARE ignored BIGINT;
    DECLARE is_refused BOOLEAN DEFAULT FALSE;
    SET outcome = 'granted';
    CALL lk_compare(self, paths, limits, counts, difference);
    IF difference = 'stronger' THEN
        SAVEPOINT lk_not_converted;
        CALL lk_convert(self, paths, limits, counts);
        CALL lk_check_grant(self, asker, 0, FALSE, now_us, verdict, ignored, ignored);
        IF verdict = 'grant' THEN
            CALL lk_draw(the_roots, drawn);
            UPDATE lk_requests AS r FORCE INDEX (PRIMARY) SET r.token = drawn WHERE r.id = self;
            CALL lk_find_cycle(self, now_us, cycle, ignored);
            IF cycle IS NOT NULL THEN
                SET outcome = 'deadlock';
            END IF;
        ELSE
            CALL lk_explain(self, asker, 0, blockers_max, now_us, in_the_way, look_us, blockers);
            SET outcome = 'busy';
        END IF;
        IF outcome <> 'granted' THEN
            ROLLBACK TO SAVEPOINT lk_not_converted;
        END IF;
    ELSEIF difference = 'weaker' THEN
        CALL lk_convert(self, paths, limits, counts);
    END IF;
    IF outcome <> 'deadlock' THEN
        CALL lk_refresh(self, paths, the_roots, style, the_ttl_ms, until_us, the_note, asks_value,
                        now_us);
    END IF;
    IF outcome = 'granted' AND difference <> 'same' AND @lk_tells THEN
        CALL lk_tell_request('converted', self, 0);
    END IF;
    IF outcome = 'granted' AND difference <> 'same' AND has_waiting THEN
        CALL lk_grant_waiters(locked, has_waiting, paths, asker, now_us);
    END IF;
END
//

-- A waiting request that cannot be granted in its present state. It is withdrawn if this ask closes
-- a cycle (R13), or if it lies in a cycle that was not seen when it was closed, and is the one to
-- give way.
DROP PROCEDURE IF EXISTS lk_ask_waiting
//
CREATE PROCEDURE lk_ask_waiting(
    IN self BIGINT, IN asker VARBINARY(128), IN paths BLOB, IN limits VARBINARY(255),
    IN counts VARBINARY(255), IN the_roots BLOB, IN style VARBINARY(8),
    IN the_ttl_ms BIGINT, IN until_us BIGINT, IN the_note VARBINARY(255), IN asks_value BOOLEAN,
    IN its_ticket BIGINT, IN now_us BIGINT, INOUT locked BLOB,
    INOUT has_waiting BOOLEAN, OUT outcome VARCHAR(16) CHARACTER SET utf8mb4,
    OUT cycle MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE difference VARBINARY(8);
    DECLARE verdict VARBINARY(8);
    DECLARE ignored BIGINT;
    DECLARE is_held BOOLEAN;
    DECLARE gives_way BOOLEAN;
    DECLARE closes_cycle BOOLEAN DEFAULT FALSE;
    DECLARE has_others BOOLEAN;
    DECLARE told BIGINT;
    DECLARE released BLOB DEFAULT paths;
    IF @lk_tells THEN
        SELECT m.last_event INTO told FROM lk_meta AS m WHERE m.only_row = 1;
    END IF;
    CALL lk_compare(self, paths, limits, counts, difference);
    IF difference <> 'same' THEN
        -- A cycle that exists before was closed unseen, not by this ask.
        CALL lk_find_cycle(self, now_us, cycle, gives_way);
        SET closes_cycle = cycle IS NULL, cycle = NULL;
        SAVEPOINT lk_not_converted;
        CALL lk_convert(self, paths, limits, counts);
        IF difference = 'stronger' THEN
            CALL lk_draw(the_roots, its_ticket);
            UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
            SET r.ticket = its_ticket WHERE r.id = self;
            IF style = 'try' THEN
                CALL lk_check_grant(self, asker, its_ticket, FALSE, now_us, verdict, ignored, ignored);
                IF verdict <> 'grant' THEN
                    ROLLBACK TO SAVEPOINT lk_not_converted;
                    SET difference = 'same', closes_cycle = FALSE;
                END IF;
            END IF;
        END IF;
    END IF;
    CALL lk_refresh(self, paths, the_roots, style, the_ttl_ms, until_us, the_note, asks_value,
                    now_us);
    IF difference <> 'same' AND @lk_tells THEN
        CALL lk_tell_request('converted', self, 0);
    END IF;
    IF difference <> 'same' THEN
        CALL lk_grant_waiters(locked, has_waiting, released, asker, now_us);
    END IF;
    SELECT r.held INTO is_held FROM lk_requests AS r WHERE r.id = self AND r.part = 1;
    IF is_held AND @lk_tells THEN
        CALL lk_tell_granted(told, self);
    END IF;
    SET outcome = IF(is_held, 'granted', IF(style = 'try', 'busy', 'waiting'));
    -- In a cycle, its predecessor waits behind a request of this owner. If this is the only one, the
    -- predecessor has a greater ticket, and this one never gives way to an unseen cycle.
    SELECT EXISTS (SELECT 1 FROM lk_requests AS r FORCE INDEX (requests_by_owner)
                   WHERE r.owner = asker AND r.id <> self) INTO has_others;
    IF difference <> 'same' OR (has_others AND NOT is_held) THEN
        -- A grant that overtakes a request whose owner its own owner waits for is undone in any
        -- case.
        SET closes_cycle = closes_cycle OR is_held;
        CALL lk_find_cycle(self, now_us, cycle, gives_way);
        IF cycle IS NOT NULL AND (closes_cycle OR gives_way) THEN
            -- Again, behind a lock: exactly one request of a cycle gives way (40_deadlock).
            SELECT m.format INTO ignored FROM lk_meta AS m WHERE m.only_row = 1 FOR UPDATE;
            CALL lk_find_cycle(self, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                     + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                       MOD 900000000 - 450000000,
                               cycle, gives_way);
        END IF;
        IF cycle IS NOT NULL AND (closes_cycle OR gives_way) THEN
            CALL lk_remove_request(self, 'withdrawn', released);
            CALL lk_grant_waiters(locked, has_waiting, released, NULL, now_us);
            SET outcome = 'deadlock';
        ELSE
            SET cycle = NULL;
        END IF;
    END IF;
END
//

-- Grants a waiting request that can be granted in its present state: a transaction that could not
-- lock all of its roots has left it waiting. It is granted first: the ask is then a conversion of a
-- lease (R9), and the grant of the former parts is never answered as one of the parts of the ask.
DROP PROCEDURE IF EXISTS lk_grant_late
//
CREATE PROCEDURE lk_grant_late(
    IN self BIGINT, IN asker VARBINARY(128), IN paths BLOB, IN its_ticket BIGINT,
    IN now_us BIGINT, INOUT locked BLOB, INOUT has_waiting BOOLEAN,
    OUT is_held BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE verdict VARBINARY(8);
    DECLARE ignored BIGINT;
    SET is_held = FALSE;
    CALL lk_check_grant(self, asker, its_ticket, FALSE, now_us, verdict, ignored, ignored);
    IF verdict = 'grant' THEN
        CALL lk_grant_waiters(locked, has_waiting, paths, asker, now_us);
        SELECT r.held INTO is_held FROM lk_requests AS r WHERE r.id = self AND r.part = 1;
    END IF;
END
//

-- Decides one ask. The roots are in byte order. `self` is the request that lives after it, if any.
DROP PROCEDURE IF EXISTS lk_decide_ask
//
CREATE PROCEDURE lk_decide_ask(
    IN the_identity BINARY(32), IN asker VARBINARY(128), IN paths BLOB,
    IN limits VARBINARY(255), IN counts VARBINARY(255), IN the_roots BLOB,
    IN style VARBINARY(8), IN the_ttl_ms BIGINT, IN until_us BIGINT, IN the_note VARBINARY(255),
    IN blockers_max INT, IN asks_value BOOLEAN, OUT now_us BIGINT,
    OUT outcome VARCHAR(16) CHARACTER SET utf8mb4, OUT sentence VARCHAR(255) CHARACTER SET utf8mb4,
    OUT self BIGINT, OUT created BOOLEAN, OUT in_use BIGINT, OUT in_the_way INT,
    OUT look_us BIGINT, OUT blockers MEDIUMTEXT CHARACTER SET utf8mb4,
    OUT cycle MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
decide: BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE is_held BOOLEAN;
    DECLARE is_revoked BOOLEAN;
    DECLARE its_ticket BIGINT;
    DECLARE its_deadline_us BIGINT;
    DECLARE released BLOB;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                 + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                   MOD 900000000 - 450000000, created = FALSE;
    IF until_us > 0 AND (until_us <= now_us OR until_us - now_us > @LK_TTL_MAX_MS@ * 1000) THEN
        SET outcome = 'invalid',
            sentence = '@LK_TEXT_FIXED_END@';
        LEAVE decide;
    END IF;
    CALL lk_lock_roots(the_roots, locked, now_us, is_due, has_waiting);
    IF is_due THEN
        CALL lk_perish(locked, has_waiting, now_us, 4);
        IF asks_value THEN
            CALL lk_lose_writers(paths, now_us, locked, has_waiting);
        END IF;
    END IF;
    SELECT r.id, r.held, r.revoked, r.ticket, r.deadline_us
    INTO self, is_held, is_revoked, its_ticket, its_deadline_us
    FROM lk_requests AS r FORCE INDEX (requests_by_owner)
    WHERE r.owner = asker AND r.held IN (0, 1) AND r.identity = the_identity AND r.part = 1
    ORDER BY r.deadline_us DESC LIMIT 1; -- a dead one may be there as well
    IF self IS NOT NULL AND its_deadline_us <= now_us THEN
        CALL lk_remove_request(self, 'perished', released);
        CALL lk_grant_waiters(locked, has_waiting, released, NULL, its_deadline_us);
        SET self = NULL;
    END IF;
    IF self IS NOT NULL AND NOT is_held THEN
        CALL lk_grant_late(self, asker, paths, its_ticket, now_us, locked, has_waiting, is_held);
    END IF;
    IF self IS NULL THEN
        CALL lk_ask_new(the_identity, asker, paths, limits, counts, the_roots, style, the_ttl_ms,
                        until_us, the_note, blockers_max, asks_value, now_us, locked, has_waiting,
                        outcome, sentence, self, in_use, in_the_way, look_us, blockers, cycle);
        SET created = self IS NOT NULL;
    ELSEIF is_revoked THEN
        SET outcome = 'lost',
            sentence = '@LK_TEXT_BROKEN_HELD@';
    ELSEIF is_held THEN
        CALL lk_ask_held(self, asker, paths, limits, counts, the_roots, style, the_ttl_ms,
                         until_us, the_note, blockers_max, asks_value, now_us, locked, has_waiting,
                         outcome, in_the_way, look_us, blockers, cycle);
    ELSE
        CALL lk_ask_waiting(self, asker, paths, limits, counts, the_roots, style, the_ttl_ms,
                            until_us, the_note, asks_value, its_ticket, now_us, locked,
                            has_waiting, outcome, cycle);
        IF outcome = 'deadlock' THEN
            SET self = NULL;
        END IF;
    END IF;
END
//
DELIMITER ;
