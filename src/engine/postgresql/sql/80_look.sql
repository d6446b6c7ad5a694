-- SPDX-License-Identifier: Apache-2.0
-- Queries: each reads one snapshot, without overdue requests. The engine calls lk_tick() before,
-- which grants the requests that these have blocked.

CREATE OR REPLACE FUNCTION lockkeeper.lk_value(
    the_path text, OUT bytes bytea, OUT in_doubt boolean)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
SELECT v.bytes, v.in_doubt OR EXISTS ( -- R15: its holder is dead and unswept
    SELECT FROM lockkeeper.parts AS p
    CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x WHERE x.id = p.request OFFSET 0) AS r
    WHERE p.path = the_path AND p.units = 0 AND p.held AND r.wants_value
      AND r.deadline_us <= lockkeeper.now_us())
FROM lockkeeper."values" AS v WHERE v.path = the_path $$;

-- All parts of these requests.
CREATE OR REPLACE FUNCTION lockkeeper.rows_of(requests bigint[], the_now_us bigint)
RETURNS TABLE (now_us bigint, id bigint, owner text, note text, held boolean, revoked boolean,
    fixed boolean, ticket bigint, token bigint, ttl_ms bigint, deadline_us bigint,
    is_claim boolean, path text, unit_limit integer, units integer)
LANGUAGE sql STABLE AS $$
SELECT the_now_us, r.id, r.owner, r.note, r.held, r.revoked, r.fixed, r.ticket, r.token, r.ttl_ms,
       r.deadline_us, r.is_claim, p.path, p.unit_limit, p.units
FROM (SELECT x.* FROM lockkeeper.requests AS x WHERE x.id = ANY (requests) OFFSET 0) AS r
CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.parts AS x
                    WHERE x.request = r.id ORDER BY x.request, x.position OFFSET 0) AS p
ORDER BY r.ticket, r.id, p.position $$;

-- Requests with a part at or below `prefix` (NULL: everything).
CREATE OR REPLACE FUNCTION lockkeeper.lk_list(prefix text)
RETURNS TABLE (now_us bigint, id bigint, owner text, note text, held boolean, revoked boolean,
    fixed boolean, ticket bigint, token bigint, ttl_ms bigint, deadline_us bigint,
    is_claim boolean, path text, unit_limit integer, units integer)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
WITH clock AS MATERIALIZED (SELECT lockkeeper.now_us() AS now_us)
SELECT x.* FROM clock CROSS JOIN LATERAL lockkeeper.rows_of(ARRAY(
    SELECT r.id FROM lockkeeper.requests AS r
    WHERE r.deadline_us > clock.now_us
      AND (prefix IS NULL OR EXISTS (
           SELECT FROM lockkeeper.parts AS p
           WHERE p.request = r.id AND lockkeeper.contains(prefix, p.path)))
      AND (prefix IS NULL OR r.root = split_part(prefix, '/', 1) OR cardinality(r.roots) > 1)
    ), clock.now_us) AS x $$;

-- Requests with a part related to `path`, and those that may block them (R20).
CREATE OR REPLACE FUNCTION lockkeeper.lk_show(the_path text)
RETURNS TABLE (now_us bigint, id bigint, owner text, note text, held boolean, revoked boolean,
    fixed boolean, ticket bigint, token bigint, ttl_ms bigint, deadline_us bigint,
    is_claim boolean, path text, unit_limit integer, units integer)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
WITH clock AS MATERIALIZED (SELECT lockkeeper.now_us() AS now_us),
near AS MATERIALIZED (
    SELECT DISTINCT p.request
    FROM lockkeeper.parts_near(the_path, lockkeeper.path_and_above(the_path)) AS p),
paths AS MATERIALIZED ( -- each once, however many wait there
    SELECT DISTINCT p.path FROM near AS n
    CROSS JOIN LATERAL (SELECT x.path FROM lockkeeper.parts AS x
                        WHERE x.request = n.request OFFSET 0) AS p),
chains AS MATERIALIZED (
    SELECT x.path, a.path AS upper_path
    FROM paths AS x CROSS JOIN LATERAL unnest(lockkeeper.path_and_above(x.path)) AS a (path)),
