-- SPDX-License-Identifier: Apache-2.0
-- Work (R16): items are pushed into queues, claimed by a lease, and done, given back, or lost with
-- their claim. Waiting workers poll.

DELIMITER //

-- What an item's work needs, as a push writes it: it is what its parts, as they are read (R2), are told
-- to be, and not the item itself.
DROP PROCEDURE IF EXISTS lk_check_item_needs
//
CREATE PROCEDURE lk_check_item_needs(
    IN the_item VARBINARY(768), IN the_needs BLOB, IN the_limits VARBINARY(255),
    IN the_counts VARBINARY(255), IN the_roots BLOB)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE parts MEDIUMTEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE count INT DEFAULT 1 + LENGTH(the_needs) - LENGTH(REPLACE(the_needs, ' ', ''));
    DECLARE i INT DEFAULT 1;
    DECLARE its_limit, its_units VARBINARY(255);
    DECLARE paths, limits, counts, sorted, roots BLOB;
    WHILE i <= count DO
        SET its_limit = SUBSTRING_INDEX(SUBSTRING_INDEX(the_limits, ' ', i), ' ', -1),
            its_units = SUBSTRING_INDEX(SUBSTRING_INDEX(the_counts, ' ', i), ' ', -1);
        SET parts = CONCAT(parts, IF(i = 1, '', ' '),
                CONVERT(SUBSTRING_INDEX(SUBSTRING_INDEX(the_needs, ' ', i), ' ', -1) USING utf8mb4),
                CASE WHEN its_units = '0' THEN '' WHEN its_units = '-1' THEN '?strict'
                     WHEN its_limit = '0' THEN '?shared'
                     ELSE CONCAT('?limit=', CONVERT(its_limit USING utf8mb4), '&units=',
                                 CONVERT(its_units USING utf8mb4)) END),
            i = i + 1;
    END WHILE;
    CALL lk_parts_of(parts, TRUE, paths, limits, counts, sorted, roots);
    IF count > 15 OR LOCATE(CONCAT(' ', the_item, ' '), CONCAT(' ', the_needs, ' ')) > 0
       OR NOT (paths <=> the_needs AND limits <=> the_limits AND counts <=> the_counts
               AND roots <=> the_roots) THEN
        CALL lk_refuse('invalid', 'R16: these are no needs of an item''s work');
    END IF;
END
//

