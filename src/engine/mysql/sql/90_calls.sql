-- SPDX-License-Identifier: Apache-2.0
-- What the engine calls: the same procedures, arguments and columns, in the same order, as in
-- PostgreSQL (src/engine/postgresql/sql), each one decision that it commits itself, at READ
-- COMMITTED whatever the default is. An answer is exactly one result set, with one row where
-- PostgreSQL answers INOUT arguments; lk_tick and lk_sweep answer none.
--
-- Text goes in and out as UTF-8 bytes (VARBINARY), values as BLOB, booleans as 1 and 0.
--
--   A list that goes in is words with one space between, 'db/t1 pool' or '0 10'; the empty text is
--   the empty list. Paths and roots have no white space (R1).
--   A list that comes out is a flat JSON array, ["db/t1","worker","note",1700000000,1,250000]:
--   strings with JSON's escapes, numbers and 0/1 as such.
--   The argument `above` of PostgreSQL is omitted.
--
-- The server refuses CALL inside a transaction (error 1568), and the transaction goes on.
-- Errors 1205 and 1213 (another transaction blocked it) undo everything: call again.

DELIMITER //

-- R15: the values at these paths, one behind the other, and as a list of each -1 if there is none,
-- else twice its size, plus 1 if it is in doubt.
DROP PROCEDURE IF EXISTS lk_read_values
//
CREATE PROCEDURE lk_read_values(
    IN paths BLOB, OUT its_bytes MEDIUMBLOB,
    OUT its_sizes MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SET SESSION group_concat_max_len = 4194304;
    SELECT GROUP_CONCAT(v.bytes ORDER BY n.n SEPARATOR ''),
           CONCAT('[', GROUP_CONCAT(COALESCE(2 * LENGTH(v.bytes) + v.in_doubt, -1) ORDER BY n.n),
                  ']')
    INTO its_bytes, its_sizes
    FROM lk_numbers AS n
    LEFT JOIN lk_values AS v
    ON v.path = SUBSTRING_INDEX(SUBSTRING_INDEX(paths, ' ', n.n), ' ', -1)
    WHERE n.n <= 1 + LENGTH(paths) - LENGTH(REPLACE(paths, ' ', ''));
END
//

-- The long way of an ask, with all that is answered, in the transaction that is open.
DROP PROCEDURE IF EXISTS lk_answer_ask
//
CREATE PROCEDURE lk_answer_ask(
    IN asker VARBINARY(128), IN paths BLOB, IN limits VARBINARY(255),
    IN counts VARBINARY(255), IN its_identity BINARY(32), IN the_roots BLOB,
    IN style VARBINARY(8), IN the_ttl_ms BIGINT, IN until_us BIGINT, IN the_note VARBINARY(255),
    IN blockers_max INT, IN asks_value BOOLEAN, OUT now_us BIGINT,
    OUT outcome VARCHAR(16) CHARACTER SET utf8mb4, OUT sentence VARCHAR(255) CHARACTER SET utf8mb4,
    OUT self BIGINT, OUT its_ticket BIGINT, OUT its_token BIGINT, OUT its_ttl_ms BIGINT,
    OUT left_us BIGINT, OUT in_use BIGINT, OUT in_the_way INT, OUT created BOOLEAN,
    OUT is_fixed BOOLEAN, OUT its_bytes MEDIUMBLOB,
    OUT its_sizes MEDIUMTEXT CHARACTER SET utf8mb4,
    OUT blockers MEDIUMTEXT CHARACTER SET utf8mb4, OUT cycle MEDIUMTEXT CHARACTER SET utf8mb4,
    OUT look_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    CALL lk_decide_ask(its_identity, asker, paths, limits, counts, the_roots, style, the_ttl_ms,
                       until_us, the_note, blockers_max, asks_value, now_us, outcome, sentence,
                       self, created, in_use, in_the_way, look_us, blockers, cycle);
    IF self IS NOT NULL THEN
        SELECT r.ticket, r.token, r.ttl_ms, r.deadline_us - now_us, r.fixed
        INTO its_ticket, its_token, its_ttl_ms, left_us, is_fixed
        FROM lk_requests AS r WHERE r.id = self AND r.part = 1;
        IF outcome IN ('granted', 'waiting', 'busy') THEN
            SELECT COALESCE(SUM(r.units), 0) INTO in_use
            FROM lk_requests AS r FORCE INDEX (requests_by_path)
            WHERE r.path = SUBSTRING_INDEX(paths, ' ', 1) AND r.held = 1
              AND r.deadline_us > now_us;
        END IF;
        IF outcome IN ('waiting', 'busy') AND in_the_way IS NULL THEN
            CALL lk_explain(self, asker, its_ticket, blockers_max, now_us, in_the_way, look_us,
                            blockers);
        END IF;
        IF outcome = 'granted' AND asks_value THEN
            CALL lk_read_values(paths, its_bytes, its_sizes);
        END IF;
    END IF;
    IF @lk_tells THEN
        CALL lk_tell_refusal(outcome, paths, limits, counts, asker, the_note);
    END IF;
END
//

-- The long way of lk_ask(), in its transaction, which it commits before it answers.
DROP PROCEDURE IF EXISTS lk_ask_long
//
CREATE PROCEDURE lk_ask_long(
    IN asker VARBINARY(128), IN paths BLOB, IN limits VARBINARY(255),
    IN counts VARBINARY(255), IN its_identity BINARY(32), IN the_roots BLOB,
    IN style VARBINARY(8), IN the_ttl_ms BIGINT, IN until_us BIGINT, IN the_note VARBINARY(255),
    IN blockers_max INT, IN asks_value BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE now_us BIGINT;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE self BIGINT;
    DECLARE its_ticket BIGINT;
    DECLARE its_token BIGINT;
    DECLARE its_ttl_ms BIGINT;
    DECLARE left_us BIGINT;
    DECLARE in_use BIGINT;
    DECLARE in_the_way INT;
    DECLARE created BOOLEAN;
    DECLARE is_fixed BOOLEAN;
    DECLARE its_bytes MEDIUMBLOB;
    DECLARE its_sizes MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE blockers MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE cycle MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE look_us BIGINT;
    CALL lk_answer_ask(asker, paths, limits, counts, its_identity, the_roots, style, the_ttl_ms,
                       until_us, the_note, blockers_max, asks_value, now_us, outcome, sentence,
                       self, its_ticket, its_token, its_ttl_ms, left_us, in_use, in_the_way,
                       created, is_fixed, its_bytes, its_sizes, blockers, cycle, look_us);
    COMMIT;
    SELECT outcome, sentence, self AS request, its_ticket AS ticket, its_token AS token,
           its_ttl_ms AS new_ttl_ms, left_us, in_use, in_the_way, created, is_fixed AS fixed,
           its_bytes AS bytes, its_sizes AS sizes, blockers, cycle, look_us;
END
//

-- R3, R10: the repeated ask of a wait of one part that has been granted meanwhile, and changes
-- nothing but the deadline. `is_done`: so it was, and it is answered; else nothing has changed.
DROP PROCEDURE IF EXISTS lk_collect
//
CREATE PROCEDURE lk_collect(
    IN self BIGINT, IN the_path VARBINARY(512), IN the_limit BIGINT, IN the_units BIGINT,
    IN the_root VARBINARY(255), IN its_kind TINYINT, IN the_ttl_ms BIGINT,
    IN the_note VARBINARY(255), OUT is_done BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE now_us BIGINT;
    DECLARE first_due_us BIGINT DEFAULT 0;
    DECLARE is_plain BOOLEAN DEFAULT FALSE;
    DECLARE mixed_us BIGINT DEFAULT 0;
    DECLARE its_ticket BIGINT;
    DECLARE its_token BIGINT;
    DECLARE in_use BIGINT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    SELECT k.due_us, k.kind = its_kind, k.mixed_until_us INTO first_due_us, is_plain, mixed_us
    FROM lk_roots AS k WHERE k.root = the_root FOR UPDATE;
    SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                 + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                   MOD 900000000 - 450000000;
    UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
    SET r.deadline_us = now_us + the_ttl_ms * 1000, r.ttl_ms = the_ttl_ms,
        r.note = COALESCE(the_note, r.note)
    WHERE r.id = self AND r.part = 1 AND r.part_count = 1 AND r.held = 1 AND r.attended
      AND NOT r.revoked AND NOT r.fixed AND r.path = the_path AND r.unit_limit = the_limit
      AND r.units = the_units AND r.deadline_us > now_us AND first_due_us > now_us;
    SET is_done = ROW_COUNT() > 0;
    IF is_done THEN
        IF NOT is_plain OR first_due_us > now_us + the_ttl_ms * 1000 THEN
            CALL lk_record_deadline(the_root, now_us + the_ttl_ms * 1000, now_us + 2 * the_ttl_ms * 1000,
                                    the_path, FALSE);
        END IF;
        CALL lk_mark_roots(the_root);
        SELECT r.ticket, r.token INTO its_ticket, its_token
        FROM lk_requests AS r WHERE r.id = self AND r.part = 1;
        IF the_units > 0 OR NOT is_plain OR mixed_us > now_us THEN
            SELECT SUM(r.units) INTO in_use FROM lk_requests AS r FORCE INDEX (requests_by_path)
            WHERE r.path = the_path AND r.held = 1 AND r.deadline_us > now_us;
        END IF;
        COMMIT;
        SELECT 'granted' AS outcome, NULL AS sentence, self AS request, its_ticket AS ticket,
               its_token AS token, the_ttl_ms AS new_ttl_ms, the_ttl_ms * 1000 AS left_us, in_use,
               NULL AS in_the_way, FALSE AS created, FALSE AS fixed, NULL AS bytes,
               NULL AS sizes, NULL AS blockers, NULL AS cycle, NULL AS look_us;
    ELSE
        ROLLBACK;
    END IF;
END
//

-- The short way of lk_ask() behind the lock, and the long way. The short way is for one part
-- (`its_kind`, else 0) that is free, below a root where no request waits; so a grant can close no cycle
-- (R13) and cover no waiting request (R8). Dead requests are ignored, and left to a sweep. In every
-- other case the decision starts again: the short way has then at most drawn a number that is not
-- used. `has_looked`: a try has been found neither free nor refused.
DROP PROCEDURE IF EXISTS lk_ask_behind
//
CREATE PROCEDURE lk_ask_behind(
    IN asker VARBINARY(128), IN paths BLOB, IN limits VARBINARY(255), IN counts VARBINARY(255),
    IN its_identity BINARY(32), IN the_roots BLOB, IN style VARBINARY(8), IN the_ttl_ms BIGINT,
    IN until_us BIGINT, IN the_note VARBINARY(255), IN blockers_max INT, IN asks_value BOOLEAN,
    IN its_kind TINYINT, IN has_looked BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE now_us BIGINT;
    DECLARE its_ticket BIGINT;
    DECLARE fit INT;
    DECLARE is_there BIGINT;
    DECLARE above_1, above_2, above_3, above_4 VARBINARY(512);
    DECLARE is_hard BOOLEAN;
    DECLARE is_free BOOLEAN DEFAULT FALSE;
    DECLARE in_use BIGINT;
    DECLARE is_done BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    IF its_kind BETWEEN 1 AND 10 AND NOT asks_value THEN
        SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                     + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                       MOD 900000000 - 450000000;
        UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
        SET r.last_draw = LAST_INSERT_ID(4 * GREATEST(r.last_draw + 1, now_us)
                                         + 2 * (r.kind IN (0, its_kind))
                                         + (r.mixed_until_us <= now_us)) DIV 4,
            r.due_us = LEAST(r.due_us, now_us + the_ttl_ms * 1000),
            r.kind = IF(r.kind = 0, its_kind, r.kind)
        WHERE r.root = the_roots AND NOT r.has_waiting;
        IF ROW_COUNT() > 0 THEN
            SET its_ticket = LAST_INSERT_ID() DIV 4, fit = LAST_INSERT_ID() & 3;
            SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                   + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                     MOD 900000000 - 450000000,
                   m.is_bounded OR m.told_until_us > now_us
            INTO now_us, is_hard FROM lk_meta AS m WHERE m.only_row = 1;
            IF is_hard THEN
                SET is_free = FALSE;
            ELSEIF fit = 3 AND counts = '0' THEN -- all live requests here have the same depth
                SELECT MIN(p.held) INTO is_there
                FROM lk_requests AS p FORCE INDEX (requests_by_path) WHERE p.path = paths;
                IF is_there IS NOT NULL THEN -- it may be dead
                    SELECT EXISTS (SELECT 1 FROM lk_requests AS p FORCE INDEX (requests_by_path)
                                   WHERE p.path = paths AND p.deadline_us > now_us)
                    INTO is_hard;
                END IF;
                SET is_free = NOT is_hard, in_use = 0;
            ELSEIF fit = 3 THEN
                SELECT MAX(p.units = 0 OR p.owner = asker), SUM(p.units)
                INTO is_hard, in_use
                FROM lk_requests AS p FORCE INDEX (requests_by_path)
                WHERE p.path = paths AND p.deadline_us > now_us;
                SET in_use = COALESCE(in_use, 0) + counts;
                SET is_free = NOT COALESCE(is_hard, FALSE)
                              AND (limits = '0' OR in_use <= limits);
            ELSE
                IF its_kind > 2 THEN
                    SET above_1 = SUBSTRING_INDEX(paths, '/', 1),
                        above_2 = SUBSTRING_INDEX(paths, '/', 2),
                        above_3 = SUBSTRING_INDEX(paths, '/', 3),
                        above_4 = SUBSTRING_INDEX(paths, '/', 4);
                END IF;
                SELECT EXISTS (
                    SELECT 1 FROM lk_requests AS p FORCE INDEX (requests_by_path)
                    WHERE (p.path IN (paths, above_1, above_2, above_3, above_4)
                           OR (p.path > CONCAT(paths, '/') AND p.path < CONCAT(paths, '0')))
                      AND p.deadline_us > now_us
                      AND IF(p.owner = asker, p.path = paths, p.units = 0 OR counts = '0'))
                INTO is_hard;
                IF NOT is_hard THEN
                    SELECT COALESCE(SUM(p.units), 0) + counts INTO in_use
                    FROM lk_requests AS p FORCE INDEX (requests_by_path)
                    WHERE p.path = paths AND p.deadline_us > now_us;
                END IF;
                SET is_free = NOT is_hard AND (limits = '0' OR in_use <= limits);
            END IF;
        END IF;
    END IF;
    IF is_free AND fit < 2 THEN
        CALL lk_record_deadline(the_roots, now_us + the_ttl_ms * 1000, now_us + the_ttl_ms * 1000,
                                paths, FALSE);
    END IF;
    IF is_free THEN
        INSERT INTO lk_requests (part, path, unit_limit, units, root, owner, note, held, attended,
            fixed, wants_value, ticket, token, ttl_ms, deadline_us, identity, roots, part_count)
        VALUES (1, paths, limits, counts, the_roots, asker, COALESCE(the_note, ''), TRUE,
            style = 'wait', FALSE, FALSE, its_ticket, its_ticket, the_ttl_ms,
            now_us + the_ttl_ms * 1000, its_identity, the_roots, 1);
        COMMIT;
        SELECT 'granted' AS outcome, NULL AS sentence, LAST_INSERT_ID() AS request,
               its_ticket AS ticket, its_ticket AS token, the_ttl_ms AS new_ttl_ms,
               the_ttl_ms * 1000 AS left_us, in_use, NULL AS in_the_way, TRUE AS created,
               FALSE AS fixed, NULL AS bytes, NULL AS sizes, NULL AS blockers, NULL AS cycle,
               NULL AS look_us;
    ELSE
        IF its_kind > 0 AND style = 'try' AND NOT has_looked THEN -- above or below the path
            ROLLBACK;
            CALL lk_look_busy(asker, paths, limits, counts, the_roots, its_kind, blockers_max,
                              is_done);
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
            START TRANSACTION;
        END IF;
        IF is_done THEN
            COMMIT;
        ELSE
            CALL lk_ask_long(asker, paths, limits, counts, its_identity, the_roots, style,
                             the_ttl_ms, until_us, the_note, blockers_max, asks_value);
        END IF;
    END IF;
END
//

-- R3, R7-R10, R13. `sorted_paths`: in byte order; `the_roots` in byte order; `until_us` 0: none;
-- `the_note` NULL: as it is. Answers: outcome, sentence, request, ticket, token, new_ttl_ms,
-- left_us, in_use, in_the_way, created, fixed, bytes, sizes, blockers (six fields each), cycle,
-- look_us.
--
-- First a look, which locks nothing: a client that waited finds its grant, a try is refused, and a
-- request of one part may find room below a root where no request waits and all have its depth. Then
-- its row is inserted before the root is locked, so that others wait for one statement and the
-- commit. The look still holds if the root has drawn no number since (R4): what ends makes room, and
-- what is added draws. Else the path is read once more. A dead request there counts as one that
-- lives, because a renewal that was in time may be about to commit.
--
-- A variable costs about as much as an expression, and a long VARBINARY its whole length: hence few
-- of them here, and BLOB.
DROP PROCEDURE IF EXISTS lk_ask
//
CREATE PROCEDURE lk_ask(
    IN asker VARBINARY(128), IN paths BLOB, IN limits VARBINARY(255), IN counts VARBINARY(255),
    IN sorted_paths BLOB, IN the_roots BLOB, IN style VARBINARY(8), IN the_ttl_ms BIGINT,
    IN until_us BIGINT, IN the_note VARBINARY(255), IN blockers_max INT, IN asks_value BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_identity BINARY(32) DEFAULT UNHEX(SHA2(CONCAT(sorted_paths, '\n', asker), 256));
    -- Twice the depth of the only part; 0: there are several, or a fixed end.
    DECLARE its_kind TINYINT DEFAULT IF(LOCATE(' ', paths) > 0 OR until_us > 0, 0,
        2 + 2 * (LENGTH(paths) - LENGTH(REPLACE(paths, '/', ''))));
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE self BIGINT;
    DECLARE its_ticket BIGINT;
    DECLARE seen_draw BIGINT;
    DECLARE taken BIGINT; -- at the path; from 2^32 on: by what leaves no room; NULL: nothing
    DECLARE is_plain BOOLEAN DEFAULT FALSE;
    DECLARE is_done BOOLEAN DEFAULT FALSE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    IF @lk_server_start IS NULL THEN
        CALL lk_awake();
    END IF;
    IF style = 'wait' AND its_kind > 0 AND NOT asks_value THEN
        SELECT r.id INTO self FROM lk_requests AS r FORCE INDEX (requests_by_owner)
        WHERE r.owner = asker AND r.held = 1 AND r.part = 1
          AND r.identity = its_identity
        ORDER BY r.deadline_us DESC LIMIT 1; -- a dead one may be there as well
        IF self IS NOT NULL THEN
            CALL lk_collect(self, paths, limits, counts, the_roots, its_kind, the_ttl_ms,
                            the_note, is_done);
        END IF;
    END IF;
    IF is_done OR its_kind = 0 THEN
        SET is_plain = FALSE;
    ELSEIF counts = '0' THEN
        SELECT r.last_draw, NOT r.has_waiting AND r.kind = its_kind AND r.mixed_until_us <= now_us
                            AND NOT m.is_bounded AND m.told_until_us <= now_us,
               (SELECT MIN(p.ticket) + 4294967296
                FROM lk_requests AS p FORCE INDEX (requests_by_path)
                WHERE p.path = paths AND p.held = 1)
        INTO seen_draw, is_plain, taken
        FROM lk_roots AS r STRAIGHT_JOIN lk_meta AS m
        WHERE r.root = the_roots AND m.only_row = 1;
        SET is_plain = is_plain AND taken IS NULL;
    ELSE
        SELECT r.last_draw, NOT r.has_waiting AND r.kind = its_kind AND r.mixed_until_us <= now_us
                            AND NOT m.is_bounded AND m.told_until_us <= now_us,
               SUM(IF(p.units = 0 OR p.owner = asker OR p.deadline_us <= now_us, 4294967296,
                      p.units))
        INTO seen_draw, is_plain, taken
        FROM lk_roots AS r STRAIGHT_JOIN lk_meta AS m
        LEFT JOIN lk_requests AS p FORCE INDEX (requests_by_path) ON p.path = paths AND p.held = 1
        WHERE r.root = the_roots AND m.only_row = 1;
        SET is_plain = is_plain
                       AND COALESCE(taken, 0) + counts <= IF(limits = '0', 4294967295, limits);
    END IF;
    IF is_plain AND NOT asks_value AND its_kind <= 10 THEN
        SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                     + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                       MOD 900000000 - 450000000,
            its_ticket = GREATEST(now_us, seen_draw + 1);
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
        INSERT INTO lk_requests (part, path, unit_limit, units, root, owner, note, held, attended,
            fixed, wants_value, ticket, token, ttl_ms, deadline_us, identity, roots, part_count)
        VALUES (1, paths, limits, counts, the_roots, asker, COALESCE(the_note, ''), TRUE,
            style = 'wait', FALSE, FALSE, its_ticket, its_ticket, the_ttl_ms,
            now_us + the_ttl_ms * 1000, its_identity,
            the_roots, 1);
        SET self = LAST_INSERT_ID();
        UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
        SET r.last_draw = LAST_INSERT_ID(2 * GREATEST(r.last_draw + 1, its_ticket)
                                         + (r.last_draw <> seen_draw)) DIV 2,
            r.due_us = LEAST(r.due_us, now_us + the_ttl_ms * 1000)
        WHERE r.root = the_roots AND NOT r.has_waiting AND r.kind = its_kind
          AND r.mixed_until_us <= now_us;
        IF ROW_COUNT() = 0 THEN
            SET is_plain = FALSE;
        ELSEIF LAST_INSERT_ID() & 1 THEN -- it has drawn since the look
            SET its_ticket = LAST_INSERT_ID() DIV 2;
            SELECT SUM(IF(p.id <> self AND (p.units = 0 OR counts = '0' OR p.owner = asker),
                          4294967296, p.units)) - counts
            INTO taken
            FROM lk_requests AS p FORCE INDEX (requests_by_path)
            WHERE p.path = paths AND p.held = 1 AND p.deadline_us > now_us;
            SET is_plain = taken + counts <= IF(limits = '0', 4294967295, limits);
            IF is_plain THEN
                UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
                SET r.ticket = its_ticket, r.token = its_ticket
                WHERE r.id = self AND r.part = 1 AND r.token <> its_ticket;
            END IF;
        END IF;
        IF is_plain THEN
            COMMIT;
            SET is_done = TRUE;
            SELECT 'granted' AS outcome, NULL AS sentence, self AS request, its_ticket AS ticket,
                   its_ticket AS token, the_ttl_ms AS new_ttl_ms, the_ttl_ms * 1000 AS left_us,
                   COALESCE(taken, 0) + counts AS in_use, NULL AS in_the_way, TRUE AS created,
                   FALSE AS fixed, NULL AS bytes, NULL AS sizes, NULL AS blockers, NULL AS cycle,
                   NULL AS look_us;
        ELSE
            ROLLBACK;
            SET taken = 4294967296;
        END IF;
    END IF;
    IF NOT is_done AND style = 'try' AND taken IS NOT NULL THEN
        CALL lk_look_busy(asker, paths, limits, counts, the_roots, its_kind, blockers_max, is_done);
    END IF;
    IF NOT COALESCE(is_done, FALSE) THEN
        CALL lk_ask_behind(asker, paths, limits, counts,
                           its_identity, the_roots, style,
                           the_ttl_ms, until_us, the_note, blockers_max, asks_value,
                           its_kind, taken IS NOT NULL);
    END IF;
END
//

-- R11. `the_token` 0: not named; `the_ttl_ms` 0: as before. Answers: outcome, sentence, ticket,
-- token, new_ttl_ms, left_us, fixed.
DROP PROCEDURE IF EXISTS lk_renew
//
CREATE PROCEDURE lk_renew(
    IN asker VARBINARY(128), IN paths BLOB, IN sorted_paths BLOB,
    IN the_roots BLOB, IN the_token BIGINT, IN the_ttl_ms BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE its_ticket BIGINT;
    DECLARE its_token BIGINT;
    DECLARE its_ttl_ms BIGINT;
    DECLARE left_us BIGINT;
    DECLARE is_fixed BOOLEAN;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF @lk_server_start IS NULL THEN
        CALL lk_awake();
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    START TRANSACTION;
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_decide_renew(UNHEX(SHA2(CONCAT(sorted_paths, '\n', asker), 256)), asker,
                             sorted_paths, the_roots, the_token, the_ttl_ms, outcome, sentence,
                             its_ticket, its_token, its_ttl_ms, left_us, is_fixed);
        COMMIT;
    END;
    SELECT outcome, sentence, its_ticket AS ticket, its_token AS token, its_ttl_ms AS new_ttl_ms,
           left_us, is_fixed AS fixed;
END
//

-- The long way of lk_release(), in its transaction, which it commits before it answers.
DROP PROCEDURE IF EXISTS lk_release_long
//
CREATE PROCEDURE lk_release_long(
    IN asker VARBINARY(128), IN put_paths BLOB, IN its_identity BINARY(32), IN the_roots BLOB,
    IN the_token BIGINT, IN put_sizes VARBINARY(255), IN put_bytes MEDIUMBLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    CALL lk_decide_release(its_identity, asker, put_paths, the_roots, the_token, put_sizes,
                           put_bytes, outcome, sentence);
    COMMIT;
    SELECT outcome, sentence;
END
//

-- R12, R15. `put_bytes` NULL: no values are put at `put_paths`. Answers: outcome, sentence.
--
-- The short way, for a lease below one root: its rows are deleted before the root is locked. This lock
-- is shared, so that releases do not wait for each other; it makes the request that is being queued see
-- the end of the lease, or the release see that request. Where requests waited at the last release on
-- this connection (@lk_had_waiting), it is exclusive, and the next ones are granted at once.
DROP PROCEDURE IF EXISTS lk_release
//
CREATE PROCEDURE lk_release(
    IN asker VARBINARY(128), IN put_paths BLOB, IN sorted_paths BLOB, IN the_roots BLOB,
    IN the_token BIGINT, IN put_sizes VARBINARY(255), IN put_bytes MEDIUMBLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_identity BINARY(32) DEFAULT UNHEX(SHA2(CONCAT(sorted_paths, '\n', asker), 256));
    DECLARE now_us BIGINT;
    DECLARE self BIGINT;
    DECLARE is_done BOOLEAN DEFAULT FALSE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    IF @lk_server_start IS NULL THEN
        CALL lk_awake();
    END IF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    IF put_bytes IS NULL AND LOCATE(' ', the_roots) = 0 THEN
        SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                     + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                       MOD 900000000 - 450000000;
        IF the_token <> 0 THEN
            SELECT MIN(q.id) INTO self
            FROM lk_meta AS m STRAIGHT_JOIN lk_requests AS q FORCE INDEX (requests_by_owner)
            WHERE m.only_row = 1 AND m.told_until_us <= now_us AND q.owner = asker AND q.held = 1
              AND q.identity = its_identity AND q.token = the_token;
        ELSE
            SELECT MIN(q.id) INTO self
            FROM lk_meta AS m STRAIGHT_JOIN lk_requests AS q FORCE INDEX (requests_by_owner)
            WHERE m.only_row = 1 AND m.told_until_us <= now_us AND q.owner = asker AND q.held = 1
              AND q.identity = its_identity;
        END IF;
    END IF;
    IF self IS NOT NULL THEN
        DELETE r FROM lk_requests AS r FORCE INDEX (PRIMARY)
        WHERE r.id = self AND r.deadline_us > now_us;
        SET is_done = ROW_COUNT() > 0;
        IF is_done AND the_token <> 0 THEN
            INSERT INTO lk_ended (token, identity, ended_us)
            VALUES (the_token, its_identity, now_us)
            ON DUPLICATE KEY UPDATE ended_us = now_us;
        END IF;
        IF is_done AND @lk_had_waiting THEN
            CALL lk_hand_on(the_roots, sorted_paths, is_done);
        ELSEIF is_done THEN
            SELECT NOT r.has_waiting INTO is_done
            FROM lk_roots AS r WHERE r.root = the_roots LOCK IN SHARE MODE;
            SET @lk_had_waiting = NOT is_done;
        END IF;
        IF is_done THEN
            COMMIT;
            SELECT 'ok' AS outcome, NULL AS sentence;
        ELSE
            ROLLBACK;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
            START TRANSACTION;
        END IF;
    END IF;
    IF NOT is_done THEN
        CALL lk_release_long(asker, put_paths,
                             its_identity, the_roots,
                             the_token, put_sizes, put_bytes);
    END IF;
END
//

-- R12. `asker` empty: of any owner. Answers: broken.
DROP PROCEDURE IF EXISTS lk_break
//
CREATE PROCEDURE lk_break(
    IN the_path VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN at_once BOOLEAN, IN broken_by VARBINARY(1024), IN why VARBINARY(1024))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE broken BIGINT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF @lk_server_start IS NULL THEN
        CALL lk_awake();
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    START TRANSACTION;
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_decide_break(the_path, the_root, asker, at_once, broken_by, why, broken);
        COMMIT;
    END;
    SELECT broken;
END
//

-- R16: cancels an item. Answers: outcome, sentence, broken.
DROP PROCEDURE IF EXISTS lk_cancel
//
CREATE PROCEDURE lk_cancel(
    IN the_path VARBINARY(512), IN the_root VARBINARY(255), IN at_once BOOLEAN,
    IN broken_by VARBINARY(1024), IN why VARBINARY(1024))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE broken BIGINT;
    CALL lk_begin();
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_decide_cancel(the_path, the_root, at_once, broken_by, why, outcome, sentence,
                              broken);
        COMMIT;
    END;
    SELECT outcome, sentence, broken;
END
//

-- R15. `the_value` NULL: deletes. Answers: outcome, sentence.
DROP PROCEDURE IF EXISTS lk_put
//
CREATE PROCEDURE lk_put(
    IN the_path VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN the_token BIGINT, IN the_value MEDIUMBLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF @lk_server_start IS NULL THEN
        CALL lk_awake();
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    START TRANSACTION;
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_decide_put(the_path, the_root, asker, the_token, the_value, outcome, sentence);
        COMMIT;
    END;
    SELECT outcome, sentence;
END
//

-- R16. The needs as parts, and their roots. `kind` as in lk_push_one(). Answers: added, changed, was.
DROP PROCEDURE IF EXISTS lk_push_item
//
CREATE PROCEDURE lk_push_item(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN the_value MEDIUMBLOB, IN delay_ms BIGINT, IN the_needs BLOB,
    IN the_limits VARBINARY(255), IN the_counts VARBINARY(255), IN the_roots BLOB,
    IN the_priority SMALLINT, IN kind TINYINT, IN the_keep_ms BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE added, changed BOOLEAN;
    DECLARE was VARBINARY(16);
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF @lk_server_start IS NULL THEN
        CALL lk_awake();
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    START TRANSACTION;
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_decide_push(the_queue, the_id, the_root, the_value, delay_ms, the_needs,
                            the_limits, the_counts, the_roots, the_priority, kind, the_keep_ms,
                            added, changed, was);
        COMMIT;
    END;
    SELECT added, changed, was;
END
//

-- The long way of lk_take(), in its transaction, which it commits before it answers.
DROP PROCEDURE IF EXISTS lk_take_long
//
CREATE PROCEDURE lk_take_long(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN the_ttl_ms BIGINT, IN the_max_attempts INT UNSIGNED, IN the_ask_number BIGINT,
    IN the_note VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE now_us BIGINT;
    DECLARE self BIGINT;
    DECLARE taken VARBINARY(255);
    DECLARE its_token BIGINT;
    DECLARE attempt INT UNSIGNED;
    DECLARE stolen BOOLEAN;
    DECLARE its_ttl_ms BIGINT;
    DECLARE left_us BIGINT;
    DECLARE its_value MEDIUMBLOB;
    DECLARE look_us BIGINT;
    DECLARE saw_items BOOLEAN;
    CALL lk_decide_take(the_queue, the_root, asker, the_ttl_ms, the_max_attempts, the_ask_number,
                        the_note, now_us, self, taken, stolen, outcome, sentence, look_us,
                        saw_items);
    IF self IS NOT NULL THEN
        SELECT r.token, r.ttl_ms, r.deadline_us - now_us, i.attempts, v.bytes
        INTO its_token, its_ttl_ms, left_us, attempt, its_value
        FROM lk_requests AS r
        JOIN lk_items AS i ON i.queue = the_queue AND i.id = taken
        LEFT JOIN lk_item_values AS v ON v.queue = the_queue AND v.id = taken
        WHERE r.id = self AND r.part = 1;
    END IF;
    COMMIT;
    SELECT outcome, sentence, taken AS id, its_token AS token, attempt, stolen,
           its_ttl_ms AS new_ttl_ms, left_us, its_value AS value, look_us, saw_items AS has_held;
END
//

-- R16. Answers: outcome, sentence, id, token, attempt, stolen, new_ttl_ms, left_us, value, look_us,
-- has_held (there are items, but locks block them).
--
-- First the short way, for the common case: the first item needs nothing, no live request is at
-- its path or blocks it, no deadline is due and no request waits.
DROP PROCEDURE IF EXISTS lk_take
//
CREATE PROCEDURE lk_take(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN the_ttl_ms BIGINT, IN the_max_attempts INT UNSIGNED, IN the_ask_number BIGINT,
    IN the_note VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_kind TINYINT
        DEFAULT 5 + 2 * (LENGTH(the_queue) - LENGTH(REPLACE(the_queue, '/', '')));
    DECLARE now_us BIGINT;
    DECLARE its_token BIGINT;
    DECLARE earlier BIGINT;
    DECLARE its_place DECIMAL(24, 0);
    DECLARE its_id VARBINARY(255);
    DECLARE its_value MEDIUMBLOB;
    DECLARE attempt INT UNSIGNED;
    DECLARE stolen BOOLEAN;
    DECLARE has_value BOOLEAN;
    DECLARE is_free BOOLEAN DEFAULT FALSE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF @lk_server_start IS NULL THEN
        CALL lk_awake();
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    START TRANSACTION;
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                     + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                       MOD 900000000 - 450000000;
        UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
        SET r.last_draw = LAST_INSERT_ID(GREATEST(r.last_draw + 1, now_us)),
            r.due_us = LEAST(r.due_us, now_us + the_ttl_ms * 1000), r.kind = its_kind
        WHERE r.root = the_root AND NOT r.has_waiting AND r.due_us > now_us
          AND r.kind IN (0, its_kind) AND r.mixed_until_us <= now_us;
        IF ROW_COUNT() > 0 THEN
            SET its_token = LAST_INSERT_ID();
            IF the_ask_number <> 0 THEN
                SELECT MIN(r.token) INTO earlier
                FROM lk_requests AS r FORCE INDEX (requests_by_owner)
                WHERE r.owner = asker AND r.held = 1 AND r.identity IS NULL;
            END IF;
        END IF;
        IF its_token IS NOT NULL AND earlier IS NULL THEN
            SELECT MIN(i.place) INTO its_place
            FROM lk_items AS i FORCE INDEX (items_by_state)
            WHERE i.queue = the_queue AND i.state = 'ready' AND i.due_us = 0;
            SELECT MIN(i.id) INTO its_id
            FROM lk_items AS i FORCE INDEX (items_by_state)
            WHERE i.queue = the_queue AND i.state = 'ready' AND i.due_us = 0
              AND i.place = its_place;
            SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                   + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                     MOD 900000000 - 450000000, i.attempts + 1,
                   i.was_lost, i.has_value,
                   i.needs = '' AND NOT m.is_bounded AND m.told_until_us <= now_us
            INTO now_us, attempt, stolen, has_value, is_free
            FROM lk_meta AS m JOIN lk_items AS i FORCE INDEX (PRIMARY)
            WHERE m.only_row = 1 AND i.queue = the_queue AND i.id = its_id;
        END IF;
        IF is_free THEN
            IF has_value THEN
                SELECT v.bytes INTO its_value FROM lk_item_values AS v
                WHERE v.queue = the_queue AND v.id = its_id;
            END IF;
            INSERT INTO lk_requests (part, path, unit_limit, units, root, owner, note, held,
                attended, fixed, wants_value, is_claim, ticket, token, ttl_ms, deadline_us, roots,
                part_count)
            VALUES (1, CONCAT(the_queue, '/', its_id), 0, 0, the_root, asker, the_note, TRUE, FALSE,
                FALSE, FALSE, TRUE, its_token, its_token, the_ttl_ms, now_us + the_ttl_ms * 1000,
                the_root, 1);
            UPDATE lk_items AS i FORCE INDEX (PRIMARY)
            SET i.state = 'claimed', i.claim = LAST_INSERT_ID(), i.attempts = attempt,
                i.claims = i.claims + 1, i.steals = i.steals + stolen, i.was_lost = FALSE,
                i.ask_number = the_ask_number, i.max_attempts = the_max_attempts,
                i.progress = NULL
            WHERE i.queue = the_queue AND i.id = its_id;
            COMMIT;
            SELECT 'granted' AS outcome, NULL AS sentence, its_id AS id, its_token AS token,
                   attempt, stolen, the_ttl_ms AS new_ttl_ms, the_ttl_ms * 1000 AS left_us,
                   its_value AS value, NULL AS look_us, TRUE AS has_held;
        ELSE
            CALL lk_take_long(the_queue, the_root, asker, the_ttl_ms, the_max_attempts,
                              the_ask_number, the_note);
        END IF;
    END;
END
//

-- R16. `delay_ms` NULL: done, and kept with its result for the longer of its time and `the_keep_ms`;
-- else given back, with the exit code and the text of its failure, if one of them is not NULL, with its
-- attempt, if it is `uncounted`, and set aside, if it `parks`. Answers: outcome, sentence.
--
-- First the short way: the item is done, is not kept, has needed nothing, and no request waits for it.
DROP PROCEDURE IF EXISTS lk_finish_claim
//
CREATE PROCEDURE lk_finish_claim(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN asker VARBINARY(128), IN the_token BIGINT, IN delay_ms BIGINT, IN its_exit INT,
    IN its_error VARBINARY(1024), IN uncounted BOOLEAN, IN parks BOOLEAN,
    IN the_result MEDIUMBLOB, IN the_keep_ms BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_identity BINARY(32)
        DEFAULT UNHEX(SHA2(CONCAT(the_queue, '/', the_id, '\n', asker), 256));
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE is_awaited BOOLEAN DEFAULT TRUE;
    DECLARE now_us BIGINT;
    DECLARE told_until_us BIGINT;
    DECLARE is_gone BOOLEAN DEFAULT FALSE;
    DECLARE self BIGINT;
    DECLARE its_claims BIGINT;
    DECLARE its_steals BIGINT;
    DECLARE has_value BOOLEAN;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF @lk_server_start IS NULL THEN
        CALL lk_awake();
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    START TRANSACTION;
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        IF delay_ms IS NULL AND the_token <> 0 AND the_keep_ms = 0 THEN
            SELECT r.has_waiting INTO is_awaited FROM lk_roots AS r
            WHERE r.root = the_root FOR UPDATE;
        END IF;
        IF NOT is_awaited THEN
            SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                   + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                     MOD 900000000 - 450000000, m.told_until_us,
                   i.claim, i.claims, i.steals, i.has_value
            INTO now_us, told_until_us, self, its_claims, its_steals, has_value
            FROM lk_meta AS m JOIN lk_items AS i FORCE INDEX (PRIMARY)
            WHERE m.only_row = 1 AND i.queue = the_queue AND i.id = the_id;
        END IF;
        IF told_until_us <= now_us THEN
            DELETE i, r FROM lk_items AS i FORCE INDEX (PRIMARY)
            STRAIGHT_JOIN lk_requests AS r FORCE INDEX (PRIMARY)
            WHERE i.queue = the_queue AND i.id = the_id AND r.id = self AND r.part = 1
              AND r.owner = asker AND r.token = the_token AND r.deadline_us > now_us
              AND r.part_count = 1 AND i.state <> 'again' AND i.keep_ms = 0;
            SET is_gone = ROW_COUNT() > 0;
        END IF;
        IF is_gone THEN
            IF has_value THEN
                DELETE v FROM lk_item_values AS v FORCE INDEX (PRIMARY)
                WHERE v.queue = the_queue AND v.id = the_id;
            END IF;
            INSERT INTO lk_ended (token, identity, ended_us)
            VALUES (the_token, its_identity, now_us)
            ON DUPLICATE KEY UPDATE ended_us = now_us;
            UPDATE lk_queues AS q FORCE INDEX (PRIMARY)
            SET q.claims = q.claims + its_claims, q.steals = q.steals + its_steals,
                q.done = q.done + 1
            WHERE q.path = the_queue;
            SET outcome = 'ok';
        END IF;
        IF outcome IS NULL THEN
            CALL lk_decide_finish(the_queue, the_id, the_root, asker, its_identity, the_token,
                                  delay_ms, its_exit, its_error, uncounted, parks, the_result,
                                  the_keep_ms, outcome, sentence);
        END IF;
        COMMIT;
    END;
    SELECT outcome, sentence;
END
//

-- R16. `its_text` NULL: none any more. Answers: outcome, sentence.
DROP PROCEDURE IF EXISTS lk_progress
//
CREATE PROCEDURE lk_progress(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN asker VARBINARY(128), IN the_token BIGINT, IN its_text VARBINARY(1024))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    CALL lk_begin();
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_decide_progress(the_queue, the_id, the_root, asker, the_token, its_text, outcome,
                                sentence);
        COMMIT;
    END;
    SELECT outcome, sentence;
END
//

-- R16. Answers: outcome, sentence.
DROP PROCEDURE IF EXISTS lk_unpark
//
CREATE PROCEDURE lk_unpark(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    CALL lk_begin();
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_lock_roots(the_root, locked, now_us, is_due, has_waiting);
        IF is_due THEN
            CALL lk_perish(locked, has_waiting, now_us, 256);
        END IF;
        CALL lk_unpark_item(the_queue, the_id, outcome, sentence);
        COMMIT;
    END;
    SELECT outcome, sentence;
END
//

-- R16. `only_parked`: an item in another state stays. Answers: outcome, sentence.
DROP PROCEDURE IF EXISTS lk_drop
//
CREATE PROCEDURE lk_drop(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN only_parked BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    CALL lk_begin();
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_lock_roots(the_root, locked, now_us, is_due, has_waiting);
        IF is_due THEN
            CALL lk_perish(locked, has_waiting, now_us, 256);
        END IF;
        CALL lk_remove_item(the_queue, the_id, only_parked, outcome, sentence);
        COMMIT;
    END;
    SELECT outcome, sentence;
END
//
DELIMITER ;