tops AS ( -- below which all others are
    SELECT x.path FROM paths AS x
    EXCEPT
    SELECT c.path FROM chains AS c JOIN paths AS x ON x.path = c.upper_path
    WHERE c.path <> c.upper_path),
around AS (
    SELECT p.request FROM (SELECT DISTINCT c.upper_path AS path FROM chains AS c) AS a
    CROSS JOIN LATERAL (SELECT x.request FROM lockkeeper.parts AS x
                        WHERE x.path = a.path OFFSET 0) AS p
    UNION
    SELECT p.request FROM tops AS t
    CROSS JOIN LATERAL (SELECT x.request FROM lockkeeper.parts AS x
                        WHERE x.path > t.path || '/' AND x.path < t.path || '0' OFFSET 0) AS p)
SELECT x.* FROM clock CROSS JOIN LATERAL lockkeeper.rows_of(ARRAY(
    SELECT r.id FROM around AS a
    CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x WHERE x.id = a.request OFFSET 0) AS r
    WHERE r.deadline_us > clock.now_us), clock.now_us) AS x $$;

CREATE OR REPLACE FUNCTION lockkeeper.lk_audit(prefix text)
RETURNS TABLE (at_us bigint, broken_by text, reason text, path text, owner text, note text,
    ticket bigint, token bigint)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
SELECT a.at_us, a.broken_by, a.reason, a.path, a.owner, a.note, a.ticket, a.token
FROM lockkeeper.audit AS a
WHERE prefix IS NULL OR lockkeeper.contains(prefix, a.path)
ORDER BY a.id $$;

-- The item with this id; NULL: all of the queue.
CREATE OR REPLACE FUNCTION lockkeeper.lk_items_of(the_queue text, the_id text)
RETURNS TABLE (now_us bigint, id text, state text, due_us bigint, attempts integer, value bytea,
    need_paths text[], need_limits integer[], need_units integer[], owner text,
    deadline_us bigint, priority smallint, last_exit integer, last_error bytea, progress bytea)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
WITH clock AS MATERIALIZED (SELECT lockkeeper.now_us() AS now_us)
SELECT clock.now_us, i.id,
       CASE WHEN i.state = 'delayed' AND i.due_us <= clock.now_us THEN 'ready' ELSE i.state END,
       i.due_us, i.attempts, v.bytes, i.need_paths, i.need_limits, i.need_units, r.owner,
       r.deadline_us, i.priority, i.last_exit, i.last_error, i.progress
FROM clock
CROSS JOIN ((SELECT x.* FROM lockkeeper.items AS x WHERE x.queue = the_queue AND the_id IS NULL)
            UNION ALL
            (SELECT x.* FROM lockkeeper.items AS x WHERE x.queue = the_queue AND x.id = the_id)) AS i
LEFT JOIN lockkeeper.item_values AS v ON v.item = i.number
LEFT JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x WHERE x.id = i.claim OFFSET 0) AS r
    ON true
WHERE NOT (i.state = 'done' AND i.due_us <= clock.now_us)
ORDER BY i.sequence $$;

CREATE OR REPLACE FUNCTION lockkeeper.lk_stats(
    the_queue text, OUT pushed bigint, OUT duplicates bigint, OUT claims bigint,
    OUT steals bigint, OUT done bigint, OUT retried bigint, OUT parked bigint, OUT ready bigint,
    OUT delayed bigint, OUT claimed bigint, OUT parked_now bigint, OUT done_now bigint,
    OUT oldest_us bigint)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
SELECT q.pushed, q.duplicates, q.claims, q.steals, q.done, q.retried, q.parked, n.*
FROM lockkeeper.queues AS q CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE i.state = 'ready' OR (i.state = 'delayed' AND i.is_due)),
           count(*) FILTER (WHERE i.state = 'delayed' AND NOT i.is_due),
           count(*) FILTER (WHERE i.state IN ('claimed', 'cancelled', 'again')),
           count(*) FILTER (WHERE i.state = 'parked'),
           count(*) FILTER (WHERE i.state = 'done' AND NOT i.is_due),
           lockkeeper.now_us() - min(i.ready_us)
    FROM (SELECT x.state, x.due_us <= lockkeeper.now_us() AS is_due,
                 CASE WHEN x.state = 'ready' AND x.due_us = 0 THEN x.sequence
                      WHEN x.state = 'ready'
                           OR (x.state = 'delayed' AND x.due_us <= lockkeeper.now_us())
                      THEN x.due_us END AS ready_us
          FROM lockkeeper.items AS x WHERE x.queue = q.path) AS i) AS n
