-- SPDX-License-Identifier: Apache-2.0
-- Queries: each reads one snapshot, without overdue requests. The engine calls lk_tick() before,
-- which grants the requests that these have blocked.

DELIMITER //

-- Answers: bytes, in_doubt; no row: there is no value.
DROP PROCEDURE IF EXISTS lk_value
//
CREATE PROCEDURE lk_value(IN the_path VARBINARY(512))
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    SELECT v.bytes, v.in_doubt OR EXISTS ( -- R15: its holder is dead and unswept
               SELECT 1 FROM lk_requests AS r FORCE INDEX (requests_by_path)
               WHERE r.path = the_path AND r.deadline_us <= now_us AND r.units = 0
                 AND r.held AND r.wants_value) AS in_doubt
    FROM lk_values AS v WHERE v.path = the_path;
END
//

-- Requests with a part at or below `prefix` (NULL: everything), with all of their parts.
DROP PROCEDURE IF EXISTS lk_list
//
CREATE PROCEDURE lk_list(IN prefix VARBINARY(512))
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    IF prefix IS NULL THEN
        SELECT now_us, r.id, r.owner, r.note, r.held, r.revoked, r.fixed, r.ticket, r.token,
               r.ttl_ms, r.deadline_us, r.is_claim, r.path, r.unit_limit, r.units
        FROM lk_requests AS r
        WHERE r.deadline_us > now_us ORDER BY r.ticket, r.id, r.part;
    ELSE
        SELECT STRAIGHT_JOIN now_us, r.id, r.owner, r.note, r.held, r.revoked, r.fixed, r.ticket,
               r.token, r.ttl_ms, r.deadline_us, r.is_claim, r.path, r.unit_limit, r.units
        FROM (SELECT DISTINCT p.id FROM lk_requests AS p FORCE INDEX (requests_by_path)
              WHERE (p.path = prefix
                     OR (p.path > CONCAT(prefix, '/') AND p.path < CONCAT(prefix, '0')))
                AND p.deadline_us > now_us) AS near
        JOIN lk_requests AS r FORCE INDEX (PRIMARY) ON r.id = near.id
        ORDER BY r.ticket, r.id, r.part;
    END IF;
END
//

-- Requests with a part related to `path`, and those that may block the waiting ones (R20).
--
-- A blocker of a part at or below `path` is related to `path` itself. Others are looked up only
-- around parts elsewhere, of waiting requests: those above `path`, and other parts of batches.
-- Their paths become part of the text of the last statement: see the README on ranges. Of more than
-- 1000 such paths those of the smallest tickets are read. Both statements read the same snapshot.
DROP PROCEDURE IF EXISTS lk_show
//
CREATE PROCEDURE lk_show(IN the_path VARBINARY(512))
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE above MEDIUMTEXT CHARACTER SET utf8mb4; -- `path` and all above it
    DECLARE elsewhere MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE above_elsewhere MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    SET SESSION group_concat_max_len = 16777216; -- 1000 of the longest paths take 11 MB
    SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
    START TRANSACTION;
    SELECT GROUP_CONCAT('x''', HEX(SUBSTRING_INDEX(the_path, '/', n.n)), '''') INTO above
    FROM lk_numbers AS n WHERE n.n <= 1 + LENGTH(the_path) - LENGTH(REPLACE(the_path, '/', ''));
    SELECT GROUP_CONCAT(DISTINCT IF(n.n > e.depth, NULL, CONCAT(
               'x''', HEX(SUBSTRING_INDEX(e.path, '/', n.n)), ''''))),
           GROUP_CONCAT(IF(n.n > 1, NULL, CONCAT(' OR (p.path > x''', HEX(e.path),
                        '2F'' AND p.path < x''', HEX(e.path), '30'')')) SEPARATOR '')
    INTO above_elsewhere, elsewhere
    FROM (SELECT STRAIGHT_JOIN r.path,
                 1 + LENGTH(r.path) - LENGTH(REPLACE(r.path, '/', '')) AS depth
          FROM (SELECT STRAIGHT_JOIN p.id
                FROM lk_numbers AS n JOIN lk_requests AS p FORCE INDEX (requests_by_path)
                WHERE n.n <= 1 + LENGTH(the_path) - LENGTH(REPLACE(the_path, '/', ''))
                  AND p.path = SUBSTRING_INDEX(the_path, '/', n.n) AND p.deadline_us > now_us
                  AND p.held = 0
                UNION
                SELECT p.id FROM lk_requests AS p FORCE INDEX (requests_by_path)
                WHERE p.path > CONCAT(the_path, '/') AND p.path < CONCAT(the_path, '0')
                  AND p.deadline_us > now_us AND p.held = 0) AS w
          JOIN lk_requests AS r FORCE INDEX (PRIMARY) ON r.id = w.id
          WHERE r.path <> the_path AND LEFT(r.path, LENGTH(the_path) + 1) <> CONCAT(the_path, '/')
          GROUP BY r.path ORDER BY MIN(r.ticket) LIMIT 1000) AS e
    STRAIGHT_JOIN lk_numbers AS n ON n.n <= e.depth;
    SET @lk_question = CONCAT(
        'SELECT STRAIGHT_JOIN ', now_us, ' AS now_us, r.id, r.owner, r.note, r.held, r.revoked, ',
        'r.fixed, r.ticket, r.token, r.ttl_ms, r.deadline_us, r.is_claim, r.path, r.unit_limit, ',
        'r.units FROM (SELECT DISTINCT p.id FROM lk_requests AS p FORCE INDEX (requests_by_path) ',
        'WHERE (p.path IN (', CONCAT_WS(',', above, above_elsewhere), ') OR (p.path > x''',
        HEX(the_path), '2F'' AND p.path < x''', HEX(the_path), '30'')', COALESCE(elsewhere, ''),
        ') AND p.deadline_us > ', now_us, ') AS x ',
        'JOIN lk_requests AS r FORCE INDEX (PRIMARY) ON r.id = x.id ',
        'ORDER BY r.ticket, r.id, r.part');
    PREPARE lk_asking FROM @lk_question;
    EXECUTE lk_asking;
    DEALLOCATE PREPARE lk_asking;
    SET @lk_question = NULL;
    COMMIT;
