-- SPDX-License-Identifier: Apache-2.0
-- Asks that are answered by looking: they write nothing and lock nothing, so no other call waits for
-- them. Each answers as lk_ask() does, or not at all (`is_done`): then the ask goes its usual way,
-- which decides.

DELIMITER //

-- A try of one part that is refused: of an owner without other requests (R3, R8), where no deadline is
-- overdue and no events are written.
DROP PROCEDURE IF EXISTS lk_look_busy
//
CREATE PROCEDURE lk_look_busy(
    IN asker VARBINARY(128), IN the_path VARBINARY(512), IN the_limit BIGINT, IN the_units BIGINT,
    IN the_root VARBINARY(255), IN its_kind TINYINT, IN blockers_max INT, OUT is_done BOOLEAN)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE last BIGINT DEFAULT @LK_NEVER@; -- its ticket would be behind all others
    DECLARE is_plain BOOLEAN DEFAULT FALSE; -- only what is held at this path can be in the way
    DECLARE has_exclusive BOOLEAN;
    DECLARE taken BIGINT DEFAULT 0;
    DECLARE in_use BIGINT DEFAULT NULL;
    DECLARE shorts VARBINARY(64) DEFAULT ' ';
    DECLARE first MEDIUMBLOB;
    DECLARE in_the_way INT;
    DECLARE look_us BIGINT;
    DECLARE quoted_path TEXT CHARACTER SET utf8mb4;
    DECLARE blockers MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET is_done = FALSE;
    SELECT (SELECT MIN(r.held) FROM lk_requests AS r FORCE INDEX (requests_by_owner)
            WHERE r.owner = asker) IS NULL
           AND k.due_us > now_us AND m.told_until_us <= now_us,
           NOT k.has_waiting AND k.kind = its_kind AND k.mixed_until_us <= now_us
    INTO is_done, is_plain
    FROM lk_roots AS k STRAIGHT_JOIN lk_meta AS m WHERE k.root = the_root AND m.only_row = 1;
    SET SESSION group_concat_max_len = 4194304;
    IF is_done AND is_plain AND blockers_max > 0 AND the_units > 0 THEN
        -- lk_ask() has read all of them already.
        SELECT COUNT(*), MIN(p.deadline_us) - now_us, COALESCE(SUM(p.units), 0),
               COALESCE(MAX(p.units = 0), FALSE)
        INTO in_the_way, look_us, taken, has_exclusive
        FROM lk_requests AS p FORCE INDEX (requests_by_path)
        WHERE p.path = the_path AND p.held = 1 AND p.deadline_us > now_us;
    ELSEIF is_done AND is_plain AND blockers_max > 0 THEN
        SELECT COUNT(*), MIN(x.deadline_us) - now_us, COALESCE(SUM(x.units), 0),
               COALESCE(MAX(x.units = 0), FALSE)
        INTO in_the_way, look_us, taken, has_exclusive
        FROM (SELECT p.units, p.deadline_us
              FROM lk_requests AS p FORCE INDEX (requests_by_path)
              WHERE p.path = the_path AND p.held = 1 AND p.deadline_us > now_us
              LIMIT @LK_COUNTED_MAX@) AS x;
    END IF;
    IF in_the_way IS NOT NULL THEN
        SET is_plain = in_the_way < @LK_COUNTED_MAX@ AND (the_units = 0 OR NOT has_exclusive),
            in_use = IF(in_the_way < @LK_COUNTED_MAX@, taken, NULL);
        SET is_done = NOT is_plain OR (in_the_way > 0 AND the_units = 0)
                      OR (the_limit > 0 AND taken + the_units > the_limit);
    END IF;
    IF is_done AND blockers_max > 0 THEN -- what is named is in the way
        IF NOT is_plain THEN
            CALL lk_explain_part(0, asker, last, 1, the_path, the_limit, the_units, FALSE,
                                 blockers_max, now_us, shorts, in_the_way, look_us, first);
            IF first IS NOT NULL THEN
                CALL lk_name_blockers(first, now_us, blockers);
            END IF;
        ELSE -- quoting costs most of it, and to order texts
            SET quoted_path = JSON_QUOTE(CONVERT(the_path USING utf8mb4));
            SELECT CONCAT('[', GROUP_CONCAT(CONCAT_WS(',', quoted_path,
                       JSON_QUOTE(CONVERT(x.owner USING utf8mb4)),
                       IF(x.note = '', '""', JSON_QUOTE(CONVERT(x.note USING utf8mb4))),
                       x.ticket, 1, x.deadline_us - now_us) SEPARATOR ','), ']')
            INTO blockers
            FROM (SELECT p.owner, p.note, p.ticket, p.deadline_us
                  FROM lk_requests AS p FORCE INDEX (requests_by_path)
                  WHERE p.path = the_path AND p.held = 1 AND p.deadline_us > now_us
                  ORDER BY p.ticket LIMIT blockers_max) AS x;
        END IF;
        SET is_done = blockers IS NOT NULL; -- else they have just ended
    ELSEIF is_done THEN
        IF the_limit > 0 THEN
            CALL lk_count_taken(0, the_path, the_limit, last, now_us, taken);
        END IF;
        IF the_limit = 0 OR taken + the_units <= the_limit THEN
            CALL lk_is_blocked(0, asker, the_path, the_units, last, now_us, is_done);
        END IF;
    END IF;
    IF is_done AND in_use IS NULL THEN
        SELECT COALESCE(SUM(r.units), 0) INTO in_use
        FROM lk_requests AS r FORCE INDEX (requests_by_path)
        WHERE r.path = the_path AND r.held = 1 AND r.deadline_us > now_us;
    END IF;
    IF is_done THEN
        SELECT 'busy' AS outcome, NULL AS sentence, NULL AS request, NULL AS ticket, NULL AS token,
               NULL AS new_ttl_ms, NULL AS left_us, in_use, in_the_way, FALSE AS created,
               NULL AS fixed, NULL AS bytes, NULL AS sizes, blockers, NULL AS cycle, look_us;
    END IF;
END
//
DELIMITER ;
