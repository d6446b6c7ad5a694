-- SPDX-License-Identifier: Apache-2.0
-- Several commands of one kind about one queue, in one decision (R16): each as if it were alone, at
-- the same moment and in their order. The engine calls these procedures; each answers a row for each
-- command.
--
-- `commands` is a JSON array of objects. Lists in them are words with a space between.

DELIMITER //

-- R16, in the transaction that is open. Needs as parts, and their roots. `value`: hexadecimal digits;
-- absent: none. `kind` as in lk_push_one(). `answers`: of each added, changed and was, as JSON with a
-- comma between.
DROP PROCEDURE IF EXISTS lk_decide_pushes
//
CREATE PROCEDURE lk_decide_pushes(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255),
    IN commands LONGTEXT CHARACTER SET utf8mb4, OUT answers MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE its_id VARBINARY(255);
    DECLARE its_value MEDIUMBLOB;
    DECLARE its_delay_ms BIGINT;
    DECLARE its_needs BLOB;
    DECLARE its_limits VARBINARY(255);
    DECLARE its_counts VARBINARY(255);
    DECLARE its_roots BLOB;
    DECLARE its_priority SMALLINT;
    DECLARE its_kind TINYINT;
    DECLARE its_keep_ms BIGINT;
    DECLARE added, changed, is_work BOOLEAN;
    DECLARE was VARBINARY(16);
    DECLARE count_pushed BIGINT DEFAULT 0;
    DECLARE count INT DEFAULT JSON_LENGTH(commands);
    DECLARE i INT DEFAULT 0;
    DECLARE pushes CURSOR FOR
        SELECT c.id, UNHEX(c.value), c.delay_ms, c.needs, c.limits, c.counts, c.roots, c.priority,
               c.kind, COALESCE(c.keep_ms, 0)
        FROM JSON_TABLE(commands, '$[*]' COLUMNS (
            n FOR ORDINALITY, id VARCHAR(255) PATH '$.id', value MEDIUMTEXT PATH '$.value',
            delay_ms BIGINT PATH '$.delay_ms', needs TEXT PATH '$.needs',
            limits VARCHAR(255) PATH '$.limits', counts VARCHAR(255) PATH '$.counts',
            roots TEXT PATH '$.roots', priority SMALLINT PATH '$.priority',
            kind TINYINT PATH '$.kind', keep_ms BIGINT PATH '$.keep_ms')) AS c
        ORDER BY c.n;
    SET answers = '';
    CALL lk_lock_roots(the_root, locked, now_us, is_due, has_waiting);
    OPEN pushes;
    WHILE i < count DO
        FETCH pushes INTO its_id, its_value, its_delay_ms, its_needs, its_limits, its_counts,
            its_roots, its_priority, its_kind, its_keep_ms;
        CALL lk_push_one(the_queue, its_id, the_root, its_value, its_delay_ms, its_needs,
                         its_limits, its_counts, its_roots, its_priority, its_kind, its_keep_ms,
                         now_us, is_due, locked, has_waiting, added, changed, was, is_work);
        SET count_pushed = count_pushed + is_work, i = i + 1,
            answers = CONCAT(answers, IF(i = 1, '', ','),
                             JSON_ARRAY(added, changed, CONVERT(was USING utf8mb4)));
    END WHILE;
    CLOSE pushes;
    CALL lk_count_pushes(the_queue, count_pushed, count - count_pushed);
END
//

-- Answers: added, changed.
DROP PROCEDURE IF EXISTS lk_push_many
//
CREATE PROCEDURE lk_push_many(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255),
    IN commands LONGTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE answers MEDIUMTEXT CHARACTER SET utf8mb4;
    CALL lk_begin();
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_decide_pushes(the_queue, the_root, commands, answers);
        COMMIT;
    END;
    SELECT a.added, a.changed
    FROM JSON_TABLE(CONCAT('[', answers, ']'), '$[*]' COLUMNS (
        n FOR ORDINALITY, added INT PATH '$[0]', changed INT PATH '$[1]')) AS a
    ORDER BY a.n;
END
//