END
//

DROP PROCEDURE IF EXISTS lk_audit
//
CREATE PROCEDURE lk_audit(IN prefix VARBINARY(512))
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT a.at_us, a.broken_by, a.reason, a.path, a.owner, a.note, a.ticket, a.token
    FROM lk_audits AS a
    WHERE prefix IS NULL OR a.path = prefix
       OR LEFT(a.path, LENGTH(prefix) + 1) = CONCAT(prefix, '/')
    ORDER BY a.id;
END
//

-- In the order of arrival; `the_id` NULL: all. `need_paths` and the two others are lists.
DROP PROCEDURE IF EXISTS lk_items_of
//
CREATE PROCEDURE lk_items_of(IN the_queue VARBINARY(512), IN the_id VARBINARY(255))
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE first VARBINARY(255) DEFAULT COALESCE(the_id, '');
    DECLARE last VARBINARY(255) DEFAULT COALESCE(the_id, x'FF');
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    SELECT now_us, i.id, IF(i.state = 'delayed' AND i.due_us <= now_us, 'ready', i.state) AS state,
           IF(i.state IN ('delayed', 'done'), i.due_us, 0) AS due_us, i.attempts, v.bytes AS value,
           IF(i.needs = '', '[]', CONCAT('["', REPLACE(REPLACE(REPLACE(
               CONVERT(i.needs USING utf8mb4), '\\', '\\\\'), '"', '\\"'), ' ', '","'), '"]'))
               AS need_paths,
           CONCAT('[', REPLACE(CONVERT(i.need_limits USING utf8mb4), ' ', ','), ']')
               AS need_limits,
           CONCAT('[', REPLACE(CONVERT(i.need_units USING utf8mb4), ' ', ','), ']') AS need_units,
           r.owner, r.deadline_us, i.priority, i.last_exit, i.last_error, i.progress
    FROM lk_items AS i FORCE INDEX (PRIMARY)
    LEFT JOIN lk_item_values AS v ON v.queue = i.queue AND v.id = i.id
    LEFT JOIN lk_requests AS r FORCE INDEX (PRIMARY) ON r.id = i.claim AND r.part = 1
    WHERE i.queue = the_queue AND i.id >= first AND i.id <= last
      AND (i.state <> 'done' OR i.due_us > now_us)
    ORDER BY i.arrival;
END
//

