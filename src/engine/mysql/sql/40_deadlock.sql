-- SPDX-License-Identifier: Apache-2.0
-- R13: cycles of owners that wait for each other.
--
-- The search goes over all roots, of which only some are locked: of the others it sees what has
-- been committed. Two asks in two roots that close a cycle in the same moment miss each other; both
-- check again within a second, and then the one with the greatest (ticket, owner) gives way, also
-- when it or the other one is converted meanwhile. An ask that closes a cycle which its search sees
-- gives way itself, whatever its ticket.
--
-- A search takes several statements, and each of them sees what others have committed meanwhile. So
-- a waiting request is withdrawn only upon a second search, behind the lock of the store's row
-- (lk_ask_waiting). Withdrawals follow each other there: of the two that close one cycle, the
-- second search comes after the commit of the first withdrawal, and finds no cycle any more. A new
-- request needs no such lock: two that are new never see each other, because each becomes visible
-- when it commits, after its own search.
--
-- The search goes in rounds, each one statement: from the owners that the round before has found to
-- those that they wait for. So a long queue at one path takes two rounds. Of more than 1000 owners
-- (as far as lk_numbers goes) the rest is not checked.

DELIMITER //

-- One round, from the owners `first` to `last` of the list: the owners that they wait for, that is,
-- those of which a request must end before a waiting one of theirs can be granted. `found`:
-- OWNER:INDEX of those that wait themselves, the index being that of the owner that leads there, with
-- a space between; NULL: none. `closer`:
-- the index of an owner that waits for the goal; NULL: none. Of the first owner only `asked` is
-- checked, unless it is held.
--
-- `only_path`: the path of `asked`, if that is its only part, waits, is exclusive, and its owner has
-- nothing else at, above or below it. Then an exclusive request before it at the same path, without
-- other parts, leads only to owners that `asked` itself waits for. So a long queue is not searched
-- once for each request in it.
--
-- Requests below a path are read path by path, each a variable: see the README on ranges.
DROP PROCEDURE IF EXISTS lk_find_next
//
CREATE PROCEDURE lk_find_next(
    IN asked BIGINT, IN is_held BOOLEAN, IN owners MEDIUMBLOB, IN first INT, IN last INT,
    IN only_path VARBINARY(512), IN its_ticket BIGINT, IN now_us BIGINT, OUT found MEDIUMBLOB,
    OUT closer INT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE asker VARBINARY(128) DEFAULT UNHEX(SUBSTRING_INDEX(owners, ' ', 1));
    DECLARE bare MEDIUMBLOB;  -- ID:INDEX of those that are not covered (R8)
    DECLARE paths MEDIUMBLOB; -- of these
    DECLARE its_path VARBINARY(512);
    DECLARE below VARBINARY(512);
    DECLARE more MEDIUMBLOB;
    DECLARE nearer INT;
    SELECT STRAIGHT_JOIN GROUP_CONCAT(CONCAT(w.id, ':', n.n) SEPARATOR ' '),
           GROUP_CONCAT(DISTINCT w.path SEPARATOR ' ')
    INTO bare, paths
    FROM lk_numbers AS n JOIN lk_requests AS w FORCE INDEX (requests_by_owner)
    WHERE n.n BETWEEN first AND last
      AND w.owner = UNHEX(SUBSTRING_INDEX(SUBSTRING_INDEX(owners, ' ', n.n), ' ', -1))
      AND w.held = 0 AND w.deadline_us > now_us AND (is_held OR n.n > 1 OR w.id = asked)
      AND NOT (only_path IS NOT NULL AND n.n > 1 AND w.path = only_path AND w.units = 0
               AND w.part_count = 1 AND w.ticket < its_ticket)
      AND ((SELECT 1 FROM lk_requests AS h FORCE INDEX (requests_by_owner)
            WHERE h.owner = w.owner AND h.held = 1 LIMIT 1) IS NULL
           OR 0 < (
               SELECT COUNT(*) FROM lk_requests AS m FORCE INDEX (PRIMARY)
               WHERE m.id = w.id AND NOT EXISTS (
                   SELECT 1 FROM lk_numbers AS d
                   STRAIGHT_JOIN lk_requests AS c FORCE INDEX (requests_by_path)
                   WHERE d.n <= 1 + LENGTH(m.path) - LENGTH(REPLACE(m.path, '/', ''))
                     AND c.path = SUBSTRING_INDEX(m.path, '/', d.n) AND c.deadline_us > now_us
                     AND c.owner = w.owner AND c.held = 1 AND NOT c.revoked AND NOT c.is_claim
                     AND (c.units = 0
                          OR (c.unit_limit = 0 AND m.unit_limit = 0 AND m.units > 0)))));
    SET bare = CONCAT(' ', COALESCE(bare, ''), ' '), paths = COALESCE(paths, '');
    SELECT GROUP_CONCAT(IF((SELECT 1 FROM lk_requests AS q FORCE INDEX (requests_by_owner)
                            WHERE q.owner = x.owner AND q.held = 0 LIMIT 1) IS NULL,
                           NULL, CONCAT(HEX(x.owner), ':', x.place)) SEPARATOR ' '),
           MIN(x.closing)
    INTO found, closer
    FROM (SELECT p.owner, MIN(w.place) AS place,
                 MIN(IF(IF(is_held, p.id = asked, p.owner = asker), w.place, NULL)) AS closing
          FROM (SELECT STRAIGHT_JOIN DISTINCT n.n AS place, v.id, v.owner, v.path, v.unit_limit,
                       v.units, v.ticket, LOCATE(CONCAT(' ', v.id, ':'), bare) > 0 AS is_bare
                FROM lk_numbers AS n JOIN lk_requests AS v FORCE INDEX (requests_by_owner)
                WHERE n.n BETWEEN first AND last
                  AND v.owner = UNHEX(SUBSTRING_INDEX(SUBSTRING_INDEX(owners, ' ', n.n), ' ', -1))
                  AND v.held = 0 AND v.deadline_us > now_us
                  AND (is_held OR n.n > 1 OR v.id = asked)
                  AND NOT (only_path IS NOT NULL AND n.n > 1 AND v.path = only_path AND v.units = 0
                           AND v.part_count = 1 AND v.ticket < its_ticket)) AS w
          STRAIGHT_JOIN lk_numbers AS d
          STRAIGHT_JOIN lk_requests AS p FORCE INDEX (requests_by_path)
          WHERE d.n <= 1 + LENGTH(w.path) - LENGTH(REPLACE(w.path, '/', ''))
            AND p.path = SUBSTRING_INDEX(w.path, '/', d.n) AND p.deadline_us > now_us
            AND p.id <> w.id AND (p.held OR p.ticket < w.ticket)
            AND ((w.is_bare AND p.owner <> w.owner AND (p.units = 0 OR w.units = 0))
                 OR (p.path = w.path AND w.unit_limit > 0 AND p.units > w.unit_limit - w.units))
          GROUP BY p.owner) AS x;
    WHILE paths <> '' DO
        SET its_path = SUBSTRING_INDEX(paths, ' ', 1);
        SET paths = SUBSTRING(paths, LENGTH(its_path) + 2);
        SELECT MIN(p.path) INTO below FROM lk_requests AS p FORCE INDEX (requests_by_path)
        WHERE p.path > CONCAT(its_path, '/') AND p.path < CONCAT(its_path, '0');
        IF below IS NOT NULL THEN
            SELECT GROUP_CONCAT(IF((SELECT 1 FROM lk_requests AS q FORCE INDEX (requests_by_owner)
                                    WHERE q.owner = x.owner AND q.held = 0 LIMIT 1) IS NULL,
                                   NULL, CONCAT(HEX(x.owner), ':', x.place)) SEPARATOR ' '),
                   MIN(x.closing)
            INTO more, nearer
            FROM (SELECT p.owner, MIN(w.place) AS place,
                         MIN(IF(IF(is_held, p.id = asked, p.owner = asker), w.place, NULL))
                             AS closing
                  FROM (SELECT v.id, v.owner, v.units, v.ticket,
                               CAST(SUBSTRING_INDEX(SUBSTRING(bare,
                                   LOCATE(CONCAT(' ', v.id, ':'), bare) + LENGTH(v.id) + 2),
                                   ' ', 1) AS SIGNED) AS place
                        FROM lk_requests AS v FORCE INDEX (requests_by_path)
                        WHERE v.path = its_path AND v.deadline_us > now_us
                          AND LOCATE(CONCAT(' ', v.id, ':'), bare) > 0) AS w
                  STRAIGHT_JOIN lk_requests AS p FORCE INDEX (requests_by_path)
                  WHERE p.path > CONCAT(its_path, '/') AND p.path < CONCAT(its_path, '0')
                    AND p.deadline_us > now_us AND (p.held OR p.ticket < w.ticket)
                    AND p.owner <> w.owner AND (p.units = 0 OR w.units = 0)
                  GROUP BY p.owner) AS x;
            SET found = CONCAT_WS(' ', found, more),
                closer = LEAST(COALESCE(closer, nearer), COALESCE(nearer, closer));
            SET found = NULLIF(found, '');
        END IF;
    END WHILE;
END
//

-- The cycle that `asked` closes: owners as JSON, its own first; NULL: none. A request that waits
-- must not reach its own owner; one that is held must not be reached from what its owner waits for.
-- `gives_way`: all in the cycle still wait, and the owner of `asked` with the greatest (ticket,
-- owner).
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
    DECLARE only_path VARBINARY(512);
    DECLARE owners MEDIUMBLOB;              -- found so far, in hexadecimal
    DECLARE leaders MEDIUMBLOB DEFAULT '0'; -- of each, the index of the owner that led there
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
    SELECT IF(r.units = 0 AND r.part_count = 1 AND NOT is_held, r.path, NULL) INTO only_path
    FROM lk_requests AS r WHERE r.id = asked AND r.part = 1;
    IF only_path IS NOT NULL THEN
        SELECT IF(COUNT(*) = 1, only_path, NULL) INTO only_path
        FROM lk_requests AS r FORCE INDEX (requests_by_owner)
        WHERE r.owner = asker AND r.deadline_us > the_now_us
          AND (r.path = only_path OR LEFT(r.path, LENGTH(only_path) + 1) = CONCAT(only_path, '/')
               OR LEFT(only_path, LENGTH(r.path) + 1) = CONCAT(r.path, '/'));
    END IF;
    SET owners = HEX(asker);
    WHILE closer IS NULL AND last < count DO
        SET first = last + 1, last = count;
        CALL lk_find_next(asked, is_held, owners, first, last, only_path, its_ticket, the_now_us, found,
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
        SELECT COUNT(DISTINCT r.owner) = 1 + LENGTH(members) - LENGTH(REPLACE(members, ' ', ''))
               AND SUBSTRING_INDEX(GROUP_CONCAT(HEX(r.owner) ORDER BY r.ticket DESC, r.owner DESC
                                                SEPARATOR ' '), ' ', 1) = HEX(asker)
        INTO gives_way
        FROM lk_numbers AS n STRAIGHT_JOIN lk_requests AS r FORCE INDEX (requests_by_owner)
        WHERE n.n <= 1 + LENGTH(members) - LENGTH(REPLACE(members, ' ', ''))
          AND r.owner = UNHEX(SUBSTRING_INDEX(SUBSTRING_INDEX(members, ' ', n.n), ' ', -1))
          AND r.held = 0 AND r.deadline_us > the_now_us;
    END IF;
END
//
DELIMITER ;
