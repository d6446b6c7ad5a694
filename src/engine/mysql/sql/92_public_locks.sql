-- SPDX-License-Identifier: Apache-2.0
-- Public procedures for locks (docs/sql-mysql.md): they stay as they are, and programs may
-- rely on them.
-- They check what they are given, and decide in the caller's transaction, if one is open, by the
-- procedures that the library's calls fall back to. What they do takes effect with its commit. The
-- root's lock is held until then.
--
-- Each has a comment, which the internal ones do not have. Arguments that may be left out are one JSON
-- object, because MySQL has no defaults for arguments; NULL stands for none.

DELIMITER //

-- ---- transactions ----

-- Times are those of the store (R11): refuses a session that has moved its clock (SET timestamp), or
-- could have, unseen, because an option of the server makes SYSDATE the same as NOW. `late_us`: how long
-- the statement may have run; `jump_us`: by how much the clock of its zone has jumped meanwhile.
DROP PROCEDURE IF EXISTS lk_check_clock
//
CREATE PROCEDURE lk_check_clock(IN late_us BIGINT, IN jump_us BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE passed_us BIGINT;
    IF @lk_has_clock IS NULL THEN
        -- SYSDATE goes on while a statement runs, wherever SET timestamp has moved NOW to.
        SELECT TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))
               <> SLEEP(0.001) + TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))
        INTO @lk_has_clock;
    END IF;
    SET passed_us = TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) - jump_us;
    IF passed_us NOT BETWEEN -1000000 AND late_us THEN -- the zone's clock jumps in one statement, not in two
        SET passed_us = TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) - jump_us;
    END IF;
    IF NOT @lk_has_clock THEN
        CALL lk_refuse('unsupported', CONCAT('with the server''s option sysdate_is_now a session ',
                                             'could move the clock of the store unseen'));
    ELSEIF passed_us NOT BETWEEN -1000000 AND late_us THEN
        CALL lk_refuse('unsupported', CONCAT('SET timestamp = DEFAULT: this session has moved its ',
                                             'clock, and leases count by that of the store'));
    END IF;
END
//

