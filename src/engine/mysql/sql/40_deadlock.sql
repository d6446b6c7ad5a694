-- SPDX-License-Identifier: Apache-2.0
-- R13: cycles of owners who wait for each other.
--
-- The search goes over all roots, of which only some are locked: of the others it sees what has
-- been committed. Two asks in two roots that close a cycle in the same moment miss each other; both
-- look again within a second, and then the one with the greatest (ticket, owner) gives way.
--
-- It goes in rounds, each one statement: from the owners that the round before has found to those
-- whom they wait for. So a long line at one path takes two rounds. Of more than 1000 owners (as far
-- as lk_numbers goes) the rest is not looked at.

DELIMITER //

-- One round, from the owners `first` to `last` of the list: whom they wait for, that is, of which
-- owners a request must end before a waiting one of theirs can be granted. `found`: OWNER:PLACE,
-- the place of who leads there, with a space between; NULL: nobody. `closer`: the place of one who
-- waits for the goal; NULL: none. Only `asked` is looked at of the first owner, unless it is held.
--
-- `lone`: the path of `asked`, if that is all its owner has, waits, and is exclusive. Then whoever
-- is before it at just that path, exclusive and with nothing else in that request, leads nowhere
-- but to those whom `asked` waits for itself. So a long line is not gone through for each who waits
-- in it.
DROP PROCEDURE IF EXISTS lk_find_next
//
CREATE PROCEDURE lk_find_next(
    IN asked BIGINT, IN is_held BOOLEAN, IN owners MEDIUMBLOB, IN first INT, IN last INT,
    IN lone VARBINARY(512), IN its_ticket BIGINT, IN now_us BIGINT, OUT found MEDIUMBLOB,
    OUT closer INT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE asker VARBINARY(128) DEFAULT UNHEX(SUBSTRING_INDEX(owners, ' ', 1));
    WITH waiting AS (
        SELECT STRAIGHT_JOIN n.n AS place, w.id, w.ticket, w.owner, w.path, w.unit_limit, w.units,
               NOT EXISTS (SELECT 1 FROM lk_requests AS h FORCE INDEX (requests_by_owner)
                           WHERE h.owner = w.owner AND h.held = 1)
               OR EXISTS (
                   SELECT 1 FROM lk_requests AS m
                   WHERE m.id = w.id AND NOT EXISTS (
                       SELECT 1 FROM lk_numbers AS d
                       STRAIGHT_JOIN lk_requests AS c FORCE INDEX (requests_by_path)
                       WHERE d.n <= 1 + LENGTH(m.path) - LENGTH(REPLACE(m.path, '/', ''))
                         AND c.path = SUBSTRING_INDEX(m.path, '/', d.n) AND c.deadline_us > now_us
                         AND c.owner = w.owner AND c.held = 1 AND NOT c.revoked AND NOT c.is_claim
                         AND (c.units = 0
                              OR (c.unit_limit = 0 AND m.unit_limit = 0 AND m.units > 0))))
                   AS is_bare -- not covered (R8)
        FROM lk_numbers AS n JOIN lk_requests AS w FORCE INDEX (requests_by_owner)
        WHERE n.n BETWEEN first AND last
          AND w.owner = UNHEX(SUBSTRING_INDEX(SUBSTRING_INDEX(owners, ' ', n.n), ' ', -1))
          AND w.held = 0 AND w.deadline_us > now_us AND (is_held OR n.n > 1 OR w.id = asked)
          AND NOT (lone IS NOT NULL AND n.n > 1 AND w.path = lone AND w.units = 0
                   AND w.part_count = 1 AND w.ticket < its_ticket)
    ), met AS (
        SELECT STRAIGHT_JOIN w.place, p.id, p.owner
        FROM waiting AS w JOIN lk_numbers AS n
        JOIN lk_requests AS p FORCE INDEX (requests_by_path)
        WHERE n.n <= 1 + LENGTH(w.path) - LENGTH(REPLACE(w.path, '/', ''))
          AND p.path = SUBSTRING_INDEX(w.path, '/', n.n) AND p.deadline_us > now_us
          AND p.id <> w.id AND (p.held OR p.ticket < w.ticket)
          AND ((w.is_bare AND p.owner <> w.owner AND (p.units = 0 OR w.units = 0))
               OR (p.path = w.path AND w.unit_limit > 0 AND p.units > w.unit_limit - w.units))
        UNION ALL
        SELECT STRAIGHT_JOIN w.place, p.id, p.owner
        FROM waiting AS w JOIN lk_requests AS p FORCE INDEX (requests_by_path)
        WHERE p.path > CONCAT(w.path, '/') AND p.path < CONCAT(w.path, '0')
          AND p.deadline_us > now_us AND (p.held OR p.ticket < w.ticket)
          AND w.is_bare AND p.owner <> w.owner AND (p.units = 0 OR w.units = 0)
    )
    SELECT GROUP_CONCAT(CONCAT(x.who, ':', x.place) SEPARATOR ' '), MIN(x.closing)
    INTO found, closer
    FROM (SELECT HEX(m.owner) AS who, MIN(m.place) AS place,
                 MIN(IF(IF(is_held, m.id = asked, m.owner = asker), m.place, NULL)) AS closing
          FROM met AS m GROUP BY m.owner) AS x;
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
BEGIN
    DECLARE asker VARBINARY(128);
    DECLARE is_held BOOLEAN;
    DECLARE its_ticket BIGINT;
    DECLARE lone VARBINARY(512);
    DECLARE owners MEDIUMBLOB;              -- found so far, in hexadecimal
    DECLARE leaders MEDIUMBLOB DEFAULT '0'; -- of each, the place of who led there
    DECLARE members MEDIUMBLOB DEFAULT '';  -- of the cycle
    DECLARE found MEDIUMBLOB;
    DECLARE one VARBINARY(272);
    DECLARE who VARBINARY(256);
    DECLARE closer INT;
    DECLARE first INT DEFAULT 1;
    DECLARE last INT DEFAULT 0;
    DECLARE count INT DEFAULT 1;
    DECLARE i INT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET cycle = NULL, gives_way = FALSE;
    SET SESSION group_concat_max_len = 4194304;
    SELECT r.owner, r.held, r.ticket INTO asker, is_held, its_ticket
    FROM lk_requests AS r WHERE r.id = asked AND r.part = 1;
    SELECT IF(COUNT(*) = 1 AND MAX(r.units) = 0 AND NOT is_held, MAX(r.path), NULL) INTO lone
    FROM lk_requests AS r FORCE INDEX (requests_by_owner)
    WHERE r.owner = asker AND r.deadline_us > the_now_us;
    SET owners = HEX(asker);
    WHILE closer IS NULL AND last < count DO
        SET first = last + 1, last = count;
        CALL lk_find_next(asked, is_held, owners, first, last, lone, its_ticket, the_now_us, found,
                          closer);
        SET i = IF(found IS NULL, 0, 1 + LENGTH(found) - LENGTH(REPLACE(found, ' ', '')));
        WHILE closer IS NULL AND i > 0 DO
            SET one = SUBSTRING_INDEX(SUBSTRING_INDEX(found, ' ', i), ' ', -1);
            SET who = SUBSTRING_INDEX(one, ':', 1);
            IF LOCATE(CONCAT(' ', who, ' '), CONCAT(' ', owners, ' ')) = 0 THEN
                SET owners = CONCAT(owners, ' ', who), count = count + 1,
                    leaders = CONCAT(leaders, ' ', SUBSTRING_INDEX(one, ':', -1));
            END IF;
            SET i = i - 1;
        END WHILE;
    END WHILE;
    IF closer IS NOT NULL THEN
        WHILE closer > 0 DO
            SET who = SUBSTRING_INDEX(SUBSTRING_INDEX(owners, ' ', closer), ' ', -1);
            SET members = CONCAT_WS(' ', who, NULLIF(members, ''));
            SET cycle = CONCAT_WS(',', JSON_QUOTE(CONVERT(UNHEX(who) USING utf8mb4)), cycle);
            SET closer = SUBSTRING_INDEX(SUBSTRING_INDEX(leaders, ' ', closer), ' ', -1);
        END WHILE;
        SET cycle = CONCAT('[', cycle, ']');
        SELECT r.owner = asker INTO gives_way
        FROM lk_numbers AS n STRAIGHT_JOIN lk_requests AS r FORCE INDEX (requests_by_owner)
        WHERE n.n <= 1 + LENGTH(members) - LENGTH(REPLACE(members, ' ', ''))
          AND r.owner = UNHEX(SUBSTRING_INDEX(SUBSTRING_INDEX(members, ' ', n.n), ' ', -1))
          AND r.held = 0 AND r.deadline_us > the_now_us
        ORDER BY r.ticket DESC, r.owner DESC LIMIT 1;
    END IF;
END
//
DELIMITER ;
