-- SPDX-License-Identifier: Apache-2.0
-- Heads (R16, "Strict order"): an item that has been claimed is the head of its strict needs until it is
-- gone or is replaced. A strict need has units -1 in the list of an item; its claim locks the path
-- exclusively, as any other.
--
-- An item that is a head says so itself (`is_head`), and is found by the path of each strict need. Its
-- group has it as well (51_groups). Items without strict needs cost nothing here. The root of the queue
-- is locked.

DELIMITER //

-- Whether another item is the head of one of these needs; the item that has them has none.
DROP PROCEDURE IF EXISTS lk_head_is_others
//
CREATE PROCEDURE lk_head_is_others(
    IN the_queue VARBINARY(512), IN the_needs BLOB, IN the_counts VARBINARY(255),
    OUT is_others BOOLEAN)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT EXISTS (SELECT 1 FROM lk_numbers AS n
                   STRAIGHT_JOIN lk_heads AS t FORCE INDEX (PRIMARY)
                   WHERE n.n <= 1 + LENGTH(the_counts) - LENGTH(REPLACE(the_counts, ' ', ''))
                     AND SUBSTRING_INDEX(SUBSTRING_INDEX(the_counts, ' ', n.n), ' ', -1) = '-1'
                     AND t.queue = the_queue
                     AND t.path = LEFT(SUBSTRING_INDEX(SUBSTRING_INDEX(the_needs, ' ', n.n),
                                                       ' ', -1), @LK_PATH_BYTES_MAX@))
    INTO is_others;
END
//

-- An item with strict needs has been claimed by this request, and was no head. No other one of its
-- group leads. A group that is gone gets a number that is none of the root's: a draw here would keep the
-- next claim of this decision from sharing its token (R4).
DROP PROCEDURE IF EXISTS lk_head_begins
//
CREATE PROCEDURE lk_head_begins(
    IN the_queue VARBINARY(512), IN the_id VARBINARY(255), IN its_claim BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_needs BLOB;
    DECLARE its_counts VARBINARY(255);
    DECLARE its_group BINARY(32);
    DECLARE its_number BIGINT;
    DECLARE leader VARBINARY(255);
    DECLARE its_head VARBINARY(255);
    DECLARE leader_place DECIMAL(24, 0);
    DECLARE its_roots BLOB;
    SELECT i.needs, i.need_units,
           UNHEX(SHA2(CONCAT(i.needs, '|', i.need_limits, '|', i.need_units), 256))
    INTO its_needs, its_counts, its_group
    FROM lk_items AS i WHERE i.queue = the_queue AND i.id = the_id;
    UPDATE lk_items AS i FORCE INDEX (PRIMARY) SET i.is_head = TRUE
    WHERE i.queue = the_queue AND i.id = the_id;
    INSERT INTO lk_heads (queue, path, id)
    SELECT the_queue, SUBSTRING_INDEX(SUBSTRING_INDEX(its_needs, ' ', n.n), ' ', -1), the_id
    FROM lk_numbers AS n FORCE INDEX (PRIMARY)
    WHERE n.n <= 1 + LENGTH(its_counts) - LENGTH(REPLACE(its_counts, ' ', ''))
      AND SUBSTRING_INDEX(SUBSTRING_INDEX(its_counts, ' ', n.n), ' ', -1) = '-1';
    CALL lk_find_group(the_queue, its_group, its_number, leader, its_head, leader_place, its_roots);
    IF leader <> the_id THEN -- the item has been passed over because it was locked itself
        UPDATE lk_items AS i FORCE INDEX (PRIMARY) SET i.due_us = its_number
        WHERE i.queue = the_queue AND i.id = leader AND i.state = 'ready';
    END IF;
    INSERT INTO lk_groups (queue, needs, number, leader, head)
    VALUES (the_queue, its_group, -its_claim, '', the_id)
    ON DUPLICATE KEY UPDATE lk_groups.leader = '', lk_groups.head = the_id;
END
//

-- A head is about to go, or to be replaced. It is none any more, and the next one of its
-- group leads.
DROP PROCEDURE IF EXISTS lk_head_ends
//
CREATE PROCEDURE lk_head_ends(IN the_queue VARBINARY(512), IN the_id VARBINARY(255))
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE its_needs BLOB;
    DECLARE its_limits VARBINARY(255);
    DECLARE its_counts VARBINARY(255);
    DECLARE n INT;
    SELECT i.needs, i.need_limits, i.need_units INTO its_needs, its_limits, its_counts
    FROM lk_items AS i WHERE i.queue = the_queue AND i.id = the_id FOR UPDATE;
    SET n = 1 + LENGTH(its_counts) - LENGTH(REPLACE(its_counts, ' ', ''));
    WHILE n > 0 DO
        IF SUBSTRING_INDEX(SUBSTRING_INDEX(its_counts, ' ', n), ' ', -1) = '-1' THEN
            DELETE t FROM lk_heads AS t FORCE INDEX (PRIMARY)
            WHERE t.queue = the_queue AND t.id = the_id
              AND t.path = SUBSTRING_INDEX(SUBSTRING_INDEX(its_needs, ' ', n), ' ', -1);
        END IF;
        SET n = n - 1;
    END WHILE;
    UPDATE lk_items AS i FORCE INDEX (PRIMARY) SET i.is_head = FALSE
    WHERE i.queue = the_queue AND i.id = the_id;
    UPDATE lk_groups AS g FORCE INDEX (PRIMARY) SET g.head = '', g.leader = the_id
    WHERE g.queue = the_queue AND g.head = the_id
      AND g.needs = UNHEX(SHA2(CONCAT(its_needs, '|', its_limits, '|', its_counts), 256));
    CALL lk_item_goes(the_queue, the_id, its_needs, its_limits, its_counts, FALSE);
END
//
DELIMITER ;
