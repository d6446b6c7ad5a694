-- SPDX-License-Identifier: Apache-2.0
-- The short ways in a line: requests that wait for an exclusive lock at one path, with nothing else
-- at paths near it. A new one joins the end, and a release passes the lock on to the first, by a few
-- small statements each, as ask() and release_request() would decide. The root's lock is held,
-- exclusively; a line in which a deadline has passed, or that anything else concerns, is left to these.

-- R7, R10, R13: a new request of an owner that has no other, where a part at or above its path
-- conflicts: it has to wait, and can close no cycle. False: left to ask(), and nothing has been done.
-- `has_line`: a request waits below the root.
CREATE OR REPLACE FUNCTION lockkeeper.join_line(
    the_identity bytea, asker text, the_path text, above text[], the_root text, the_limit integer,
    the_units integer, the_style text, the_ttl_ms bigint, the_note text, the_ticket bigint,
    moment_us bigint, has_line boolean) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    units_max integer := CASE WHEN the_units = 0 THEN @LK_LIMIT_MAX@ ELSE 0 END; -- of what conflicts
BEGIN
    IF NOT EXISTS (SELECT FROM lockkeeper.parts AS p
                   WHERE p.path = ANY (above) AND p.units <= units_max)
       OR EXISTS (SELECT FROM lockkeeper.requests AS o WHERE o.owner = asker) THEN
        RETURN false;
    END IF;
    WITH part AS (
        INSERT INTO lockkeeper.parts (request, position, path, held, ticket, unit_limit, units)
        VALUES (the_ticket, 1, the_path, false, the_ticket, the_limit, the_units)
    )
    INSERT INTO lockkeeper.requests (id, identity, owner, note, held, attended, fixed, ticket, token,
        ttl_ms, deadline_us, wants_value, root, roots)
    VALUES (the_ticket, the_identity, asker, coalesce(the_note, ''), false, the_style = 'wait', false,
        the_ticket, 0, the_ttl_ms, moment_us + the_ttl_ms * 1000, false, the_root, ARRAY[the_root]);
    IF NOT has_line THEN
        UPDATE lockkeeper.roots AS k SET has_waiting = true WHERE k.root = the_root;
    END IF;
    RETURN true;
END $$;

-- R20: the blockers of a request that has just joined a line, after the root's lock has been
-- released, so that nothing waits for this. They are what the next moment finds: none, if the
-- request has been granted by then.
CREATE OR REPLACE FUNCTION lockkeeper.explain_line(
    asker text, self bigint, the_path text, the_limit integer, the_units integer, most integer,
    OUT in_use bigint, OUT in_the_way integer, OUT look_us bigint, OUT blockers text[])
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_variable
DECLARE
    answer lockkeeper.answer;
    asked lockkeeper.asked;
    moment_us bigint := lockkeeper.now_us();
BEGIN
    in_use := lockkeeper.units_held(the_path, 0, moment_us);
    IF most = 0 OR EXISTS (SELECT FROM lockkeeper.requests AS r WHERE r.id = self AND r.held) THEN
        RETURN;
    END IF;
    asked.owner := asker;
    asked.paths := ARRAY[the_path];
    asked.limits := ARRAY[the_limit];
    asked.counts := ARRAY[the_units];
    asked.blockers_max := most;
    answer := lockkeeper.explain(answer, asked, self, self, moment_us);
    in_the_way := answer.in_the_way;
    look_us := answer.look_us;
    blockers := answer.blockers;
END $$;

-- R7, R11, R12: ends a lease with one part, and grants the lock to the first that waits at its path,
-- if nothing else is near: no other lease, no request at a path above or below, and no further
-- request of the first one's owner, which might be covered then (R8). The first is exclusive, so what
-- is behind it goes on waiting. NULL: left to release_request(), and nothing has been done; else
-- whether there is a line.
CREATE OR REPLACE FUNCTION lockkeeper.pass_on(
    the_identity bytea, the_path text, the_root text, the_token bigint) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    moment_us bigint := lockkeeper.now_us();
    self record;
    first record;
    new_token bigint;
BEGIN
    SELECT r.id, k.has_waiting INTO self
    FROM lockkeeper.requests AS r CROSS JOIN lockkeeper.roots AS k CROSS JOIN lockkeeper.meta AS m
    WHERE r.identity = the_identity AND r.held AND r.deadline_us - moment_us > 0
      AND (the_token = 0 OR r.token = the_token)
      AND k.root = the_root AND k.due_us - moment_us > 0 AND k.awaited_us <= moment_us
      AND EXISTS (SELECT FROM lockkeeper.awake AS w
                  WHERE w.server_start = pg_postmaster_start_time())
      AND m.events_max = 0 AND m.watched_until_us <= moment_us;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF self.has_waiting THEN
        SELECT p.request AS id, p.units, r.owner, r.attended, r.roots INTO first
        FROM (SELECT w.request, w.units FROM lockkeeper.parts AS w
              WHERE w.path = the_path AND NOT w.held ORDER BY w.ticket LIMIT 1) AS p
        CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                            WHERE x.id = p.request OFFSET 0) AS r;
        IF first.id IS NULL OR first.units > 0 OR cardinality(first.roots) > 1
           OR EXISTS (SELECT FROM lockkeeper.parts AS p
                      WHERE p.path = the_path AND p.held AND p.request <> self.id)
           OR EXISTS (SELECT FROM lockkeeper.parts AS p
                      WHERE p.path > the_path || '/' AND p.path < the_path || '0')
           OR (the_path <> the_root AND EXISTS (
                   SELECT FROM lockkeeper.parts AS p
                   WHERE p.path = ANY ((lockkeeper.path_and_above(the_path))[2:])))
           OR EXISTS (SELECT FROM lockkeeper.parts AS p
                      WHERE p.request = first.id AND p.position = 2)
           OR EXISTS (SELECT FROM lockkeeper.requests AS o
                      WHERE o.owner = first.owner AND o.id <> first.id) THEN
            RETURN NULL;
        END IF;
        new_token := nextval('lockkeeper.draws');
        IF new_token < moment_us - 10000 THEN
            new_token := lockkeeper.catch_up();
        END IF;
        UPDATE lockkeeper.requests AS r
        SET held = true, token = new_token,
            deadline_us = CASE WHEN r.attended AND NOT r.fixed -- R10
                               THEN greatest(moment_us + r.ttl_ms * 1000, r.deadline_us)
                               ELSE r.deadline_us END
        WHERE r.id = first.id;
        UPDATE lockkeeper.parts AS p SET held = true WHERE p.request = first.id;
        IF first.attended AND pg_notification_queue_usage() < 0.5 THEN -- as wake()
            PERFORM pg_notify(lockkeeper.channel_of(first.owner), first.id::text);
        END IF;
    END IF;
    IF the_token <> 0 THEN
        INSERT INTO lockkeeper.ended AS e (token, identity, ended_us)
        VALUES (the_token, the_identity, moment_us)
        ON CONFLICT (token, identity) DO UPDATE SET ended_us = excluded.ended_us;
    END IF;
    DELETE FROM lockkeeper.parts AS p WHERE p.request = self.id;
    DELETE FROM lockkeeper.requests AS r WHERE r.id = self.id;
    RETURN self.has_waiting;
END $$;
