-- SPDX-License-Identifier: Apache-2.0
-- Grants waiting requests after something has ended or become weaker, in the order of their
-- tickets, until none can be granted (R7, R8). Ends requests, with the consequences of a death
-- (R11).

-- Notifies the workers that may be waiting below these roots, or for items that need what is there.
CREATE OR REPLACE FUNCTION lockkeeper.wake_workers(decision lockkeeper.decision) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF decision.is_awaited THEN
        PERFORM lockkeeper.notify('/' || t.root)
        FROM (SELECT DISTINCT unnest(r.root || r.awaited_by) AS root FROM lockkeeper.roots AS r
              WHERE r.root = ANY (decision.roots) AND r.awaited_us > decision.now_us) AS t;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.grant_waiting(waiting bigint, moment_us bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    granted record;
BEGIN
    UPDATE lockkeeper.requests AS r
    SET held = true, token = lockkeeper.draw(),
        deadline_us = CASE WHEN r.attended AND NOT r.fixed -- R10
                           THEN greatest(moment_us + r.ttl_ms * 1000, r.deadline_us)
                           ELSE r.deadline_us END
    WHERE r.id = waiting
    RETURNING r.attended, r.owner INTO granted;
    UPDATE lockkeeper.parts AS p SET held = true WHERE p.request = waiting;
    PERFORM lockkeeper.tell_request('granted', waiting);
    IF granted.attended THEN
        PERFORM lockkeeper.wake(waiting, granted.owner);
    END IF;
END $$;

-- Whether a request waits below these roots at that moment.
CREATE OR REPLACE FUNCTION lockkeeper.does_one_wait(the_roots text[], moment_us bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM unnest(the_roots) AS t (root)
                   CROSS JOIN LATERAL (
                       SELECT FROM lockkeeper.requests AS w
                       WHERE w.root = t.root AND NOT w.held AND w.deadline_us - moment_us > 0
                       ORDER BY w.ticket LIMIT 1) AS one)
        OR EXISTS (SELECT FROM (SELECT x.* FROM lockkeeper.requests AS x
                                WHERE cardinality(x.roots) > 1 AND x.deadline_us > moment_us
                                ORDER BY x.deadline_us OFFSET 0) AS w
                   WHERE w.roots && the_roots AND NOT w.held);
END $$;

-- The lines that a pass goes along: of each released path, the line at that path and
-- those at the paths that contain it. Arrays of one length, an element for each line.
DO $do$ BEGIN
    CREATE TYPE lockkeeper.lines AS (
        paths     text[],
        released  integer[], -- the index of the released path
        short     integer[], -- no request with this limit or a smaller one finds room (R7c)
        units_min integer[], -- 0: all that wait; 1: only shared; @LK_LIMIT_MAX@: the line is closed
        owners    text[]     -- all that these wait for is looked at, too
    );
EXCEPTION WHEN duplicate_object THEN NULL;
END $do$;

-- What an exclusive lease at or above a released path leaves nothing for, except for its owner (R8),
-- is closed from the beginning.
CREATE OR REPLACE FUNCTION lockkeeper.open_lines(
    released text[], the_owners text[], moment_us bigint) RETURNS lockkeeper.lines
LANGUAGE plpgsql AS $$
DECLARE
    lines lockkeeper.lines := ('{}', '{}', '{}', '{}', the_owners);
    above text[];
    holder text;
BEGIN
    FOR i IN 1 .. cardinality(released) LOOP
        above := lockkeeper.path_and_above(released[i]);
        SELECT r.owner INTO holder FROM lockkeeper.parts AS p
        CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                            WHERE x.id = p.request OFFSET 0) AS r
        WHERE p.path = ANY (above) AND p.held AND p.units <= 0 AND r.deadline_us > moment_us
        LIMIT 1;
        IF FOUND THEN
            lines.owners := lines.owners || holder;
            CONTINUE;
        END IF;
        lines.paths := lines.paths || above;
        lines.released := lines.released || array_fill(i, ARRAY[cardinality(above)]);
        lines.short := lines.short || array_fill(0, ARRAY[cardinality(above)]);
        lines.units_min := lines.units_min || array_fill(0, ARRAY[cardinality(above)]);
    END LOOP;
    RETURN lines;
