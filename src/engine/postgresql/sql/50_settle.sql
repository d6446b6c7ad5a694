-- SPDX-License-Identifier: Apache-2.0
-- Grants waiting requests after something has ended or become weaker, in the order of their
-- tickets, until none can be granted (R7, R8). Ends requests, with the consequences of a death
-- (R11).

-- Notifies the client that is blocked on this request.
CREATE OR REPLACE FUNCTION lockkeeper.wake(request bigint) RETURNS void
LANGUAGE sql AS
$$ SELECT pg_notify('lockkeeper', request::text) $$;

-- Notifies the workers that may be waiting below these roots.
CREATE OR REPLACE FUNCTION lockkeeper.wake_workers(turn lockkeeper.turn) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF turn.is_awaited THEN
        PERFORM pg_notify('lockkeeper', '/' || r.root) FROM lockkeeper.roots AS r
        WHERE r.root = ANY (turn.roots) AND r.awaited_us > turn.now_us;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.grant_waiting(waiting bigint, moment_us bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    is_attended boolean;
BEGIN
    UPDATE lockkeeper.requests AS r
    SET held = true, token = lockkeeper.draw(),
        deadline_us = CASE WHEN r.attended AND NOT r.fixed -- R10
                           THEN greatest(moment_us + r.ttl_ms * 1000, r.deadline_us)
                           ELSE r.deadline_us END
    WHERE r.id = waiting
    RETURNING r.attended INTO is_attended;
    PERFORM lockkeeper.tell_request('granted', waiting);
    IF is_attended THEN
        PERFORM lockkeeper.wake(waiting);
    END IF;
END $$;

-- One pass over the requests that wait near `touched`, or belong to one of `owners`.
--
-- A pass skips requests that cannot be granted: those behind an exclusive one at or above their
-- path, held or waiting; and behind one whose limit has no room, those with the same or a smaller
-- limit. Requests whose owner holds something may be granted by R8 and are checked all the same.
-- After a grant its owner may be covered: its other requests are checked from the beginning.
CREATE OR REPLACE FUNCTION lockkeeper.settle_once(
    INOUT turn lockkeeper.turn, touched text[], owners text[], moment_us bigint,
    OUT granted_owner text, OUT saw_waiting boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    waiter record;
    closed text[] := '{}';    -- paths of exclusive requests so far
    closers text[] := '{}';   -- their owners
    short_paths text[] := '{}'; -- paths where a limit had no room
    short_limits integer[] := '{}';
    is_hopeless boolean;
    verdict text;
BEGIN
    saw_waiting := false;
    FOR waiter IN
        SELECT r.id, r.owner, r.ticket, r.roots, q.paths, q.limits, q.counts,
               EXISTS (SELECT FROM lockkeeper.requests AS h
                       WHERE h.owner = r.owner AND h.held) AS may_be_covered,
               (r.owner = ANY (owners) OR EXISTS (
                   SELECT FROM unnest(touched) AS t (path), unnest(q.paths) AS w (path)
                   WHERE lockkeeper.contains(t.path, w.path)
                      OR lockkeeper.contains(w.path, t.path))) AS is_near
        FROM (SELECT w.* FROM lockkeeper.requests AS w
              WHERE NOT w.held AND w.root = ANY (turn.roots)
              UNION
              SELECT w.* FROM lockkeeper.requests AS w
              WHERE NOT w.held AND cardinality(w.roots) > 1 AND w.roots && turn.roots) AS r
        CROSS JOIN LATERAL (
            SELECT array_agg(p.path) AS paths, array_agg(p.unit_limit) AS limits,
                   array_agg(p.units) AS counts
            FROM lockkeeper.parts AS p WHERE p.request = r.id) AS q
        WHERE r.deadline_us > moment_us
        ORDER BY r.ticket, r.id
    LOOP
        saw_waiting := true;
        CONTINUE WHEN NOT waiter.is_near;
        is_hopeless := false;
        IF NOT waiter.may_be_covered THEN
            FOR i IN 1 .. cardinality(closed) LOOP
                is_hopeless := is_hopeless
                    OR (closers[i] <> waiter.owner
                        AND lockkeeper.contains(closed[i], waiter.paths[1]));
            END LOOP;
        END IF;
        FOR i IN 1 .. cardinality(short_paths) LOOP
            is_hopeless := is_hopeless
                OR (short_paths[i] = waiter.paths[1] AND waiter.limits[1] > 0
                    AND waiter.limits[1] <= short_limits[i]);
        END LOOP;
        CONTINUE WHEN is_hopeless;
        IF NOT waiter.roots <@ turn.roots THEN
            turn := lockkeeper.widen_turn(turn, waiter.roots);
            IF NOT waiter.roots <@ turn.roots THEN
                PERFORM lockkeeper.wake(waiter.id); -- other roots are busy: its client asks again
                CONTINUE;
            END IF;
        END IF;
        SELECT j.verdict INTO verdict
        FROM lockkeeper.judge(waiter.owner, waiter.id, waiter.ticket, false, waiter.paths,
                              waiter.limits, waiter.counts, moment_us) AS j;
        IF verdict = 'limit' AND cardinality(waiter.paths) = 1 THEN
            short_paths := short_paths || waiter.paths[1];
            short_limits := short_limits || waiter.limits[1];
        END IF;
        FOR i IN 1 .. cardinality(waiter.paths) LOOP
            IF waiter.counts[i] = 0 THEN
                closed := closed || waiter.paths[i];
                closers := closers || waiter.owner;
            END IF;
        END LOOP;
        IF verdict = 'grant' THEN
            PERFORM lockkeeper.grant_waiting(waiter.id, moment_us);
            IF EXISTS (SELECT FROM lockkeeper.requests AS r
                       WHERE r.owner = waiter.owner AND NOT r.held) THEN
                granted_owner := waiter.owner;
                RETURN;
            END IF;
        END IF;
    END LOOP;
END $$;

-- Grants what can be granted near `touched` after something there has ended or become weaker, and
-- of the requests of `owner` (NULL: none), which may be covered now (R8).
CREATE OR REPLACE FUNCTION lockkeeper.settle(
    INOUT turn lockkeeper.turn, touched text[], owner text, moment_us bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    owners text[] := CASE WHEN owner IS NULL THEN '{}'::text[] ELSE ARRAY[owner] END;
    granted_owner text;
    saw_waiting boolean;
BEGIN
    PERFORM lockkeeper.wake_workers(turn);
    WHILE turn.has_waiting LOOP
        SELECT (s.turn).*, s.granted_owner, s.saw_waiting
        INTO turn.roots, turn.now_us, turn.is_due, turn.has_waiting, turn.is_awaited,
             turn.is_bounded, turn.planned_us, granted_owner, saw_waiting
        FROM lockkeeper.settle_once(turn, touched, owners, moment_us) AS s;
        IF NOT saw_waiting THEN
            UPDATE lockkeeper.roots AS r SET has_waiting = false
            WHERE r.root = ANY (turn.roots) AND r.has_waiting
              AND NOT EXISTS (SELECT FROM lockkeeper.requests AS q
                              WHERE NOT q.held AND (q.root = r.root OR r.root = ANY (q.roots)));
            turn.has_waiting := false;
        END IF;
        EXIT WHEN granted_owner IS NULL;
        owners := owners || granted_owner;
    END LOOP;
END $$;

-- Removes a request. `is_told`: notifies the client that is blocked on it.
CREATE OR REPLACE FUNCTION lockkeeper.remove_request(gone lockkeeper.requests, is_told boolean)
RETURNS text[] -- its paths
LANGUAGE plpgsql AS $$
DECLARE
    paths text[];
BEGIN
    WITH parts AS (DELETE FROM lockkeeper.parts AS p WHERE p.request = gone.id
                   RETURNING p.position, p.path),
         request AS (DELETE FROM lockkeeper.requests AS r WHERE r.id = gone.id)
    SELECT array_agg(parts.path ORDER BY parts.position) INTO paths FROM parts;
    IF is_told AND NOT gone.held AND gone.attended THEN
        PERFORM lockkeeper.wake(gone.id);
    END IF;
    RETURN paths;
END $$;

-- R16: the claim of an item has perished: it is ready again, or parked after too many attempts.
CREATE OR REPLACE FUNCTION lockkeeper.lose_item(lost lockkeeper.requests) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    item lockkeeper.items;
    path text;
BEGIN
    SELECT p.path INTO path FROM lockkeeper.parts AS p WHERE p.request = lost.id AND p.position = 1;
    UPDATE lockkeeper.items AS i
    SET was_lost = true, claim = 0, ask_number = 0, due_us = 0,
        state = CASE WHEN i.max_attempts > 0 AND i.attempts >= i.max_attempts
                     THEN 'parked' ELSE 'ready' END
    WHERE i.queue = regexp_replace(path, '/[^/]*$', '') AND i.id = substring(path FROM '[^/]*$')
      AND i.claim = lost.id
    RETURNING i.* INTO item;
    IF item.state = 'parked' THEN
        PERFORM lockkeeper.tell_request('parked', lost.id, item.attempts);
        UPDATE lockkeeper.queue_counts AS q SET parked = q.parked + 1 WHERE q.path = item.queue;
    END IF;
END $$;

-- Ends a request that was not released: its holder's work may be half done (R15, R16). `event`:
-- perished or broken.
CREATE OR REPLACE FUNCTION lockkeeper.lose_request(lost lockkeeper.requests, event text)
RETURNS text[]
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lockkeeper.tell_request(event, lost.id);
    IF lost.held AND lost.wants_value THEN
        UPDATE lockkeeper."values" AS v SET in_doubt = true
        FROM lockkeeper.parts AS p
        WHERE p.request = lost.id AND p.position = 1 AND p.units = 0 AND v.path = p.path
          AND NOT v.in_doubt;
    END IF;
    IF lost.is_claim THEN
        PERFORM lockkeeper.lose_item(lost);
    END IF;
    RETURN lockkeeper.remove_request(lost, true);
END $$;

-- R11: overdue deadlines take effect, in their order, each with the grants that follow at that
-- moment. If no request waits, only a few do, because dead requests block nothing. A request with a
-- root that cannot be locked at once is left to a later call.
CREATE OR REPLACE FUNCTION lockkeeper.perish(INOUT turn lockkeeper.turn, few integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    lost lockkeeper.requests;
    paths text[];
    kept bigint[] := '{}';
    has_more boolean := true;
BEGIN
    FOR i IN 1 .. CASE WHEN turn.has_waiting THEN 256 ELSE few END LOOP
        SELECT d.* INTO lost FROM (
            SELECT e.* FROM unnest(turn.roots) AS t (root) CROSS JOIN LATERAL (
                SELECT r.* FROM lockkeeper.requests AS r
                WHERE r.root = t.root AND r.deadline_us <= turn.now_us AND r.id <> ALL (kept)
                ORDER BY r.deadline_us, r.ticket LIMIT 1) AS e
            UNION ALL
            (SELECT r.* FROM lockkeeper.requests AS r
             WHERE cardinality(r.roots) > 1 AND r.roots && turn.roots
               AND r.deadline_us <= turn.now_us AND r.id <> ALL (kept)
             ORDER BY r.deadline_us, r.ticket LIMIT 1)) AS d
        ORDER BY d.deadline_us, d.ticket LIMIT 1;
        IF NOT FOUND THEN
            has_more := false;
            EXIT;
        END IF;
        IF NOT lost.roots <@ turn.roots THEN
            turn := lockkeeper.widen_turn(turn, lost.roots);
            IF NOT lost.roots <@ turn.roots THEN
                kept := kept || lost.id;
            END IF;
            CONTINUE; -- the other roots may have an earlier deadline
        END IF;
        paths := lockkeeper.lose_request(lost, 'perished');
        turn := lockkeeper.settle(turn, paths, NULL, lost.deadline_us);
    END LOOP;
    IF NOT has_more AND kept = '{}' THEN
        UPDATE lockkeeper.roots AS r
        SET due_us = least(
            (SELECT min(q.deadline_us) FROM lockkeeper.requests AS q WHERE q.root = r.root),
            (SELECT min(q.deadline_us) FROM lockkeeper.requests AS q
             WHERE cardinality(q.roots) > 1 AND r.root = ANY (q.roots)),
            turn.planned_us)
        WHERE r.root = ANY (turn.roots);
        turn.is_due := false;
    END IF;
END $$;