-- The level of the session; that of the transaction that is open cannot be read.
DROP PROCEDURE IF EXISTS lk_check_level
//
CREATE PROCEDURE lk_check_level(IN level VARCHAR(32) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER NO SQL
BEGIN
    IF COALESCE(level, '') <> 'READ-COMMITTED' THEN
        CALL lk_refuse('unsupported', CONCAT('ROLLBACK, then SET SESSION TRANSACTION ISOLATION LEVEL ',
            'READ COMMITTED: decisions need it, not ',
            REPLACE(COALESCE(level, 'an unknown level'), '-', ' ')));
    END IF;
END
//

-- Into the caller's transaction, behind a savepoint; or into one of this call's own, if none is open
-- and autocommit is on. SET TRANSACTION is refused in an open transaction: so it is noticed. The level
-- of a transaction cannot be read, only that of the session, which its next transaction has. So a
-- transaction that was refused for it has a savepoint, by which it is known as long as it lasts, and
-- one whose level was set by SET TRANSACTION is found out by what it reads (lk_check_snapshot). What a
-- trigger may have hidden from that (lk_note_snapshot) is over when no transaction is open.
DROP PROCEDURE IF EXISTS lk_enter
//
CREATE PROCEDURE lk_enter(OUT is_own BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE is_inside BOOLEAN DEFAULT FALSE;
    DECLARE was_refused BOOLEAN DEFAULT FALSE;
    DECLARE present BIGINT;
    DECLARE has_changed BOOLEAN;
    CALL lk_check_clock(60000000, 0);
    BEGIN
        DECLARE CONTINUE HANDLER FOR 1568 SET is_inside = TRUE;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END;
    IF is_inside THEN
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1305 SET was_refused = FALSE;
            SET was_refused = TRUE;
            RELEASE SAVEPOINT lk_refused;
        END;
    END IF;
    IF is_inside OR @@SESSION.autocommit = 0 THEN
        -- As text, because each of the two servers rejects a variable that only the other one has.
        SET @lk_question = CONCAT('SELECT @@SESSION.', IF(VERSION() LIKE '%MariaDB%',
            'tx_isolation', 'transaction_isolation'), ' INTO @lk_present');
        PREPARE lk_asking FROM @lk_question;
        EXECUTE lk_asking;
        DEALLOCATE PREPARE lk_asking;
        IF is_inside AND (was_refused OR @lk_present <> 'READ-COMMITTED') THEN
            SAVEPOINT lk_refused;
        END IF;
        CALL lk_check_level(@lk_present);
        IF was_refused THEN
            CALL lk_refuse_snapshot();
        END IF;
    END IF;
    IF NOT is_inside THEN
        SET @lk_unread = NULL;
        START TRANSACTION;
    END IF;
    IF @lk_server_start IS NULL THEN
        CALL lk_awake_within(present, has_changed);
        IF NOT is_inside THEN
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
            START TRANSACTION;
        END IF;
        IF NOT is_inside OR NOT has_changed THEN -- the caller's may be rolled back
            SET @lk_server_start = COALESCE(present, 0);
        END IF;
    END IF;
    SET is_own = NOT is_inside AND @@SESSION.autocommit = 1;
    SET @lk_inside = NOT is_own;
    IF NOT is_own THEN
        SAVEPOINT lk_called;
    END IF;
END
//

DROP PROCEDURE IF EXISTS lk_leave
//
CREATE PROCEDURE lk_leave(IN is_own BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    IF is_own THEN
        COMMIT;
    ELSE
        RELEASE SAVEPOINT lk_called;
    END IF;
END
//

-- After an error. A deadlock (1213) has undone the whole transaction, and the savepoint with it.
DROP PROCEDURE IF EXISTS lk_undo
//
CREATE PROCEDURE lk_undo(IN is_own BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR 1305 BEGIN END;
    IF is_own THEN
        ROLLBACK;
    ELSE
        ROLLBACK TO SAVEPOINT lk_called;
    END IF;
END
//

-- R12: the owner that an end names, or that of the request with this token at one of these paths. An
-- owner that is not found is none: the request has ended.
DROP PROCEDURE IF EXISTS lk_owner_or_found
//
CREATE PROCEDURE lk_owner_or_found(
    IN owner MEDIUMTEXT CHARACTER SET utf8mb4, IN paths BLOB, IN the_token BIGINT,
    OUT asker VARBINARY(128))
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET asker = COALESCE(CAST(owner AS BINARY), '');
    IF owner IS NULL THEN
        SELECT r.owner INTO asker
        FROM lk_numbers AS n STRAIGHT_JOIN lk_requests AS r FORCE INDEX (requests_by_path)
        WHERE n.n <= 1 + LENGTH(paths) - LENGTH(REPLACE(paths, ' ', ''))
          AND r.path = SUBSTRING_INDEX(SUBSTRING_INDEX(paths, ' ', n.n), ' ', -1)
          AND r.token = the_token
        ORDER BY r.deadline_us > now_us DESC LIMIT 1;
    END IF;
END
//

-- ---- answers ----

-- R20: blockers as internal procedures name them, six fields each, as objects.
DROP PROCEDURE IF EXISTS lk_blockers_as_objects
//
CREATE PROCEDURE lk_blockers_as_objects(
    INOUT blockers MEDIUMTEXT CHARACTER SET utf8mb4, IN now_us BIGINT)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE fields MEDIUMTEXT CHARACTER SET utf8mb4 DEFAULT blockers;
    DECLARE i INT DEFAULT 0;
    SET blockers = IF(fields IS NULL, NULL, '[');
    WHILE i < JSON_LENGTH(fields) DO
        SET blockers = CONCAT(blockers, IF(i > 0, ', ', ''), JSON_OBJECT(
            'path', JSON_UNQUOTE(JSON_EXTRACT(fields, CONCAT('$[', i, ']'))),
            'owner', JSON_UNQUOTE(JSON_EXTRACT(fields, CONCAT('$[', i + 1, ']'))),
            'note', JSON_UNQUOTE(JSON_EXTRACT(fields, CONCAT('$[', i + 2, ']'))),
            'ticket', CAST(JSON_UNQUOTE(JSON_EXTRACT(fields, CONCAT('$[', i + 3, ']'))) AS SIGNED),
            'state', IF(JSON_UNQUOTE(JSON_EXTRACT(fields, CONCAT('$[', i + 4, ']'))) = '1',
                        'held', 'waiting'),
            'expires', CONCAT('', FROM_UNIXTIME((now_us + CAST(
                JSON_UNQUOTE(JSON_EXTRACT(fields, CONCAT('$[', i + 5, ']'))) AS SIGNED))
                * 0.000001)))),
            i = i + 6;
    END WHILE;
    SET blockers = CONCAT(blockers, ']');
END
//

-- Why a request is not granted, if its answer has no sentence.
DROP PROCEDURE IF EXISTS lk_reason_of
//
CREATE PROCEDURE lk_reason_of(
    IN outcome VARCHAR(16) CHARACTER SET utf8mb4, IN sentence VARCHAR(255) CHARACTER SET utf8mb4,
    IN blockers MEDIUMTEXT CHARACTER SET utf8mb4, IN cycle MEDIUMTEXT CHARACTER SET utf8mb4,
    OUT reason MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER NO SQL
BEGIN
    SET reason = CASE
        WHEN outcome = 'granted' THEN NULL
        WHEN sentence <> '' THEN sentence
        WHEN outcome = 'deadlock' THEN CONCAT('R13: waiting would close a cycle of owners: ', cycle)
        WHEN COALESCE(JSON_LENGTH(blockers), 0) = 0 THEN 'not granted: another request blocks it'
        ELSE CONCAT('not granted: ', JSON_UNQUOTE(JSON_EXTRACT(blockers, '$[0].owner')),
                    IF(JSON_UNQUOTE(JSON_EXTRACT(blockers, '$[0].state')) = 'held', ' holds ',
                       ' waits ahead for '),
                    JSON_UNQUOTE(JSON_EXTRACT(blockers, '$[0].path'))) END;
END
//

-- ---- the calls ----

-- Answers one row: outcome (granted, waiting, busy, deadlock, full, lost), token (R4, of a lease), owner,
-- expires, ticket, in_use (units held at the first path), ahead (R20: requests that are in the way),
-- blockers (up to 16 of them), cycle (R13: owners), value and in_doubt (R15: of the first path),
-- reason (in words; NULL: granted).
DROP PROCEDURE IF EXISTS lk_lock_acquire
//
CREATE PROCEDURE lk_lock_acquire(
    IN parts MEDIUMTEXT CHARACTER SET utf8mb4, IN owner MEDIUMTEXT CHARACTER SET utf8mb4,
    IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Asks for all of these parts (R2), as a JSON array if several, or none.'
BEGIN
    DECLARE paths BLOB;
    DECLARE limits VARBINARY(255);
    DECLARE counts VARBINARY(255);
    DECLARE sorted BLOB;
    DECLARE the_roots BLOB;
    DECLARE asker VARBINARY(128);
    DECLARE ttl_ms BIGINT DEFAULT 0;
    DECLARE until_us BIGINT DEFAULT 0;
    DECLARE style MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE note MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE with_value BOOLEAN DEFAULT FALSE;
    DECLARE or_fail BOOLEAN DEFAULT FALSE;
    DECLARE is_own BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE self, its_ticket, its_token, its_ttl_ms, left_us, in_use, look_us BIGINT;
    DECLARE in_the_way INT;
    DECLARE created, is_fixed BOOLEAN;
    DECLARE its_bytes MEDIUMBLOB;
    DECLARE its_sizes MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE blockers MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE cycle MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE reason MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE its_size BIGINT;
    CALL lk_words_of(parts, parts);
    CALL lk_parts_of(parts, FALSE, paths, limits, counts, sorted, the_roots);
    CALL lk_check_owner(owner);
    SET asker = CAST(COALESCE(owner, CONCAT(LEFT(USER(), 24), '/', CONNECTION_ID(), '/',
                                            UUID_SHORT())) AS BINARY);
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' ttl until style note with_value or_fail ');
        CALL lk_ttl_of(options, ttl_ms);
        CALL lk_until_of(options, ttl_ms, until_us);
        CALL lk_option(options, 'style', style);
        CALL lk_option(options, 'note', note);
        CALL lk_flag(options, 'with_value', FALSE, with_value);
        CALL lk_flag(options, 'or_fail', FALSE, or_fail);
        CALL lk_check_text('R19: the note', note, 0, @LK_NOTE_BYTES_MAX@);
    END IF;
    IF style NOT IN ('try', 'queue') THEN
        CALL lk_refuse('invalid', CONCAT('R10: a style is try or queue, not ', LEFT(style, 32)));
    END IF;
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        CALL lk_answer_ask(asker, paths, limits, counts,
                           UNHEX(SHA2(CONCAT(sorted, '\n', asker), 256)), the_roots,
                           COALESCE(style, 'try'), COALESCE(NULLIF(ttl_ms, 0), @LK_TTL_DEFAULT_MS@), until_us,
                           note, 16, with_value, now_us, outcome, sentence, self, its_ticket,
                           its_token, its_ttl_ms, left_us, in_use, in_the_way, created, is_fixed,
                           its_bytes, its_sizes, blockers, cycle, look_us);
        IF @lk_inside AND outcome = 'granted' THEN
            CALL lk_check_there(asker, its_token);
        END IF;
        CALL lk_blockers_as_objects(blockers, now_us);
        CALL lk_reason_of(outcome, sentence, blockers, cycle, reason);
        IF outcome = 'invalid' OR (or_fail AND outcome NOT IN ('granted', 'waiting')) THEN
            CALL lk_refuse(outcome, reason);
        END IF;
        CALL lk_leave(is_own);
    END;
    SET its_size = COALESCE(JSON_UNQUOTE(JSON_EXTRACT(its_sizes, '$[0]')), -1);
    SELECT outcome, NULLIF(its_token, 0) AS token, CONVERT(asker USING utf8mb4) AS owner,
           FROM_UNIXTIME((now_us + left_us) * 0.000001) AS expires, its_ticket AS ticket, in_use,
           in_the_way AS ahead, blockers, cycle,
           IF(its_size >= 0, LEFT(its_bytes, its_size DIV 2), NULL) AS value,
           IF(its_size >= 0, its_size % 2, NULL) AS in_doubt, reason;
END
//

-- Answers one row: outcome (ok, lost), expires, token.
DROP PROCEDURE IF EXISTS lk_lock_renew
//
CREATE PROCEDURE lk_lock_renew(
    IN parts MEDIUMTEXT CHARACTER SET utf8mb4, IN owner MEDIUMTEXT CHARACTER SET utf8mb4,
    IN token BIGINT, IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Moves the deadline of a lease.'
BEGIN
    DECLARE paths, sorted, the_roots BLOB;
    DECLARE ignored VARBINARY(255);
    DECLARE asker VARBINARY(128);
    DECLARE ttl_ms BIGINT DEFAULT 0;
    DECLARE or_fail BOOLEAN DEFAULT TRUE;
    DECLARE is_own BOOLEAN;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE its_ticket, its_token, its_ttl_ms, left_us, deadline_us BIGINT;
    DECLARE is_fixed BOOLEAN;
    CALL lk_words_of(parts, parts);
    CALL lk_parts_of(parts, FALSE, paths, ignored, ignored, sorted, the_roots);
    CALL lk_check_end(owner, token);
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' ttl or_fail ');
        CALL lk_ttl_of(options, ttl_ms);
        CALL lk_flag(options, 'or_fail', TRUE, or_fail);
    END IF;
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        CALL lk_owner_or_found(owner, paths, token, asker);
        CALL lk_decide_renew(UNHEX(SHA2(CONCAT(sorted, '\n', asker), 256)), asker, sorted,
                             the_roots, COALESCE(token, 0), ttl_ms, outcome, sentence, its_ticket,
                             its_token, its_ttl_ms, left_us, is_fixed);
        IF or_fail AND outcome <> 'ok' THEN
            CALL lk_refuse(outcome, sentence);
        END IF;
        IF @lk_inside AND outcome = 'ok' THEN
            CALL lk_check_there(asker, its_token);
        END IF;
        IF outcome = 'ok' THEN
            SELECT MIN(r.deadline_us) INTO deadline_us
            FROM lk_requests AS r FORCE INDEX (requests_by_path)
            WHERE r.path = SUBSTRING_INDEX(paths, ' ', 1) AND r.held = 1 AND r.ticket = its_ticket
              AND r.token = its_token AND r.owner = asker;
        END IF;
        CALL lk_leave(is_own);
    END;
    SELECT outcome, FROM_UNIXTIME(deadline_us * 0.000001) AS expires, its_token AS token;
END
//

-- `value`: of the first path, R15; NULL: it stays as it is. Answers one row: outcome (ok, lost).
DROP PROCEDURE IF EXISTS lk_lock_release
//
CREATE PROCEDURE lk_lock_release(
    IN parts MEDIUMTEXT CHARACTER SET utf8mb4, IN owner MEDIUMTEXT CHARACTER SET utf8mb4,
    IN token BIGINT, IN value LONGBLOB, IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Ends a lease, or withdraws a waiting request.'
BEGIN
    DECLARE paths, sorted, the_roots BLOB;
    DECLARE ignored VARBINARY(255);
    DECLARE asker VARBINARY(128);
    DECLARE or_fail BOOLEAN DEFAULT TRUE;
    DECLARE is_own BOOLEAN;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    CALL lk_words_of(parts, parts);
    CALL lk_parts_of(parts, FALSE, paths, ignored, ignored, sorted, the_roots);
    CALL lk_check_end(owner, token);
    CALL lk_check_value(value);
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' or_fail ');
        CALL lk_flag(options, 'or_fail', TRUE, or_fail);
    END IF;
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        CALL lk_owner_or_found(owner, paths, token, asker);
        CALL lk_decide_release(UNHEX(SHA2(CONCAT(sorted, '\n', asker), 256)), asker,
                               SUBSTRING_INDEX(paths, ' ', 1), the_roots, COALESCE(token, 0),
                               LENGTH(value), value, outcome, sentence);
        IF or_fail AND outcome <> 'ok' THEN
            CALL lk_refuse(outcome, sentence);
        END IF;
        CALL lk_leave(is_own);
    END;
    SELECT outcome;
END
//

-- R12. `options`: of this owner only; by whom, the user of the session unless named; now. Answers one
-- row: broken, how many requests.
DROP PROCEDURE IF EXISTS lk_lock_break
//
CREATE PROCEDURE lk_lock_break(
    IN path MEDIUMTEXT CHARACTER SET utf8mb4, IN reason MEDIUMTEXT CHARACTER SET utf8mb4,
    IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Ends what is held or waits at a path, on record.'
BEGIN
    DECLARE the_path VARBINARY(512);
    DECLARE owner MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE broken_by MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE at_once BOOLEAN DEFAULT FALSE;
    DECLARE is_own BOOLEAN;
    DECLARE broken BIGINT;
    CALL lk_path_of(path, the_path);
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' owner by now ');
        CALL lk_option(options, 'owner', owner);
        CALL lk_option(options, 'by', broken_by);
        CALL lk_flag(options, 'now', FALSE, at_once);
    END IF;
    CALL lk_check_text('R12: the reason', COALESCE(reason, ''), 1, @LK_REASON_BYTES_MAX@);
    CALL lk_check_text('R12: the user of a break', broken_by, 1, @LK_BREAKER_BYTES_MAX@);
    CALL lk_check_owner(owner);
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        CALL lk_decide_break(the_path, SUBSTRING_INDEX(the_path, '/', 1),
                             CAST(COALESCE(owner, '') AS BINARY), at_once,
                             CAST(COALESCE(broken_by, USER()) AS BINARY), CAST(reason AS BINARY),
                             broken);
        CALL lk_leave(is_own);
    END;
    SELECT broken;
END
//
DELIMITER ;
