-- SPDX-License-Identifier: Apache-2.0
-- For people: held and waiting requests, and work.

-- A row past its deadline is shown as expired until a later call sweeps it. It blocks no request.
CREATE OR REPLACE VIEW lockkeeper.lk_locks AS
SELECT parts.path,
       CASE WHEN requests.deadline_us <= extract(epoch FROM clock_timestamp()) * 1000000
            THEN 'expired'
            WHEN requests.revoked THEN 'revoked'
            WHEN requests.held THEN 'held'
            ELSE 'waiting' END AS state,
       CASE WHEN parts.units = 0 THEN 'exclusive' ELSE 'shared' END AS mode,
       nullif(parts.unit_limit, 0) AS unit_limit,
       nullif(parts.units, 0) AS units,
       requests.owner,
       requests.note,
       to_timestamp(requests.ticket / 1e6) AS since,
       to_timestamp(requests.deadline_us / 1e6) AS expires,
       requests.ticket,
       nullif(requests.token, 0) AS token,
       requests.id AS request
FROM lockkeeper.parts
JOIN lockkeeper.requests ON requests.id = parts.request
ORDER BY parts.path, requests.held DESC, requests.ticket;

-- In the order of arrival. An item that was done, and whose time is over, is not there any more.
CREATE OR REPLACE VIEW lockkeeper.lk_items AS
SELECT items.queue,
       items.id,
       CASE WHEN items.state = 'delayed'
                 AND items.due_us <= extract(epoch FROM clock_timestamp()) * 1000000
            THEN 'ready' ELSE items.state END AS state,
       items.attempts,
       (SELECT requests.owner FROM lockkeeper.requests WHERE requests.id = items.claim)
           AS claimed_by,
       to_timestamp(items.sequence / 1e6) AS since,
       to_timestamp(CASE WHEN items.state IN ('delayed', 'done') THEN items.due_us END / 1e6) AS due,
       ARRAY(SELECT n.path || (CASE
                 WHEN n.units < 0 THEN '?strict'
                 WHEN n.units = 0 THEN ''
                 WHEN n.unit_limit = 0 THEN '?shared'
                 WHEN n.units = 1 THEN '?limit=' || n.unit_limit::text
                 ELSE '?limit=' || n.unit_limit::text || '&units=' || n.units::text END) COLLATE "C"
             FROM unnest(items.need_paths, items.need_limits, items.need_units)
                 WITH ORDINALITY AS n (path, unit_limit, units, place)
             ORDER BY n.place) AS needs,
       item_values.bytes AS value,
       items.priority,
       items.last_exit,
       -- Its bytes may be anything; where they are UTF-8 without a zero, they are a text.
       (CASE WHEN encode(items.last_error, 'hex') ~ ('^(0[1-9a-f]|[1-7].|(c[2-9a-f]|d.)[89ab].'
                     || '|(e0[ab]|e[1-9a-cef][89ab]|ed[89]).[89ab].'
                     || '|(f0[9ab]|f[1-3][89ab]|f48).([89ab].){2})*$')
            THEN convert_from(items.last_error, 'UTF8')
            ELSE encode(items.last_error, 'escape') END) COLLATE "default" AS last_error,
       to_timestamp(CASE WHEN items.state = 'ready' AND items.due_us = 0 THEN items.sequence
                         WHEN items.state = 'ready'
                              OR (items.state = 'delayed'
                                  AND items.due_us <= extract(epoch FROM clock_timestamp()) * 1000000)
                         THEN items.due_us END / 1e6) AS ready_since,
       (CASE WHEN encode(items.progress, 'hex') ~ ('^(0[1-9a-f]|[1-7].|(c[2-9a-f]|d.)[89ab].'
                     || '|(e0[ab]|e[1-9a-cef][89ab]|ed[89]).[89ab].'
                     || '|(f0[9ab]|f[1-3][89ab]|f48).([89ab].){2})*$')
            THEN convert_from(items.progress, 'UTF8')
            ELSE encode(items.progress, 'escape') END) COLLATE "default" AS progress
FROM lockkeeper.items
LEFT JOIN lockkeeper.item_values ON item_values.item = items.number
WHERE NOT (items.state = 'done'
           AND items.due_us <= extract(epoch FROM clock_timestamp()) * 1000000)
ORDER BY items.queue, items.sequence;

-- The counters of each queue: those of its row, its items, and the items that were done just now.
CREATE OR REPLACE VIEW lockkeeper.queues AS
SELECT q.path, q.pushed, q.duplicates, q.claims + i.claims + e.claims AS claims,
       q.steals + i.steals + e.steals AS steals, q.done + e.done AS done, q.retried, q.parked,
       to_timestamp(i.ready_us / 1e6) AS oldest_ready_since
FROM lockkeeper.queue_counts AS q
CROSS JOIN LATERAL (
    SELECT coalesce(sum(x.claims), 0)::bigint AS claims,
           coalesce(sum(x.steals), 0)::bigint AS steals,
           min(CASE WHEN x.state = 'ready' AND x.due_us = 0 THEN x.sequence
                    WHEN x.state = 'ready'
                         OR (x.state = 'delayed'
                             AND x.due_us <= extract(epoch FROM clock_timestamp()) * 1000000)
                    THEN x.due_us END) AS ready_us
    FROM lockkeeper.items AS x WHERE x.queue = q.path) AS i
CROSS JOIN LATERAL (
    SELECT coalesce(sum(x.claims), 0)::bigint AS claims,
           coalesce(sum(x.steals), 0)::bigint AS steals, count(*) AS done
    FROM lockkeeper.ended AS x WHERE x.queue = q.path) AS e;

-- Events (R21), as far as they are kept.
CREATE OR REPLACE VIEW lockkeeper.lk_events AS
SELECT events.sequence,
       to_timestamp(events.at_us / 1e6) AS at,
       events.event,
       nullif(events.refusal, '') AS refusal,
       events.parts,
       nullif(events.owner, '') AS owner,
       nullif(events.note, '') AS note,
       nullif(events.ticket, 0) AS ticket,
       nullif(events.token, 0) AS token,
       nullif(events.attempt, 0) AS attempt,
       nullif(events.broken_by, '') AS broken_by,
       nullif(events.reason, '') AS reason
FROM lockkeeper.events
ORDER BY events.sequence;
