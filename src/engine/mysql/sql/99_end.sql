-- SPDX-License-Identifier: Apache-2.0
-- Created last: if this row exists, with this format, everything does.

DELIMITER //

-- Format 1 did not record at a root when its next delayed item is due.
INSERT INTO lk_roots (root, last_draw, due_us, has_waiting)
SELECT DISTINCT SUBSTRING_INDEX(i.queue, '/', 1) AS root, m.draw_floor, 0, FALSE
FROM lk_items AS i JOIN lk_meta AS m
WHERE i.state = 'delayed' AND m.format < 2 ORDER BY root
ON DUPLICATE KEY UPDATE due_us = 0
//
-- Procedures of format 10 and before made no groups of items.
CALL lk_make_groups()
//
INSERT IGNORE INTO lk_meta (format, writable_from, server_start) VALUES (11, 1, 0)
//
UPDATE lk_meta SET format = 11 WHERE format < 11
//
DO RELEASE_LOCK(CONCAT('lockkeeper ', LEFT(SHA2(CONCAT(DATABASE(), '.lk_'), 256), 40)))
//
DELIMITER ;
