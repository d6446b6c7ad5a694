-- SPDX-License-Identifier: Apache-2.0
-- Public procedures for work (R16, docs/sql-mysql.md), as 92_public_locks. Ids are one segment of a path each, so a
-- list of them is words with a space between.

DELIMITER //

-- ---- checks ----

-- QUEUE/ID; the queue is checked already.
DROP PROCEDURE IF EXISTS lk_item_path_of
//
CREATE PROCEDURE lk_item_path_of(
    IN queue VARBINARY(512), IN id MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT item VARBINARY(512))
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE words TEXT CHARACTER SET utf8mb4;
    DECLARE EXIT HANDLER FOR SQLSTATE 'LK0@LK_EXIT_INVALID@' BEGIN
        GET DIAGNOSTICS CONDITION 1 words = MESSAGE_TEXT;
        CALL lk_refuse('invalid', REPLACE('@LK_TEXT_ITEM_PATH@', '%1$s', words));
    END;
    IF COALESCE(LENGTH(id), 0) NOT BETWEEN 1 AND @LK_SEGMENT_BYTES_MAX@ OR LOCATE('/', id) > 0 THEN
        CALL lk_refuse('invalid',
                       '@LK_TEXT_ITEM_ID@');
    END IF;
    CALL lk_path_of(CONCAT(CONVERT(queue USING utf8mb4), '/', id), item);
END
//

-- Checks ids, and counts them. `doing` says how many there can be.
DROP PROCEDURE IF EXISTS lk_ids_of
//
CREATE PROCEDURE lk_ids_of(
    IN queue VARBINARY(512), IN ids MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN doing VARCHAR(32) CHARACTER SET utf8mb4, OUT ids_count INT)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE id MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE item VARBINARY(512);
    DECLARE i INT DEFAULT 0;
    SET ids_count = IF(COALESCE(ids, '') = '', 0, 1 + LENGTH(ids) - LENGTH(REPLACE(ids, ' ', '')));
    IF ids_count NOT BETWEEN 1 AND @LK_DECIDE_MANY_MAX@ THEN
        CALL lk_refuse('invalid', CONCAT('R16: one decision ', doing, ', not ', ids_count));
    END IF;
    WHILE i < ids_count DO
        SET id = SUBSTRING_INDEX(ids, ' ', 1), i = i + 1;
        SET ids = SUBSTRING(ids, CHAR_LENGTH(id) + 2);
        CALL lk_item_path_of(queue, id, item);
    END WHILE;
END
//

-- A whole number; NULL: it is not named.
DROP PROCEDURE IF EXISTS lk_number_of
//
CREATE PROCEDURE lk_number_of(
    IN options MEDIUMTEXT CHARACTER SET utf8mb4, IN name VARCHAR(16) CHARACTER SET utf8mb4,
    IN least BIGINT, IN most BIGINT, IN rule VARCHAR(64) CHARACTER SET utf8mb4,
    OUT number BIGINT)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE word MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    CALL lk_option(options, name, word);
    SET number = NULL;
    IF word REGEXP '^-?[0-9]{1,18}\\z' THEN
        SET number = word;
    END IF;
    IF word IS NOT NULL AND (number IS NULL OR number NOT BETWEEN least AND most) THEN
        CALL lk_refuse('invalid', CONCAT(rule, ' ', least, ' to ', most, ', not ',
                                         LEFT(word, 32)));
    END IF;
END
//

-- R16: seconds, as milliseconds; 0: none are named. `sentence`: what is wrong, if it is.
DROP PROCEDURE IF EXISTS lk_seconds_of
//
CREATE PROCEDURE lk_seconds_of(
    IN options MEDIUMTEXT CHARACTER SET utf8mb4, IN name VARCHAR(16) CHARACTER SET utf8mb4,
    IN sentence VARCHAR(128) CHARACTER SET utf8mb4, OUT its_ms BIGINT)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE seconds MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    CALL lk_option(options, name, seconds);
    SET its_ms = IF(seconds IS NULL, 0, -1);
    IF seconds REGEXP '^[0-9]{1,9}([.][0-9]{1,9})?\\z' THEN
        SET its_ms = ROUND(CAST(seconds AS DECIMAL(20, 9)) * 1000);
    END IF;
    IF its_ms NOT BETWEEN 0 AND @LK_TTL_MAX_MS@ THEN
        CALL lk_refuse('invalid', sentence);
    END IF;
END
//

