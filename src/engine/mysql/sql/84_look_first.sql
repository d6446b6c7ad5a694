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
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    DECLARE last BIGINT DEFAULT 9223372036854775807; -- its ticket would be behind all others
    DECLARE most INT DEFAULT blockers_max + 1;
    DECLARE is_there BOOLEAN;
    DECLARE is_plain BOOLEAN DEFAULT FALSE; -- only what is held at this path can be in the way
    DECLARE has_exclusive BOOLEAN;
    DECLARE taken BIGINT DEFAULT 0;
    DECLARE in_use BIGINT;
    DECLARE shorts VARBINARY(64) DEFAULT ' ';
    DECLARE first MEDIUMBLOB;
    DECLARE in_the_way INT;
    DECLARE look_us BIGINT;
    DECLARE blockers MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET is_done = FALSE;
    SELECT MIN(r.held) INTO is_there FROM lk_requests AS r FORCE INDEX (requests_by_owner)
    WHERE r.owner = asker;
    IF is_there IS NULL THEN
        SELECT r.due_us > now_us AND m.told_until_us <= now_us,
               NOT r.has_waiting AND r.kind = its_kind AND r.mixed_until_us <= now_us
        INTO is_done, is_plain
        FROM lk_meta AS m JOIN lk_roots AS r WHERE m.only_row = 1 AND r.root = the_root;
    END IF;
    SET SESSION group_concat_max_len = 4194304;
    IF is_done AND is_plain AND blockers_max > 0 THEN
        SELECT COUNT(*), MIN(x.deadline_us) - now_us, SUM(x.units), MAX(x.units = 0),
               GROUP_CONCAT(CONCAT(x.id, ':', x.part) ORDER BY x.ticket SEPARATOR ' ')
        INTO in_the_way, look_us, taken, has_exclusive, first
        FROM (SELECT p.id, p.part, p.ticket, p.units, p.deadline_us
              FROM lk_requests AS p FORCE INDEX (requests_by_path)
              WHERE p.path = the_path AND p.held = 1 AND p.deadline_us > now_us
              LIMIT most) AS x;
        SET is_plain = in_the_way < most AND (the_units = 0 OR NOT has_exclusive);
        SET is_done = NOT is_plain OR the_units = 0
                      OR (the_limit > 0 AND taken + the_units > the_limit);
    END IF;
    IF is_done AND blockers_max > 0 THEN -- what is named is in the way
        IF NOT is_plain THEN
            CALL lk_explain_part(0, asker, last, 1, the_path, the_limit, the_units, FALSE,
                                 blockers_max, now_us, shorts, in_the_way, look_us, first);
        END IF;
        IF first IS NOT NULL THEN
            CALL lk_name_blockers(first, now_us, blockers);
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
    IF is_done THEN
        SELECT COALESCE(SUM(r.units), 0) INTO in_use
        FROM lk_requests AS r FORCE INDEX (requests_by_path)
        WHERE r.path = the_path AND r.held = 1 AND r.deadline_us > now_us;
        SELECT 'busy' AS outcome, NULL AS sentence, NULL AS request, NULL AS ticket, NULL AS token,
               NULL AS new_ttl_ms, NULL AS left_us, in_use, in_the_way, FALSE AS created,
               NULL AS fixed, NULL AS value, NULL AS in_doubt, blockers, NULL AS cycle, look_us;
    END IF;
END
//
DELIMITER ;
