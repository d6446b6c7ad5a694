-- SPDX-License-Identifier: Apache-2.0
-- Judging: may this be granted now (R7, R8)? Nothing here changes anything.
--
-- What is judged stands in lk_requests already, as rows that nobody else can see: whoever asks puts
-- them there first and takes them back if he is refused. `self` is its id, `the_ticket` its place:
-- 0 is in front of everybody who waits (R9).
--
-- Requests near a path (R5) are found in two halves, each an index's: those at it and above it, a
-- path each, and those below it, all between 'path/' and 'path0' ('0' is the byte behind '/').

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

-- verdict: 'grant', 'conflict' (R7a, R7b) or 'limit' (R7c); refused_part: the last one that is not
-- free; in_use: units held at the first path, without its own. `is_item`: a claim of an item, which
-- no lease covers (R16).
DROP PROCEDURE IF EXISTS lk_judge
//
CREATE PROCEDURE lk_judge(
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
    DECLARE held_here BIGINT;
    DECLARE is_any_blocked BOOLEAN DEFAULT FALSE;
    DECLARE is_any_short BOOLEAN DEFAULT FALSE;
    SET refused_part = 0;
    WHILE i <= count DO
        SELECT m.path, m.unit_limit, m.units, m.part_count INTO my_path, my_limit, my_units, count
        FROM lk_requests AS m WHERE m.id = self AND m.part = i;
        SELECT COALESCE(MAX((p.units = 0 OR my_units = 0) AND p.owner <> asker
                            AND (p.held OR p.ticket < the_ticket)), FALSE),
               COALESCE(SUM(IF(p.path = my_path AND (p.held OR p.ticket < the_ticket),
                               p.units, 0)), 0),
               COALESCE(SUM(IF(p.path = my_path AND p.held, p.units, 0)), 0)
        INTO is_blocked, taken, held_here
        FROM lk_numbers AS n STRAIGHT_JOIN lk_requests AS p FORCE INDEX (requests_by_path)
        WHERE n.n <= 1 + LENGTH(my_path) - LENGTH(REPLACE(my_path, '/', ''))
          AND p.path = SUBSTRING_INDEX(my_path, '/', n.n) AND p.deadline_us > now_us
          AND p.id <> self;
        IF NOT is_blocked THEN
            SELECT EXISTS (
                SELECT 1 FROM lk_requests AS p FORCE INDEX (requests_by_path)
                WHERE p.path > CONCAT(my_path, '/') AND p.path < CONCAT(my_path, '0')
                  AND p.deadline_us > now_us AND p.owner <> asker
                  AND (p.units = 0 OR my_units = 0) AND (p.held OR p.ticket < the_ticket)
                  AND p.id <> self) INTO is_blocked;
        END IF;
        IF i = 1 THEN
            SET in_use = held_here;
        END IF;
        IF my_limit > 0 AND taken + my_units > my_limit THEN
            SET is_any_short = TRUE, refused_part = i;
        END IF;
        IF is_blocked THEN
            SET is_any_blocked = TRUE, refused_part = i;
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

-- What is in the way of a request, held or in line or only asked for (R20): how many; in how many
-- microseconds the first of them is due; and of the first `blockers_max` path, owner, note, ticket,
-- held and microseconds left. The path is where it stands in the way first.
DROP PROCEDURE IF EXISTS lk_explain
//
CREATE PROCEDURE lk_explain(
    IN self BIGINT, IN asker VARBINARY(128), IN the_ticket BIGINT, IN blockers_max INT,
    IN the_now_us BIGINT, OUT in_the_way INT, OUT look_us BIGINT, OUT blockers MEDIUMTEXT
    CHARACTER SET utf8mb4)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE is_covered BOOLEAN;
    IF blockers_max > 0 THEN
        SET SESSION group_concat_max_len = 4194304;
        CALL lk_cover(self, asker, the_now_us, is_covered);
        WITH asked AS (
            SELECT m.part, m.path, m.unit_limit, m.units,
                   m.unit_limit > 0 AND m.unit_limit < m.units + COALESCE((
                       SELECT SUM(s.units) FROM lk_requests AS s FORCE INDEX (requests_by_path)
                       WHERE s.path = m.path AND s.deadline_us > the_now_us AND s.id <> self
                         AND (s.held OR s.ticket < the_ticket)), 0) AS is_short
            FROM lk_requests AS m WHERE m.id = self
        ), near AS (
            SELECT STRAIGHT_JOIN a.part AS asked_part, a.path AS asked_path, a.units AS asked_units,
                   a.is_short, p.*
            FROM asked AS a JOIN lk_numbers AS n
            JOIN lk_requests AS p FORCE INDEX (requests_by_path)
            WHERE n.n <= 1 + LENGTH(a.path) - LENGTH(REPLACE(a.path, '/', ''))
              AND p.path = SUBSTRING_INDEX(a.path, '/', n.n)
            UNION ALL
            SELECT STRAIGHT_JOIN a.part, a.path, a.units, a.is_short, p.*
            FROM asked AS a JOIN lk_requests AS p FORCE INDEX (requests_by_path)
            WHERE p.path > CONCAT(a.path, '/') AND p.path < CONCAT(a.path, '0')
        ), met AS (
            SELECT x.id, x.path, x.owner, x.note, x.ticket, x.held, x.deadline_us,
                   ROW_NUMBER() OVER (PARTITION BY x.id ORDER BY x.asked_part, x.is_room, x.part)
                       AS place
            FROM (SELECT y.*, NOT (NOT is_covered AND y.owner <> asker
                                   AND (y.units = 0 OR y.asked_units = 0)) AS is_room
                  FROM near AS y
                  WHERE y.deadline_us > the_now_us AND y.id <> self
                    AND (y.held OR y.ticket < the_ticket)) AS x
            WHERE NOT x.is_room OR (x.is_short AND x.path = x.asked_path AND x.units > 0)
        ), named AS (
            SELECT m.*, ROW_NUMBER() OVER (ORDER BY m.held DESC, m.ticket, m.id) AS turn
            FROM met AS m WHERE m.place = 1
        )
        SELECT COUNT(*), MIN(f.deadline_us) - the_now_us,
               CONCAT('[', GROUP_CONCAT(IF(f.turn <= blockers_max, CONCAT_WS(',',
                   JSON_QUOTE(CONVERT(f.path USING utf8mb4)),
                   JSON_QUOTE(CONVERT(f.owner USING utf8mb4)),
                   JSON_QUOTE(CONVERT(f.note USING utf8mb4)), f.ticket, f.held,
                   f.deadline_us - the_now_us), NULL) ORDER BY f.turn SEPARATOR ','), ']')
        INTO in_the_way, look_us, blockers
        FROM named AS f;
    END IF;
END
//
DELIMITER ;
