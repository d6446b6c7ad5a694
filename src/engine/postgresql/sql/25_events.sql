-- SPDX-License-Identifier: Apache-2.0
-- Events (R21): written in the transaction of the change, and only while a client watches or the
-- bounds keep some. Each costs a row, and its number is the next one of the store. Other
-- transactions that write events wait until this one has committed, so the numbers are in the order
-- of the commits, without gaps.

-- Wakes the sessions that LISTEN. What a stopped session has not read stays in the server's queue
-- of notifications, and when that is full each NOTIFY fails, with its transaction. So no session is
-- notified while the queue is half full: waiters also poll, once a second.
CREATE OR REPLACE FUNCTION lockkeeper.notify(payload text) RETURNS void
LANGUAGE sql AS
$$ SELECT pg_notify('lockkeeper', payload) WHERE pg_notification_queue_usage() < 0.5 $$;

-- The channel of the waiters of this owner, one of 32: most sessions that wait for other owners are
-- not sent what does not concern them. By the last character, in which names that a program numbers
-- differ; in UTF-8 its last byte gives the same number (listener.c).
CREATE OR REPLACE FUNCTION lockkeeper.channel_of(owner text) RETURNS text
LANGUAGE sql IMMUTABLE AS
$$ SELECT 'lockkeeper.' || ascii(right(owner, 1)) % 32 $$;

-- Notifies the client that is blocked on this request.
CREATE OR REPLACE FUNCTION lockkeeper.wake(request bigint, owner text) RETURNS void
LANGUAGE sql AS
$$ SELECT pg_notify(lockkeeper.channel_of(owner), request::text)
   WHERE pg_notification_queue_usage() < 0.5 $$;

-- A part as R2 writes it.
CREATE OR REPLACE FUNCTION lockkeeper.part_text(path text, unit_limit integer, units integer)
RETURNS text
LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN units = 0 THEN path
               WHEN unit_limit = 0 THEN path || '?shared'
               ELSE path || '?limit=' || unit_limit || '&units=' || units END $$;

CREATE OR REPLACE FUNCTION lockkeeper.tell(
    event text, parts text, owner text, note text, ticket bigint, token bigint,
    attempt integer DEFAULT 0, is_of_item boolean DEFAULT false, refusal text DEFAULT '',
    is_deletion boolean DEFAULT false, by text DEFAULT '', why text DEFAULT '') RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    kept_max bigint;
    number bigint;
BEGIN
    UPDATE lockkeeper.meta AS m SET last_event = m.last_event + 1
    WHERE m.events_max > 0 OR m.watched_until_us > lockkeeper.now_us()
    RETURNING m.last_event, CASE WHEN m.events_max > 0 THEN m.events_max ELSE @LK_WATCHED_EVENTS_MAX@ END
    INTO number, kept_max;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF NOT lockkeeper.are_parts(parts) THEN -- of a refused ask: nothing else has checked them
        RAISE EXCEPTION USING ERRCODE = 'LK0@LK_EXIT_INVALID@', MESSAGE = 'R1: these are no paths: ' || parts;
    END IF;
    INSERT INTO lockkeeper.events AS e
    VALUES (number, lockkeeper.now_us(), event, refusal, parts, owner, note, ticket, token, attempt,
        is_of_item, is_deletion, by, why);
    DELETE FROM lockkeeper.events AS e -- two for one, so that their number falls
    WHERE e.sequence IN (SELECT o.sequence FROM lockkeeper.events AS o
                         WHERE o.sequence <= number - kept_max ORDER BY o.sequence LIMIT 2);
    PERFORM lockkeeper.notify('!');
END $$;

-- An event of a request in its present state. `by` and `why`: of a break (R12).
CREATE OR REPLACE FUNCTION lockkeeper.tell_request(
    event text, self bigint, attempt integer DEFAULT 0, by text DEFAULT '', why text DEFAULT '')
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF EXISTS (SELECT FROM lockkeeper.meta AS m
               WHERE m.events_max > 0 OR m.watched_until_us > lockkeeper.now_us()) THEN
        PERFORM lockkeeper.tell(event, (
                SELECT string_agg(lockkeeper.part_text(p.path, p.unit_limit, p.units), ' '
                                  ORDER BY p.position)
                FROM lockkeeper.parts AS p WHERE p.request = self),
            r.owner, r.note, r.ticket, r.token, attempt, r.is_claim, by => by, why => why)
        FROM lockkeeper.requests AS r WHERE r.id = self;
    END IF;
