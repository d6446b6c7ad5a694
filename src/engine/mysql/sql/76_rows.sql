-- SPDX-License-Identifier: Apache-2.0
-- The short ways of work in a table (75_table), for simple cases: the first item that no other
-- transaction is taking needs nothing, no request waits below the root, and nothing is overdue. A
-- row that is done and the next one's claim are one transaction.
--
-- The engine calls a procedure that begins, sends the owner's statements, and calls one that ends
-- and commits. @lk_found and @lk_item are the next item's place and id; @lk_row says whether its
-- row matches and is locked. SQLSTATE @LK_SQLSTATE_NOT_SIMPLE@: it is not simple, and nothing is done.

DELIMITER //

-- Reserves an item, which other transactions then skip.
DROP PROCEDURE IF EXISTS lk_row_pick
//
CREATE PROCEDURE lk_row_pick(IN the_queue VARBINARY(512))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET @lk_found = NULL, @lk_item = NULL, @lk_row = NULL;
    SELECT i.place, i.id INTO @lk_found, @lk_item
    FROM lk_items AS i FORCE INDEX (items_by_state)
    WHERE i.queue = the_queue AND i.state = 'ready' AND i.due_us = 0
    ORDER BY i.place LIMIT 1 FOR UPDATE SKIP LOCKED;
END
//

-- Begins a transaction, and reserves an item.
DROP PROCEDURE IF EXISTS lk_row_begin
//
CREATE PROCEDURE lk_row_begin(IN the_queue VARBINARY(512))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    CALL lk_begin();
    CALL lk_row_pick(the_queue);
END
//

