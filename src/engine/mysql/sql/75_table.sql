-- SPDX-License-Identifier: Apache-2.0
-- Work in a table of the owner's (R17). These procedures run none of the owner's SQL: the engine
-- sends it as statements of its own (table.c there), around these procedures and in their
-- transaction.
--
-- Every decision commits here, so that no root stays locked while a client is slow.
--
-- SQLSTATE @LK_SQLSTATE_REPEATED@: the same call has ended the claim before (R3);
-- @LK_SQLSTATE_LOST@: the claim is lost; @LK_SQLSTATE_COMMITTED@: the owner's statement has ended the
-- transaction.

DELIMITER //

-- Pushes the rows of these ids (segments with a space between), except those that are done.
DROP PROCEDURE IF EXISTS lk_announce
//
CREATE PROCEDURE lk_announce(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN ids MEDIUMBLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE drawn BIGINT;
    DECLARE count INT DEFAULT 1 + LENGTH(ids) - LENGTH(REPLACE(ids, ' ', ''));
    DECLARE n INT DEFAULT 1;
    DECLARE its_id VARBINARY(255);
    DECLARE is_done BOOLEAN;
    DECLARE is_known BOOLEAN;
    DECLARE its_end_us BIGINT;
    DECLARE pushed BIGINT DEFAULT 0;
    DECLARE duplicates BIGINT DEFAULT 0;
    CALL lk_begin();
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        CALL lk_lock_roots(the_root, locked, now_us, is_due, has_waiting);
        CALL lk_draw(the_root, drawn);
        WHILE n <= count DO
            SET its_id = SUBSTRING_INDEX(ids, ' ', 1), ids = SUBSTRING(ids, LENGTH(its_id) + 2);
            SELECT EXISTS (SELECT 1 FROM lk_done_rows AS d
                           WHERE d.queue = the_queue AND d.id = its_id),
                   EXISTS (SELECT 1 FROM lk_items AS i
                           WHERE i.queue = the_queue AND i.id = its_id),
                   (SELECT i.due_us FROM lk_items AS i
                    WHERE i.queue = the_queue AND i.id = its_id AND i.state = 'done')
            INTO is_done, is_known, its_end_us;
            IF its_end_us <= now_us THEN
                CALL lk_forget_item(the_queue, its_id, its_end_us);
                SET is_known = FALSE;
            END IF;
            IF NOT is_done AND NOT is_known THEN
                INSERT INTO lk_items (queue, id, arrival, state, due_us, needs, need_limits,
                    need_units, need_roots, has_value)
                VALUES (the_queue, its_id, drawn + n, 'ready', 0, '', '', '', '', FALSE);
                IF @lk_tells THEN
                    CALL lk_tell_item('pushed', the_queue, its_id);
                END IF;
                SET pushed = pushed + 1;
            ELSEIF NOT is_done THEN
                SET duplicates = duplicates + 1;
            END IF;
            SET n = n + 1;
        END WHILE;
        UPDATE lk_roots AS r FORCE INDEX (PRIMARY) SET r.last_draw = r.last_draw + count
        WHERE r.root = the_root;
        INSERT INTO lk_queues (path, pushed, duplicates) VALUES (the_queue, pushed, duplicates)
        ON DUPLICATE KEY UPDATE lk_queues.pushed = lk_queues.pushed + VALUES(pushed),
            lk_queues.duplicates = lk_queues.duplicates + VALUES(duplicates);
        COMMIT;
    END;
    SELECT pushed, duplicates;
END
//

-- Removes the marks of rows that no longer match.
DROP PROCEDURE IF EXISTS lk_forget
//
CREATE PROCEDURE lk_forget(IN the_queue VARBINARY(512), IN ids MEDIUMBLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_id VARBINARY(255);
    DECLARE forgotten BIGINT DEFAULT 0;
    WHILE ids <> '' DO
        SET its_id = SUBSTRING_INDEX(ids, ' ', 1), ids = SUBSTRING(ids, LENGTH(its_id) + 2);
        DELETE d FROM lk_done_rows AS d FORCE INDEX (PRIMARY)
        WHERE d.queue = the_queue AND d.id = its_id;
        SET forgotten = forgotten + 1;
    END WHILE;
    SELECT forgotten;
END
//

-- How many items are ready; counts no further than `most`.
DROP PROCEDURE IF EXISTS lk_ready_count
//
CREATE PROCEDURE lk_ready_count(IN the_queue VARBINARY(512), IN most BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT COUNT(*) AS ready
    FROM (SELECT 1 FROM lk_items AS i FORCE INDEX (items_by_state)
          WHERE i.queue = the_queue AND i.state = 'ready' LIMIT most) AS r;
END
//

-- Begins a transaction that stays open for the next statements of the engine.
DROP PROCEDURE IF EXISTS lk_begin
//
CREATE PROCEDURE lk_begin()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF @lk_server_start IS NULL THEN
        CALL lk_awake();
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    START TRANSACTION;
END
//

-- Before rows are read: makes items ready whose claim has perished or whose time has come. A
-- decision of its own.
DROP PROCEDURE IF EXISTS lk_table_ripen
//
CREATE PROCEDURE lk_table_ripen(IN the_queue VARBINARY(512), IN the_root VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT r.due_us <= now_us INTO is_due FROM lk_roots AS r WHERE r.root = the_root;
    IF is_due THEN
        CALL lk_lock_roots(the_root, locked, now_us, is_due, has_waiting);
        IF is_due THEN
            CALL lk_perish(locked, has_waiting, now_us, 256);
        END IF;
        COMMIT;
        START TRANSACTION;
    END IF;
END
//

-- lk_take(), of this item only (NULL: none): its row matches, and is locked by this transaction. If
-- not `is_locked`, another transaction is changing the row, and the item is skipped. The place
-- identifies an item, too: one that is pushed again has another, and has not been checked. `behind`
-- 0: no item has been checked.
DROP PROCEDURE IF EXISTS lk_take_row
//
CREATE PROCEDURE lk_take_row(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN the_ttl_ms BIGINT, IN the_max_attempts INT UNSIGNED, IN the_ask_number BIGINT,
    IN the_note VARBINARY(255), IN behind DECIMAL(24, 0), IN the_place DECIMAL(24, 0),
    IN is_locked BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4 DEFAULT 'busy';
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE self BIGINT;
    DECLARE taken VARBINARY(255);
    DECLARE its_needs BLOB;
    DECLARE its_limits VARBINARY(255);
    DECLARE its_counts VARBINARY(255);
    DECLARE its_roots BLOB;
    DECLARE has_all BOOLEAN DEFAULT TRUE;
    DECLARE is_paused BOOLEAN;
    DECLARE is_head BOOLEAN;
    DECLARE is_behind BOOLEAN DEFAULT FALSE; -- another item has its turn
    DECLARE refused_part INT;
    DECLARE stolen BOOLEAN DEFAULT FALSE;
    DECLARE its_token BIGINT;
    DECLARE its_ttl_ms BIGINT;
    DECLARE left_us BIGINT;
    DECLARE attempt INT UNSIGNED;
    DECLARE its_value MEDIUMBLOB;
    DECLARE look_us BIGINT;
    DECLARE portion_end DECIMAL(24, 0);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    CALL lk_lock_roots(the_root, locked, now_us, is_due, has_waiting);
    IF is_due THEN
        CALL lk_perish(locked, has_waiting, now_us, 256);
    END IF;
    IF the_ask_number <> 0 THEN
        CALL lk_take_again(the_queue, asker, the_ask_number, the_ttl_ms, now_us, self, taken);
    END IF;
    SELECT EXISTS (SELECT 1 FROM lk_numbers AS n
                   STRAIGHT_JOIN lk_requests AS p FORCE INDEX (requests_by_path)
                   WHERE n.n <= 1 + LENGTH(the_queue) - LENGTH(REPLACE(the_queue, '/', ''))
                     AND p.path = SUBSTRING_INDEX(the_queue, '/', n.n) AND p.deadline_us > now_us
                     AND p.owner <> asker) INTO is_paused;
    IF self IS NULL AND NOT is_paused AND the_place IS NOT NULL THEN
        SELECT i.id, i.needs, i.need_limits, i.need_units, i.need_roots, i.was_lost, i.is_head
        INTO taken, its_needs, its_limits, its_counts, its_roots, stolen, is_head
        FROM lk_items AS i FORCE INDEX (items_by_state)
        WHERE i.queue = the_queue AND i.state = 'ready' AND i.due_us = 0
          AND i.place = the_place LIMIT 1;
        IF LOCATE('-1', its_counts) > 0 AND NOT is_head THEN
            CALL lk_head_is_others(the_queue, its_needs, its_counts, is_behind);
        END IF;
        IF taken IS NOT NULL AND its_roots <> '' AND is_locked AND NOT is_behind THEN
            CALL lk_lock_more_roots(its_roots, locked, has_waiting, has_all);
        END IF;
        IF taken IS NOT NULL AND has_all AND is_locked AND NOT is_behind THEN
            CALL lk_take_item(the_queue, taken, the_root, its_needs, its_limits, its_counts,
                              its_roots, asker, the_note, the_ttl_ms, 0, now_us, self,
                              refused_part, outcome, sentence);
        END IF;
        IF its_needs <> '' AND (refused_part = 1 OR NOT is_locked
                                OR (self IS NOT NULL AND (is_head OR LOCATE('-1', its_counts) = 0)))
        THEN
            CALL lk_item_goes(the_queue, taken, its_needs, its_limits, its_counts, self IS NULL);
        END IF;
        IF self IS NOT NULL THEN
            UPDATE lk_items AS i FORCE INDEX (PRIMARY)
            SET i.state = 'claimed', i.due_us = 0, i.claim = self, i.attempts = i.attempts + 1,
                i.was_lost = FALSE, i.ask_number = the_ask_number,
                i.max_attempts = the_max_attempts, i.claims = i.claims + 1,
                i.steals = i.steals + stolen, i.progress = NULL
            WHERE i.queue = the_queue AND i.id = taken;
            IF LOCATE('-1', its_counts) > 0 AND NOT is_head THEN
                CALL lk_head_begins(the_queue, taken, self);
            END IF;
            IF @lk_tells THEN
                CALL lk_tell_claim(IF(stolen, 'stolen', 'claimed'), self, the_queue, taken);
            END IF;
        ELSEIF outcome = 'full' AND @lk_tells THEN
            CALL lk_tell_refusal(outcome, the_queue, '0', '0', asker, '');
        END IF;
    END IF;
    IF self IS NOT NULL THEN
        SET outcome = 'granted';
        SELECT r.token, r.ttl_ms, r.deadline_us - now_us, i.attempts, v.bytes
        INTO its_token, its_ttl_ms, left_us, attempt, its_value
        FROM lk_requests AS r
        JOIN lk_items AS i ON i.queue = the_queue AND i.id = taken
        LEFT JOIN lk_item_values AS v ON v.queue = the_queue AND v.id = taken
        WHERE r.id = self AND r.part = 1;
    ELSEIF outcome = 'busy' THEN
        SET taken = NULL, stolen = NULL;
        IF NOT is_paused AND the_place IS NOT NULL THEN
            SET portion_end = the_place; -- those after it have not been checked
        ELSEIF NOT is_paused THEN
            SELECT MAX(x.place) INTO portion_end
            FROM (SELECT i.place FROM lk_items AS i FORCE INDEX (items_by_state)
                  WHERE i.queue = the_queue AND i.state = 'ready' AND i.due_us = 0
                    AND i.place > IF(behind = 0, -99999999999999999999999, behind)
                  ORDER BY i.place LIMIT 64) AS x;
        END IF;
        SET sentence = IF(is_paused,
            '@LK_TEXT_QUEUE_PAUSED@',
            '@LK_TEXT_NOTHING_DUE@');
        CALL lk_first_deadline(the_root, now_us, look_us);
        SELECT LEAST(COALESCE(MIN(d.due_us), @LK_NEVER@), look_us) - now_us INTO look_us
        FROM lk_items AS d FORCE INDEX (items_by_state)
        WHERE d.queue = the_queue AND d.state = 'delayed';
    END IF;
    COMMIT;
    SELECT outcome, sentence, taken AS id, its_token AS token, attempt, stolen,
           its_ttl_ms AS new_ttl_ms, left_us, its_value AS value,
           IF(look_us > 9000000000000000000, NULL, look_us) AS look_us,
           is_paused OR behind <> 0 OR portion_end IS NOT NULL AS has_held,
           the_place IS NOT NULL AS looked, portion_end;
END
//

-- Drops ready items, by their places with a space between, whose rows no longer match.
DROP PROCEDURE IF EXISTS lk_drop_items
//
CREATE PROCEDURE lk_drop_items(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN places MEDIUMBLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE first VARBINARY(25);
    DECLARE its_id VARBINARY(255);
    DECLARE its_claims BIGINT;
    DECLARE its_steals BIGINT;
    DECLARE is_head BOOLEAN;
    DECLARE its_needs BLOB;
    DECLARE its_limits VARBINARY(255);
    DECLARE its_counts VARBINARY(255);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET its_id = NULL;
    IF places <> '' THEN
        CALL lk_lock_roots(the_root, locked, now_us, is_due, has_waiting);
    END IF;
    WHILE places <> '' DO
        SET first = SUBSTRING_INDEX(places, ' ', 1),
            places = SUBSTRING(places, LENGTH(first) + 2);
        SELECT i.id, i.claims, i.steals, i.is_head, i.needs, i.need_limits, i.need_units
        INTO its_id, its_claims, its_steals, is_head, its_needs, its_limits, its_counts
        FROM lk_items AS i FORCE INDEX (items_by_state)
        WHERE i.queue = the_queue AND i.state = 'ready' AND i.due_us = 0
          AND i.place = CAST(first AS DECIMAL(24, 0)) LIMIT 1;
        IF its_id IS NOT NULL THEN
            UPDATE lk_queues AS q FORCE INDEX (PRIMARY)
            SET q.claims = q.claims + its_claims, q.steals = q.steals + its_steals
            WHERE q.path = the_queue AND its_claims > 0;
            IF is_head THEN
                CALL lk_head_ends(the_queue, its_id);
            END IF;
            DELETE i FROM lk_items AS i FORCE INDEX (PRIMARY)
            WHERE i.queue = the_queue AND i.id = its_id;
            DELETE v FROM lk_item_values AS v FORCE INDEX (PRIMARY)
            WHERE v.queue = the_queue AND v.id = its_id;
            IF its_needs <> '' THEN
                CALL lk_item_goes(the_queue, its_id, its_needs, its_limits, its_counts, FALSE);
            END IF;
        END IF;
    END WHILE;
    COMMIT;
END
//

-- Before the owner's statement: whether there is anything to finish. No lock is held while the
-- statement runs; lk_finish_row() checks again.
DROP PROCEDURE IF EXISTS lk_begin_finish
//
CREATE PROCEDURE lk_begin_finish(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN asker VARBINARY(128), IN the_token BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE has_ended BOOLEAN;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET @lk_attempt = NULL;
    SELECT i.attempts INTO @lk_attempt
    FROM lk_items AS i JOIN lk_requests AS r ON r.id = i.claim AND r.part = 1
    WHERE i.queue = the_queue AND i.id = the_id AND r.owner = asker AND r.token = the_token
      AND r.deadline_us > now_us;
    IF @lk_attempt IS NULL THEN
        SELECT COUNT(*) INTO has_ended FROM lk_ended AS e
        WHERE e.token = the_token AND e.ended_us > now_us - @LK_ENDED_MEMORY_US@
          AND e.identity = UNHEX(SHA2(CONCAT(the_queue, '/', the_id, '\n', asker), 256));
        IF has_ended THEN
            SIGNAL SQLSTATE '@LK_SQLSTATE_REPEATED@'
            SET MESSAGE_TEXT = 'the claim was ended by this very call';
        END IF;
        SIGNAL SQLSTATE '@LK_SQLSTATE_LOST@'
            SET MESSAGE_TEXT = '@LK_TEXT_NOT_CLAIMED@';
    END IF;
    SAVEPOINT lk_begun;
END
//

-- After it: ends the claim, in the same transaction or not at all. A repeated call may find that
-- the first one has ended it, even just now: then this transaction must roll back, or the statement
-- would take effect twice. The savepoint is gone if the owner's statement has ended the
-- transaction. A row that `still_fits` is remembered as done.
DROP PROCEDURE IF EXISTS lk_finish_row
//
CREATE PROCEDURE lk_finish_row(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN asker VARBINARY(128), IN the_token BIGINT, IN still_fits BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE outcome VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE sentence VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE its_roots BLOB;
    BEGIN
        DECLARE EXIT HANDLER FOR 1305
            SIGNAL SQLSTATE '@LK_SQLSTATE_COMMITTED@'
            SET MESSAGE_TEXT = 'it must not begin or end transactions';
        RELEASE SAVEPOINT lk_begun;
    END;
    BEGIN
        DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
        SELECT r.roots INTO its_roots
        FROM lk_items AS i JOIN lk_requests AS r ON r.id = i.claim AND r.part = 1
        WHERE i.queue = the_queue AND i.id = the_id;
    END;
    CALL lk_lock_roots(COALESCE(its_roots, the_root), locked, now_us, is_due, has_waiting);
    CALL lk_begin_finish(the_queue, the_id, the_root, asker, the_token);
    CALL lk_decide_finish(the_queue, the_id, the_root, asker,
                          UNHEX(SHA2(CONCAT(the_queue, '/', the_id, '\n', asker), 256)),
                          the_token, NULL, NULL, NULL, FALSE, FALSE, NULL, 0, outcome, sentence);
    IF outcome <> 'ok' THEN
        SIGNAL SQLSTATE '@LK_SQLSTATE_LOST@' SET MESSAGE_TEXT = sentence;
    END IF;
    IF still_fits THEN
        INSERT INTO lk_done_rows (queue, id) VALUES (the_queue, the_id)
        ON DUPLICATE KEY UPDATE lk_done_rows.id = the_id;
    END IF;
    COMMIT;
END
//
DELIMITER ;
