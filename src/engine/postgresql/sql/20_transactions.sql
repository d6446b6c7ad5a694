-- SPDX-License-Identifier: Apache-2.0
-- A decision, from locking its roots to its answer.
--
-- Each root has an advisory lock, which ends with the transaction. Every decision first takes the
-- locks of its roots, in byte order, and then reads: at READ COMMITTED each later statement sees
-- everything that earlier decisions about these roots have committed. Decisions that cannot
-- conflict share the lock (85_short, 86_short_work); all others take it exclusively.

-- Microseconds of Unix time, now. It has no search_path of its own, which would keep it from being
-- inlined, and is called before one is set.
CREATE OR REPLACE FUNCTION lockkeeper.now_us() RETURNS bigint
LANGUAGE sql VOLATILE AS
$$ SELECT (extract(epoch FROM pg_catalog.clock_timestamp())
           OPERATOR(pg_catalog.*) 1000000)::bigint $$;

-- A path and all paths that contain it (R5).
CREATE OR REPLACE FUNCTION lockkeeper.path_and_above(path text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    paths text[] := ARRAY[path];
    shorter text := path;
BEGIN
    WHILE position('/' IN shorter) > 0 LOOP
        shorter := regexp_replace(shorter, '/[^/]*$', '');
        paths := paths || shorter;
    END LOOP;
    RETURN paths;
END $$;

-- R5. Paths are compared byte by byte; '0' is the byte after '/'.
CREATE OR REPLACE FUNCTION lockkeeper.contains(upper_path text, path text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS
$$ SELECT upper_path = path OR starts_with(path, upper_path || '/') $$;

-- Parts at paths related to this one (R5); `above` is path_and_above(the_path). Two halves instead
-- of an OR, so that both are index scans: these remember which rows are dead, bitmap scans do not.
CREATE OR REPLACE FUNCTION lockkeeper.parts_near(the_path text, above text[])
RETURNS SETOF lockkeeper.parts
LANGUAGE sql STABLE AS $$
SELECT p.* FROM lockkeeper.parts AS p WHERE p.path = ANY (above)
UNION ALL
SELECT p.* FROM lockkeeper.parts AS p
WHERE p.path > the_path || '/' AND p.path < the_path || '0' $$;

-- The same, with their requests. OFFSET 0 makes the planner look up each by its number; if it took
-- the tables for empty, it would otherwise scan all requests.
CREATE OR REPLACE FUNCTION lockkeeper.requests_near(the_path text, above text[])
RETURNS TABLE (request bigint, "position" integer, path text, unit_limit integer, units integer,
    owner text, held boolean, ticket bigint, deadline_us bigint)
LANGUAGE sql STABLE AS $$
SELECT p.request, p.position, p.path, p.unit_limit, p.units, r.owner, r.held, r.ticket,
       r.deadline_us
FROM lockkeeper.parts_near(the_path, above) AS p
CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                    WHERE x.id = p.request OFFSET 0) AS r $$;

-- R11: whether restart() has been called since the server started or recovered from a crash. A
-- standby has no unlogged tables; there, a decision fails like every statement that writes.
CREATE OR REPLACE FUNCTION lockkeeper.is_awake() RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE read_only_sql_transaction USING MESSAGE = 'the server is a standby';
    END IF;
    PERFORM FROM lockkeeper.awake AS w WHERE w.server_start = pg_postmaster_start_time();
    RETURN FOUND;
END $$;

-- R4: a number greater than all drawn before, for a ticket or a token. The sequence gives each
-- number once and never an earlier one, even when transactions roll back. A number is valid only if
-- it is at the clock, give or take ten milliseconds: a sequence that is behind it may be that of a
-- standby or a backup, whose numbers may have been drawn before. NULL: catch_up().
CREATE OR REPLACE FUNCTION lockkeeper.draw() RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    drawn bigint := nextval('lockkeeper.draws');
BEGIN
    IF drawn < lockkeeper.now_us() - 10000 THEN
        RETURN lockkeeper.catch_up();
    END IF;
    RETURN drawn;
END $$;

-- Moves the sequence on to the clock, and draws there. NULL: restart() has to be called first
-- (R11), because it needs the old position of the sequence. A short way then leaves the decision to
-- the long way, which begins with that.
--
-- One transaction at a time does this. The others wait until it has, all at once (they share the
-- lock), and draw again; only if the sequence has still not been moved do they take their turns.
-- Moving it back would give numbers twice. Concurrent draws do not take the lock, but it never moves
-- back: it is moved only while it is 10,000 numbers behind the clock. Until then, a draw at the old
-- position is useless to its transaction, which calls this and waits: two numbers for each
-- connection, far less than 10,000, however long this process is stopped here. If more have been
-- drawn all the same, last_value shows it, and the clock is read again.
--
-- The lock is released here and not with the transaction, which may wait for rows, or for its
-- commit to reach a standby. Rolling back to the beginning of the block does that, also on errors,
-- and does not affect the sequence. So waiting here can be no part of a deadlock.
CREATE OR REPLACE FUNCTION lockkeeper.catch_up() RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    drawn bigint;
    moment_us bigint;
BEGIN
    IF NOT lockkeeper.is_awake() THEN
        RETURN NULL;
    END IF;
    FOR attempt IN 1 .. 2 LOOP
        BEGIN
            IF attempt = 1
               AND NOT pg_try_advisory_xact_lock(hashtextextended('lockkeeper', 0)) THEN
                PERFORM pg_advisory_xact_lock_shared(hashtextextended('lockkeeper', 0));
                drawn := nextval('lockkeeper.draws');
                moment_us := lockkeeper.now_us();
            ELSE
                PERFORM pg_advisory_xact_lock(hashtextextended('lockkeeper', 0));
                LOOP
                    drawn := nextval('lockkeeper.draws');
                    moment_us := lockkeeper.now_us();
                    EXIT WHEN drawn >= moment_us - 10000;
                    SELECT setval('lockkeeper.draws', moment_us) INTO drawn
                    FROM lockkeeper.draws AS s WHERE s.last_value < moment_us;
                    EXIT WHEN FOUND;
                END LOOP;
            END IF;
            RAISE SQLSTATE 'LK005';
        EXCEPTION WHEN SQLSTATE 'LK005' THEN
            EXIT WHEN drawn >= moment_us - 10000;
        END;
    END LOOP;
    RETURN drawn;
END $$;

-- The state of a decision. `roots`: those that it has locked.
DO $do$ BEGIN
    CREATE TYPE lockkeeper.decision AS (
        roots       text[],
        now_us      bigint,
        is_due      boolean, -- a deadline may have passed
        has_waiting boolean, -- a request may wait
        is_awaited  boolean, -- a worker may be waiting
        is_bounded  boolean, -- R22: there are bounds
        planned_us  bigint   -- a deadline that this decision may set
    );
EXCEPTION WHEN duplicate_object THEN NULL;
END $do$;

-- Locks roots, given in byte order. `the_due_us` is a deadline that this decision may set there.
CREATE OR REPLACE FUNCTION lockkeeper.begin_decision(the_roots text[], the_due_us bigint)
RETURNS lockkeeper.decision
LANGUAGE plpgsql AS $$
DECLARE
    decision lockkeeper.decision;
    the_root text;
    found_due_us bigint := @LK_NEVER@;
    found_awaited_us bigint := 0;
    known record;
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION USING ERRCODE = 'LK0@LK_EXIT_UNSUPPORTED@', -- it does not see what others have just done
            MESSAGE = format('a lock is decided at READ COMMITTED, and this transaction is %s',
                             upper(current_setting('transaction_isolation'))),
            HINT = 'ROLLBACK; BEGIN ISOLATION LEVEL READ COMMITTED, or use another connection.';
    END IF;
    decision.has_waiting := false;
    FOREACH the_root IN ARRAY the_roots LOOP
        PERFORM pg_advisory_xact_lock(hashtextextended('lockkeeper/' || the_root, 0));
        LOOP
            SELECT r.due_us, r.has_waiting, r.awaited_us, m.is_bounded INTO known
            FROM lockkeeper.roots AS r CROSS JOIN lockkeeper.meta AS m WHERE r.root = the_root;
            EXIT WHEN FOUND;
            INSERT INTO lockkeeper.roots (root, due_us) VALUES (the_root, @LK_NEVER@);
        END LOOP;
        IF known.due_us > the_due_us THEN
            UPDATE lockkeeper.roots AS r SET due_us = the_due_us WHERE r.root = the_root;
        END IF;
        decision.has_waiting := decision.has_waiting OR known.has_waiting;
        found_due_us := least(found_due_us, known.due_us);
        found_awaited_us := greatest(found_awaited_us, known.awaited_us);
    END LOOP;
    IF NOT lockkeeper.is_awake() THEN
        PERFORM lockkeeper.restart();
    END IF;
    decision.roots := the_roots;
    decision.now_us := lockkeeper.now_us();
    decision.is_due := found_due_us <= decision.now_us;
    decision.is_awaited := found_awaited_us > decision.now_us;
    decision.is_bounded := known.is_bounded;
    decision.planned_us := the_due_us;
    RETURN decision;
END $$;

-- Locks more roots, out of order, so without waiting: two decisions that wait might wait for each
-- other. A root that cannot be locked at once stays out of decision.roots.
CREATE OR REPLACE FUNCTION lockkeeper.lock_more_roots(INOUT decision lockkeeper.decision, wanted text[])
LANGUAGE plpgsql AS $$
DECLARE
    the_root text;
    known record;
BEGIN
    FOREACH the_root IN ARRAY wanted LOOP
        CONTINUE WHEN the_root = ANY (decision.roots);
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(
            hashtextextended('lockkeeper/' || the_root, 0));
        INSERT INTO lockkeeper.roots (root, due_us) VALUES (the_root, @LK_NEVER@)
        ON CONFLICT (root) DO NOTHING;
        SELECT r.has_waiting, r.awaited_us INTO known
        FROM lockkeeper.roots AS r WHERE r.root = the_root;
        decision.roots := decision.roots || the_root;
        decision.has_waiting := decision.has_waiting OR known.has_waiting;
        decision.is_awaited := decision.is_awaited OR known.awaited_us > decision.now_us;
    END LOOP;
END $$;

-- R11: the server has been down. Requests that lived when it went down live on for a while, once: a
-- deadline that a former restart has set, and no renewal has moved, stays, so that repeated crashes
-- do not keep dead requests alive. A request lived if its deadline is later than the last sign of
-- life that the store has kept. `until` ends when it says.
CREATE OR REPLACE FUNCTION lockkeeper.restart() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    start_us bigint := lockkeeper.now_us();
    alive_us bigint;
BEGIN
    INSERT INTO lockkeeper.awake (server_start) VALUES (pg_postmaster_start_time())
    ON CONFLICT (server_start) DO NOTHING;
    IF NOT FOUND THEN
        RETURN; -- another transaction was first
    END IF;
    DELETE FROM lockkeeper.awake AS w WHERE w.server_start <> pg_postmaster_start_time();
    SELECT greatest(
        (SELECT s.last_value FROM lockkeeper.draws AS s
         WHERE s.last_value <= start_us), -- one ahead of the clock is no time
        (SELECT max(q.deadline_us - q.ttl_ms * 1000) FROM lockkeeper.requests AS q
         WHERE NOT q.fixed)) INTO alive_us;
    UPDATE lockkeeper.requests AS q
    SET deadline_us = start_us + least(q.ttl_ms, @LK_GRACE_MAX_MS@) * 1000,
        grace_us = start_us + least(q.ttl_ms, @LK_GRACE_MAX_MS@) * 1000
    WHERE NOT q.fixed AND q.deadline_us > alive_us AND q.deadline_us <> q.grace_us
      AND q.deadline_us < start_us + least(q.ttl_ms, @LK_GRACE_MAX_MS@) * 1000;
END $$;