DROP PROCEDURE IF EXISTS lk_stats
//
CREATE PROCEDURE lk_stats(IN the_queue VARBINARY(512))
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    SELECT q.pushed, q.duplicates, q.claims + COALESCE(SUM(i.claims), 0) AS claims,
           q.steals + COALESCE(SUM(i.steals), 0) AS steals, q.done, q.retried, q.parked,
           COALESCE(SUM(i.state = 'ready' OR (i.state = 'delayed' AND i.due_us <= now_us)), 0)
               AS ready,
           COALESCE(SUM(i.state = 'delayed' AND i.due_us > now_us), 0) AS is_delayed,
           COALESCE(SUM(i.state IN ('claimed', 'cancelled', 'again')), 0) AS claimed,
           COALESCE(SUM(i.state = 'parked'), 0) AS parked_now,
           COALESCE(SUM(i.state = 'done' AND i.due_us > now_us), 0) AS done_now,
           now_us - MIN(CASE WHEN i.state = 'ready' THEN IF(i.ready_us = 0, i.arrival, i.ready_us)
                             WHEN i.state = 'delayed' AND i.due_us <= now_us THEN i.due_us END)
               AS oldest_us
    FROM lk_queues AS q LEFT JOIN lk_items AS i ON i.queue = q.path
    WHERE q.path = the_queue
    GROUP BY q.path;
END
//

-- Queues at or below `prefix` (NULL: all) whose paths are greater than `behind`, in the order of
-- their bytes, each with the columns of lk_stats(). Reads only these queues' items.
DROP PROCEDURE IF EXISTS lk_queues
//
CREATE PROCEDURE lk_queues(
    IN prefix VARBINARY(512), IN behind VARBINARY(512), IN most BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                  + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                                    MOD 900000000 - 450000000;
    DECLARE first VARBINARY(514) DEFAULT GREATEST(behind, COALESCE(CONCAT(prefix, '/'), ''));
    DECLARE beyond VARBINARY(514) DEFAULT COALESCE(CONCAT(prefix, '0'), x'FF');
    SELECT STRAIGHT_JOIN q.path, q.pushed, q.duplicates,
           q.claims + COALESCE(SUM(i.claims), 0) AS claims,
           q.steals + COALESCE(SUM(i.steals), 0) AS steals, q.done, q.retried, q.parked,
           COALESCE(SUM(i.state = 'ready' OR (i.state = 'delayed' AND i.due_us <= now_us)), 0)
               AS ready,
           COALESCE(SUM(i.state = 'delayed' AND i.due_us > now_us), 0) AS is_delayed,
           COALESCE(SUM(i.state IN ('claimed', 'cancelled', 'again')), 0) AS claimed,
           COALESCE(SUM(i.state = 'parked'), 0) AS parked_now,
           COALESCE(SUM(i.state = 'done' AND i.due_us > now_us), 0) AS done_now,
           now_us - MIN(CASE WHEN i.state = 'ready' THEN IF(i.ready_us = 0, i.arrival, i.ready_us)
                             WHEN i.state = 'delayed' AND i.due_us <= now_us THEN i.due_us END)
               AS oldest_us
    FROM (SELECT p.* FROM ((SELECT o.* FROM lk_queues AS o FORCE INDEX (PRIMARY)
                            WHERE o.path = prefix AND o.path > behind)
                           UNION ALL
                           (SELECT o.* FROM lk_queues AS o FORCE INDEX (PRIMARY)
                            WHERE o.path > first AND o.path < beyond ORDER BY o.path LIMIT most))
              AS p ORDER BY p.path LIMIT most) AS q
    LEFT JOIN lk_items AS i FORCE INDEX (PRIMARY) ON i.queue = q.path
    GROUP BY q.path, q.pushed, q.duplicates, q.claims, q.steals, q.done, q.retried, q.parked
    ORDER BY q.path;
END
//

-- Parked items with an arrival greater than `behind`, the oldest first.
DROP PROCEDURE IF EXISTS lk_parked_of
//
CREATE PROCEDURE lk_parked_of(IN the_queue VARBINARY(512), IN behind BIGINT, IN most BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT i.id, i.arrival FROM lk_items AS i FORCE INDEX (items_by_state)
    WHERE i.queue = the_queue AND i.state = 'parked' AND i.due_us = 0 AND i.place > behind
    ORDER BY i.place LIMIT most;
END
//
DELIMITER ;