-- The same to finish a claim that is still held, but without an item, because the owner's statement
-- comes next.
DROP PROCEDURE IF EXISTS lk_row_begin_finish
//
CREATE PROCEDURE lk_row_begin_finish(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN asker VARBINARY(128), IN the_token BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    CALL lk_begin();
    CALL lk_begin_finish(the_queue, the_id, the_root, asker, the_token);
END
//

-- Claims the reserved item. its_token NULL: that is not simple.
DROP PROCEDURE IF EXISTS lk_row_claim
//
CREATE PROCEDURE lk_row_claim(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN the_ttl_ms BIGINT, IN the_max_attempts INT UNSIGNED, IN the_ask_number BIGINT,
    IN the_note VARBINARY(255), OUT its_token BIGINT, OUT attempt INT UNSIGNED,
    OUT stolen BOOLEAN, OUT its_value MEDIUMBLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_kind TINYINT
        DEFAULT 5 + 2 * (LENGTH(the_queue) - LENGTH(REPLACE(the_queue, '/', '')));
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE drawn BIGINT;
    DECLARE earlier BIGINT;
    DECLARE has_value BOOLEAN;
    DECLARE is_free BOOLEAN DEFAULT FALSE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    IF @lk_row IS NOT NULL THEN
        UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
        SET r.last_draw = LAST_INSERT_ID(GREATEST(r.last_draw + 1, now_us)),
            r.due_us = LEAST(r.due_us, now_us + the_ttl_ms * 1000), r.kind = its_kind
        WHERE r.root = the_root AND NOT r.has_waiting AND r.due_us > now_us
          AND r.kind IN (0, its_kind) AND r.mixed_until_us <= now_us;
        IF ROW_COUNT() > 0 THEN
            SET drawn = LAST_INSERT_ID();
            IF the_ask_number <> 0 THEN
                SELECT MIN(r.token) INTO earlier
                FROM lk_requests AS r FORCE INDEX (requests_by_owner)
                WHERE r.owner = asker AND r.held = 1 AND r.identity IS NULL;
            END IF;
            SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                   + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                     MOD 900000000 - 450000000, i.attempts + 1,
                   i.was_lost, i.has_value,
                   i.needs = '' AND i.state = 'ready' AND i.due_us = 0 AND i.place = @lk_found
                   AND earlier IS NULL AND NOT m.is_bounded AND m.told_until_us <= now_us
            INTO now_us, attempt, stolen, has_value, is_free
            FROM lk_meta AS m JOIN lk_items AS i FORCE INDEX (PRIMARY)
            WHERE m.only_row = 1 AND i.queue = the_queue AND i.id = @lk_item;
        END IF;
    END IF;
    IF is_free THEN
        IF has_value THEN
            SELECT v.bytes INTO its_value FROM lk_item_values AS v
            WHERE v.queue = the_queue AND v.id = @lk_item;
        END IF;
        INSERT INTO lk_requests (part, path, unit_limit, units, root, owner, note, held, attended,
            fixed, wants_value, is_claim, ticket, token, ttl_ms, deadline_us, roots, part_count)
        VALUES (1, CONCAT(the_queue, '/', @lk_item), 0, 0, the_root, asker, the_note, TRUE, FALSE,
            FALSE, FALSE, TRUE, drawn, drawn, the_ttl_ms, now_us + the_ttl_ms * 1000, the_root, 1);
        UPDATE lk_items AS i FORCE INDEX (PRIMARY)
        SET i.state = 'claimed', i.claim = LAST_INSERT_ID(), i.attempts = attempt,
            i.claims = i.claims + 1, i.steals = i.steals + stolen, i.was_lost = FALSE,
            i.ask_number = the_ask_number, i.max_attempts = the_max_attempts, i.progress = NULL
        WHERE i.queue = the_queue AND i.id = @lk_item;
        SET its_token = drawn;
    END IF;
END
//

-- Answers as lk_take_row(). Outcome NULL: it is not simple; `looked` then says that there is an
-- item whose row does not match or is locked.
DROP PROCEDURE IF EXISTS lk_row_take
//
CREATE PROCEDURE lk_row_take(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN the_ttl_ms BIGINT, IN the_max_attempts INT UNSIGNED, IN the_ask_number BIGINT,
    IN the_note VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_token BIGINT;
    DECLARE attempt INT UNSIGNED;
    DECLARE stolen BOOLEAN;
    DECLARE its_value MEDIUMBLOB;
    CALL lk_row_claim(the_queue, the_root, asker, the_ttl_ms, the_max_attempts, the_ask_number,
                      the_note, its_token, attempt, stolen, its_value);
    IF its_token IS NULL THEN
        ROLLBACK;
    ELSE
        COMMIT;
    END IF;
    SELECT IF(its_token IS NULL, NULL, 'granted') AS outcome, NULL AS sentence, @lk_item AS id,
           its_token AS token, attempt, stolen, the_ttl_ms AS new_ttl_ms,
           the_ttl_ms * 1000 AS left_us, its_value AS value, NULL AS look_us, TRUE AS has_held,
           IF(@lk_found IS NOT NULL AND @lk_row IS NULL, 1, NULL) AS looked, NULL AS portion_end;
END
//

-- Ends a claim after the owner's statement, and if it `takes`, claims the reserved item; answers as
-- lk_row_take(). A row that `still_fits` is remembered as done.
DROP PROCEDURE IF EXISTS lk_row_finish
//
CREATE PROCEDURE lk_row_finish(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN asker VARBINARY(128), IN the_token BIGINT, IN still_fits BOOLEAN, IN takes BOOLEAN,
    IN the_ttl_ms BIGINT, IN the_max_attempts INT UNSIGNED, IN the_ask_number BIGINT,
    IN the_note VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE now_us BIGINT;
    DECLARE is_awaited BOOLEAN DEFAULT TRUE;
    DECLARE self BIGINT;
    DECLARE its_claims BIGINT;
    DECLARE its_steals BIGINT;
    DECLARE has_value BOOLEAN;
    DECLARE is_told BOOLEAN DEFAULT TRUE;
    DECLARE next_token BIGINT;
    DECLARE attempt INT UNSIGNED;
    DECLARE stolen BOOLEAN;
    DECLARE its_value MEDIUMBLOB;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    BEGIN
        DECLARE EXIT HANDLER FOR 1305
            SIGNAL SQLSTATE '@LK_SQLSTATE_COMMITTED@'
            SET MESSAGE_TEXT = 'it must not begin or end transactions';
        RELEASE SAVEPOINT lk_begun;
    END;
    SELECT r.has_waiting INTO is_awaited FROM lk_roots AS r WHERE r.root = the_root FOR UPDATE;
    SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                 + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                   MOD 900000000 - 450000000;
    SELECT m.told_until_us > now_us, i.claim, i.claims, i.steals, i.has_value
    INTO is_told, self, its_claims, its_steals, has_value
    FROM lk_meta AS m JOIN lk_items AS i FORCE INDEX (PRIMARY)
    WHERE m.only_row = 1 AND i.queue = the_queue AND i.id = the_id;
    IF is_told OR is_awaited THEN
        SIGNAL SQLSTATE '@LK_SQLSTATE_NOT_SIMPLE@' SET MESSAGE_TEXT = 'the end of this claim is not simple';
    END IF;
    DELETE i, r FROM lk_items AS i FORCE INDEX (PRIMARY)
    STRAIGHT_JOIN lk_requests AS r FORCE INDEX (PRIMARY)
    WHERE i.queue = the_queue AND i.id = the_id AND r.id = self AND r.part = 1 AND r.owner = asker
      AND r.token = the_token AND r.deadline_us > now_us AND r.part_count = 1
      AND i.state <> 'again' AND i.keep_ms = 0;
    IF ROW_COUNT() = 0 THEN
        SIGNAL SQLSTATE '@LK_SQLSTATE_NOT_SIMPLE@' SET MESSAGE_TEXT = 'the end of this claim is not simple';
    END IF;
    IF has_value THEN
        DELETE v FROM lk_item_values AS v FORCE INDEX (PRIMARY)
        WHERE v.queue = the_queue AND v.id = the_id;
    END IF;
    INSERT INTO lk_ended (token, identity, ended_us)
    VALUES (the_token, UNHEX(SHA2(CONCAT(the_queue, '/', the_id, '\n', asker), 256)), now_us)
    ON DUPLICATE KEY UPDATE ended_us = now_us;
    UPDATE lk_queues AS q FORCE INDEX (PRIMARY)
    SET q.claims = q.claims + its_claims, q.steals = q.steals + its_steals, q.done = q.done + 1
    WHERE q.path = the_queue;
    IF still_fits THEN
        INSERT INTO lk_done_rows (queue, id) VALUES (the_queue, the_id)
        ON DUPLICATE KEY UPDATE lk_done_rows.id = the_id;
    END IF;
    IF takes THEN
        CALL lk_row_claim(the_queue, the_root, asker, the_ttl_ms, the_max_attempts,
                          the_ask_number, the_note, next_token, attempt, stolen, its_value);
    END IF;
    COMMIT;
    SELECT IF(next_token IS NULL, NULL, 'granted') AS outcome, NULL AS sentence, @lk_item AS id,
           next_token AS token, attempt, stolen, the_ttl_ms AS new_ttl_ms,
           the_ttl_ms * 1000 AS left_us, its_value AS value, NULL AS look_us, TRUE AS has_held,
           NULL AS looked, NULL AS portion_end;
END
//
DELIMITER ;