END $$;

-- The next request, in the order of their tickets, in these lines or of these owners.
CREATE OR REPLACE FUNCTION lockkeeper.next_in_lines(
    lines lockkeeper.lines, roots text[], after bigint, OUT request bigint, OUT ticket bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    SELECT n.request, n.ticket INTO next_in_lines.request, next_in_lines.ticket FROM (
        SELECT p.request, p.ticket
        FROM unnest(lines.paths, lines.short, lines.units_min) AS l (path, short, units_min)
        CROSS JOIN LATERAL (
            (SELECT w.request, w.ticket FROM lockkeeper.parts AS w
             WHERE w.path = l.path AND NOT w.held AND w.ticket > after AND w.units >= l.units_min
               AND w.unit_limit = 0
             ORDER BY w.ticket LIMIT 1)
            UNION ALL
            (SELECT w.request, w.ticket FROM lockkeeper.parts AS w
             WHERE w.path = l.path AND NOT w.held AND w.ticket > after AND w.units >= l.units_min
               AND w.unit_limit > l.short
             ORDER BY w.ticket LIMIT 1)) AS p
        UNION ALL
        SELECT w.id, w.ticket
        FROM unnest(lines.owners) AS o (owner)
        CROSS JOIN LATERAL (
            SELECT r.id, r.ticket, r.roots FROM lockkeeper.requests AS r
            WHERE r.owner >= o.owner AND r.owner <= o.owner AND NOT r.held
            ORDER BY r.owner OFFSET 0) AS w
        WHERE w.ticket > after AND w.roots && next_in_lines.roots
    ) AS n
    ORDER BY n.ticket LIMIT 1;
END $$;

-- What a request that has been checked closes for those behind it, granted or waiting: an exclusive
-- one at or above a released path, all there; a shared one, the exclusive ones; one without room for
-- its limit, those with the same or a smaller limit at its path. Those of its own owner are not
-- behind it: they are looked at separately. What an owner's lease covers (R8) was granted before,
-- unless it waited for room in a limit below an exclusive lease of its own: see open_lines().
CREATE OR REPLACE FUNCTION lockkeeper.close_lines(
    INOUT lines lockkeeper.lines, released text[], owner text, verdict text,
    the_paths text[], limits integer[], counts integer[])
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    FOR i IN 1 .. cardinality(lines.paths) LOOP
        IF verdict = 'limit' AND cardinality(the_paths) = 1 AND lines.paths[i] = the_paths[1] THEN
            lines.short[i] := greatest(lines.short[i], limits[1]);
        END IF;
        FOR k IN 1 .. cardinality(the_paths) LOOP
            IF lockkeeper.contains(the_paths[k], released[lines.released[i]])
               AND lines.units_min[i] < (CASE WHEN counts[k] = 0 THEN 2 ELSE 1 END) THEN
                lines.units_min[i] := CASE WHEN counts[k] = 0 THEN @LK_LIMIT_MAX@ ELSE 1 END;
                IF NOT owner = ANY (lines.owners) THEN
                    lines.owners := lines.owners || owner;
                END IF;
            END IF;
        END LOOP;
    END LOOP;
END $$;

-- One pass over the requests that wait near `released`, or belong to one of `owners`: those in the
-- lines at and above, one by one until the lines are closed, and those below, of which all are read.
-- After a grant its owner may be covered: its other requests are checked from the beginning.
CREATE OR REPLACE FUNCTION lockkeeper.grant_pass(
    INOUT decision lockkeeper.decision, released text[], owners text[], moment_us bigint,
    OUT granted_owner text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    lines lockkeeper.lines := lockkeeper.open_lines(released, owners, moment_us);
    below record; -- arrays, in the order of the tickets
    at integer := 1;
    next record;
    waiter record;
    after bigint := 0;
    verdict text;
BEGIN
    SELECT coalesce(array_agg(b.request ORDER BY b.ticket, b.request), '{}') AS requests,
           array_agg(b.ticket ORDER BY b.ticket, b.request) AS tickets,
           array_agg(b.units ORDER BY b.ticket, b.request) AS units,
           array_agg(b.line ORDER BY b.ticket, b.request) AS lines
    INTO below
    FROM (SELECT min(l.line) AS line, released[l.place] AS path
          FROM unnest(lines.released) WITH ORDINALITY AS l (place, line) GROUP BY l.place) AS t
    CROSS JOIN LATERAL (
        SELECT p.request, p.ticket, p.units, t.line::integer AS line FROM lockkeeper.parts AS p
        WHERE p.path > t.path || '/' AND p.path < t.path || '0' AND NOT p.held) AS b;
    LOOP
        SELECT n.request, n.ticket INTO next
        FROM lockkeeper.next_in_lines(lines, decision.roots, after) AS n;
        WHILE at <= cardinality(below.requests)
              AND (below.tickets[at] <= after
                   OR below.units[at] < lines.units_min[below.lines[at]]) LOOP
            at := at + 1;
        END LOOP;
        IF at <= cardinality(below.requests)
           AND (next.ticket IS NULL OR below.tickets[at] < next.ticket) THEN
            SELECT below.requests[at] AS request, below.tickets[at] AS ticket INTO next;
        END IF;
        EXIT WHEN next.ticket IS NULL;
        after := next.ticket;
        SELECT r.id, r.owner, r.ticket, r.roots, q.* INTO waiter
        FROM lockkeeper.requests AS r
        CROSS JOIN LATERAL (
            SELECT array_agg(p.path) AS paths, array_agg(p.unit_limit) AS limits,
                   array_agg(p.units) AS counts
            FROM lockkeeper.parts AS p WHERE p.request = r.id) AS q
        WHERE r.id = next.request AND r.deadline_us - moment_us > 0;
        CONTINUE WHEN NOT FOUND;
        IF NOT waiter.roots <@ decision.roots THEN
            decision := lockkeeper.lock_more_roots(decision, waiter.roots);
            IF NOT waiter.roots <@ decision.roots THEN
                -- other roots are busy: its client asks again
                PERFORM lockkeeper.wake(waiter.id, waiter.owner);
                CONTINUE;
            END IF;
        END IF;
        SELECT j.verdict INTO verdict
        FROM lockkeeper.check_grant(waiter.owner, waiter.id, waiter.ticket, false, waiter.paths,
                                    waiter.limits, waiter.counts, moment_us) AS j;
        IF verdict = 'grant' THEN
            PERFORM lockkeeper.grant_waiting(waiter.id, moment_us);
            IF EXISTS (SELECT FROM lockkeeper.requests AS r
                       WHERE r.owner = waiter.owner AND NOT r.held) THEN
                granted_owner := waiter.owner;
                RETURN;
            END IF;
        END IF;
        lines := lockkeeper.close_lines(lines, released, waiter.owner, verdict, waiter.paths,
                                        waiter.limits, waiter.counts);
    END LOOP;
END $$;

-- Grants what can be granted near `released` after something there has ended or become weaker, and
-- of the requests of `owner` (NULL: none), which may be covered now (R8).
CREATE OR REPLACE FUNCTION lockkeeper.grant_waiters(
    INOUT decision lockkeeper.decision, released text[], owner text, moment_us bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    owners text[] := CASE WHEN owner IS NULL THEN '{}'::text[] ELSE ARRAY[owner] END;
    granted_owner text;
BEGIN
    PERFORM lockkeeper.wake_workers(decision);
    IF decision.has_waiting AND NOT lockkeeper.does_one_wait(decision.roots, moment_us) THEN
        UPDATE lockkeeper.roots AS r SET has_waiting = false
        WHERE r.root = ANY (decision.roots) AND r.has_waiting
          AND (SELECT true FROM lockkeeper.requests AS q
               WHERE q.root = r.root AND NOT q.held ORDER BY q.ticket LIMIT 1) IS NULL
          AND NOT EXISTS (SELECT FROM (SELECT x.* FROM lockkeeper.requests AS x
                                       WHERE cardinality(x.roots) > 1
                                       ORDER BY x.deadline_us OFFSET 0) AS q
                          WHERE r.root = ANY (q.roots) AND NOT q.held);
        decision.has_waiting := false;
    END IF;
    WHILE decision.has_waiting LOOP
        SELECT (s.decision).*, s.granted_owner
        INTO decision.roots, decision.now_us, decision.is_due, decision.has_waiting, decision.is_awaited,
             decision.is_bounded, decision.planned_us, granted_owner
        FROM lockkeeper.grant_pass(decision, released, owners, moment_us) AS s;
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
        PERFORM lockkeeper.wake(gone.id, gone.owner);
    END IF;
    RETURN paths;
END $$;

-- R16: the claim of an item has perished: it is ready again, or parked after too many attempts. If it
-- was pushed again, it is what that push has made of it; if it was cancelled, it is gone.
CREATE OR REPLACE FUNCTION lockkeeper.lose_item(lost lockkeeper.requests) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    item lockkeeper.items;
    path text;
BEGIN
    SELECT p.path INTO path FROM lockkeeper.parts AS p WHERE p.request = lost.id AND p.position = 1;
    UPDATE lockkeeper.items AS i
    SET was_lost = true, claim = 0, ask_number = 0,
        due_us = least(lost.deadline_us, lockkeeper.now_us()),
        state = CASE WHEN i.max_attempts > 0 AND i.attempts >= i.max_attempts
                     THEN 'parked' ELSE 'ready' END,
        last_exit = CASE WHEN i.max_attempts > 0 AND i.attempts >= i.max_attempts
                         THEN NULL ELSE i.last_exit END,
        last_error = CASE WHEN i.max_attempts > 0 AND i.attempts >= i.max_attempts
                          THEN convert_to('@LK_TEXT_CLAIM_LOST@', 'UTF8')
                          ELSE i.last_error END
    WHERE i.queue = regexp_replace(path, '/[^/]*$', '') AND i.id = substring(path FROM '[^/]*$')
      AND i.claim = lost.id AND i.state = 'claimed'
    RETURNING i.* INTO item;
    IF NOT FOUND THEN
        SELECT i.* INTO item FROM lockkeeper.items AS i
        WHERE i.queue = regexp_replace(path, '/[^/]*$', '') AND i.id = substring(path FROM '[^/]*$')
          AND i.claim = lost.id;
        IF item.state = 'again' THEN
            PERFORM lockkeeper.begin_again(item, true, NULL, NULL, lockkeeper.now_us(),
                                           least(lost.deadline_us, lockkeeper.now_us()));
        ELSIF item.state = 'cancelled' THEN
            PERFORM lockkeeper.drop_claimed(item);
        END IF;
    ELSIF item.state = 'parked' THEN
        PERFORM lockkeeper.tell_request('parked', lost.id, item.attempts);
        UPDATE lockkeeper.queue_counts AS q SET parked = q.parked + 1 WHERE q.path = item.queue;
    END IF;
END $$;

-- Ends a request that was not released: its holder's work may be half done (R15, R16). `event`:
-- perished, or broken `by` an administrator who said `why`.
CREATE OR REPLACE FUNCTION lockkeeper.lose_request(
    lost lockkeeper.requests, event text, by text DEFAULT '', why text DEFAULT '')
RETURNS text[]
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lockkeeper.tell_request(event, lost.id, by => by, why => why);
    IF lost.held AND lost.wants_value THEN
        UPDATE lockkeeper."values" AS v SET in_doubt = true
        FROM lockkeeper.parts AS p
        WHERE p.request = lost.id AND p.units = 0 AND v.path = p.path AND NOT v.in_doubt;
    END IF;
    IF lost.is_claim THEN
        PERFORM lockkeeper.lose_item(lost);
    END IF;
    RETURN lockkeeper.remove_request(lost, true);
END $$;

-- R15: what is dead and has asked for the values of these paths perishes, before one of them is
-- read or written: it may have left them in doubt.
CREATE OR REPLACE FUNCTION lockkeeper.lose_writers(INOUT decision lockkeeper.decision, the_paths text[])
LANGUAGE plpgsql AS $$
DECLARE
    lost lockkeeper.requests;
    paths text[];
BEGIN
    FOR lost IN
        SELECT r.* FROM lockkeeper.requests AS r
        WHERE r.id = ANY (ARRAY(SELECT p.request FROM lockkeeper.parts AS p
                                WHERE p.path = ANY (the_paths)))
          AND r.wants_value AND r.deadline_us - decision.now_us <= 0 AND r.roots <@ decision.roots
        ORDER BY r.deadline_us
    LOOP
        paths := lockkeeper.lose_request(lost, 'perished');
        decision := lockkeeper.grant_waiters(decision, paths, NULL, lost.deadline_us);
    END LOOP;
END $$;

-- R11: overdue deadlines take effect, in their order, each with the grants that follow at that
-- moment. If no request waits, only a few do, because dead requests block nothing. A request with a
-- root that cannot be locked at once is left to a later call.
CREATE OR REPLACE FUNCTION lockkeeper.perish(INOUT decision lockkeeper.decision, few integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    lost lockkeeper.requests;
    paths text[];
    kept bigint[] := '{}';
    has_more boolean := true;
BEGIN
    FOR i IN 1 .. CASE WHEN decision.has_waiting THEN 256 ELSE few END LOOP
        SELECT d.* INTO lost FROM (
            SELECT e.* FROM unnest(decision.roots) AS t (root) CROSS JOIN LATERAL (
                SELECT r.* FROM lockkeeper.requests AS r
                WHERE r.root = t.root AND r.deadline_us <= decision.now_us AND r.id <> ALL (kept)
                ORDER BY r.deadline_us, r.ticket LIMIT 1) AS e
            UNION ALL
            (SELECT r.* FROM lockkeeper.requests AS r
             WHERE cardinality(r.roots) > 1 AND r.roots && decision.roots
               AND r.deadline_us <= decision.now_us AND r.id <> ALL (kept)
             ORDER BY r.deadline_us, r.ticket LIMIT 1)) AS d
        ORDER BY d.deadline_us, d.ticket LIMIT 1;
        IF NOT FOUND THEN
            has_more := false;
            EXIT;
        END IF;
        IF NOT lost.roots <@ decision.roots THEN
            decision := lockkeeper.lock_more_roots(decision, lost.roots);
            IF NOT lost.roots <@ decision.roots THEN
                kept := kept || lost.id;
            END IF;
            CONTINUE; -- the other roots may have an earlier deadline
        END IF;
        paths := lockkeeper.lose_request(lost, 'perished');
        decision := lockkeeper.grant_waiters(decision, paths, NULL, lost.deadline_us);
    END LOOP;
    IF NOT has_more AND kept = '{}' THEN
        UPDATE lockkeeper.roots AS r
        SET due_us = least(
            (SELECT min(q.deadline_us) FROM lockkeeper.requests AS q WHERE q.root = r.root),
            (SELECT min(q.deadline_us) FROM lockkeeper.requests AS q
             WHERE cardinality(q.roots) > 1 AND r.root = ANY (q.roots)),
            decision.planned_us)
        WHERE r.root = ANY (decision.roots);
        decision.is_due := false;
    END IF;
END $$;
