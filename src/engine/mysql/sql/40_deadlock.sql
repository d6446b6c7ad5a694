-- SPDX-License-Identifier: Apache-2.0
-- R13: cycles of owners who wait for each other.
--
-- The search goes over all roots, of which only some are locked: of the others it sees what has
-- been committed. Two asks in two roots that close a cycle in the same moment miss each other; both
-- look again within a second, and then the one with the greatest (ticket, owner) gives way.

DELIMITER //

-- The owners of requests that must end before this waiting one can be granted, in hexadecimal, with
-- a space between (NULL: none); whether the request `goal` is among them, or one of `goal_owner`.
DROP PROCEDURE IF EXISTS lk_waits_for
//
CREATE PROCEDURE lk_waits_for(
    IN waiting BIGINT, IN waiter VARBINARY(128), IN its_ticket BIGINT, IN the_now_us BIGINT,
    IN goal BIGINT, IN goal_owner VARBINARY(128), OUT owners MEDIUMBLOB,
    OUT is_there BOOLEAN)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE is_covered BOOLEAN;
    CALL lk_cover(waiting, waiter, the_now_us, is_covered);
    SELECT GROUP_CONCAT(DISTINCT HEX(x.owner) SEPARATOR ' '),
           COALESCE(MAX(x.id = goal OR x.owner = goal_owner), FALSE)
    INTO owners, is_there
    FROM (SELECT STRAIGHT_JOIN p.id, p.owner
          FROM lk_requests AS a JOIN lk_numbers AS n
          JOIN lk_requests AS p FORCE INDEX (requests_by_path)
          WHERE a.id = waiting AND n.n <= 1 + LENGTH(a.path) - LENGTH(REPLACE(a.path, '/', ''))
            AND p.path = SUBSTRING_INDEX(a.path, '/', n.n)
            AND p.deadline_us > the_now_us AND p.id <> waiting AND (p.held OR p.ticket < its_ticket)
            AND ((NOT is_covered AND p.owner <> waiter AND (p.units = 0 OR a.units = 0))
                 OR (p.path = a.path AND a.unit_limit > 0 AND p.units > a.unit_limit - a.units))
          UNION ALL
          SELECT STRAIGHT_JOIN p.id, p.owner
          FROM lk_requests AS a JOIN lk_requests AS p FORCE INDEX (requests_by_path)
          WHERE a.id = waiting AND NOT is_covered
            AND p.path > CONCAT(a.path, '/') AND p.path < CONCAT(a.path, '0')
            AND p.deadline_us > the_now_us AND (p.held OR p.ticket < its_ticket)
            AND p.owner <> waiter AND (p.units = 0 OR a.units = 0)) AS x;
END
//

-- The cycle that `asked` closes: owners as JSON, its own first; NULL: none. A request that waits
-- must not reach its own owner; one that is held must not be reached from what its owner waits for.
-- `gives_way`: of all in the cycle, the owner of `asked` waits with the greatest (ticket, owner).
DROP PROCEDURE IF EXISTS lk_find_cycle
//
CREATE PROCEDURE lk_find_cycle(
    IN asked BIGINT, IN the_now_us BIGINT, OUT cycle MEDIUMTEXT CHARACTER SET utf8mb4,
    OUT gives_way BOOLEAN)
SQL SECURITY INVOKER READS SQL DATA
search: BEGIN
    DECLARE self_owner VARBINARY(128);
    DECLARE self_held BOOLEAN;
    DECLARE owners MEDIUMBLOB;  -- found so far, in hexadecimal
    DECLARE parents MEDIUMBLOB; -- who led there
    DECLARE found MEDIUMBLOB;   -- blockers of one request
    DECLARE members MEDIUMBLOB DEFAULT '';
    DECLARE one VARBINARY(256);
    DECLARE is_closed BOOLEAN;
    DECLARE at INT DEFAULT 1;
    DECLARE count INT DEFAULT 1;
    DECLARE i INT;
    DECLARE waiting BIGINT;
    DECLARE its_ticket BIGINT;
    DECLARE waiter VARBINARY(128);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET waiting = NULL;
    SET cycle = NULL, gives_way = FALSE;
    SET SESSION group_concat_max_len = GREATEST(@@SESSION.group_concat_max_len, 4194304);
    SELECT r.owner, r.held INTO self_owner, self_held
    FROM lk_requests AS r WHERE r.id = asked AND r.part = 1;
    SET owners = HEX(self_owner), parents = '0';
    WHILE at <= count DO
        SET waiter = UNHEX(SUBSTRING_INDEX(SUBSTRING_INDEX(owners, ' ', at), ' ', -1));
        SET waiting = 0;
        WHILE waiting IS NOT NULL DO
            SELECT r.id, r.ticket INTO waiting, its_ticket
            FROM lk_requests AS r FORCE INDEX (requests_by_owner)
            WHERE r.owner = waiter AND r.held = 0 AND r.part = 1 AND r.deadline_us > the_now_us
              AND r.id > waiting AND (self_held OR at > 1 OR r.id = asked)
            ORDER BY r.id LIMIT 1;
            IF waiting IS NOT NULL THEN
                CALL lk_waits_for(waiting, waiter, its_ticket, the_now_us, IF(self_held, asked, 0),
                                  IF(self_held, '', self_owner), found, is_closed);
                IF is_closed THEN
                    WHILE at > 0 DO
                        SET one = SUBSTRING_INDEX(SUBSTRING_INDEX(owners, ' ', at), ' ', -1);
                        SET members = CONCAT_WS(' ', one, NULLIF(members, ''));
                        SET cycle = CONCAT_WS(',', JSON_QUOTE(CONVERT(UNHEX(one) USING utf8mb4)),
                                              cycle);
                        SET at = SUBSTRING_INDEX(SUBSTRING_INDEX(parents, ' ', at), ' ', -1);
                    END WHILE;
                    SET cycle = CONCAT('[', cycle, ']');
                    SELECT r.owner = self_owner INTO gives_way
                        FROM lk_numbers AS n
                        STRAIGHT_JOIN lk_requests AS r FORCE INDEX (requests_by_owner)
                        WHERE n.n <= 1 + LENGTH(members) - LENGTH(REPLACE(members, ' ', ''))
                          AND r.owner = UNHEX(SUBSTRING_INDEX(SUBSTRING_INDEX(members, ' ', n.n),
                                                              ' ', -1))
                          AND r.held = 0 AND r.deadline_us > the_now_us
                        ORDER BY r.ticket DESC, r.owner DESC LIMIT 1;
                    LEAVE search;
                END IF;
                SET i = IF(found IS NULL, 0,
                           1 + LENGTH(found) - LENGTH(REPLACE(found, ' ', '')));
                WHILE i > 0 DO
                    SET one = SUBSTRING_INDEX(SUBSTRING_INDEX(found, ' ', i), ' ', -1);
                    IF LOCATE(CONCAT(' ', one, ' '), CONCAT(' ', owners, ' ')) = 0 THEN
                        SET owners = CONCAT(owners, ' ', one), parents = CONCAT(parents, ' ', at);
                        SET count = count + 1;
                    END IF;
                    SET i = i - 1;
                END WHILE;
            END IF;
        END WHILE;
        SET at = at + 1;
    END WHILE;
END
//
DELIMITER ;
