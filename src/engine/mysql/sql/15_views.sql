-- SPDX-License-Identifier: Apache-2.0
-- For people: held and waiting requests, and work. Times are in the session's time zone.
--
-- Each text has a collation that is named, which wins: one that is not is that of the session that made
-- the view, and compares with no other one. Bytes, as the store compares them.

DELIMITER //

-- A row past its deadline is shown as expired until a later call sweeps it. It blocks no request.
DROP VIEW IF EXISTS lk_locks
//
CREATE SQL SECURITY INVOKER VIEW lk_locks AS
SELECT CONVERT(r.path USING utf8mb4) COLLATE utf8mb4_bin AS path,
       CONVERT(CASE WHEN r.deadline_us <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                          + TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))
                    THEN 'expired'
                    WHEN r.revoked THEN 'revoked'
                    WHEN r.held THEN 'held'
                    ELSE 'waiting' END USING utf8mb4) COLLATE utf8mb4_bin AS state,
       CONVERT(CASE WHEN r.units = 0 THEN 'exclusive' ELSE 'shared' END USING utf8mb4)
           COLLATE utf8mb4_bin AS mode,
       NULLIF(r.unit_limit, 0) AS unit_limit,
       NULLIF(r.units, 0) AS units,
       CONVERT(r.owner USING utf8mb4) COLLATE utf8mb4_bin AS owner,
       CONVERT(r.note USING utf8mb4) COLLATE utf8mb4_bin AS note,
       FROM_UNIXTIME(r.ticket / 1000000) AS since,
       FROM_UNIXTIME(r.deadline_us / 1000000) AS expires,
       r.ticket,
       NULLIF(r.token, 0) AS token,
       r.id AS request
FROM lk_requests AS r
ORDER BY r.path, r.held DESC, r.ticket
//

-- In the order of arrival, without what is kept no longer. The value of an item that is done is its
-- result.
DROP VIEW IF EXISTS lk_work
//
CREATE SQL SECURITY INVOKER VIEW lk_work AS
SELECT CONVERT(i.queue USING utf8mb4) COLLATE utf8mb4_bin AS queue,
       CONVERT(i.id USING utf8mb4) COLLATE utf8mb4_bin AS id,
       CONVERT(CASE WHEN i.state = 'delayed'
                         AND i.due_us <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                                         + TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))
                    THEN 'ready' ELSE i.state END USING utf8mb4) COLLATE utf8mb4_bin AS state,
       i.attempts,
       i.priority,
       i.last_exit,
       CONVERT(i.last_error USING utf8mb4) COLLATE utf8mb4_bin AS last_error,
       CONVERT(r.owner USING utf8mb4) COLLATE utf8mb4_bin AS claimed_by,
       FROM_UNIXTIME(i.arrival / 1000000) AS since,
       FROM_UNIXTIME(IF(i.state IN ('delayed', 'again', 'done'), NULLIF(i.due_us, 0), NULL) / 1000000)
           AS due,
       CONVERT(IF(LOCATE('-1', i.need_units) = 0, i.needs,
                  (SELECT GROUP_CONCAT(SUBSTRING_INDEX(SUBSTRING_INDEX(i.needs, ' ', n.n), ' ', -1),
                                       IF(SUBSTRING_INDEX(SUBSTRING_INDEX(i.need_units, ' ', n.n),
                                                          ' ', -1) = '-1', '?strict', '')
                                       ORDER BY n.n SEPARATOR ' ')
                   FROM lk_numbers AS n
                   WHERE n.n <= 1 + LENGTH(i.needs) - LENGTH(REPLACE(i.needs, ' ', ''))))
               USING utf8mb4) COLLATE utf8mb4_bin AS needs,
       v.bytes AS value,
       FROM_UNIXTIME(CASE WHEN i.state = 'ready' THEN IF(i.ready_us = 0, i.arrival, i.ready_us)
                          WHEN i.state = 'delayed'
                               AND i.due_us <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01',
                                                             UTC_TIMESTAMP(6))
                                               + TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))
                          THEN i.due_us END / 1000000) AS ready_since,
       CONVERT(i.progress USING utf8mb4) COLLATE utf8mb4_bin AS progress
FROM lk_items AS i
LEFT JOIN lk_requests AS r ON r.id = i.claim AND r.part = 1
LEFT JOIN lk_item_values AS v ON v.queue = i.queue AND v.id = i.id
WHERE i.state <> 'done'
   OR i.due_us > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                 + TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))
ORDER BY i.queue, i.arrival
//

-- Events (R21), as far as they are kept.
DROP VIEW IF EXISTS lk_events
//
CREATE SQL SECURITY INVOKER VIEW lk_events AS
SELECT h.sequence,
       FROM_UNIXTIME(h.at_us / 1000000) AS at,
       CONVERT(h.event USING utf8mb4) COLLATE utf8mb4_bin AS event,
       CONVERT(NULLIF(h.refusal, '') USING utf8mb4) COLLATE utf8mb4_bin AS refusal,
       CONVERT(h.parts USING utf8mb4) COLLATE utf8mb4_bin AS parts,
       CONVERT(NULLIF(h.owner, '') USING utf8mb4) COLLATE utf8mb4_bin AS owner,
       CONVERT(NULLIF(h.note, '') USING utf8mb4) COLLATE utf8mb4_bin AS note,
       NULLIF(h.ticket, 0) AS ticket,
       NULLIF(h.token, 0) AS token,
       NULLIF(h.attempt, 0) AS attempt,
       CONVERT(NULLIF(h.broken_by, '') USING utf8mb4) COLLATE utf8mb4_bin AS broken_by,
       CONVERT(NULLIF(h.reason, '') USING utf8mb4) COLLATE utf8mb4_bin AS reason
FROM lk_happenings AS h
ORDER BY h.sequence
//
DELIMITER ;
