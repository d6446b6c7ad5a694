-- SPDX-License-Identifier: Apache-2.0
-- Items that are kept with their result (R16): what is done is a row of lk_items in the state 'done', with
-- its result in the place of its value, and without needs. lk_kept has it by the moment at which it is
-- forgotten, which is its `due_us`. From then on it is not there, for every call and view. A push that
-- meets it removes it, and each sweep some that are over; no claim reads it.

DELIMITER //

-- The item of a claim that has ended, and which is no head: it is done, and kept until then. The roots
-- of the claim are locked. More than room is made: it can be dropped now, or pushed again.
DROP PROCEDURE IF EXISTS lk_keep_item
//
CREATE PROCEDURE lk_keep_item(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN the_result MEDIUMBLOB, IN the_end_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    UPDATE lk_items AS i FORCE INDEX (PRIMARY)
    SET i.state = 'done', i.due_us = the_end_us, i.claim = 0, i.ask_number = 0, i.claims = 0,
        i.steals = 0, i.has_value = the_result IS NOT NULL, i.needs = '', i.need_limits = '',
        i.need_units = '', i.need_roots = '', i.progress = NULL
    WHERE i.queue = the_queue AND i.id = the_id;
    DELETE v FROM lk_item_values AS v FORCE INDEX (PRIMARY)
    WHERE v.queue = the_queue AND v.id = the_id;
    IF the_result IS NOT NULL THEN
        INSERT INTO lk_item_values (queue, id, bytes) VALUES (the_queue, the_id, the_result);
    END IF;
    INSERT INTO lk_kept (until_us, queue, id) VALUES (the_end_us, the_queue, the_id);
    CALL lk_mark_roots(the_root);
END
//

-- An item that is done goes, or is pushed again. The root is locked.
DROP PROCEDURE IF EXISTS lk_keep_no_longer
//
CREATE PROCEDURE lk_keep_no_longer(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_end_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DELETE k FROM lk_kept AS k FORCE INDEX (PRIMARY)
    WHERE k.until_us = the_end_us AND k.queue = the_queue AND k.id = the_id;
END
//

-- Removes an item that is done, and whose time is over. The root is locked.
DROP PROCEDURE IF EXISTS lk_forget_item
//
CREATE PROCEDURE lk_forget_item(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_end_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DELETE i FROM lk_items AS i FORCE INDEX (PRIMARY)
    WHERE i.queue = the_queue AND i.id = the_id AND i.state = 'done' AND i.due_us = the_end_us;
    IF ROW_COUNT() > 0 THEN
        DELETE v FROM lk_item_values AS v FORCE INDEX (PRIMARY)
        WHERE v.queue = the_queue AND v.id = the_id;
    END IF;
    CALL lk_keep_no_longer(the_queue, the_id, the_end_us);
END
//

-- For a sweep: removes up to 64 of those that are over. What is below a root that another decision has
-- locked is left to the next one.
DROP PROCEDURE IF EXISTS lk_forget_items
//
CREATE PROCEDURE lk_forget_items(IN now_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB DEFAULT '/';
    DECLARE has_waiting BOOLEAN DEFAULT FALSE;
    DECLARE has_all BOOLEAN;
    DECLARE its_end_us BIGINT DEFAULT -1;
    DECLARE its_queue VARBINARY(512) DEFAULT '';
    DECLARE its_id VARBINARY(255) DEFAULT '';
    DECLARE rounds INT DEFAULT 64;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET rounds = 0;
    WHILE rounds > 0 DO
        SELECT k.until_us, k.queue, k.id INTO its_end_us, its_queue, its_id
        FROM lk_kept AS k FORCE INDEX (PRIMARY)
        WHERE k.until_us >= its_end_us AND k.until_us <= now_us
          AND (k.until_us > its_end_us OR k.queue > its_queue
               OR (k.queue = its_queue AND k.id > its_id))
        ORDER BY k.until_us, k.queue, k.id LIMIT 1;
        IF rounds > 0 THEN
            CALL lk_lock_more_roots(SUBSTRING_INDEX(its_queue, '/', 1), locked, has_waiting, has_all);
            IF has_all THEN
                CALL lk_forget_item(its_queue, its_id, its_end_us);
            END IF;
        END IF;
        SET rounds = rounds - 1;
    END WHILE;
END
//

-- ---- progress ----

-- Says how far the work on an item is, while its claim is held: also a revoked one, and that of an item
-- that is cancelled or was pushed again. It reads what is locked, whatever the caller's snapshot is.
DROP PROCEDURE IF EXISTS lk_decide_progress
//
CREATE PROCEDURE lk_decide_progress(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN asker VARBINARY(128), IN the_token BIGINT, IN its_text VARBINARY(1024),
    OUT outcome VARCHAR(16) CHARACTER SET utf8mb4, OUT sentence VARCHAR(255) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE self BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    CALL lk_lock_roots(the_root, locked, now_us, is_due, has_waiting);
    SELECT r.id INTO self
    FROM lk_items AS i FORCE INDEX (PRIMARY)
    STRAIGHT_JOIN lk_requests AS r FORCE INDEX (PRIMARY) ON r.id = i.claim AND r.part = 1
    WHERE i.queue = the_queue AND i.id = the_id AND r.deadline_us > now_us AND r.owner = asker
      AND (the_token = 0 OR r.token = the_token) FOR UPDATE;
    IF self IS NULL THEN
        SET outcome = 'lost', sentence = '@LK_TEXT_NOT_CLAIMED@';
    ELSE
        UPDATE lk_items AS i FORCE INDEX (PRIMARY) SET i.progress = its_text
        WHERE i.queue = the_queue AND i.id = the_id;
        SET outcome = 'ok';
    END IF;
END
//
DELIMITER ;
