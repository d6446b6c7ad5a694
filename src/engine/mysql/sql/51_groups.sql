-- SPDX-License-Identifier: Apache-2.0
-- Groups of items that need the same (R16). What blocks one of them by its needs blocks all of them,
-- so a claim reads only the first ready one of each group: the others have the group's number in
-- `due_us`, and with it a place of their own in the index of the items. Items without needs are in no
-- group, and cost nothing here.
--
-- A procedure that makes an item with needs ready, or takes a ready one away, calls one of this file.
-- The root of the queue is locked. Both read what is locked: a transaction of the caller's may have an
-- older snapshot, in which another item is the first one.

DELIMITER //

-- A group, if there is one, and the item that leads it.
DROP PROCEDURE IF EXISTS lk_find_group
//
CREATE PROCEDURE lk_find_group(
    IN the_queue VARBINARY(512), IN the_group BINARY(32), OUT its_number BIGINT,
    OUT its_leader VARBINARY(255), OUT its_place DECIMAL(24, 0), OUT its_roots BLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT STRAIGHT_JOIN g.number, g.leader, i.place, i.need_roots
    INTO its_number, its_leader, its_place, its_roots
    FROM lk_groups AS g FORCE INDEX (PRIMARY)
    LEFT JOIN lk_items AS i FORCE INDEX (PRIMARY)
      ON i.queue = the_queue AND i.id = g.leader AND i.state = 'ready'
    WHERE g.queue = the_queue AND g.needs = the_group FOR UPDATE;
END
//

-- An item has become ready: it leads its group, or is put behind the one that does.
DROP PROCEDURE IF EXISTS lk_item_comes
//
CREATE PROCEDURE lk_item_comes(IN the_queue VARBINARY(512), IN the_id VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_group BINARY(32);
    DECLARE its_number BIGINT;
    DECLARE its_place DECIMAL(24, 0);
    DECLARE leader VARBINARY(255);
    DECLARE leader_place DECIMAL(24, 0);
    DECLARE its_roots BLOB;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT UNHEX(SHA2(CONCAT(i.needs, '|', i.need_limits, '|', i.need_units), 256)), i.place
    INTO its_group, its_place
    FROM lk_items AS i
    WHERE i.queue = the_queue AND i.id = the_id AND i.state = 'ready' AND i.needs <> '';
    IF its_group IS NOT NULL THEN
        CALL lk_find_group(the_queue, its_group, its_number, leader, leader_place, its_roots);
        IF leader_place < its_place THEN
            UPDATE lk_items AS i FORCE INDEX (PRIMARY) SET i.due_us = its_number
            WHERE i.queue = the_queue AND i.id = the_id;
        ELSE
            IF leader_place > its_place THEN
                UPDATE lk_items AS i FORCE INDEX (PRIMARY) SET i.due_us = its_number
                WHERE i.queue = the_queue AND i.id = leader;
            END IF;
            IF its_number IS NULL THEN -- not its arrival: it may have led a group of other needs
                CALL lk_draw(SUBSTRING_INDEX(the_queue, '/', 1), its_number);
            END IF;
            INSERT INTO lk_groups (queue, needs, number, leader)
            VALUES (the_queue, its_group, its_number, the_id)
            ON DUPLICATE KEY UPDATE lk_groups.leader = the_id;
        END IF;
    END IF;
END
//

-- An item with these needs is not ready any more, or it `stays` ready but speaks for itself alone: if
-- it led its group, the next one does.
DROP PROCEDURE IF EXISTS lk_item_goes
//
CREATE PROCEDURE lk_item_goes(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN the_needs BLOB,
    IN the_limits VARBINARY(255), IN the_counts VARBINARY(255), IN stays BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_group BINARY(32)
        DEFAULT UNHEX(SHA2(CONCAT(the_needs, '|', the_limits, '|', the_counts), 256));
    DECLARE its_number BIGINT;
    DECLARE next_id VARBINARY(255);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT g.number INTO its_number FROM lk_groups AS g
    WHERE g.queue = the_queue AND g.needs = its_group AND g.leader = the_id FOR UPDATE;
    IF its_number IS NOT NULL THEN
        SELECT i.id INTO next_id FROM lk_items AS i FORCE INDEX (items_by_state)
        WHERE i.queue = the_queue AND i.state = 'ready' AND i.due_us = its_number
        ORDER BY i.place LIMIT 1 FOR UPDATE;
        IF next_id IS NOT NULL THEN
            UPDATE lk_items AS i FORCE INDEX (PRIMARY) SET i.due_us = 0
            WHERE i.queue = the_queue AND i.id = next_id;
            UPDATE lk_groups AS g FORCE INDEX (PRIMARY) SET g.leader = next_id
            WHERE g.queue = the_queue AND g.needs = its_group;
        ELSEIF NOT stays THEN
            DELETE g FROM lk_groups AS g FORCE INDEX (PRIMARY)
            WHERE g.queue = the_queue AND g.needs = its_group;
        END IF;
    END IF;
END
//

-- Makes the groups of all queues again, each queue in a transaction of its own.
DROP PROCEDURE IF EXISTS lk_make_groups
//
CREATE PROCEDURE lk_make_groups()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE the_queue VARBINARY(512) DEFAULT '';
    DECLARE is_there BOOLEAN DEFAULT TRUE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_there = FALSE;
    SELECT i.queue INTO the_queue FROM lk_items AS i FORCE INDEX (PRIMARY)
    WHERE i.needs <> '' ORDER BY i.queue LIMIT 1;
    WHILE is_there DO
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
        BEGIN
            DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
            CALL lk_lock_roots(SUBSTRING_INDEX(the_queue, '/', 1), locked, now_us, is_due,
                               has_waiting);
            DELETE g FROM lk_groups AS g FORCE INDEX (PRIMARY) WHERE g.queue = the_queue;
            INSERT INTO lk_groups (queue, needs, number, leader)
            SELECT the_queue,
                   UNHEX(SHA2(CONCAT(i.needs, '|', i.need_limits, '|', i.need_units), 256)),
                   i.arrival, i.id
            FROM (SELECT MIN(x.place) AS place FROM lk_items AS x FORCE INDEX (PRIMARY)
                  WHERE x.queue = the_queue AND x.state = 'ready' AND x.needs <> ''
                  GROUP BY SHA2(CONCAT(x.needs, '|', x.need_limits, '|', x.need_units), 256)) AS f
            JOIN lk_items AS i ON i.place = f.place
            WHERE i.queue = the_queue AND i.state = 'ready' AND i.needs <> '';
            UPDATE lk_items AS i FORCE INDEX (PRIMARY)
            STRAIGHT_JOIN lk_groups AS g FORCE INDEX (PRIMARY)
              ON g.queue = the_queue AND g.needs
                 = UNHEX(SHA2(CONCAT(i.needs, '|', i.need_limits, '|', i.need_units), 256))
            SET i.due_us = IF(i.id = g.leader, 0, g.number)
            WHERE i.queue = the_queue AND i.state = 'ready' AND i.needs <> '';
            COMMIT;
        END;
        SELECT i.queue INTO the_queue FROM lk_items AS i FORCE INDEX (PRIMARY)
        WHERE i.queue > the_queue AND i.needs <> '' ORDER BY i.queue LIMIT 1;
    END WHILE;
END
//
DELIMITER ;