-- What the work on an item needs, in the words of lk_parts_of(): beside the item itself, which is part 1.
DROP PROCEDURE IF EXISTS lk_check_needs
//
CREATE PROCEDURE lk_check_needs(
    IN item VARBINARY(512), IN needs MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE ignored BLOB;
    DECLARE words TEXT CHARACTER SET utf8mb4;
    DECLARE EXIT HANDLER FOR SQLSTATE 'LK0@LK_EXIT_INVALID@' BEGIN
        GET DIAGNOSTICS CONDITION 1 words = MESSAGE_TEXT;
        CALL lk_refuse('invalid', REPLACE('@LK_TEXT_NEEDS_CAUSE@', '%1$s', words));
    END;
    CALL lk_parts_of(CONCAT(CONVERT(item USING utf8mb4), ' ', needs), TRUE, ignored, ignored,
                     ignored, ignored, ignored);
END
//

-- The options of a push of the item.
DROP PROCEDURE IF EXISTS lk_push_options
//
CREATE PROCEDURE lk_push_options(
    IN options MEDIUMTEXT CHARACTER SET utf8mb4, IN item VARBINARY(512), OUT kind TINYINT,
    OUT delay_ms BIGINT, OUT keep_ms BIGINT, OUT its_priority SMALLINT, OUT needs BLOB,
    OUT limits VARBINARY(255), OUT counts VARBINARY(255), OUT need_roots BLOB)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE parts MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE number BIGINT;
    DECLARE ignored BLOB;
    DECLARE comes_again, replaces BOOLEAN;
    SET kind = @LK_PUSH_NEW@, delay_ms = 0, keep_ms = 0, its_priority = 0, needs = '', limits = '',
        counts = '', need_roots = '';
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' delay priority needs again replace keep ');
        CALL lk_flag(options, 'again', FALSE, comes_again);
        CALL lk_flag(options, 'replace', FALSE, replaces);
        IF comes_again AND replaces THEN
            CALL lk_refuse('invalid', '@LK_TEXT_AGAIN_OR_REPLACE@');
        END IF;
        SET kind = CASE WHEN comes_again THEN @LK_PUSH_AGAIN@ WHEN replaces THEN @LK_PUSH_REPLACE@
                        ELSE @LK_PUSH_NEW@ END;
        CALL lk_seconds_of(options, 'delay', '@LK_TEXT_DELAY@', delay_ms);
        CALL lk_seconds_of(options, 'keep', '@LK_TEXT_KEEP@', keep_ms);
        CALL lk_number_of(options, 'priority', @LK_PRIORITY_MIN@, @LK_PRIORITY_MAX@,
                          'R16: a priority is', number);
        SET its_priority = COALESCE(number, 0);
        CALL lk_option(options, 'needs', parts);
        CALL lk_words_of(parts, parts);
        IF parts <> '' THEN
            SET number = 1 + LENGTH(parts) - LENGTH(REPLACE(parts, ' ', ''));
            IF number > @LK_NEEDS_MAX@ THEN
                CALL lk_refuse('invalid', REPLACE(REPLACE('@LK_TEXT_NEEDS@', '%1$s', @LK_NEEDS_MAX@),
                                                  '%2$s', number));
            END IF;
            CALL lk_check_needs(item, parts);
            CALL lk_parts_of(parts, TRUE, needs, limits, counts, ignored, need_roots);
        END IF;
    END IF;
END
//

-- ---- pushes ----

