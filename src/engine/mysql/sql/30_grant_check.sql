-- SPDX-License-Identifier: Apache-2.0
-- The grant check: may a request be granted now (R7, R8)? These procedures change nothing.
--
-- The request to be checked is already in lk_requests, as rows that no other transaction can see:
-- the ask inserts them first, and deletes them if it is refused. `self` is its id, `the_ticket` its
-- position in the queue: 0 is before all that wait (R9).
--
-- Requests near a path (R5) are found in two index ranges: those at it and above it, a path each,
-- and those below it, all between 'path/' and 'path0' ('0' is the byte after '/').

DELIMITER //

-- R8: each part is covered by a lease of its owner.
DROP PROCEDURE IF EXISTS lk_cover
//
CREATE PROCEDURE lk_cover(
    IN self BIGINT, IN asker VARBINARY(128), IN now_us BIGINT, OUT is_covered BOOLEAN)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT EXISTS (SELECT 1 FROM lk_requests AS h FORCE INDEX (requests_by_owner)
                   WHERE h.owner = asker AND h.held = 1 AND h.id <> self) INTO is_covered;
    IF is_covered THEN
        SELECT NOT EXISTS (
            SELECT 1 FROM lk_requests AS m
            WHERE m.id = self AND NOT EXISTS (
                SELECT 1 FROM lk_numbers AS n
                STRAIGHT_JOIN lk_requests AS p FORCE INDEX (requests_by_path)
                WHERE n.n <= 1 + LENGTH(m.path) - LENGTH(REPLACE(m.path, '/', ''))
                  AND p.path = SUBSTRING_INDEX(m.path, '/', n.n) AND p.deadline_us > now_us
                  AND p.owner = asker AND p.held = 1 AND NOT p.revoked AND NOT p.is_claim
                  AND p.id <> self
                  AND (p.units = 0 OR (p.unit_limit = 0 AND m.unit_limit = 0 AND m.units > 0))))
        INTO is_covered;
    END IF;
END
//