WHERE q.path = the_queue $$;

-- Queues at or below `prefix` (NULL: all) whose paths are greater than `behind`, in the order of
-- their bytes, each with the columns of lk_stats(). Reads only these queues' items, and what was
-- done in the last minutes once.
CREATE OR REPLACE FUNCTION lockkeeper.lk_queues(prefix text, behind text, most bigint)
RETURNS TABLE (path text, pushed bigint, duplicates bigint, claims bigint, steals bigint,
    done bigint, retried bigint, parked bigint, ready bigint, delayed bigint, claimed bigint,
    parked_now bigint, done_now bigint, oldest_us bigint)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
WITH page AS MATERIALIZED (
    (SELECT q.* FROM lockkeeper.queue_counts AS q
     WHERE q.path = prefix AND q.path > behind)
    UNION ALL
    (SELECT q.* FROM lockkeeper.queue_counts AS q
     WHERE q.path > greatest(behind COLLATE "C", prefix || '/') AND q.path < prefix || '0'
     ORDER BY q.path LIMIT most)
    UNION ALL
    (SELECT q.* FROM lockkeeper.queue_counts AS q
     WHERE prefix IS NULL AND q.path > behind
     ORDER BY q.path LIMIT most)
    LIMIT most),
ended AS MATERIALIZED (
    SELECT e.queue, sum(e.claims)::bigint AS claims, sum(e.steals)::bigint AS steals,
           count(*) AS done
    FROM lockkeeper.ended AS e WHERE e.queue IS NOT NULL GROUP BY e.queue)
SELECT q.path, q.pushed, q.duplicates, q.claims + i.claims + coalesce(e.claims, 0),
       q.steals + i.steals + coalesce(e.steals, 0), q.done + coalesce(e.done, 0), q.retried,
       q.parked, i.ready, i.delayed, i.claimed, i.parked, i.done, i.oldest_us
FROM page AS q
LEFT JOIN ended AS e ON e.queue = q.path
CROSS JOIN LATERAL (
    SELECT coalesce(sum(x.claims), 0)::bigint AS claims,
           coalesce(sum(x.steals), 0)::bigint AS steals,
           count(*) FILTER (WHERE x.state = 'ready' OR (x.state = 'delayed' AND x.is_due)) AS ready,
           count(*) FILTER (WHERE x.state = 'delayed' AND NOT x.is_due) AS delayed,
           count(*) FILTER (WHERE x.state IN ('claimed', 'cancelled', 'again')) AS claimed,
           count(*) FILTER (WHERE x.state = 'parked') AS parked,
           count(*) FILTER (WHERE x.state = 'done' AND NOT x.is_due) AS done,
           lockkeeper.now_us() - min(x.ready_us) AS oldest_us
    FROM (SELECT y.*, y.due_us <= lockkeeper.now_us() AS is_due,
                 CASE WHEN y.state = 'ready' AND y.due_us = 0 THEN y.sequence
                      WHEN y.state = 'ready'
                           OR (y.state = 'delayed' AND y.due_us <= lockkeeper.now_us())
                      THEN y.due_us END AS ready_us
          FROM lockkeeper.items AS y WHERE y.queue = q.path) AS x) AS i
ORDER BY q.path $$;

-- Parked items with a sequence greater than `behind`, the oldest first.
CREATE OR REPLACE FUNCTION lockkeeper.lk_parked_of(the_queue text, behind bigint, most bigint)
RETURNS TABLE (id text, sequence bigint)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
SELECT i.id, i.sequence FROM lockkeeper.items AS i
WHERE i.queue = the_queue AND i.state = 'parked' AND i.sequence > behind
ORDER BY i.sequence LIMIT most $$;