END $$;

-- R21: only BUSY, DEADLOCK and FULL are events.
CREATE OR REPLACE FUNCTION lockkeeper.tell_refusal(
    outcome text, paths text[], limits integer[], counts integer[], owner text, note text)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF outcome IN ('busy', 'deadlock', 'full') THEN
        PERFORM lockkeeper.tell('refused', (
                SELECT string_agg(lockkeeper.part_text(a.path, a.unit_limit, a.units), ' '
                                  ORDER BY a.n)
                FROM unnest(paths, limits, counts) WITH ORDINALITY
                    AS a (path, unit_limit, units, n)),
            owner, note, 0, 0, 0, false, outcome);
    END IF;
END $$;

-- Marks the store as watched for another half minute; overdue deadlines take effect.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_watch()
LANGUAGE plpgsql AS $$
DECLARE
    now_us bigint := lockkeeper.now_us();
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    IF EXISTS (SELECT FROM lockkeeper.meta AS m
               WHERE m.watched_until_us < now_us + @LK_WATCHED_LEAST_US@) THEN
        -- If events were not kept until now, some may be missing: skips a number.
        UPDATE lockkeeper.meta AS m
        SET watched_until_us = now_us + @LK_WATCHED_US@,
            last_event = m.last_event
                + (m.events_max = 0 AND m.watched_until_us <= now_us)::integer;
        COMMIT;
    END IF;
    CALL lockkeeper.lk_tick(NULL);
END $$;

-- Up to `most` events after `after`; one row without an event if there is none.
CREATE OR REPLACE FUNCTION lockkeeper.lk_events_after(after bigint, most bigint)
RETURNS TABLE (now_us bigint, last_event bigint, sequence bigint, at_us bigint, event text,
    refusal text, parts text, owner text, note text, ticket bigint, token bigint,
    attempt integer, is_of_item boolean, is_deletion boolean, broken_by text, reason text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
SELECT lockkeeper.now_us(), m.last_event, e.*
FROM lockkeeper.meta AS m
LEFT JOIN LATERAL (SELECT x.* FROM lockkeeper.events AS x WHERE x.sequence > after
                   ORDER BY x.sequence LIMIT most) AS e ON true
ORDER BY e.sequence $$;

-- For waiting clients: the last event, and the microseconds until something is due.
CREATE OR REPLACE FUNCTION lockkeeper.lk_events_due()
RETURNS TABLE (last_event bigint, due_in_us bigint)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
SELECT m.last_event, nullif((SELECT r.due_us FROM lockkeeper.roots AS r
                             ORDER BY r.due_us LIMIT 1), @LK_NEVER@)
                     - lockkeeper.now_us()
FROM lockkeeper.meta AS m $$;

-- ---- bounds (R22) ----

CREATE OR REPLACE FUNCTION lockkeeper.lk_limits()
RETURNS TABLE (live bigint, live_per_owner bigint, live_per_root bigint, waiters_per_path bigint,
    events bigint)
LANGUAGE sql STABLE AS $$
SELECT m.live_max, m.live_per_owner_max, m.live_per_root_max, m.waiters_per_path_max, m.events_max
FROM lockkeeper.meta AS m $$;

-- NULL leaves a bound as it is.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_set_limits(
    live bigint, live_per_owner bigint, live_per_root bigint, waiters_per_path bigint,
    events bigint)
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
UPDATE lockkeeper.meta AS m
SET live_max = coalesce(live, m.live_max),
    live_per_owner_max = coalesce(live_per_owner, m.live_per_owner_max),
    live_per_root_max = coalesce(live_per_root, m.live_per_root_max),
    waiters_per_path_max = coalesce(waiters_per_path, m.waiters_per_path_max),
    events_max = coalesce(events, m.events_max),
    last_event = m.last_event + (coalesce(events, 0) > 0 AND m.events_max = 0
                                 AND m.watched_until_us <= lockkeeper.now_us())::integer $$;
