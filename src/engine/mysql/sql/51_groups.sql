-- SPDX-License-Identifier: Apache-2.0
-- Groups of items that need the same (R16). What blocks one of them by its needs blocks all of them,
-- so a claim reads only the first ready one of each group: the others have the group's number in
-- `due_us`, and with it a place of their own in the index of the items. Items without needs are in no
-- group, and cost nothing here.
--
-- Where an item is the head of the group's strict needs (52_heads), no other one can be claimed. So that
-- one leads while it is ready, whatever its place. While it is not ready, none leads, and what is behind
-- it costs a claim nothing.
--
-- A procedure that makes an item with needs ready, or takes a ready one away, calls one of this file.
-- The root of the queue is locked. Both read what is locked: a transaction of the caller's may have an
-- older snapshot, in which another item is the first one.

DELIMITER //

-- A group, if there is one, the item that leads it, and the one that has its turn; empty: there is none.
-- The place is that of the leader. The roots are those of the needs of all.
DROP PROCEDURE IF EXISTS lk_find_group
//
CREATE PROCEDURE lk_find_group(
    IN the_queue VARBINARY(512), IN the_group BINARY(32), OUT its_number BIGINT,
    OUT its_leader VARBINARY(255), OUT its_head VARBINARY(255), OUT its_place DECIMAL(24, 0),
    OUT its_roots BLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT STRAIGHT_JOIN g.number, g.leader, g.head, IF(i.state = 'ready', i.place, NULL),
           i.need_roots
    INTO its_number, its_leader, its_head, its_place, its_roots
    FROM lk_groups AS g FORCE INDEX (PRIMARY)
    LEFT JOIN lk_items AS i FORCE INDEX (PRIMARY)
      ON i.queue = the_queue AND i.id = IF(g.head = '', g.leader, g.head)
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
    DECLARE its_head VARBINARY(255);
    DECLARE leader_place DECIMAL(24, 0);
    DECLARE its_roots BLOB;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT UNHEX(SHA2(CONCAT(i.needs, '|', i.need_limits, '|', i.need_units), 256)), i.place
    INTO its_group, its_place
    FROM lk_items AS i
    WHERE i.queue = the_queue AND i.id = the_id AND i.state = 'ready' AND i.needs <> '';
    IF its_group IS NOT NULL THEN
        CALL lk_find_group(the_queue, its_group, its_number, leader, its_head, leader_place,
                           its_roots);
        IF its_head NOT IN ('', the_id) OR leader_place < its_place THEN
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
-- it led its group, the next one does, unless it is the head, and keeps it.
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
    DECLARE is_head BOOLEAN;
    DECLARE next_id VARBINARY(255);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SELECT g.number, g.head = the_id INTO its_number, is_head FROM lk_groups AS g
    WHERE g.queue = the_queue AND g.needs = its_group AND g.leader = the_id FOR UPDATE;
    IF is_head THEN
        UPDATE lk_groups AS g FORCE INDEX (PRIMARY) SET g.leader = ''
        WHERE g.queue = the_queue AND g.needs = its_group AND NOT stays;
    ELSEIF its_number IS NOT NULL THEN
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

-- The next queue after this one of which an item has needs or is a head; NULL: there is none.
DROP PROCEDURE IF EXISTS lk_next_to_group
//
CREATE PROCEDURE lk_next_to_group(INOUT the_queue VARBINARY(512))
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT MIN(x.queue) INTO the_queue
    FROM ((SELECT i.queue FROM lk_items AS i FORCE INDEX (PRIMARY)
           WHERE i.queue > the_queue AND i.needs <> '' ORDER BY i.queue LIMIT 1)
          UNION ALL
          (SELECT t.queue FROM lk_heads AS t FORCE INDEX (PRIMARY)
           WHERE t.queue > the_queue ORDER BY t.queue LIMIT 1)) AS x;
END
//

-- Makes the groups and the heads of all queues again, each queue in a transaction of its own.
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
    CALL lk_next_to_group(the_queue);
    WHILE the_queue IS NOT NULL DO
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
        BEGIN
            DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
            CALL lk_lock_roots(SUBSTRING_INDEX(the_queue, '/', 1), locked, now_us, is_due,
                               has_waiting);
            DELETE t FROM lk_heads AS t FORCE INDEX (PRIMARY) WHERE t.queue = the_queue;
            INSERT INTO lk_heads (queue, path, id)
            SELECT the_queue, SUBSTRING_INDEX(SUBSTRING_INDEX(i.needs, ' ', n.n), ' ', -1), i.id
            FROM lk_items AS i FORCE INDEX (PRIMARY) STRAIGHT_JOIN lk_numbers AS n
            WHERE i.queue = the_queue AND i.is_head
              AND n.n <= 1 + LENGTH(i.need_units) - LENGTH(REPLACE(i.need_units, ' ', ''))
              AND SUBSTRING_INDEX(SUBSTRING_INDEX(i.need_units, ' ', n.n), ' ', -1) = '-1';
            DELETE g FROM lk_groups AS g FORCE INDEX (PRIMARY) WHERE g.queue = the_queue;
            INSERT INTO lk_groups (queue, needs, number, leader, head)
            SELECT the_queue,
                   UNHEX(SHA2(CONCAT(i.needs, '|', i.need_limits, '|', i.need_units), 256)),
                   i.arrival, IF(i.state = 'ready', i.id, ''), i.id
            FROM lk_items AS i FORCE INDEX (PRIMARY)
            WHERE i.queue = the_queue AND i.is_head;
            INSERT INTO lk_groups (queue, needs, number, leader)
            SELECT the_queue,
                   UNHEX(SHA2(CONCAT(i.needs, '|', i.need_limits, '|', i.need_units), 256)),
                   i.arrival, i.id
            FROM (SELECT MIN(x.place) AS place FROM lk_items AS x FORCE INDEX (PRIMARY)
                  WHERE x.queue = the_queue AND x.state = 'ready' AND x.needs <> ''
                  GROUP BY SHA2(CONCAT(x.needs, '|', x.need_limits, '|', x.need_units), 256)) AS f
            JOIN lk_items AS i ON i.place = f.place
            WHERE i.queue = the_queue AND i.state = 'ready' AND i.needs <> ''
            ON DUPLICATE KEY UPDATE lk_groups.queue = lk_groups.queue; -- it has a head
            UPDATE lk_items AS i FORCE INDEX (PRIMARY)
            STRAIGHT_JOIN lk_groups AS g FORCE INDEX (PRIMARY)
              ON g.queue = the_queue AND g.needs
                 = UNHEX(SHA2(CONCAT(i.needs, '|', i.need_limits, '|', i.need_units), 256))
            SET i.due_us = IF(i.id = g.leader, 0, g.number)
            WHERE i.queue = the_queue AND i.state = 'ready' AND i.needs <> '';
            COMMIT;
        END;
        CALL lk_next_to_group(the_queue);
    END WHILE;
END
//
DELIMITER ;