-- Adds an item; there is none with this id. The root is locked.
DROP PROCEDURE IF EXISTS lk_add_item
//
CREATE PROCEDURE lk_add_item(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN the_value MEDIUMBLOB, IN delay_ms BIGINT, IN the_needs BLOB,
    IN the_limits VARBINARY(255), IN the_counts VARBINARY(255), IN the_roots BLOB,
    IN the_priority SMALLINT, IN the_keep_ms BIGINT, IN now_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE drawn BIGINT;
    DECLARE its_group BINARY(32);
    DECLARE its_number BIGINT;
    DECLARE leader VARBINARY(255);
    DECLARE its_head VARBINARY(255);
    DECLARE leader_place DECIMAL(24, 0);
    DECLARE known_roots BLOB;
    DECLARE is_behind BOOLEAN;
    IF the_needs <> '' THEN
        SET its_group = UNHEX(SHA2(CONCAT(the_needs, '|', the_limits, '|', the_counts), 256));
        CALL lk_find_group(the_queue, its_group, its_number, leader, its_head, leader_place,
                           known_roots);
        IF NOT the_roots <=> known_roots -- else one of the group has been checked
           OR LOCATE(CONCAT(' ', the_queue, '/', the_id, ' '), CONCAT(' ', the_needs, ' ')) > 0 THEN
            CALL lk_check_item_needs(CONCAT(the_queue, '/', the_id), the_needs, the_limits,
                                     the_counts, the_roots);
        END IF;
    END IF;
    CALL lk_draw(the_root, drawn);
    SET is_behind = COALESCE(its_head <> ''
                             OR leader_place < drawn - the_priority * 1000000000000000000, FALSE);
    INSERT INTO lk_items (queue, id, arrival, state, due_us, needs, need_limits, need_units,
        need_roots, has_value, priority, keep_ms)
    VALUES (the_queue, the_id, drawn, IF(delay_ms > 0, 'delayed', 'ready'),
        CASE WHEN delay_ms > 0 THEN now_us + delay_ms * 1000 WHEN is_behind THEN its_number
             ELSE 0 END, the_needs, the_limits, the_counts,
        the_roots, the_value IS NOT NULL, the_priority, the_keep_ms);
    IF delay_ms > 0 THEN
        UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
        SET r.due_us = LEAST(r.due_us, now_us + delay_ms * 1000) WHERE r.root = the_root;
    END IF;
    IF the_value IS NOT NULL THEN
        INSERT INTO lk_item_values (queue, id, bytes) VALUES (the_queue, the_id, the_value);
    END IF;
    IF the_needs <> '' AND its_number IS NULL AND NOT delay_ms > 0 THEN
        INSERT INTO lk_groups (queue, needs, number, leader)
        VALUES (the_queue, its_group, drawn, the_id);
    ELSEIF the_needs <> '' AND NOT is_behind AND NOT delay_ms > 0 THEN
        CALL lk_item_comes(the_queue, the_id);
    END IF;
    IF @lk_tells THEN
        CALL lk_tell_item('pushed', the_queue, the_id);
    END IF;
END
//

-- Gives an item the value, the needs and the priority of a push. One that `is_claimed` keeps its claim,
-- and is `again` from now on; if it is the first time, it is the last in its queue, as a new item is.
DROP PROCEDURE IF EXISTS lk_replace_item
//
CREATE PROCEDURE lk_replace_item(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN the_value MEDIUMBLOB, IN delay_ms BIGINT, IN the_needs BLOB,
    IN the_limits VARBINARY(255), IN the_counts VARBINARY(255), IN the_roots BLOB,
    IN the_priority SMALLINT, IN the_keep_ms BIGINT, IN is_claimed BOOLEAN, IN is_last BOOLEAN,
    IN now_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_arrival BIGINT;
    DECLARE its_attempts INT UNSIGNED;
    DECLARE was_ready BOOLEAN;
    DECLARE was_head BOOLEAN;
    DECLARE kept_until_us BIGINT;
    DECLARE old_needs BLOB;
    DECLARE old_limits VARBINARY(255);
    DECLARE old_counts VARBINARY(255);
    IF the_needs <> '' THEN
        CALL lk_check_item_needs(CONCAT(the_queue, '/', the_id), the_needs, the_limits, the_counts,
                                 the_roots);
    END IF;
    SELECT i.arrival, IF(is_claimed, i.attempts, 0), i.state = 'ready', i.is_head,
           IF(i.state = 'done', i.due_us, NULL), i.needs, i.need_limits, i.need_units
    INTO its_arrival, its_attempts, was_ready, was_head, kept_until_us, old_needs, old_limits,
         old_counts
    FROM lk_items AS i WHERE i.queue = the_queue AND i.id = the_id FOR UPDATE;
    IF was_head THEN
        CALL lk_head_ends(the_queue, the_id);
    END IF;
    IF kept_until_us IS NOT NULL THEN
        CALL lk_keep_no_longer(the_queue, the_id, kept_until_us);
    END IF;
    IF is_last THEN
        CALL lk_draw(the_root, its_arrival);
    ELSE
        CALL lk_mark_roots(the_root);
    END IF;
    UPDATE lk_items AS i FORCE INDEX (PRIMARY)
    SET i.arrival = its_arrival, i.attempts = its_attempts, i.priority = the_priority,
        i.keep_ms = the_keep_ms, i.needs = the_needs, i.need_limits = the_limits, i.need_units = the_counts,
        i.need_roots = the_roots, i.has_value = the_value IS NOT NULL,
        i.ready_us = CASE WHEN is_claimed OR delay_ms > 0 THEN 0
                          WHEN i.state = 'ready' THEN i.ready_us -- it stays so, since then
                          WHEN i.state = 'delayed' AND i.due_us <= now_us THEN i.due_us
                          ELSE now_us END,
        i.state = CASE WHEN is_claimed THEN 'again' WHEN delay_ms > 0 THEN 'delayed'
                       ELSE 'ready' END,
        i.due_us = IF(delay_ms > 0, now_us + delay_ms * 1000, 0)
    WHERE i.queue = the_queue AND i.id = the_id;
    IF was_ready AND old_needs <> '' THEN
        CALL lk_item_goes(the_queue, the_id, old_needs, old_limits, old_counts, FALSE);
    END IF;
    IF the_needs <> '' THEN
        CALL lk_item_comes(the_queue, the_id);
    END IF;
    IF delay_ms > 0 THEN
        UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
        SET r.due_us = LEAST(r.due_us, now_us + delay_ms * 1000) WHERE r.root = the_root;
    END IF;
    DELETE v FROM lk_item_values AS v FORCE INDEX (PRIMARY)
    WHERE v.queue = the_queue AND v.id = the_id;
    IF the_value IS NOT NULL THEN
        INSERT INTO lk_item_values (queue, id, bytes) VALUES (the_queue, the_id, the_value);
    END IF;
    IF @lk_tells THEN
        CALL lk_tell('pushed', CONCAT(the_queue, '/', the_id), '', '', 0, 0, its_attempts, TRUE, '',
                     FALSE);
    END IF;
END
//

-- How the item with this id is; `its_state` NULL: there is none. A claim past its deadline perishes
-- first, and may take the item with it. An item that is kept no longer goes. In a statement of the caller's (20_transactions) it does not:
-- then the state is the one that the item will have, and the item is claimed still.
DROP PROCEDURE IF EXISTS lk_find_item
//
CREATE PROCEDURE lk_find_item(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN now_us BIGINT, IN is_due BOOLEAN,
    INOUT locked BLOB, INOUT has_waiting BOOLEAN, OUT its_state VARBINARY(16),
    OUT is_claimed BOOLEAN, OUT is_dead BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE self BIGINT;
    DECLARE its_roots BLOB;
    DECLARE its_deadline_us BIGINT;
    DECLARE its_due_us BIGINT;
    DECLARE is_worn BOOLEAN;
    DECLARE has_all BOOLEAN;
    DECLARE released BLOB;
    DECLARE is_read BOOLEAN DEFAULT FALSE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    WHILE NOT is_read DO
        SET its_state = NULL, self = 0, its_deadline_us = @LK_NEVER@;
        IF @lk_inside THEN -- an item that is done since its snapshot marks no root (20_transactions)
            SELECT i.state, i.claim, i.due_us,
                   i.max_attempts > 0 AND i.attempts >= i.max_attempts
            INTO its_state, self, its_due_us, is_worn
            FROM lk_items AS i FORCE INDEX (PRIMARY)
            WHERE i.queue = the_queue AND i.id = the_id FOR UPDATE;
        ELSE
            SELECT i.state, i.claim, i.due_us INTO its_state, self, its_due_us
            FROM lk_items AS i WHERE i.queue = the_queue AND i.id = the_id;
        END IF;
        IF self <> 0 THEN
            SELECT r.roots, r.deadline_us INTO its_roots, its_deadline_us
            FROM lk_requests AS r WHERE r.id = self AND r.part = 1 FOR UPDATE;
        END IF;
        SET is_dead = its_deadline_us <= now_us;
        SET is_read = NOT is_dead OR @lk_inside <=> 2;
        IF NOT is_read THEN
            CALL lk_lock_more_roots(its_roots, locked, has_waiting, has_all);
            IF is_due THEN -- what was due before it, first
                CALL lk_perish(locked, has_waiting, now_us, 4);
                SET is_due = FALSE;
            ELSE
                CALL lk_remove_request(self, 'perished', released);
                CALL lk_grant_waiters(locked, has_waiting, released, NULL, its_deadline_us);
            END IF;
        END IF;
    END WHILE;
    SET is_claimed = self <> 0;
    IF is_dead AND its_state = 'claimed' THEN
        SET its_state = IF(is_worn, 'parked', 'ready');
    ELSEIF its_state = 'delayed' AND its_due_us <= now_us THEN
        SET its_state = 'ready';
    ELSEIF its_state = 'done' AND its_due_us <= now_us THEN
        CALL lk_forget_item(the_queue, the_id, its_due_us);
        SET its_state = NULL;
    END IF;
END
//

-- Adds an item. If there is one with this id, that is changed, if the push is of such a `kind`:
-- @LK_PUSH_NEW@ changes nothing, @LK_PUSH_REPLACE@ what waits to be claimed, @LK_PUSH_AGAIN@ all.
-- `was`: the state of the item that was there; NULL: `added`. `is_work`: counted as pushed. The root
-- is locked.
DROP PROCEDURE IF EXISTS lk_push_one
//
CREATE PROCEDURE lk_push_one(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN the_value MEDIUMBLOB, IN delay_ms BIGINT, IN the_needs BLOB,
    IN the_limits VARBINARY(255), IN the_counts VARBINARY(255), IN the_roots BLOB,
    IN the_priority SMALLINT, IN kind TINYINT, IN the_keep_ms BIGINT, IN now_us BIGINT,
    IN is_due BOOLEAN, INOUT locked BLOB, INOUT has_waiting BOOLEAN, OUT added BOOLEAN,
    OUT changed BOOLEAN, OUT was VARBINARY(16), OUT is_work BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE is_claimed BOOLEAN;
    DECLARE is_dead BOOLEAN;
    CALL lk_find_item(the_queue, the_id, now_us, is_due, locked, has_waiting, was, is_claimed,
                        is_dead);
    SET added = was IS NULL;
    SET changed = NOT added
            AND (kind = @LK_PUSH_AGAIN@ OR (was = 'cancelled' AND is_dead)
                 OR (kind = @LK_PUSH_REPLACE@ AND was IN ('ready', 'delayed', 'again')));
    SET is_work = added OR (changed AND was IN ('claimed', 'cancelled'));
    IF added THEN
        CALL lk_add_item(the_queue, the_id, the_root, the_value, delay_ms, the_needs, the_limits,
                         the_counts, the_roots, the_priority, the_keep_ms, now_us);
    ELSEIF changed THEN
        CALL lk_replace_item(the_queue, the_id, the_root, the_value, delay_ms, the_needs,
                             the_limits, the_counts, the_roots, the_priority, the_keep_ms,
                             is_claimed, is_work, now_us);
    END IF;
END
//

-- Counts pushes that have added work, and the others.
DROP PROCEDURE IF EXISTS lk_count_pushes
//
CREATE PROCEDURE lk_count_pushes(
    IN the_queue VARBINARY(512), IN count_pushed BIGINT, IN count_duplicates BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    INSERT INTO lk_queues (path, pushed, duplicates)
    VALUES (the_queue, count_pushed, count_duplicates)
    ON DUPLICATE KEY UPDATE pushed = pushed + count_pushed,
                            duplicates = duplicates + count_duplicates;
END
//

DROP PROCEDURE IF EXISTS lk_decide_push
//
CREATE PROCEDURE lk_decide_push(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN the_value MEDIUMBLOB, IN delay_ms BIGINT, IN the_needs BLOB,
    IN the_limits VARBINARY(255), IN the_counts VARBINARY(255), IN the_roots BLOB,
    IN the_priority SMALLINT, IN kind TINYINT, IN the_keep_ms BIGINT, OUT added BOOLEAN,
    OUT changed BOOLEAN, OUT was VARBINARY(16))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE is_work BOOLEAN;
    DECLARE now_us BIGINT;
    CALL lk_lock_roots(the_root, locked, now_us, is_due, has_waiting);
    CALL lk_push_one(the_queue, the_id, the_root, the_value, delay_ms, the_needs, the_limits,
                     the_counts, the_roots, the_priority, kind, the_keep_ms, now_us, is_due, locked,
                     has_waiting, added, changed, was, is_work);
    CALL lk_count_pushes(the_queue, is_work, NOT is_work);
END
//

-- R3: the claim that the same ask has already got; renews its deadline. `taken` NULL: there is
-- none.
DROP PROCEDURE IF EXISTS lk_take_again
//
CREATE PROCEDURE lk_take_again(
    IN the_queue VARBINARY(512), IN asker VARBINARY(128), IN the_ask_number BIGINT,
    IN new_ttl_ms BIGINT, IN now_us BIGINT, OUT self BIGINT, OUT taken VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_roots BLOB;
    DECLARE its_paths VARBINARY(512);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT STRAIGHT_JOIN i.id, r.id, r.roots, IF(r.part_count = 1, r.path, ' ')
    INTO taken, self, its_roots, its_paths
    FROM lk_requests AS r FORCE INDEX (requests_by_owner)
    JOIN lk_items AS i ON i.queue = the_queue AND i.id = SUBSTRING_INDEX(r.path, '/', -1)
    WHERE r.owner = asker AND r.held = 1 AND r.identity IS NULL AND r.is_claim AND r.part = 1
      AND r.deadline_us > now_us AND i.claim = r.id AND i.ask_number = the_ask_number
    LIMIT 1;
    IF taken IS NOT NULL THEN
        UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
        SET r.ttl_ms = IF(r.revoked, r.ttl_ms, new_ttl_ms),
            r.deadline_us = IF(r.revoked, r.deadline_us, now_us + new_ttl_ms * 1000)
        WHERE r.id = self;
        CALL lk_record_deadline(its_roots, now_us + new_ttl_ms * 1000, now_us + new_ttl_ms * 1000,
                                its_paths, TRUE);
        CALL lk_mark_roots(its_roots);
    END IF;
END
//

-- Leases one item with its needs, if all parts are free. refused_part: the last part that is not;
-- self NULL: not leased. `shared`: the token of another claim of this decision, which this one gets,
-- too; 0: it draws one. Where it cannot share (R4), it is not leased, and `sentence` says so.
DROP PROCEDURE IF EXISTS lk_take_item
//
CREATE PROCEDURE lk_take_item(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN the_needs BLOB, IN the_limits VARBINARY(255), IN the_counts VARBINARY(255),
    IN need_roots BLOB, IN asker VARBINARY(128), IN the_note VARBINARY(255),
    IN the_ttl_ms BIGINT, IN shared BIGINT, IN now_us BIGINT, OUT self BIGINT,
    OUT refused_part INT, OUT outcome VARCHAR(16) CHARACTER SET utf8mb4,
    OUT sentence VARCHAR(255) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE drawn BIGINT;
    DECLARE verdict VARBINARY(8);
    DECLARE cycle MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE owner_waits BOOLEAN;
    DECLARE ignored BIGINT;
    DECLARE all_roots BLOB DEFAULT the_root;
    IF need_roots <> '' THEN
        SELECT GROUP_CONCAT(DISTINCT x.root ORDER BY x.root SEPARATOR ' ') INTO all_roots
        FROM (SELECT LEFT(SUBSTRING_INDEX(SUBSTRING_INDEX(CONCAT(the_root, ' ', need_roots), ' ',
                                                          n.n), ' ', -1), @LK_SEGMENT_BYTES_MAX@) AS root
              FROM lk_numbers AS n
              WHERE n.n <= 2 + LENGTH(need_roots) - LENGTH(REPLACE(need_roots, ' ', ''))) AS x;
    END IF;
    SAVEPOINT lk_not_taken;
    SET outcome = 'busy';
    IF shared = 0 THEN
        CALL lk_draw(all_roots, drawn);
    ELSE
        CALL lk_share_draw(all_roots, shared, drawn);
    END IF;
    CALL lk_add_request(NULL, asker, CONCAT_WS(' ', CONCAT(the_queue, '/', the_id),
                                               NULLIF(the_needs, '')),
                        CONCAT_WS(' ', 0, NULLIF(the_limits, '')),
                        CONCAT_WS(' ', 0, NULLIF(REPLACE(the_counts, '-1', '0'), '')), all_roots,
                        the_note, FALSE,
                        FALSE, FALSE, TRUE, drawn, the_ttl_ms, now_us + the_ttl_ms * 1000, self);
    CALL lk_check_grant(self, asker, drawn, TRUE, now_us, verdict, refused_part, ignored);
    IF verdict = 'grant' THEN
        IF @lk_bounded THEN
            CALL lk_check_bounds(self, asker, FALSE, now_us, sentence);
            IF sentence IS NOT NULL THEN
                SET outcome = 'full';
            END IF;
        END IF;
        IF sentence IS NULL AND shared NOT IN (0, drawn) THEN
            SET sentence = '@LK_TEXT_TOKEN_TAKEN@';
        END IF;
        UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
        SET r.held = TRUE, r.token = drawn WHERE r.id = self;
        SELECT EXISTS (SELECT 1 FROM lk_requests AS r FORCE INDEX (requests_by_owner)
                       WHERE r.owner = asker AND r.held = 0) INTO owner_waits;
        IF owner_waits THEN
            CALL lk_find_cycle(self, now_us, cycle, ignored);
        END IF;
    END IF;
    IF verdict = 'grant' AND cycle IS NULL AND sentence IS NULL THEN
        CALL lk_record_deadline(all_roots, now_us + the_ttl_ms * 1000, now_us + the_ttl_ms * 1000,
                                CONCAT_WS(' ', CONCAT(the_queue, '/', the_id), NULLIF(the_needs, '')),
                                TRUE);
    ELSE
        ROLLBACK TO SAVEPOINT lk_not_taken;
        SET self = NULL;
    END IF;
END
//

-- The roots of a queue and of the needs of its next items, in byte order, as far as they are known
-- before they are locked.
DROP PROCEDURE IF EXISTS lk_roots_to_take
//
CREATE PROCEDURE lk_roots_to_take(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), OUT all_roots BLOB)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SET SESSION group_concat_max_len = 4194304;
    SELECT GROUP_CONCAT(x.need_roots SEPARATOR ' ') INTO all_roots
    FROM (SELECT i.need_roots FROM lk_items AS i FORCE INDEX (items_by_state)
          WHERE i.queue = the_queue AND i.state = 'ready' AND i.due_us = 0
          ORDER BY i.place LIMIT 16) AS x
    WHERE x.need_roots <> '';
    IF all_roots IS NULL THEN
        SET all_roots = the_root;
    ELSE
        SELECT GROUP_CONCAT(DISTINCT x.root ORDER BY x.root SEPARATOR ' ') INTO all_roots
        FROM (SELECT LEFT(SUBSTRING_INDEX(SUBSTRING_INDEX(CONCAT(the_root, ' ', all_roots), ' ',
                                                          n.n), ' ', -1), @LK_SEGMENT_BYTES_MAX@) AS root
              FROM lk_numbers AS n
              WHERE n.n <= 2 + LENGTH(all_roots) - LENGTH(REPLACE(all_roots, ' ', ''))) AS x;
    END IF;
END
//

-- Leases the first item, by priority and then by age, that is due, not claimed and free to be
-- locked. The roots in `locked` are. `self` NULL: none; then `saw_items` says whether there are any.
-- `shared` as in lk_take_item().
DROP PROCEDURE IF EXISTS lk_take_next
//
CREATE PROCEDURE lk_take_next(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN the_ttl_ms BIGINT, IN the_max_attempts INT UNSIGNED, IN the_ask_number BIGINT,
    IN the_note VARBINARY(255), IN shared BIGINT, IN now_us BIGINT,
    INOUT locked BLOB, INOUT has_waiting BOOLEAN, OUT self BIGINT,
    OUT taken VARBINARY(255), OUT stolen BOOLEAN, OUT outcome VARCHAR(16) CHARACTER SET utf8mb4,
    OUT sentence VARCHAR(255) CHARACTER SET utf8mb4, OUT saw_items BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_id VARBINARY(255);
    DECLARE its_place DECIMAL(24, 0) DEFAULT -99999999999999999999999;
    DECLARE its_needs BLOB;
    DECLARE its_limits VARBINARY(255);
    DECLARE its_counts VARBINARY(255);
    DECLARE its_roots BLOB;
    DECLARE its_hash VARBINARY(64);
    DECLARE has_all BOOLEAN;
    DECLARE is_paused BOOLEAN;
    DECLARE is_known BOOLEAN;
    DECLARE was_lost BOOLEAN;
    DECLARE is_head BOOLEAN;
    DECLARE is_behind BOOLEAN; -- another item has its turn
    DECLARE refused_part INT;
    DECLARE refused MEDIUMBLOB DEFAULT ''; -- hashes of needs that are not free
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET its_id = NULL;
    SET saw_items = FALSE, stolen = FALSE, outcome = 'busy';
    SELECT EXISTS (SELECT 1 FROM lk_numbers AS n
                   STRAIGHT_JOIN lk_requests AS p FORCE INDEX (requests_by_path)
                   WHERE n.n <= 1 + LENGTH(the_queue) - LENGTH(REPLACE(the_queue, '/', ''))
                     AND p.path = SUBSTRING_INDEX(the_queue, '/', n.n) AND p.deadline_us > now_us
                     AND p.owner <> asker) INTO is_paused;
    IF is_paused THEN
        SET sentence = '@LK_TEXT_QUEUE_PAUSED@',
            saw_items = TRUE;
    END IF;
    SET its_id = '';
    WHILE its_id IS NOT NULL AND self IS NULL AND sentence IS NULL DO
        SELECT i.id, i.place, i.needs, i.need_limits, i.need_units, i.need_roots, i.was_lost,
               i.is_head, SHA2(CONCAT(i.needs, '|', i.need_limits, '|', i.need_units), 256)
        INTO its_id, its_place, its_needs, its_limits, its_counts, its_roots, was_lost, is_head,
             its_hash
        FROM lk_items AS i FORCE INDEX (items_by_state)
        WHERE i.queue = the_queue AND i.state = 'ready' AND i.due_us = 0
          AND i.place > its_place
          AND (refused = ''
               OR LOCATE(SHA2(CONCAT(i.needs, '|', i.need_limits, '|', i.need_units), 256),
                         refused) = 0)
        ORDER BY i.place LIMIT 1;
        IF its_id IS NOT NULL THEN
            SET saw_items = TRUE, has_all = TRUE, is_behind = FALSE;
            IF LOCATE('-1', its_counts) > 0 AND NOT is_head THEN
                CALL lk_head_is_others(the_queue, its_needs, its_counts, is_behind);
            END IF;
            IF its_roots <> '' AND NOT is_behind THEN
                CALL lk_lock_more_roots(its_roots, locked, has_waiting, has_all);
            END IF;
            IF has_all AND NOT is_behind THEN
                CALL lk_take_item(the_queue, its_id, the_root, its_needs, its_limits, its_counts,
                                  its_roots, asker, the_note, the_ttl_ms, shared, now_us, self,
                                  refused_part, outcome, sentence);
                IF refused_part > 1 THEN
                    SET refused = CONCAT(refused, ' ', its_hash);
                ELSEIF refused_part = 1 AND its_needs <> '' THEN -- it is locked itself
                    CALL lk_item_goes(the_queue, its_id, its_needs, its_limits, its_counts, TRUE);
                END IF;
            END IF;
        END IF;
    END WHILE;
    IF self IS NOT NULL THEN
        SET outcome = 'granted', taken = its_id, stolen = was_lost;
        UPDATE lk_items AS i FORCE INDEX (PRIMARY)
        SET i.state = 'claimed', i.due_us = 0, i.claim = self, i.attempts = i.attempts + 1,
            i.was_lost = FALSE, i.ask_number = the_ask_number, i.max_attempts = the_max_attempts,
            i.claims = i.claims + 1, i.steals = i.steals + stolen, i.progress = NULL
        WHERE i.queue = the_queue AND i.id = taken;
        IF LOCATE('-1', its_counts) > 0 AND NOT is_head THEN
            CALL lk_head_begins(the_queue, taken, self);
        ELSEIF its_needs <> '' THEN
            CALL lk_item_goes(the_queue, taken, its_needs, its_limits, its_counts, FALSE);
        END IF;
        IF @lk_tells THEN
            CALL lk_tell_claim(IF(stolen, 'stolen', 'claimed'), self, the_queue, taken);
        END IF;
    ELSEIF outcome = 'full' THEN
        IF @lk_tells THEN
            CALL lk_tell_refusal(outcome, the_queue, '0', '0', asker, '');
        END IF;
    ELSE
        SELECT COUNT(*) INTO is_known FROM lk_queues AS q WHERE q.path = the_queue;
        SET sentence = COALESCE(IF(is_known, sentence, '@LK_TEXT_QUEUE_EMPTY@'),
                                '@LK_TEXT_NOTHING_DUE@');
    END IF;
END
//

-- For a take that has found nothing: the microseconds until something may become free.
DROP PROCEDURE IF EXISTS lk_look_again
//
CREATE PROCEDURE lk_look_again(
    IN the_queue VARBINARY(512), IN locked BLOB, IN now_us BIGINT, OUT look_us BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE first_us BIGINT;
    DECLARE roots_left INT DEFAULT LENGTH(locked) - LENGTH(REPLACE(locked, '/', '')) - 1;
    SELECT MIN(i.due_us) INTO look_us FROM lk_items AS i FORCE INDEX (items_by_state)
    WHERE i.queue = the_queue AND i.state = 'delayed';
    WHILE roots_left > 0 DO
        CALL lk_first_deadline(SUBSTRING_INDEX(SUBSTRING_INDEX(locked, '/', roots_left + 1), '/', -1),
                               now_us, first_us);
        SET look_us = LEAST(COALESCE(look_us, first_us), first_us), roots_left = roots_left - 1;
    END WHILE;
    SET look_us = IF(look_us = @LK_NEVER@, NULL, look_us - now_us);
END
//

DROP PROCEDURE IF EXISTS lk_decide_take
//
CREATE PROCEDURE lk_decide_take(
    IN the_queue VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN the_ttl_ms BIGINT, IN the_max_attempts INT UNSIGNED, IN the_ask_number BIGINT,
    IN the_note VARBINARY(255), OUT now_us BIGINT, OUT self BIGINT, OUT taken VARBINARY(255),
    OUT stolen BOOLEAN, OUT outcome VARCHAR(16) CHARACTER SET utf8mb4,
    OUT sentence VARCHAR(255) CHARACTER SET utf8mb4, OUT look_us BIGINT, OUT saw_items BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE all_roots BLOB;
    CALL lk_roots_to_take(the_queue, the_root, all_roots);
    CALL lk_lock_roots(all_roots, locked, now_us, is_due, has_waiting);
    IF is_due THEN
        CALL lk_perish(locked, has_waiting, now_us, 256);
    END IF;
    IF the_ask_number <> 0 THEN
        CALL lk_take_again(the_queue, asker, the_ask_number, the_ttl_ms, now_us, self, taken);
    END IF;
    IF taken IS NOT NULL THEN
        SET outcome = 'granted', stolen = FALSE, saw_items = TRUE;
    ELSE
        CALL lk_take_next(the_queue, the_root, asker, the_ttl_ms, the_max_attempts,
                          the_ask_number, the_note, 0, now_us, locked, has_waiting, self, taken,
                          stolen, outcome, sentence, saw_items);
    END IF;
    IF outcome = 'busy' THEN
        CALL lk_look_again(the_queue, locked, now_us, look_us);
    END IF;
END
//

-- The item of this claim, which ends, is as the push would have added it that has asked for it again,
-- if one has. `ended_us`: when the claim ended, since when the item is ready if it is; NULL: now.
DROP PROCEDURE IF EXISTS lk_begin_again
//
CREATE PROCEDURE lk_begin_again(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN its_claim BIGINT, IN is_lost BOOLEAN,
    IN ended_us BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE its_due_us BIGINT;
    DECLARE needs_more BOOLEAN;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT IF(i.due_us > now_us, i.due_us, 0), i.needs <> '' INTO its_due_us, needs_more
    FROM lk_items AS i
    WHERE i.queue = the_queue AND i.id = the_id AND i.claim = its_claim AND i.state = 'again';
    IF its_due_us IS NOT NULL THEN
        UPDATE lk_items AS i FORCE INDEX (PRIMARY)
        SET i.claim = 0, i.ask_number = 0, i.attempts = 0, i.was_lost = is_lost,
            i.ready_us = IF(its_due_us > 0, 0, GREATEST(i.due_us, COALESCE(ended_us, now_us))),
            i.due_us = its_due_us, i.state = IF(its_due_us > 0, 'delayed', 'ready')
        WHERE i.queue = the_queue AND i.id = the_id AND i.claim = its_claim;
        IF @lk_inside AND ROW_COUNT() = 0 THEN
            CALL lk_refuse_snapshot();
        END IF;
        IF its_due_us > 0 THEN
            UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
            SET r.due_us = LEAST(r.due_us, its_due_us)
            WHERE r.root = SUBSTRING_INDEX(the_queue, '/', 1);
        ELSEIF needs_more THEN
            CALL lk_item_comes(the_queue, the_id);
        END IF;
    END IF;
END
//

-- Removes the item of this claim, which ends, if it is cancelled. Its claims are counted with its
-- queue's.
DROP PROCEDURE IF EXISTS lk_drop_claimed
//
CREATE PROCEDURE lk_drop_claimed(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN its_claim BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_attempts INT UNSIGNED;
    DECLARE its_claims BIGINT;
    DECLARE its_steals BIGINT;
    DECLARE is_head BOOLEAN;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT i.attempts, i.claims, i.steals, i.is_head
    INTO its_attempts, its_claims, its_steals, is_head
    FROM lk_items AS i
    WHERE i.queue = the_queue AND i.id = the_id AND i.claim = its_claim AND i.state = 'cancelled';
    IF its_claims IS NOT NULL THEN
        IF is_head THEN
            CALL lk_head_ends(the_queue, the_id);
        END IF;
        DELETE i FROM lk_items AS i FORCE INDEX (PRIMARY)
        WHERE i.queue = the_queue AND i.id = the_id AND i.claim = its_claim;
        IF @lk_inside AND ROW_COUNT() = 0 THEN
            CALL lk_refuse_snapshot();
        END IF;
        DELETE v FROM lk_item_values AS v FORCE INDEX (PRIMARY)
        WHERE v.queue = the_queue AND v.id = the_id;
        UPDATE lk_queues AS q FORCE INDEX (PRIMARY)
        SET q.claims = q.claims + its_claims, q.steals = q.steals + its_steals
        WHERE q.path = the_queue;
        IF @lk_tells THEN
            CALL lk_tell('dropped', CONCAT(the_queue, '/', the_id), '', '', 0, 0, its_attempts, TRUE,
                         '', FALSE);
        END IF;
    END IF;
END
//

-- Ends a claim that is still held: the item is removed (delay_ms NULL), or kept with its result for
-- the longer of its time and `the_keep_ms`; or it is given back, with the exit code and the text of its
-- failure; both NULL: the former ones stay. `uncounted`: the attempt does
-- not count, so the item is not parked unless it `parks`. A cancelled item is removed in any case, and
-- one that was pushed again is as new in any case. The roots in `locked` are.
DROP PROCEDURE IF EXISTS lk_finish_item
//
CREATE PROCEDURE lk_finish_item(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN asker VARBINARY(128), IN the_identity BINARY(32), IN the_token BIGINT, IN delay_ms BIGINT,
    IN its_exit INT, IN its_error VARBINARY(1024), IN uncounted BOOLEAN, IN parks BOOLEAN,
    IN the_result MEDIUMBLOB, IN the_keep_ms BIGINT, IN now_us BIGINT, INOUT locked BLOB, INOUT has_waiting BOOLEAN,
    OUT outcome VARCHAR(16) CHARACTER SET utf8mb4, OUT sentence VARCHAR(255) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
finish: BEGIN
    DECLARE self BIGINT;
    DECLARE its_roots BLOB;
    DECLARE has_all BOOLEAN;
    DECLARE has_ended BOOLEAN;
    DECLARE is_last BOOLEAN;
    DECLARE is_dropped BOOLEAN;
    DECLARE is_again BOOLEAN;
    DECLARE kept_ms BIGINT;
    DECLARE its_claims BIGINT;
    DECLARE its_steals BIGINT;
    DECLARE needs_more BOOLEAN;
    DECLARE is_head BOOLEAN;
    DECLARE released BLOB;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT r.id, r.roots, i.max_attempts > 0 AND i.attempts >= i.max_attempts, i.claims, i.steals,
           i.needs <> '', i.is_head, i.state = 'cancelled' AND delay_ms IS NOT NULL,
           i.state = 'again',
           IF(delay_ms IS NULL AND i.state = 'claimed', GREATEST(i.keep_ms, the_keep_ms), 0)
    INTO self, its_roots, is_last, its_claims, its_steals, needs_more, is_head, is_dropped,
         is_again, kept_ms
    FROM lk_items AS i JOIN lk_requests AS r ON r.id = i.claim AND r.part = 1
    WHERE i.queue = the_queue AND i.id = the_id AND r.deadline_us > now_us AND r.owner = asker
      AND (the_token = 0 OR r.token = the_token);
    IF self IS NULL THEN
        SELECT COUNT(*) INTO has_ended FROM lk_ended AS e
        WHERE e.token = the_token AND e.identity = the_identity
          AND e.ended_us > now_us - @LK_ENDED_MEMORY_US@;
        IF has_ended THEN
            SET outcome = 'ok'; -- R3
        ELSE
            SET outcome = 'lost',
                sentence = '@LK_TEXT_NOT_CLAIMED@';
        END IF;
        LEAVE finish;
    END IF;
    CALL lk_lock_more_roots(its_roots, locked, has_waiting, has_all);
    IF the_token <> 0 THEN
        INSERT INTO lk_ended (token, identity, ended_us) VALUES (the_token, the_identity, now_us)
        ON DUPLICATE KEY UPDATE ended_us = now_us;
    END IF;
    SET parks = NOT is_again AND (parks OR (is_last AND NOT uncounted));
    IF uncounted OR is_again THEN
        UPDATE lk_items AS i FORCE INDEX (PRIMARY)
        SET i.attempts = IF(is_again, 0, i.attempts - (i.attempts > 0))
        WHERE i.queue = the_queue AND i.id = the_id;
    END IF;
    IF @lk_tells AND NOT is_dropped THEN
        CALL lk_tell_claim(CASE WHEN delay_ms IS NULL THEN 'done' WHEN parks THEN 'parked'
                                ELSE 'retried' END, self, the_queue, the_id);
    END IF;
    CALL lk_remove_request(self, NULL, released);
    IF is_dropped THEN
        CALL lk_drop_claimed(the_queue, the_id, self);
    ELSEIF is_again THEN
        CALL lk_begin_again(the_queue, the_id, self, FALSE, NULL);
        UPDATE lk_items AS i FORCE INDEX (PRIMARY)
        SET i.last_exit = its_exit, i.last_error = its_error
        WHERE i.queue = the_queue AND i.id = the_id
          AND (its_exit IS NOT NULL OR its_error IS NOT NULL);
        UPDATE lk_queues AS q FORCE INDEX (PRIMARY)
        SET q.done = q.done + (delay_ms IS NULL), q.retried = q.retried + (delay_ms IS NOT NULL)
        WHERE q.path = the_queue;
    ELSEIF delay_ms IS NULL THEN
        IF is_head THEN
            CALL lk_head_ends(the_queue, the_id);
        END IF;
        IF kept_ms > 0 THEN
            CALL lk_keep_item(the_queue, the_id, the_root, the_result, now_us + kept_ms * 1000);
        ELSE
            DELETE i FROM lk_items AS i FORCE INDEX (PRIMARY)
            WHERE i.queue = the_queue AND i.id = the_id;
            DELETE v FROM lk_item_values AS v FORCE INDEX (PRIMARY)
            WHERE v.queue = the_queue AND v.id = the_id;
        END IF;
        UPDATE lk_queues AS q FORCE INDEX (PRIMARY)
        SET q.claims = q.claims + its_claims, q.steals = q.steals + its_steals, q.done = q.done + 1
        WHERE q.path = the_queue;
    ELSE
        UPDATE lk_items AS i FORCE INDEX (PRIMARY)
        SET i.last_exit = IF(its_exit IS NULL AND its_error IS NULL, i.last_exit, its_exit),
            i.last_error = IF(its_exit IS NULL AND its_error IS NULL, i.last_error, its_error),
            i.claim = 0, i.ask_number = 0, i.was_lost = FALSE,
            i.due_us = IF(delay_ms > 0 AND NOT parks, now_us + delay_ms * 1000, 0),
            i.ready_us = now_us,
            i.state = CASE WHEN parks THEN 'parked' WHEN delay_ms > 0 THEN 'delayed'
                           ELSE 'ready' END
        WHERE i.queue = the_queue AND i.id = the_id;
        IF needs_more THEN
            CALL lk_item_comes(the_queue, the_id);
        END IF;
        IF delay_ms > 0 AND NOT parks THEN
            UPDATE lk_roots AS r FORCE INDEX (PRIMARY)
            SET r.due_us = LEAST(r.due_us, now_us + delay_ms * 1000) WHERE r.root = the_root;
        END IF;
        UPDATE lk_queues AS q FORCE INDEX (PRIMARY)
        SET q.retried = q.retried + 1, q.parked = q.parked + parks
        WHERE q.path = the_queue;
    END IF;
    CALL lk_grant_waiters(locked, has_waiting, released, NULL, now_us);
    SET outcome = 'ok';
END
//

DROP PROCEDURE IF EXISTS lk_decide_finish
//
CREATE PROCEDURE lk_decide_finish(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_root VARBINARY(255),
    IN asker VARBINARY(128), IN the_identity BINARY(32), IN the_token BIGINT, IN delay_ms BIGINT,
    IN its_exit INT, IN its_error VARBINARY(1024), IN uncounted BOOLEAN, IN parks BOOLEAN,
    IN the_result MEDIUMBLOB, IN the_keep_ms BIGINT,
    OUT outcome VARCHAR(16) CHARACTER SET utf8mb4, OUT sentence VARCHAR(255) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE its_roots BLOB;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT r.roots INTO its_roots
    FROM lk_items AS i JOIN lk_requests AS r ON r.id = i.claim AND r.part = 1
    WHERE i.queue = the_queue AND i.id = the_id;
    CALL lk_lock_roots(COALESCE(its_roots, the_root), locked, now_us, is_due, has_waiting);
    IF is_due THEN
        CALL lk_perish(locked, has_waiting, now_us, 4);
    END IF;
    CALL lk_finish_item(the_queue, the_id, the_root, asker, the_identity, the_token, delay_ms,
                        its_exit, its_error, uncounted, parks, the_result, the_keep_ms, now_us,
                        locked, has_waiting, outcome, sentence);
END
//

-- Of format 4 and before.
DROP PROCEDURE IF EXISTS lk_decide_unpark
//

-- Makes a parked item ready again. The root is locked.
DROP PROCEDURE IF EXISTS lk_unpark_item
//
CREATE PROCEDURE lk_unpark_item(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255),
    OUT outcome VARCHAR(16) CHARACTER SET utf8mb4, OUT sentence VARCHAR(255) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE is_parked BOOLEAN;
    SELECT COUNT(*) INTO is_parked FROM lk_items AS i
    WHERE i.queue = the_queue AND i.id = the_id AND i.state = 'parked';
    IF is_parked THEN
        UPDATE lk_items AS i FORCE INDEX (PRIMARY)
        SET i.state = 'ready', i.ready_us = now_us, i.attempts = 0, i.was_lost = FALSE
        WHERE i.queue = the_queue AND i.id = the_id;
        CALL lk_item_comes(the_queue, the_id);
        IF @lk_tells THEN
            CALL lk_tell_item('unparked', the_queue, the_id);
        END IF;
        SET outcome = 'ok';
    ELSE
        SET outcome = 'lost', sentence = '@LK_TEXT_NOT_PARKED@';
    END IF;
END
//

-- Removes an item that is not claimed, or only one that is parked. One that is kept no longer is not
-- there. Its claims so far are counted
-- with its queue's. The root is locked.
DROP PROCEDURE IF EXISTS lk_remove_item
//
CREATE PROCEDURE lk_remove_item(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN only_parked BOOLEAN,
    OUT outcome VARCHAR(16) CHARACTER SET utf8mb4, OUT sentence VARCHAR(255) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_state VARBINARY(16);
    DECLARE its_attempts INT UNSIGNED;
    DECLARE its_claims BIGINT;
    DECLARE its_steals BIGINT;
    DECLARE has_value BOOLEAN;
    DECLARE is_head BOOLEAN;
    DECLARE its_needs BLOB;
    DECLARE its_limits VARBINARY(255);
    DECLARE its_counts VARBINARY(255);
    DECLARE its_due_us BIGINT;
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT i.state, i.due_us, i.attempts, i.claims, i.steals, i.has_value, i.is_head, i.needs,
           i.need_limits, i.need_units
    INTO its_state, its_due_us, its_attempts, its_claims, its_steals, has_value, is_head, its_needs,
         its_limits, its_counts
    FROM lk_items AS i WHERE i.queue = the_queue AND i.id = the_id;
    IF its_state = 'parked'
       OR (NOT only_parked AND (its_state IN ('ready', 'delayed')
                                OR (its_state = 'done' AND its_due_us > now_us))) THEN
        IF is_head THEN
            CALL lk_head_ends(the_queue, the_id);
        END IF;
        DELETE i FROM lk_items AS i FORCE INDEX (PRIMARY)
        WHERE i.queue = the_queue AND i.id = the_id;
        IF @lk_inside AND ROW_COUNT() = 0 THEN
            CALL lk_refuse_snapshot();
        END IF;
        IF its_state = 'done' THEN
            CALL lk_keep_no_longer(the_queue, the_id, its_due_us);
        END IF;
        IF its_needs <> '' AND its_state = 'ready' THEN
            CALL lk_item_goes(the_queue, the_id, its_needs, its_limits, its_counts, FALSE);
        END IF;
        CALL lk_mark_roots(SUBSTRING_INDEX(the_queue, '/', 1));
        IF has_value THEN
            DELETE v FROM lk_item_values AS v FORCE INDEX (PRIMARY)
            WHERE v.queue = the_queue AND v.id = the_id;
        END IF;
        UPDATE lk_queues AS q FORCE INDEX (PRIMARY)
        SET q.claims = q.claims + its_claims, q.steals = q.steals + its_steals
        WHERE q.path = the_queue AND its_claims > 0;
        IF @lk_tells THEN
            CALL lk_tell('dropped', CONCAT(the_queue, '/', the_id), '', '', 0, 0, its_attempts, TRUE,
                         '', FALSE);
        END IF;
        SET outcome = 'ok';
    ELSE
        SET outcome = 'lost',
            sentence = IF(only_parked, '@LK_TEXT_NOT_PARKED@',
                          '@LK_TEXT_NO_ITEM@');
    END IF;
END
//

-- R16: cancels the item at this path. One that is not claimed is removed; of another one the claim is
-- revoked, or ended `at_once`, and the item is removed when that has ended. `broken`: whether it is
-- claimed. On record (R12) if it changes anything.
DROP PROCEDURE IF EXISTS lk_decide_cancel
//
CREATE PROCEDURE lk_decide_cancel(
    IN the_path VARBINARY(512), IN the_root VARBINARY(255), IN at_once BOOLEAN,
    IN broken_by VARBINARY(1024), IN why VARBINARY(1024),
    OUT outcome VARCHAR(16) CHARACTER SET utf8mb4, OUT sentence VARCHAR(255) CHARACTER SET utf8mb4,
    OUT broken BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
cancel: BEGIN
    DECLARE the_id VARBINARY(255) DEFAULT SUBSTRING_INDEX(the_path, '/', -1);
    DECLARE the_queue VARBINARY(512)
        DEFAULT IF(the_id = the_path, '', LEFT(the_path, LENGTH(the_path) - LENGTH(the_id) - 1));
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE has_all BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE self BIGINT;
    DECLARE its_state VARBINARY(16);
    DECLARE its_roots BLOB;
    DECLARE its_owner VARBINARY(128);
    DECLARE its_note VARBINARY(255);
    DECLARE its_ticket BIGINT;
    DECLARE its_token BIGINT;
    DECLARE its_deadline_us BIGINT;
    DECLARE is_revoked BOOLEAN;
    DECLARE is_read BOOLEAN DEFAULT FALSE;
    DECLARE released BLOB;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET broken = NULL, @lk_broken_by = broken_by, @lk_reason = why; -- for the events
    SELECT r.roots INTO its_roots
    FROM lk_items AS i JOIN lk_requests AS r ON r.id = i.claim AND r.part = 1
    WHERE i.queue = the_queue AND i.id = the_id;
    CALL lk_lock_roots(COALESCE(its_roots, the_root), locked, now_us, is_due, has_waiting);
    IF is_due THEN
        CALL lk_perish(locked, has_waiting, now_us, 256);
    END IF;
    WHILE NOT is_read DO
        SET its_state = NULL, self = NULL;
        SELECT IF(i.state = 'done' AND i.due_us <= now_us, NULL, i.state), r.id, r.roots, r.owner,
               r.note, r.ticket, r.token, r.deadline_us, r.revoked
        INTO its_state, self, its_roots, its_owner, its_note, its_ticket, its_token,
             its_deadline_us, is_revoked
        FROM lk_items AS i LEFT JOIN lk_requests AS r ON r.id = i.claim AND r.part = 1
        WHERE i.queue = the_queue AND i.id = the_id;
        IF self IS NOT NULL THEN
            CALL lk_lock_more_roots(its_roots, locked, has_waiting, has_all);
        END IF;
        SET is_read = self IS NULL OR its_deadline_us > now_us;
        IF NOT is_read THEN
            CALL lk_remove_request(self, 'perished', released);
            CALL lk_grant_waiters(locked, has_waiting, released, NULL, its_deadline_us);
        END IF;
    END WHILE;
    IF its_state IS NULL THEN
        SET outcome = 'lost', sentence = '@LK_TEXT_NOT_THERE@';
        LEAVE cancel;
    END IF;
    SET outcome = 'ok', broken = self IS NOT NULL;
    IF its_state = 'cancelled' AND NOT at_once THEN
        IF @lk_inside THEN -- its end marks no root (20_transactions)
            SELECT COUNT(*) INTO is_read FROM lk_items AS i FORCE INDEX (PRIMARY)
            WHERE i.queue = the_queue AND i.id = the_id AND i.claim = self FOR UPDATE;
            IF NOT is_read THEN
                CALL lk_refuse_snapshot();
            END IF;
        END IF;
        LEAVE cancel;
    END IF;
    IF self IS NULL THEN
        CALL lk_remove_item(the_queue, the_id, FALSE, outcome, sentence);
        IF outcome <> 'ok' THEN -- it has been kept up to this moment
            SET broken = NULL, sentence = '@LK_TEXT_NOT_THERE@';
            LEAVE cancel;
        END IF;
    ELSE
        IF its_state <> 'cancelled' THEN
            UPDATE lk_items AS i FORCE INDEX (PRIMARY) SET i.state = 'cancelled', i.due_us = 0
            WHERE i.queue = the_queue AND i.id = the_id AND i.claim = self AND i.state = its_state;
            IF @lk_inside AND ROW_COUNT() = 0 THEN
                CALL lk_refuse_snapshot();
            END IF;
        END IF;
        CALL lk_mark_roots(the_root);
        IF at_once THEN
            CALL lk_remove_request(self, 'broken', released);
            CALL lk_grant_waiters(locked, has_waiting, released, NULL, now_us);
        ELSEIF NOT is_revoked THEN
            UPDATE lk_requests AS r FORCE INDEX (PRIMARY) SET r.revoked = TRUE WHERE r.id = self;
            IF @lk_tells THEN
                CALL lk_tell_request('broken', self, 0);
            END IF;
        END IF;
    END IF;
    INSERT INTO lk_audits (at_us, broken_by, reason, path, owner, note, ticket, token)
    VALUES (now_us, broken_by, why, the_path, COALESCE(its_owner, ''), COALESCE(its_note, ''),
            COALESCE(its_ticket, 0), COALESCE(its_token, 0));
    SELECT MAX(a.id) - @LK_AUDITS_MAX@ INTO self FROM lk_audits AS a;
    DELETE a FROM lk_audits AS a FORCE INDEX (PRIMARY) WHERE a.id <= self;
END
//

DELIMITER ;