-- R7c: the units that count before a request at its path, or some number above `the_limit` if they
-- are more. Each row that is read counts at least one, so at most as many are read.
DROP PROCEDURE IF EXISTS lk_count_taken
//
CREATE PROCEDURE lk_count_taken(
    IN self BIGINT, IN my_path VARBINARY(512), IN my_limit BIGINT, IN the_ticket BIGINT,
    IN now_us BIGINT, OUT taken BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT COALESCE(SUM(x.units), 0) INTO taken
    FROM (SELECT p.units FROM lk_requests AS p FORCE INDEX (requests_by_path)
          WHERE p.path = my_path AND (p.held = 1 OR (p.held = 0 AND p.ticket < the_ticket))
            AND p.deadline_us > now_us AND p.units > 0 AND p.id <> self
          LIMIT my_limit) AS x;
END
//

-- R7a, R7b: whether a request of another owner, held or before it in the queue, conflicts. The
-- first one that is found decides. Five paths at and above its own are searched in one statement:
-- each is a variable, so that the tickets are a range as well (see the README on ranges).
DROP PROCEDURE IF EXISTS lk_is_blocked
//
CREATE PROCEDURE lk_is_blocked(
    IN self BIGINT, IN asker VARBINARY(128), IN my_path VARBINARY(512), IN my_units BIGINT,
    IN the_ticket BIGINT, IN now_us BIGINT, OUT is_blocked BOOLEAN)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE depth INT DEFAULT 1 + LENGTH(my_path) - LENGTH(REPLACE(my_path, '/', ''));
    DECLARE n INT DEFAULT 1;
    DECLARE at_1, at_2, at_3, at_4, at_5 VARBINARY(512);
    SET is_blocked = FALSE;
    WHILE n <= depth AND NOT is_blocked DO
        SET at_1 = SUBSTRING_INDEX(my_path, '/', n), at_2 = SUBSTRING_INDEX(my_path, '/', n + 1),
            at_3 = SUBSTRING_INDEX(my_path, '/', n + 2),
            at_4 = SUBSTRING_INDEX(my_path, '/', n + 3),
            at_5 = SUBSTRING_INDEX(my_path, '/', n + 4);
        SELECT EXISTS (
            SELECT 1 FROM lk_requests AS p FORCE INDEX (requests_by_path)
            WHERE p.path IN (at_1, at_2, at_3, at_4, at_5)
              AND (p.held = 1 OR (p.held = 0 AND p.ticket < the_ticket))
              AND p.deadline_us > now_us AND p.owner <> asker AND (p.units = 0 OR my_units = 0)
              AND p.id <> self) INTO is_blocked;
        SET n = n + 5;
    END WHILE;
    IF NOT is_blocked THEN
        SELECT EXISTS (
            SELECT 1 FROM lk_requests AS p FORCE INDEX (requests_by_path)
            WHERE p.path > CONCAT(my_path, '/') AND p.path < CONCAT(my_path, '0')
              AND p.deadline_us > now_us AND p.owner <> asker
              AND (p.units = 0 OR my_units = 0) AND (p.held OR p.ticket < the_ticket)
              AND p.id <> self) INTO is_blocked;
    END IF;
END
//

-- verdict: 'grant', 'conflict' (R7a, R7b), or 'limit' (R7c, also if both); refused_part: the last
-- one that is not free; in_use: units held at the first path, without its own. `is_item`: a claim of
-- an item, which no lease covers (R16).
DROP PROCEDURE IF EXISTS lk_check_grant
//
CREATE PROCEDURE lk_check_grant(
    IN self BIGINT, IN asker VARBINARY(128), IN the_ticket BIGINT, IN is_item BOOLEAN,
    IN now_us BIGINT, OUT verdict VARBINARY(8), OUT refused_part INT,
    OUT in_use BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE i INT DEFAULT 1;
    DECLARE count INT DEFAULT 1;
    DECLARE my_path VARBINARY(512);
    DECLARE my_limit BIGINT;
    DECLARE my_units BIGINT;
    DECLARE is_blocked BOOLEAN;
    DECLARE taken BIGINT;
    DECLARE is_any_blocked BOOLEAN DEFAULT FALSE;
    DECLARE is_any_short BOOLEAN DEFAULT FALSE;
    SET refused_part = 0;
    WHILE i <= count DO
        SELECT m.path, m.unit_limit, m.units, m.part_count INTO my_path, my_limit, my_units, count
        FROM lk_requests AS m WHERE m.id = self AND m.part = i;
        IF i = 1 THEN
            SELECT COALESCE(SUM(p.units), 0) INTO in_use
            FROM lk_requests AS p FORCE INDEX (requests_by_path)
            WHERE p.path = my_path AND p.held = 1 AND p.deadline_us > now_us AND p.id <> self;
        END IF;
        SET taken = 0;
        IF my_limit > 0 THEN
            CALL lk_count_taken(self, my_path, my_limit, the_ticket, now_us, taken);
        END IF;
        IF my_limit > 0 AND taken + my_units > my_limit THEN
            SET is_any_short = TRUE, refused_part = i;
        ELSE -- a whole line for a limit is never searched for a conflict: there is no room then
            CALL lk_is_blocked(self, asker, my_path, my_units, the_ticket, now_us, is_blocked);
            IF is_blocked THEN
                SET is_any_blocked = TRUE, refused_part = i;
            END IF;
        END IF;
        SET i = i + 1;
    END WHILE;
    IF is_any_blocked AND NOT is_item THEN
        CALL lk_cover(self, asker, now_us, is_blocked);
        SET is_any_blocked = NOT is_blocked;
    END IF;
    SET verdict = IF(is_any_blocked, 'conflict', IF(is_any_short, 'limit', 'grant'));
END
//

-- The blockers of a request at one of its parts and at none before it (R20): how many; the
-- microseconds until the first of them is due; and ID:PART of the first `blockers_max`, PART being
-- the first part that it blocks. `shorts`: the parts so far whose limit has no room.
--
-- At most 64, or as many as are named, are read of those that wait at the path and above it, which come
-- from the index in the order of the queue, of those held there, and of those below. So the count is a
-- lower bound then.
--
-- The asked path is a variable here, and each part has a statement of its own: see the README on
-- ranges.
DROP PROCEDURE IF EXISTS lk_explain_part
//
CREATE PROCEDURE lk_explain_part(
    IN self BIGINT, IN asker VARBINARY(128), IN the_ticket BIGINT, IN the_part INT,
    IN my_path VARBINARY(512), IN my_limit BIGINT, IN my_units BIGINT,
    IN is_covered BOOLEAN, IN blockers_max INT, IN the_now_us BIGINT, INOUT shorts VARBINARY(64),
    OUT its_count INT, OUT its_look_us BIGINT, OUT its_first MEDIUMBLOB)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE depth INT DEFAULT 1 + LENGTH(my_path) - LENGTH(REPLACE(my_path, '/', ''));
    DECLARE at_1 VARBINARY(512) DEFAULT SUBSTRING_INDEX(my_path, '/', GREATEST(1, depth - 1));
    DECLARE at_2 VARBINARY(512) DEFAULT SUBSTRING_INDEX(my_path, '/', GREATEST(1, depth - 2));
    DECLARE at_3 VARBINARY(512) DEFAULT SUBSTRING_INDEX(my_path, '/', GREATEST(1, depth - 3));
    DECLARE most INT DEFAULT GREATEST(64, blockers_max);
    DECLARE taken BIGINT;
    DECLARE is_short BOOLEAN DEFAULT FALSE;
    IF my_limit > 0 THEN
        CALL lk_count_taken(self, my_path, my_limit, the_ticket, the_now_us, taken);
        SET is_short = taken + my_units > my_limit;
        SET shorts = IF(is_short, CONCAT(shorts, the_part, ' '), shorts);
    END IF;
    WITH near AS (
        (SELECT p.id, p.part, p.path, p.owner, p.units, p.held, p.ticket, p.deadline_us
         FROM lk_requests AS p FORCE INDEX (requests_by_path)
         WHERE p.path IN (my_path, at_1, at_2, at_3) AND p.held = 1
           AND p.deadline_us > the_now_us AND p.id <> self
           AND ((NOT is_covered AND p.owner <> asker AND (p.units = 0 OR my_units = 0))
                OR (is_short AND p.path = my_path AND p.units > 0))
         LIMIT most)
        UNION ALL
        (SELECT p.id, p.part, p.path, p.owner, p.units, p.held, p.ticket, p.deadline_us
         FROM lk_requests AS p FORCE INDEX (requests_by_path)
         WHERE p.path IN (my_path, at_1, at_2, at_3) AND p.held = 0 AND p.ticket < the_ticket
           AND p.deadline_us > the_now_us AND p.id <> self
           AND ((NOT is_covered AND p.owner <> asker AND (p.units = 0 OR my_units = 0))
                OR (is_short AND p.path = my_path AND p.units > 0))
         LIMIT most)
        UNION ALL
        (SELECT STRAIGHT_JOIN p.id, p.part, p.path, p.owner, p.units, p.held, p.ticket,
                p.deadline_us
         FROM lk_numbers AS n JOIN lk_requests AS p FORCE INDEX (requests_by_path)
         WHERE n.n <= depth - 4 AND p.path = SUBSTRING_INDEX(my_path, '/', n.n)
           AND p.deadline_us > the_now_us AND p.id <> self AND NOT is_covered
           AND p.owner <> asker AND (p.units = 0 OR my_units = 0)
           AND (p.held OR p.ticket < the_ticket)
         LIMIT most)
        UNION ALL
        (SELECT p.id, p.part, p.path, p.owner, p.units, p.held, p.ticket, p.deadline_us
         FROM lk_requests AS p FORCE INDEX (requests_by_path)
         WHERE p.path > CONCAT(my_path, '/') AND p.path < CONCAT(my_path, '0')
           AND p.deadline_us > the_now_us AND p.id <> self AND NOT is_covered
           AND p.owner <> asker AND (p.units = 0 OR my_units = 0)
           AND (p.held OR p.ticket < the_ticket)
         LIMIT most)
    ), met AS (
        SELECT y.id, y.held, y.ticket, y.deadline_us, MIN(y.is_room * 32 + y.part) % 32 AS part
        FROM (SELECT x.*, is_covered OR x.owner = asker
                          OR (x.units > 0 AND my_units > 0) AS is_room
              FROM near AS x) AS y
        WHERE the_part = 1 OR (
              SELECT 1 FROM lk_requests AS e FORCE INDEX (PRIMARY)
              STRAIGHT_JOIN lk_requests AS q FORCE INDEX (PRIMARY)
              WHERE e.id = self AND e.part < the_part AND q.id = y.id
                AND ((NOT is_covered AND q.owner <> asker AND (q.units = 0 OR e.units = 0)
                      AND (q.path = e.path
                           OR LEFT(q.path, LENGTH(e.path) + 1) = CONCAT(e.path, '/')
                           OR LEFT(e.path, LENGTH(q.path) + 1) = CONCAT(q.path, '/')))
                     OR (q.path = e.path AND q.units > 0
                         AND LOCATE(CONCAT(' ', e.part, ' '), shorts) > 0))
              LIMIT 1) IS NULL
        GROUP BY y.id, y.held, y.ticket, y.deadline_us
    )
    SELECT COUNT(*), MIN(m.deadline_us) - the_now_us,
           SUBSTRING_INDEX(GROUP_CONCAT(CONCAT(m.id, ':', m.part)
                                        ORDER BY m.held DESC, m.ticket, m.id SEPARATOR ' '),
                           ' ', blockers_max)
    INTO its_count, its_look_us, its_first
    FROM met AS m;
END
//

-- Path, owner, note, ticket, held and microseconds left of the requests ID:PART in a list.
DROP PROCEDURE IF EXISTS lk_name_blockers
//
CREATE PROCEDURE lk_name_blockers(
    IN first MEDIUMBLOB, IN the_now_us BIGINT, OUT blockers MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT STRAIGHT_JOIN CONCAT('[', GROUP_CONCAT(CONCAT_WS(',',
               JSON_QUOTE(CONVERT(p.path USING utf8mb4)),
               JSON_QUOTE(CONVERT(p.owner USING utf8mb4)),
               JSON_QUOTE(CONVERT(p.note USING utf8mb4)), p.ticket, p.held,
               p.deadline_us - the_now_us) ORDER BY n.n SEPARATOR ','), ']')
    INTO blockers
    FROM lk_numbers AS n JOIN lk_requests AS p FORCE INDEX (PRIMARY)
    WHERE n.n <= 1 + LENGTH(first) - LENGTH(REPLACE(first, ' ', ''))
      AND p.id = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING_INDEX(first, ' ', n.n), ' ', -1),
                                      ':', 1) AS SIGNED)
      AND p.part = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(first, ' ', n.n), ':', -1) AS SIGNED);