-- R3: whether one of these takes has been granted before. So it is looked for once, not once for
-- each of them.
DROP PROCEDURE IF EXISTS lk_takes_repeat
//
CREATE PROCEDURE lk_takes_repeat(
    IN the_queue VARBINARY(512), IN asker VARBINARY(128),
    IN commands LONGTEXT CHARACTER SET utf8mb4, OUT is_repeated BOOLEAN)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT EXISTS (
        SELECT STRAIGHT_JOIN 1 FROM lk_requests AS r FORCE INDEX (requests_by_owner)
        JOIN lk_items AS i FORCE INDEX (PRIMARY)
          ON i.queue = the_queue AND i.id = SUBSTRING_INDEX(r.path, '/', -1)
        JOIN JSON_TABLE(commands, '$[*]' COLUMNS (ask_number BIGINT PATH '$.ask_number')) AS c
          ON c.ask_number = i.ask_number
        WHERE r.owner = asker AND r.held = 1 AND r.identity IS NULL AND i.claim = r.id
          AND i.ask_number <> 0) INTO is_repeated;
END
//

-- The short way of lk_take_many(), for the case of lk_take()'s: as many of the first items as there
-- are commands, at once. Not in a caller's transaction, whose snapshot is compared with the row of the
-- root before that is changed (20_transactions). `claims`: request, id and whether it is a steal, as JSON with a comma
-- between; NULL: it is not simple, and nothing is claimed.
DROP PROCEDURE IF EXISTS lk_claim_first
//
CREATE PROCEDURE lk_claim_first(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN the_ttl_ms BIGINT, IN the_max_attempts INT UNSIGNED, IN the_note VARBINARY(255),
    IN commands LONGTEXT CHARACTER SET utf8mb4, OUT now_us BIGINT, OUT taken INT,
    OUT claims MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_kind TINYINT
        DEFAULT 5 + 2 * (LENGTH(the_queue) - LENGTH(REPLACE(the_queue, '/', '')));
    DECLARE count INT DEFAULT JSON_LENGTH(commands);
    DECLARE its_token BIGINT;
    DECLARE is_repeated BOOLEAN;
    DECLARE is_simple BOOLEAN DEFAULT FALSE;
    SET SESSION group_concat_max_len = 4194304;
    SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                 + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                   MOD 900000000 - 450000000;
    UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
    SET r.last_draw = LAST_INSERT_ID(GREATEST(r.last_draw + 1, now_us)),
        r.due_us = LEAST(r.due_us, now_us + the_ttl_ms * 1000), r.kind = its_kind
    WHERE r.root = the_root AND NOT r.has_waiting AND r.due_us > now_us
      AND r.kind IN (0, its_kind) AND r.mixed_until_us <= now_us
      AND NOT COALESCE(@lk_inside, FALSE);
    IF ROW_COUNT() > 0 THEN
        SET its_token = LAST_INSERT_ID();
        CALL lk_takes_repeat(the_queue, asker, commands, is_repeated);
        SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
               + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                 MOD 900000000 - 450000000,
               NOT m.is_bounded AND m.told_until_us <= now_us
               AND (SELECT COUNT(*) > 0 AND COALESCE(SUM(x.needs <> ''), 0) = 0
                    FROM (SELECT i.needs FROM lk_items AS i FORCE INDEX (items_by_state)
                          WHERE i.queue = the_queue AND i.state = 'ready' AND i.due_us = 0
                          ORDER BY i.place LIMIT count) AS x)
               AND NOT is_repeated
        INTO now_us, is_simple FROM lk_meta AS m WHERE m.only_row = 1;
    END IF;
    IF is_simple THEN
        INSERT INTO lk_requests (part, path, unit_limit, units, root, owner, note, held, attended,
            fixed, wants_value, is_claim, ticket, token, ttl_ms, deadline_us, roots, part_count)
        SELECT 1, CONCAT(the_queue, '/', x.id), 0, 0, the_root, asker, the_note, TRUE, FALSE, FALSE,
               FALSE, TRUE, its_token, its_token, the_ttl_ms, now_us + the_ttl_ms * 1000, the_root, 1
        FROM (SELECT i.id, i.place FROM lk_items AS i FORCE INDEX (items_by_state)
              WHERE i.queue = the_queue AND i.state = 'ready' AND i.due_us = 0
              ORDER BY i.place LIMIT count) AS x
        ORDER BY x.place;
        SELECT STRAIGHT_JOIN COUNT(*),
               GROUP_CONCAT('[', r.id, ',', JSON_QUOTE(CONVERT(i.id USING utf8mb4)), ',',
                            i.was_lost, ']' ORDER BY r.id)
        INTO taken, claims
        FROM lk_requests AS r FORCE INDEX (requests_by_owner)
        JOIN lk_items AS i FORCE INDEX (PRIMARY)
          ON i.queue = the_queue AND i.id = SUBSTRING_INDEX(r.path, '/', -1)
        WHERE r.owner = asker AND r.held = 1 AND r.identity IS NULL AND r.token = its_token;
        UPDATE JSON_TABLE(CONCAT('[', claims, ']'), '$[*]' COLUMNS (
                   n FOR ORDINALITY, self BIGINT PATH '$[0]', id VARCHAR(255) PATH '$[1]')) AS c
        STRAIGHT_JOIN lk_items AS i FORCE INDEX (PRIMARY)
          ON i.queue = the_queue AND i.id = CAST(c.id AS BINARY)
        SET i.claim = c.self, i.state = 'claimed', i.attempts = i.attempts + 1,
            i.claims = i.claims + 1, i.steals = i.steals + i.was_lost,
            i.ask_number = JSON_EXTRACT(commands, CONCAT('$[', c.n - 1, '].ask_number')),
            i.max_attempts = the_max_attempts, i.progress = NULL;
        UPDATE JSON_TABLE(CONCAT('[', claims, ']'), '$[*]' COLUMNS (
                   id VARCHAR(255) PATH '$[1]', was_lost INT PATH '$[2]')) AS c
        STRAIGHT_JOIN lk_items AS i FORCE INDEX (PRIMARY)
          ON i.queue = the_queue AND i.id = CAST(c.id AS BINARY)
        SET i.was_lost = FALSE WHERE c.was_lost;
    END IF;
END
//

-- Claims as many items as there are ask numbers, all with one token (R4), in the transaction that is
-- open. `claims` as in lk_claim_first(). `outcome`: why there are not more; `counted`: of how many
-- that is the last. `look_us` as in lk_look_again().
DROP PROCEDURE IF EXISTS lk_decide_takes
//
CREATE PROCEDURE lk_decide_takes(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN the_ttl_ms BIGINT, IN the_max_attempts INT UNSIGNED, IN the_note VARBINARY(255),
    IN commands LONGTEXT CHARACTER SET utf8mb4, OUT now_us BIGINT, OUT counted INT,
    OUT claims MEDIUMTEXT CHARACTER SET utf8mb4, OUT outcome VARCHAR(16) CHARACTER SET utf8mb4,
    OUT sentence VARCHAR(255) CHARACTER SET utf8mb4, OUT saw_items BOOLEAN, OUT look_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE all_roots BLOB;
    DECLARE its_number BIGINT;
    DECLARE is_repeated BOOLEAN;
    DECLARE self BIGINT;
    DECLARE taken VARBINARY(255);
    DECLARE stolen BOOLEAN;
    DECLARE shared BIGINT DEFAULT 0;
    DECLARE count INT DEFAULT JSON_LENGTH(commands);
    DECLARE i INT DEFAULT 0;
    DECLARE takes CURSOR FOR
        SELECT c.ask_number
        FROM JSON_TABLE(commands, '$[*]' COLUMNS (
            n FOR ORDINALITY, ask_number BIGINT PATH '$.ask_number')) AS c
        ORDER BY c.n;
    SET outcome = 'granted';
    CALL lk_claim_first(the_queue, the_root, asker, the_ttl_ms, the_max_attempts, the_note,
                        commands, now_us, i, claims);
    IF claims IS NULL THEN
        SET i = 0, claims = '';
        CALL lk_roots_to_take(the_queue, the_root, all_roots);
        CALL lk_lock_roots(all_roots, locked, now_us, is_due, has_waiting);
        IF is_due THEN
            CALL lk_perish(locked, has_waiting, now_us, 256);
        END IF;
        CALL lk_takes_repeat(the_queue, asker, commands, is_repeated);
    ELSEIF i < count THEN
        SET outcome = 'busy', sentence = '@LK_TEXT_NOTHING_DUE@', saw_items = FALSE,
            i = i + 1, locked = CONCAT('/', the_root, '/');
    END IF;
    OPEN takes;
    WHILE i < count AND outcome = 'granted' DO
        FETCH takes INTO its_number;
        SET taken = NULL, stolen = FALSE;
        IF is_repeated AND its_number <> 0 THEN
            CALL lk_take_again(the_queue, asker, its_number, the_ttl_ms, now_us, self, taken);
        END IF;
        IF taken IS NULL THEN
            CALL lk_take_next(the_queue, the_root, asker, the_ttl_ms, the_max_attempts,
                              its_number, the_note, shared, now_us, locked, has_waiting, self,
                              taken, stolen, outcome, sentence, saw_items);
        END IF;
        IF outcome = 'granted' THEN
            SET claims = CONCAT(claims, IF(i = 0, '', ','), '[', self, ',',
                                JSON_QUOTE(CONVERT(taken USING utf8mb4)), ',', stolen, ']');
            IF shared = 0 THEN
                SELECT r.token INTO shared FROM lk_requests AS r
                WHERE r.id = self AND r.part = 1;
            END IF;
        END IF;
        SET i = i + 1;
    END WHILE;
    CLOSE takes;
    IF outcome = 'busy' THEN
        CALL lk_look_again(the_queue, locked, now_us, look_us);
    END IF;
    SET counted = i;
END
//

-- The first that finds nothing is the last row. Answers as lk_take().
--
-- The rows are sent before the transaction commits: the client takes them for an answer only when
-- the call has ended without an error.
DROP PROCEDURE IF EXISTS lk_take_many
//
CREATE PROCEDURE lk_take_many(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN the_ttl_ms BIGINT, IN the_max_attempts INT UNSIGNED, IN the_note VARBINARY(255),
    IN commands LONGTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE now_us BIGINT;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE look_us BIGINT;
    DECLARE saw_items BOOLEAN;
    DECLARE claims MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE counted INT;
    CALL lk_begin();
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_decide_takes(the_queue, the_root, asker, the_ttl_ms, the_max_attempts, the_note,
                             commands, now_us, counted, claims, outcome, sentence, saw_items,
                             look_us);
        (SELECT STRAIGHT_JOIN 'granted' AS outcome, NULL AS sentence, q.id, r.token,
                q.attempts AS attempt, c.stolen, r.ttl_ms AS new_ttl_ms,
                r.deadline_us - now_us AS left_us, v.bytes AS value, NULL AS look_us,
                TRUE AS has_held, c.n
         FROM JSON_TABLE(CONCAT('[', claims, ']'), '$[*]' COLUMNS (
             n FOR ORDINALITY, self BIGINT PATH '$[0]', id VARCHAR(255) PATH '$[1]',
             stolen INT PATH '$[2]')) AS c
         JOIN lk_requests AS r FORCE INDEX (PRIMARY) ON r.id = c.self AND r.part = 1
         JOIN lk_items AS q FORCE INDEX (PRIMARY)
           ON q.queue = the_queue AND q.id = CAST(c.id AS BINARY)
         LEFT JOIN lk_item_values AS v FORCE INDEX (PRIMARY)
           ON v.queue = the_queue AND v.id = CAST(c.id AS BINARY))
        UNION ALL
        (SELECT outcome, sentence, NULL, NULL, NULL, NULL, NULL, NULL, NULL, look_us, saw_items,
                counted
         FROM lk_numbers AS x WHERE x.n = 1 AND outcome <> 'granted')
        ORDER BY n;
        COMMIT;
    END;
END
//

-- The roots of the queue and of the claims of these items, in byte order, as far as they are known
-- before they are locked. Those beyond a bound are left to lk_lock_more_roots().
DROP PROCEDURE IF EXISTS lk_roots_to_finish
//
CREATE PROCEDURE lk_roots_to_finish(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255),
    IN commands LONGTEXT CHARACTER SET utf8mb4, OUT all_roots BLOB)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE words MEDIUMBLOB;
    SET SESSION group_concat_max_len = 4194304;
    SET all_roots = the_root;
    SELECT STRAIGHT_JOIN GROUP_CONCAT(DISTINCT r.roots SEPARATOR ' ') INTO words
    FROM JSON_TABLE(commands, '$[*]' COLUMNS (id VARCHAR(255) PATH '$.id')) AS c
    JOIN lk_items AS i FORCE INDEX (PRIMARY)
      ON i.queue = the_queue AND i.id = CAST(c.id AS BINARY)
    JOIN lk_requests AS r FORCE INDEX (PRIMARY) ON r.id = i.claim AND r.part = 1;
    IF words <> the_root THEN
        SELECT GROUP_CONCAT(DISTINCT x.root ORDER BY x.root SEPARATOR ' ') INTO words
        FROM (SELECT LEFT(SUBSTRING_INDEX(SUBSTRING_INDEX(CONCAT(the_root, ' ', words), ' ',
                                                          n.n), ' ', -1), @LK_SEGMENT_BYTES_MAX@) AS root
              FROM lk_numbers AS n
              WHERE n.n <= 2 + LENGTH(words) - LENGTH(REPLACE(words, ' ', ''))) AS x;
        IF LENGTH(words) <= 19000 THEN
            SET all_roots = words;
        END IF;
    END IF;
END
//

-- Ends claims whose items are done, in the transaction that is open. `result`, in hexadecimal digits,
-- and `keep_ms` of a command: as of lk_finish_item(); absent: `the_result`, `the_keep_ms`. `answers`: outcome and sentence
-- of each, as JSON with a comma between.
DROP PROCEDURE IF EXISTS lk_decide_finishes
//
CREATE PROCEDURE lk_decide_finishes(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255),
    IN commands LONGTEXT CHARACTER SET utf8mb4, IN the_result MEDIUMBLOB, IN the_keep_ms BIGINT,
    OUT answers MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE all_roots BLOB;
    DECLARE now_us BIGINT;
    DECLARE its_result MEDIUMBLOB;
    DECLARE its_keep_ms BIGINT;
    DECLARE its_id VARBINARY(255);
    DECLARE its_owner VARBINARY(128);
    DECLARE its_token BIGINT;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE count INT DEFAULT JSON_LENGTH(commands);
    DECLARE i INT DEFAULT 0;
    DECLARE finishes CURSOR FOR
        SELECT c.id, c.owner, c.token, COALESCE(UNHEX(c.result), the_result),
               COALESCE(c.keep_ms, the_keep_ms)
        FROM JSON_TABLE(commands, '$[*]' COLUMNS (
            n FOR ORDINALITY, id VARCHAR(255) PATH '$.id', owner VARCHAR(128) PATH '$.owner',
            token BIGINT PATH '$.token', result MEDIUMTEXT PATH '$.result',
            keep_ms BIGINT PATH '$.keep_ms')) AS c
        ORDER BY c.n;
    SET answers = '';
    CALL lk_roots_to_finish(the_queue, the_root, commands, all_roots);
    CALL lk_lock_roots(all_roots, locked, now_us, is_due, has_waiting);
    IF is_due THEN
        CALL lk_perish(locked, has_waiting, now_us, 4);
    END IF;
    OPEN finishes;
    WHILE i < count DO
        FETCH finishes INTO its_id, its_owner, its_token, its_result, its_keep_ms;
        CALL lk_finish_item(the_queue, its_id, the_root, its_owner,
            UNHEX(SHA2(CONCAT(the_queue, '/', its_id, '\n', its_owner), 256)), its_token, NULL,
            NULL, NULL, FALSE, FALSE, its_result, its_keep_ms, now_us, locked, has_waiting, outcome,
            sentence);
        SET i = i + 1,
            answers = CONCAT(answers, IF(i = 1, '', ','), JSON_ARRAY(outcome, sentence));
    END WHILE;
    CLOSE finishes;
END
//

-- Answers: outcome, sentence.
DROP PROCEDURE IF EXISTS lk_finish_many
//
CREATE PROCEDURE lk_finish_many(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255),
    IN commands LONGTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE answers MEDIUMTEXT CHARACTER SET utf8mb4;
    CALL lk_begin();
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_decide_finishes(the_queue, the_root, commands, NULL, 0, answers);
        COMMIT;
    END;
    CALL lk_answer_many(answers);
END
//

-- Answers: outcome, sentence.
DROP PROCEDURE IF EXISTS lk_answer_many
//
CREATE PROCEDURE lk_answer_many(IN answers MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT a.outcome, a.sentence
    FROM JSON_TABLE(CONCAT('[', answers, ']'), '$[*]' COLUMNS (
        n FOR ORDINALITY, outcome VARCHAR(16) PATH '$[0]', sentence VARCHAR(255) PATH '$[1]')) AS a
    ORDER BY a.n;
END
//

-- Makes parked items ready again. Answers: outcome, sentence.
DROP PROCEDURE IF EXISTS lk_unpark_many
//
CREATE PROCEDURE lk_unpark_many(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255),
    IN commands LONGTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    CALL lk_change_items(the_queue, the_root, commands, TRUE);
END
//

-- Removes items that are not claimed, or `only_parked`. Answers: outcome, sentence.
DROP PROCEDURE IF EXISTS lk_drop_many
//
CREATE PROCEDURE lk_drop_many(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255),
    IN commands LONGTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    CALL lk_change_items(the_queue, the_root, commands, FALSE);
END
//

-- Both of these.
DROP PROCEDURE IF EXISTS lk_change_items
//
CREATE PROCEDURE lk_change_items(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255),
    IN commands LONGTEXT CHARACTER SET utf8mb4, IN unparks BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE answers MEDIUMTEXT CHARACTER SET utf8mb4;
    CALL lk_begin();
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_decide_changes(the_queue, the_root, commands, unparks, answers);
        COMMIT;
    END;
    CALL lk_answer_many(answers);
END
//

-- In the transaction that is open. `answers` as in lk_decide_finishes().
DROP PROCEDURE IF EXISTS lk_decide_changes
//
CREATE PROCEDURE lk_decide_changes(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255),
    IN commands LONGTEXT CHARACTER SET utf8mb4, IN unparks BOOLEAN,
    OUT answers MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE its_id VARBINARY(255);
    DECLARE is_for_parked BOOLEAN;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE count INT DEFAULT JSON_LENGTH(commands);
    DECLARE i INT DEFAULT 0;
    DECLARE changes CURSOR FOR
        SELECT c.id, COALESCE(c.only_parked, 'false') IN ('true', '1')
        FROM JSON_TABLE(commands, '$[*]' COLUMNS (
            n FOR ORDINALITY, id VARCHAR(255) PATH '$.id',
            only_parked VARCHAR(8) PATH '$.only_parked')) AS c
        ORDER BY c.n;
    SET answers = '';
    CALL lk_lock_roots(the_root, locked, now_us, is_due, has_waiting);
    IF is_due THEN
        CALL lk_perish(locked, has_waiting, now_us, 256);
    END IF;
    OPEN changes;
    WHILE i < count DO
        FETCH changes INTO its_id, is_for_parked;
        IF unparks THEN
            CALL lk_unpark_item(the_queue, its_id, outcome, sentence);
        ELSE
            CALL lk_remove_item(the_queue, its_id, is_for_parked, outcome, sentence);
        END IF;
        SET i = i + 1,
            answers = CONCAT(answers, IF(i = 1, '', ','), JSON_ARRAY(outcome, sentence));
    END WHILE;
    CLOSE changes;
END
//
DELIMITER ;