-- An item that is there already stays as it is. With the option `again` it gets what this push says, and is
-- worked on once more, behind its claim if it is claimed; with `replace` it does only if it waits to be
-- claimed. Answers one row: added, whether there was none with this id; changed, whether that one has been
-- changed; was, its state before.
DROP PROCEDURE IF EXISTS lk_work_push
//
CREATE PROCEDURE lk_work_push(
    IN queue MEDIUMTEXT CHARACTER SET utf8mb4, IN id MEDIUMTEXT CHARACTER SET utf8mb4,
    IN value LONGBLOB, IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Adds an item to a queue, or changes the one with this id if an option says so.'
BEGIN
    DECLARE the_queue, item VARBINARY(512);
    DECLARE needs, need_roots BLOB;
    DECLARE limits, counts VARBINARY(255);
    DECLARE delay_ms, keep_ms BIGINT;
    DECLARE its_priority SMALLINT;
    DECLARE kind TINYINT;
    DECLARE is_own, added, changed BOOLEAN;
    DECLARE was VARBINARY(16);
    CALL lk_path_of(queue, the_queue);
    CALL lk_item_path_of(the_queue, id, item);
    CALL lk_check_value(value);
    CALL lk_push_options(options, item, kind, delay_ms, keep_ms, its_priority, needs, limits, counts,
                         need_roots);
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        CALL lk_decide_push(the_queue, CAST(id AS BINARY), SUBSTRING_INDEX(the_queue, '/', 1), value,
                            delay_ms, needs, limits, counts, need_roots, its_priority, kind, keep_ms,
                            added, changed, was);
        CALL lk_leave(is_own);
    END;
    SELECT added, changed, CONVERT(was USING utf8mb4) AS was;
END
//

-- `vals`: a JSON array with a text, or null, for each id; NULL: they have none. Options as for one; they
-- are those of all. Answers a row for each: added, id, changed, was.
DROP PROCEDURE IF EXISTS lk_work_push_many
//
CREATE PROCEDURE lk_work_push_many(
    IN queue MEDIUMTEXT CHARACTER SET utf8mb4, IN ids MEDIUMTEXT CHARACTER SET utf8mb4,
    IN vals LONGTEXT CHARACTER SET utf8mb4, IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Adds items to a queue, in one decision.'
BEGIN
    DECLARE the_queue VARBINARY(512);
    DECLARE needs, need_roots BLOB;
    DECLARE limits, counts VARBINARY(255);
    DECLARE delay_ms, keep_ms BIGINT;
    DECLARE its_priority SMALLINT;
    DECLARE kind TINYINT;
    DECLARE is_own BOOLEAN;
    DECLARE ids_count INT;
    DECLARE i INT DEFAULT 0;
    DECLARE ids_left MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE id MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE found LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE value LONGBLOB;
    DECLARE commands LONGTEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE answers MEDIUMTEXT CHARACTER SET utf8mb4;
    CALL lk_path_of(queue, the_queue);
    CALL lk_words_of(ids, ids);
    SET ids_left = ids;
    CALL lk_ids_of(the_queue, ids, 'adds 1 to @LK_DECIDE_MANY_MAX@ items', ids_count);
    CALL lk_push_options(options, CONCAT(the_queue, '/', SUBSTRING_INDEX(ids, ' ', 1)), kind,
                         delay_ms, keep_ms, its_priority, needs, limits, counts, need_roots);
    IF vals IS NOT NULL THEN
        IF NOT JSON_VALID(vals) THEN
            CALL lk_refuse('invalid', 'values are one JSON array, or NULL');
        ELSEIF JSON_TYPE(vals) <> 'ARRAY' THEN
            CALL lk_refuse('invalid', 'values are one JSON array, or NULL');
        ELSEIF JSON_LENGTH(vals) <> ids_count THEN
            CALL lk_refuse('invalid', CONCAT('R16: ', JSON_LENGTH(vals), ' values for ', ids_count,
                                             ' items'));
        END IF;
    END IF;
    WHILE i < ids_count DO
        SET id = SUBSTRING_INDEX(ids_left, ' ', 1);
        SET ids_left = SUBSTRING(ids_left, CHAR_LENGTH(id) + 2),
            found = JSON_EXTRACT(vals, CONCAT('$[', i, ']'));
        SET value = IF(JSON_TYPE(found) = 'NULL', NULL, CAST(JSON_UNQUOTE(found) AS BINARY));
        CALL lk_check_value(value);
        IF i > 0 AND needs <> '' THEN
            CALL lk_check_needs(CONCAT(the_queue, '/', CAST(id AS BINARY)),
                                CONVERT(needs USING utf8mb4));
        END IF;
        SET commands = CONCAT(commands, IF(i = 0, '', ','), JSON_OBJECT(
                'id', id, 'value', HEX(value), 'delay_ms', delay_ms,
                'needs', CONVERT(needs USING utf8mb4), 'limits', CONVERT(limits USING utf8mb4),
                'counts', CONVERT(counts USING utf8mb4),
                'roots', CONVERT(need_roots USING utf8mb4), 'priority', its_priority, 'kind', kind,
                'keep_ms', keep_ms)),
            i = i + 1;
    END WHILE;
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        CALL lk_decide_pushes(the_queue, SUBSTRING_INDEX(the_queue, '/', 1),
                              CONCAT('[', commands, ']'), answers);
        CALL lk_leave(is_own);
    END;
    SELECT a.added, c.id, a.changed, a.was
    FROM JSON_TABLE(CONCAT('[', answers, ']'), '$[*]' COLUMNS (
        n FOR ORDINALITY, added INT PATH '$[0]', changed INT PATH '$[1]',
        was VARCHAR(16) PATH '$[2]')) AS a
    JOIN JSON_TABLE(CONCAT('[', commands, ']'), '$[*]' COLUMNS (
        n FOR ORDINALITY, id VARCHAR(255) PATH '$.id')) AS c ON c.n = a.n
    ORDER BY a.n;
END
//

-- For triggers and functions, which allow neither an answer, nor statements as text, nor to commit.
-- Each of the two servers rejects a name that only the other one has: it skips what is meant for the
-- other one. NULL: a client has removed that, too.
DROP PROCEDURE IF EXISTS lk_read_start_inside
//
CREATE PROCEDURE lk_read_start_inside(
    OUT present BIGINT, OUT level VARCHAR(32) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET level = COALESCE(NULL /*M!100000 , @@SESSION.tx_isolation */
                         /*!80000 , @@SESSION.transaction_isolation */);
    SELECT CONV(LEFT(SHA2(CONCAT_WS('|', -- as in lk_read_start()
               UNIX_TIMESTAMP() - CAST(CAST(s.VARIABLE_VALUE AS UNSIGNED) AS SIGNED),
               @@GLOBAL.server_id, @@GLOBAL.hostname, @@GLOBAL.port, @@GLOBAL.datadir), 256),
               15), 16, 10) INTO present
    FROM (SELECT NULL AS VARIABLE_NAME, NULL AS VARIABLE_VALUE
          /*M!100000 UNION ALL
          SELECT g.VARIABLE_NAME, g.VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS AS g
          WHERE g.VARIABLE_NAME = 'Uptime' */
          /*!80000 UNION ALL
          SELECT g.VARIABLE_NAME, g.VARIABLE_VALUE FROM performance_schema.global_status AS g
          WHERE g.VARIABLE_NAME = 'Uptime' */) AS s
    WHERE s.VARIABLE_NAME = 'Uptime';
END
//

-- By how much the clock of the session's zone has jumped since the statement began, the outer one in a
-- trigger (20_transactions). If it has not, the present is what has passed since, by that clock, behind the
-- beginning, and the clock shows the same. An hour that comes twice is the first one, unless that was
-- before the statement.
DROP PROCEDURE IF EXISTS lk_jump_of
//
CREATE PROCEDURE lk_jump_of(OUT jump_us BIGINT)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE passed_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6));
    DECLARE shown DATETIME(6) DEFAULT NOW(6) + INTERVAL passed_us MICROSECOND;
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + passed_us;
    -- Rounded, because outside of a trigger each of these statements has a time of its own.
    SET jump_us = 900000000 * ROUND(TIMESTAMPDIFF(MICROSECOND, shown,
                                                  FROM_UNIXTIME(now_us * 0.000001)) / 900000000);
    IF jump_us = 0 AND passed_us < -1000000
       AND ROUND(TIMESTAMPDIFF(MICROSECOND, shown, FROM_UNIXTIME(
               (now_us + 3600000000) * 0.000001)) / 900000000) = 0 THEN
        SET jump_us = -3600000000;
    END IF;
END
//

-- lk_work_push() without an answer, in the caller's transaction, where SET TRANSACTION is refused, or in
-- the statement of a trigger, where a savepoint can be released. Elsewhere each of these statements would
-- be committed. After an error the server undoes the statement that the trigger belongs to; in an open
-- transaction it would not if there were a savepoint in it, which InnoDB takes for the statement's end.
DROP PROCEDURE IF EXISTS lk_work_push_inside
//
CREATE PROCEDURE lk_work_push_inside(
    IN queue MEDIUMTEXT CHARACTER SET utf8mb4, IN id MEDIUMTEXT CHARACTER SET utf8mb4,
    IN value LONGBLOB, IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Adds an item to a queue, without an answer: for triggers.'
BEGIN
    DECLARE the_queue, item VARBINARY(512);
    DECLARE needs, need_roots BLOB;
    DECLARE limits, counts VARBINARY(255);
    DECLARE delay_ms, keep_ms, present BIGINT;
    DECLARE known BIGINT DEFAULT 0;
    DECLARE its_priority SMALLINT;
    DECLARE kind TINYINT;
    DECLARE added, changed BOOLEAN;
    DECLARE was VARBINARY(16);
    DECLARE is_inside BOOLEAN DEFAULT @@SESSION.autocommit = 0;
    DECLARE level VARCHAR(32) CHARACTER SET utf8mb4;
    DECLARE jump_us BIGINT;
    CALL lk_path_of(queue, the_queue);
    CALL lk_item_path_of(the_queue, id, item);
    CALL lk_check_value(value);
    CALL lk_push_options(options, item, kind, delay_ms, keep_ms, its_priority, needs, limits, counts,
                         need_roots);
    BEGIN
        DECLARE CONTINUE HANDLER FOR 1568 SET is_inside = TRUE;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END;
    SET @lk_goes_on = is_inside;
    IF NOT is_inside THEN
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1305 SET is_inside = FALSE;
            SAVEPOINT lk_called;
            SET is_inside = TRUE;
            RELEASE SAVEPOINT lk_called;
        END;
    END IF;
    IF NOT is_inside THEN
        CALL lk_refuse('unsupported', 'this is for triggers and transactions; lk_work_push() is for all');
    END IF;
    CALL lk_jump_of(@lk_jump_us);
    CALL lk_check_clock(86400000000, @lk_jump_us);
    CALL lk_read_start_inside(present, level);
    CALL lk_check_level(level);
    SET @lk_inside = 2;
    IF @lk_server_start IS NULL THEN
        SELECT m.server_start INTO known FROM lk_meta AS m;
        IF known <> present THEN -- the caller's transaction may be rolled back
            CALL lk_give_grace(present);
        ELSE
            SET @lk_server_start = COALESCE(present, 0);
        END IF;
    END IF;
    CALL lk_decide_push(the_queue, CAST(id AS BINARY), SUBSTRING_INDEX(the_queue, '/', 1), value,
                        delay_ms, needs, limits, counts, need_roots, its_priority, kind, keep_ms, added,
                        changed, was);
    CALL lk_jump_of(jump_us);
    IF jump_us <> @lk_jump_us THEN
        CALL lk_refuse('unsupported', 'the clock of the session''s time zone has jumped meanwhile: repeat it');
    END IF;
END
//

-- ---- claims ----

-- `n` NULL: one. `ask`: a number that is repeated with the call if its answer was lost (R3). Answers a
-- row for each item, or none: id, value, token (R4; the items of one claim share it), owner, expires,
-- attempt, is_stolen (its former claim has perished).
DROP PROCEDURE IF EXISTS lk_work_claim
//
CREATE PROCEDURE lk_work_claim(
    IN queue MEDIUMTEXT CHARACTER SET utf8mb4, IN n INT,
    IN owner MEDIUMTEXT CHARACTER SET utf8mb4, IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Claims up to n items that are due and free: a row for each.'
BEGIN
    DECLARE the_queue VARBINARY(512);
    DECLARE asker VARBINARY(128);
    DECLARE ttl_ms BIGINT DEFAULT 0;
    DECLARE max_attempts, ask BIGINT;
    DECLARE note MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE commands MEDIUMTEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE is_own, saw_items BOOLEAN;
    DECLARE i INT DEFAULT 0;
    DECLARE counted INT;
    DECLARE now_us, look_us BIGINT;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE claims, claimed MEDIUMTEXT CHARACTER SET utf8mb4;
    CALL lk_path_of(queue, the_queue);
    CALL lk_check_owner(owner);
    SET asker = CAST(COALESCE(owner, CONCAT(LEFT(USER(), 24), '/', CONNECTION_ID(), '/',
                                            UUID_SHORT())) AS BINARY);
    IF COALESCE(n, 1) NOT BETWEEN 1 AND @LK_TAKES_MAX@ THEN
        CALL lk_refuse('invalid', CONCAT('R16: one decision claims 1 to @LK_TAKES_MAX@ items, not ', n));
    END IF;
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' ttl max_attempts note ask ');
        CALL lk_ttl_of(options, ttl_ms);
        CALL lk_number_of(options, 'max_attempts', 0, @LK_ATTEMPTS_MAX@, 'R16: the attempts are',
                          max_attempts);
        CALL lk_number_of(options, 'ask', 1, 9007199254740991, 'R3: the number of an ask is', ask);
        CALL lk_option(options, 'note', note);
        CALL lk_check_text('R19: the note', note, 0, @LK_NOTE_BYTES_MAX@);
    END IF;
    WHILE i < COALESCE(n, 1) DO
        SET commands = CONCAT(commands, IF(i = 0, '', ','),
                              JSON_OBJECT('ask_number', COALESCE(ask * @LK_TAKES_MAX@ + i, 0))),
            i = i + 1;
    END WHILE;
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        CALL lk_decide_takes(the_queue, SUBSTRING_INDEX(the_queue, '/', 1), asker,
                             COALESCE(NULLIF(ttl_ms, 0), @LK_TTL_DEFAULT_MS@), COALESCE(max_attempts, 0),
                             COALESCE(note, ''), CONCAT('[', commands, ']'), now_us, counted, claims,
                             outcome, sentence, saw_items, look_us);
        IF outcome = 'full' AND claims = '' THEN
            CALL lk_refuse(outcome, sentence);
        END IF;
        SET SESSION group_concat_max_len = 4194304;
        SELECT STRAIGHT_JOIN GROUP_CONCAT(JSON_ARRAY(c.id, r.token, i.attempts, c.stolen,
                                                     r.deadline_us) ORDER BY c.n)
        INTO claimed
        FROM JSON_TABLE(CONCAT('[', claims, ']'), '$[*]' COLUMNS (
            n FOR ORDINALITY, self BIGINT PATH '$[0]', id VARCHAR(255) PATH '$[1]',
            stolen INT PATH '$[2]')) AS c
        JOIN lk_requests AS r FORCE INDEX (PRIMARY) ON r.id = c.self AND r.part = 1
        JOIN lk_items AS i FORCE INDEX (PRIMARY)
          ON i.queue = the_queue AND i.id = CAST(c.id AS BINARY);
        CALL lk_leave(is_own);
    END;
    SELECT STRAIGHT_JOIN c.id, v.bytes AS value, c.token, CONVERT(asker USING utf8mb4) AS owner,
           FROM_UNIXTIME(c.deadline_us * 0.000001) AS expires, c.attempt, c.is_stolen
    FROM JSON_TABLE(CONCAT('[', COALESCE(claimed, ''), ']'), '$[*]' COLUMNS (
        n FOR ORDINALITY, id VARCHAR(255) PATH '$[0]', token BIGINT PATH '$[1]',
        attempt BIGINT PATH '$[2]', is_stolen INT PATH '$[3]',
        deadline_us BIGINT PATH '$[4]')) AS c
    LEFT JOIN lk_item_values AS v FORCE INDEX (PRIMARY)
      ON v.queue = the_queue AND v.id = CAST(c.id AS BINARY)
    ORDER BY c.n;
END
//

-- ---- ends ----

-- Refuses what has failed, if that is wanted. `answers` as in 72_series.
DROP PROCEDURE IF EXISTS lk_refuse_failed
//
CREATE PROCEDURE lk_refuse_failed(
    IN answers MEDIUMTEXT CHARACTER SET utf8mb4, IN or_fail BOOLEAN)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    IF or_fail THEN
        SELECT a.outcome, a.sentence INTO outcome, sentence
        FROM JSON_TABLE(CONCAT('[', answers, ']'), '$[*]' COLUMNS (
            n FOR ORDINALITY, outcome VARCHAR(16) PATH '$[0]',
            sentence VARCHAR(255) PATH '$[1]')) AS a
        WHERE a.outcome <> 'ok' ORDER BY a.n LIMIT 1;
        IF outcome IS NOT NULL THEN
            CALL lk_refuse(outcome, sentence);
        END IF;
    END IF;
END
//

-- A row for each: outcome, id.
DROP PROCEDURE IF EXISTS lk_answer_ids
//
CREATE PROCEDURE lk_answer_ids(
    IN commands LONGTEXT CHARACTER SET utf8mb4, IN answers MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT a.outcome, c.id
    FROM JSON_TABLE(CONCAT('[', answers, ']'), '$[*]' COLUMNS (
        n FOR ORDINALITY, outcome VARCHAR(16) PATH '$[0]')) AS a
    JOIN JSON_TABLE(commands, '$[*]' COLUMNS (
        n FOR ORDINALITY, id VARCHAR(255) PATH '$.id')) AS c ON c.n = a.n
    ORDER BY a.n;
END
//

-- All of them or, with or_fail, none. With the option `keep`, or if they were pushed with it, they are
-- kept with their `result`, one text for all. Answers a row for each: outcome (ok, lost), id.
DROP PROCEDURE IF EXISTS lk_work_done
//
CREATE PROCEDURE lk_work_done(
    IN queue MEDIUMTEXT CHARACTER SET utf8mb4, IN ids MEDIUMTEXT CHARACTER SET utf8mb4,
    IN owner MEDIUMTEXT CHARACTER SET utf8mb4, IN token BIGINT,
    IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Removes claimed items, or keeps them with their result.'
BEGIN
    DECLARE the_queue VARBINARY(512);
    DECLARE asker VARBINARY(128);
    DECLARE or_fail BOOLEAN DEFAULT TRUE;
    DECLARE is_own BOOLEAN;
    DECLARE keep_ms BIGINT DEFAULT 0;
    DECLARE result MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE ids_count INT;
    DECLARE i INT DEFAULT 0;
    DECLARE id MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE commands LONGTEXT CHARACTER SET utf8mb4 DEFAULT '[';
    DECLARE answers MEDIUMTEXT CHARACTER SET utf8mb4;
    CALL lk_path_of(queue, the_queue);
    CALL lk_words_of(ids, ids);
    CALL lk_ids_of(the_queue, ids, 'ends 1 to @LK_DECIDE_MANY_MAX@ claims', ids_count);
    CALL lk_check_end(owner, token);
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' result keep or_fail ');
        CALL lk_option(options, 'result', result);
        CALL lk_check_value(result);
        CALL lk_seconds_of(options, 'keep', '@LK_TEXT_KEEP@', keep_ms);
        CALL lk_flag(options, 'or_fail', TRUE, or_fail);
    END IF;
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        WHILE i < ids_count DO
            SET id = SUBSTRING_INDEX(ids, ' ', 1);
            SET ids = SUBSTRING(ids, CHAR_LENGTH(id) + 2);
            CALL lk_owner_or_found(owner, CONCAT(the_queue, '/', CAST(id AS BINARY)), token, asker);
            SET commands = CONCAT(commands, IF(i = 0, '', ','), JSON_OBJECT('id', id,
                    'owner', CONVERT(asker USING utf8mb4), 'token', COALESCE(token, 0))),
                i = i + 1;
        END WHILE;
        SET commands = CONCAT(commands, ']');
        CALL lk_decide_finishes(the_queue, SUBSTRING_INDEX(the_queue, '/', 1), commands,
                                CAST(NULLIF(result, '') AS BINARY), keep_ms, answers);
        CALL lk_refuse_failed(answers, or_fail);
        CALL lk_leave(is_own);
    END;
    CALL lk_answer_ids(commands, answers);
END
//

-- Answers one row: outcome (ok, lost).
DROP PROCEDURE IF EXISTS lk_work_retry
//
CREATE PROCEDURE lk_work_retry(
    IN queue MEDIUMTEXT CHARACTER SET utf8mb4, IN id MEDIUMTEXT CHARACTER SET utf8mb4,
    IN owner MEDIUMTEXT CHARACTER SET utf8mb4, IN token BIGINT,
    IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Gives a claimed item back, or parks it, and keeps why.'
BEGIN
    DECLARE the_queue, item VARBINARY(512);
    DECLARE asker VARBINARY(128);
    DECLARE delay_ms BIGINT DEFAULT 0;
    DECLARE exit_code BIGINT;
    DECLARE failure MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE uncounted, park BOOLEAN DEFAULT FALSE;
    DECLARE or_fail BOOLEAN DEFAULT TRUE;
    DECLARE is_own BOOLEAN;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    CALL lk_path_of(queue, the_queue);
    CALL lk_item_path_of(the_queue, id, item);
    CALL lk_check_end(owner, token);
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' delay exit_code error uncounted park or_fail ');
        CALL lk_seconds_of(options, 'delay', '@LK_TEXT_DELAY@', delay_ms);
        CALL lk_flag(options, 'park', FALSE, park);
        IF park AND delay_ms <> 0 THEN
            CALL lk_refuse('invalid', '@LK_TEXT_PARKS_DELAYED@');
        END IF;
        CALL lk_number_of(options, 'exit_code', -2147483648, 2147483647, 'R16: an exit code is',
                          exit_code);
        CALL lk_option(options, 'error', failure);
        CALL lk_check_text('R16: the text of a failure', failure, 0, @LK_FAILURE_BYTES_MAX@);
        CALL lk_flag(options, 'uncounted', FALSE, uncounted);
        CALL lk_flag(options, 'or_fail', TRUE, or_fail);
    END IF;
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        CALL lk_owner_or_found(owner, item, token, asker);
        CALL lk_decide_finish(the_queue, CAST(id AS BINARY), SUBSTRING_INDEX(the_queue, '/', 1),
                              asker, UNHEX(SHA2(CONCAT(item, '\n', asker), 256)),
                              COALESCE(token, 0), delay_ms, exit_code,
                              CAST(NULLIF(failure, '') AS BINARY), uncounted, park, NULL, 0,
                              outcome, sentence);
        IF or_fail AND outcome <> 'ok' THEN
            CALL lk_refuse(outcome, sentence);
        END IF;
        CALL lk_leave(is_own);
    END;
    SELECT outcome;
END
//

-- How far the work on a claimed item is; NULL: nothing is said any more. Answers one row: outcome (ok,
-- lost).
DROP PROCEDURE IF EXISTS lk_work_progress
//
CREATE PROCEDURE lk_work_progress(
    IN queue MEDIUMTEXT CHARACTER SET utf8mb4, IN id MEDIUMTEXT CHARACTER SET utf8mb4,
    IN owner MEDIUMTEXT CHARACTER SET utf8mb4, IN token BIGINT, IN progress LONGBLOB,
    IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Says how far the work on a claimed item is.'
BEGIN
    DECLARE the_queue, item VARBINARY(512);
    DECLARE asker VARBINARY(128);
    DECLARE or_fail BOOLEAN DEFAULT TRUE;
    DECLARE is_own BOOLEAN;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    CALL lk_path_of(queue, the_queue);
    CALL lk_item_path_of(the_queue, id, item);
    CALL lk_check_end(owner, token);
    IF LENGTH(progress) > @LK_FAILURE_BYTES_MAX@ THEN
        CALL lk_refuse('invalid', REPLACE(REPLACE('@LK_TEXT_PROGRESS@', '%1$s', @LK_FAILURE_BYTES_MAX@),
                                          '%2$s', LENGTH(progress)));
    END IF;
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' or_fail ');
        CALL lk_flag(options, 'or_fail', TRUE, or_fail);
    END IF;
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        CALL lk_owner_or_found(owner, item, token, asker);
        CALL lk_decide_progress(the_queue, CAST(id AS BINARY), SUBSTRING_INDEX(the_queue, '/', 1),
                                asker, COALESCE(token, 0), NULLIF(progress, ''), outcome, sentence);
        IF or_fail AND outcome <> 'ok' THEN
            CALL lk_refuse(outcome, sentence);
        END IF;
        CALL lk_leave(is_own);
    END;
    SELECT outcome;
END
//

-- Both of the following.
DROP PROCEDURE IF EXISTS lk_change_named
//
CREATE PROCEDURE lk_change_named(
    IN queue MEDIUMTEXT CHARACTER SET utf8mb4, IN ids MEDIUMTEXT CHARACTER SET utf8mb4,
    IN unparks BOOLEAN, IN only_parked BOOLEAN, IN or_fail BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE the_queue VARBINARY(512);
    DECLARE is_own BOOLEAN;
    DECLARE ids_count INT;
    DECLARE i INT DEFAULT 0;
    DECLARE id MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE commands LONGTEXT CHARACTER SET utf8mb4 DEFAULT '[';
    DECLARE answers MEDIUMTEXT CHARACTER SET utf8mb4;
    CALL lk_path_of(queue, the_queue);
    CALL lk_words_of(ids, ids);
    CALL lk_ids_of(the_queue, ids, 'changes 1 to @LK_DECIDE_MANY_MAX@ items', ids_count);
    WHILE i < ids_count DO
        SET id = SUBSTRING_INDEX(ids, ' ', 1);
        SET ids = SUBSTRING(ids, CHAR_LENGTH(id) + 2),
            commands = CONCAT(commands, IF(i = 0, '', ','),
                              JSON_OBJECT('id', id, 'only_parked', IF(only_parked, '1', '0'))),
            i = i + 1;
    END WHILE;
    SET commands = CONCAT(commands, ']');
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        CALL lk_decide_changes(the_queue, SUBSTRING_INDEX(the_queue, '/', 1), commands, unparks,
                               answers);
        CALL lk_refuse_failed(answers, or_fail);
        CALL lk_leave(is_own);
    END;
    CALL lk_answer_ids(commands, answers);
END
//

-- Answers as lk_work_done().
DROP PROCEDURE IF EXISTS lk_work_unpark
//
CREATE PROCEDURE lk_work_unpark(
    IN queue MEDIUMTEXT CHARACTER SET utf8mb4, IN ids MEDIUMTEXT CHARACTER SET utf8mb4,
    IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Makes parked items ready again.'
BEGIN
    DECLARE or_fail BOOLEAN DEFAULT TRUE;
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' or_fail ');
        CALL lk_flag(options, 'or_fail', TRUE, or_fail);
    END IF;
    CALL lk_change_named(queue, ids, TRUE, FALSE, or_fail);
END
//

-- Answers as lk_work_done().
DROP PROCEDURE IF EXISTS lk_work_drop
//
CREATE PROCEDURE lk_work_drop(
    IN queue MEDIUMTEXT CHARACTER SET utf8mb4, IN ids MEDIUMTEXT CHARACTER SET utf8mb4,
    IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Removes items that are not claimed.'
BEGIN
    DECLARE or_fail BOOLEAN DEFAULT TRUE;
    DECLARE only_parked BOOLEAN DEFAULT FALSE;
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' only_parked or_fail ');
        CALL lk_flag(options, 'only_parked', FALSE, only_parked);
        CALL lk_flag(options, 'or_fail', TRUE, or_fail);
    END IF;
    CALL lk_change_named(queue, ids, FALSE, only_parked, or_fail);
END
//

-- R16, R12. `options`: by whom, the user of the session unless named; now. Answers one row: outcome
-- (ok, lost); broken, how many claims.
DROP PROCEDURE IF EXISTS lk_work_cancel
//
CREATE PROCEDURE lk_work_cancel(
    IN queue MEDIUMTEXT CHARACTER SET utf8mb4, IN id MEDIUMTEXT CHARACTER SET utf8mb4,
    IN reason MEDIUMTEXT CHARACTER SET utf8mb4, IN options MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
COMMENT 'Removes an item, on record; a claimed one when its claim has ended.'
BEGIN
    DECLARE the_queue, item VARBINARY(512);
    DECLARE broken_by MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE at_once BOOLEAN DEFAULT FALSE;
    DECLARE or_fail BOOLEAN DEFAULT TRUE;
    DECLARE is_own BOOLEAN;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE broken BIGINT;
    CALL lk_path_of(queue, the_queue);
    CALL lk_item_path_of(the_queue, id, item);
    IF options IS NOT NULL THEN
        CALL lk_check_options(options, ' by now or_fail ');
        CALL lk_option(options, 'by', broken_by);
        CALL lk_flag(options, 'now', FALSE, at_once);
        CALL lk_flag(options, 'or_fail', TRUE, or_fail);
    END IF;
    CALL lk_check_text('R12: the reason', COALESCE(reason, ''), 1, @LK_REASON_BYTES_MAX@);
    CALL lk_check_text('R12: the user of a break', broken_by, 1, @LK_BREAKER_BYTES_MAX@);
    CALL lk_enter(is_own);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN CALL lk_undo(is_own); RESIGNAL; END;
        CALL lk_decide_cancel(item, SUBSTRING_INDEX(item, '/', 1), at_once,
                              CAST(COALESCE(broken_by, USER()) AS BINARY), CAST(reason AS BINARY),
                              outcome, sentence, broken);
        IF or_fail AND outcome <> 'ok' THEN
            CALL lk_refuse(outcome, sentence);
        END IF;
        CALL lk_leave(is_own);
    END;
    SELECT outcome, broken;
END
//
DELIMITER ;