END
//

-- The blockers of a request (R20): how many; the microseconds until the first of them is due; and
-- of the first `blockers_max` path, owner, note, ticket, held and microseconds left. The path is
-- that of the first part that it blocks.
DROP PROCEDURE IF EXISTS lk_explain
//
CREATE PROCEDURE lk_explain(
    IN self BIGINT, IN asker VARBINARY(128), IN the_ticket BIGINT, IN blockers_max INT,
    IN the_now_us BIGINT, OUT in_the_way INT, OUT look_us BIGINT, OUT blockers MEDIUMTEXT
    CHARACTER SET utf8mb4)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE is_covered BOOLEAN;
    DECLARE shorts VARBINARY(64) DEFAULT ' ';
    DECLARE first MEDIUMBLOB; -- ID:PART
    DECLARE my_path VARBINARY(512);
    DECLARE my_limit BIGINT;
    DECLARE my_units BIGINT;
    DECLARE its_count INT;
    DECLARE its_look_us BIGINT;
    DECLARE its_first MEDIUMBLOB;
    DECLARE count INT;
    DECLARE i INT DEFAULT 1;
    IF blockers_max > 0 THEN
        SET SESSION group_concat_max_len = 4194304;
        CALL lk_cover(self, asker, the_now_us, is_covered);
        SELECT COUNT(*) INTO count FROM lk_requests AS m WHERE m.id = self;
        SET in_the_way = 0;
        WHILE i <= count DO
            SELECT m.path, m.unit_limit, m.units INTO my_path, my_limit, my_units
            FROM lk_requests AS m WHERE m.id = self AND m.part = i;
            CALL lk_explain_part(self, asker, the_ticket, i, my_path, my_limit, my_units,
                                 is_covered, blockers_max, the_now_us, shorts, its_count, its_look_us,
                                 its_first);
            SET in_the_way = in_the_way + its_count, first = CONCAT_WS(' ', first, its_first),
                look_us = LEAST(COALESCE(look_us, its_look_us), COALESCE(its_look_us, look_us));
            IF i > 1 AND its_count > 0 THEN -- the first of all parts, and lk_numbers is finite
                SELECT GROUP_CONCAT(CONCAT(f.id, ':', f.part) ORDER BY f.held DESC, f.ticket, f.id
                                    SEPARATOR ' ') INTO first
                FROM (SELECT STRAIGHT_JOIN p.id, p.part, p.held, p.ticket
                      FROM lk_numbers AS n JOIN lk_requests AS p FORCE INDEX (PRIMARY)
                      WHERE n.n <= 1 + LENGTH(first) - LENGTH(REPLACE(first, ' ', ''))
                        AND p.id = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(
                                SUBSTRING_INDEX(first, ' ', n.n), ' ', -1), ':', 1) AS SIGNED)
                        AND p.part = CAST(SUBSTRING_INDEX(
                                SUBSTRING_INDEX(first, ' ', n.n), ':', -1) AS SIGNED)
                      ORDER BY p.held DESC, p.ticket, p.id LIMIT blockers_max) AS f;
            END IF;
            SET i = i + 1;
        END WHILE;
        CALL lk_name_blockers(first, the_now_us, blockers);
    END IF;
END
//
DELIMITER ;
