-- SPDX-License-Identifier: Apache-2.0
-- A turn: one decision, from locking its roots to its answer.
--
-- Each root has a lock of its own, an advisory one that ends with the transaction. Every decision
-- takes the locks of its roots first, in byte order, and then reads: at READ COMMITTED each
-- statement behind that sees all that earlier decisions about these roots have committed. What
-- cannot get in each other's way shares the lock (85_short, 86_short_work); everything else has it
-- alone.

-- Microseconds of Unix time, now.
CREATE OR REPLACE FUNCTION lockkeeper.now_us() RETURNS bigint
LANGUAGE sql VOLATILE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;

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

-- R5. Paths are compared byte by byte; '0' is the byte behind '/'.
CREATE OR REPLACE FUNCTION lockkeeper.contains(upper_path text, path text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS
$$ SELECT upper_path = path OR starts_with(path, upper_path || '/') $$;

-- Parts at paths related to this one (R5); `above` is path_and_above(the_path). In two halves and not
-- with OR, so that both are index scans: these remember which rows are dead, bitmap scans do not.
CREATE OR REPLACE FUNCTION lockkeeper.parts_near(the_path text, above text[])
RETURNS SETOF lockkeeper.parts
LANGUAGE sql STABLE AS $$
SELECT p.* FROM lockkeeper.parts AS p WHERE p.path = ANY (above)
UNION ALL
SELECT p.* FROM lockkeeper.parts AS p
WHERE p.path > the_path || '/' AND p.path < the_path || '0' $$;

-- The same, with what their requests are. OFFSET 0 has each looked up by its number: a planner that
-- takes the tables for empty would else go through all requests there are.
CREATE OR REPLACE FUNCTION lockkeeper.requests_near(the_path text, above text[])
RETURNS TABLE (request bigint, "position" integer, path text, unit_limit integer, units integer,
    owner text, held boolean, ticket bigint, deadline_us bigint)
LANGUAGE sql STABLE AS $$
SELECT p.request, p.position, p.path, p.unit_limit, p.units, r.owner, r.held, r.ticket,
       r.deadline_us
FROM lockkeeper.parts_near(the_path, above) AS p
CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                    WHERE x.id = p.request OFFSET 0) AS r $$;

-- R4: a number greater than all drawn before, for a ticket or a token. The sequence gives each
-- number once and never an earlier one, whoever rolls back, and catch_up() keeps it at the clock.
CREATE OR REPLACE FUNCTION lockkeeper.draw() RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    drawn bigint := nextval('lockkeeper.draws');
BEGIN
    IF drawn < lockkeeper.now_us() - 10000 THEN
        RETURN lockkeeper.catch_up(drawn);
    END IF;
    RETURN drawn;
END $$;

-- Moves the sequence on to the clock, and draws there. One at a time, and whoever finds somebody at
-- it goes on with what he has drawn: a little less than the clock does no harm, the same twice
-- would. It is ten milliseconds back at least, so that what others draw between a look at the clock
-- and the move, one each, stays behind it.
CREATE OR REPLACE FUNCTION lockkeeper.catch_up(drawn bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM lockkeeper.meta AS m -- R11: restart() wants to know where it stood
                   WHERE m.server_start = pg_postmaster_start_time())
       OR NOT pg_try_advisory_xact_lock(hashtextextended('lockkeeper', 0)) THEN
        RETURN drawn;
    END IF;
    drawn := nextval('lockkeeper.draws');
    IF drawn < lockkeeper.now_us() - 10000 THEN
        RETURN setval('lockkeeper.draws', lockkeeper.now_us());
    END IF;
    RETURN drawn;
END $$;

-- What a turn knows. `roots` are those it has locked.
DO $do$ BEGIN
    CREATE TYPE lockkeeper.turn AS (
        roots       text[],
        now_us      bigint,
        is_due      boolean, -- a deadline may have passed
        has_waiting boolean, -- somebody may wait
        is_awaited  boolean, -- somebody may be waiting for work
        is_bounded  boolean, -- R22: there are bounds
        planned_us  bigint   -- a deadline that this turn may set
    );
EXCEPTION WHEN duplicate_object THEN NULL;
END $do$;

-- Locks roots, given in byte order. `the_due_us` is a deadline that this turn may set there.
CREATE OR REPLACE FUNCTION lockkeeper.begin_turn(the_roots text[], the_due_us bigint)
RETURNS lockkeeper.turn
LANGUAGE plpgsql AS $$
DECLARE
    turn lockkeeper.turn;
    the_root text;
    found_due_us bigint := 9223372036854775807;
    found_awaited_us bigint := 0;
    known record;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a turn does not see what others have just done'; -- nor may it go on
    END IF;
    turn.has_waiting := false;
    FOREACH the_root IN ARRAY the_roots LOOP
        PERFORM pg_advisory_xact_lock(hashtextextended('lockkeeper/' || the_root, 0));
        LOOP
            SELECT r.due_us, r.has_waiting, r.awaited_us, m.server_start, m.is_bounded INTO known
            FROM lockkeeper.roots AS r CROSS JOIN lockkeeper.meta AS m WHERE r.root = the_root;
            EXIT WHEN FOUND;
            INSERT INTO lockkeeper.roots (root, due_us) VALUES (the_root, 9223372036854775807);
        END LOOP;
        IF known.due_us > the_due_us THEN
            UPDATE lockkeeper.roots AS r SET due_us = the_due_us WHERE r.root = the_root;
        END IF;
        turn.has_waiting := turn.has_waiting OR known.has_waiting;
        found_due_us := least(found_due_us, known.due_us);
        found_awaited_us := greatest(found_awaited_us, known.awaited_us);
    END LOOP;
    IF known.server_start <> pg_postmaster_start_time() THEN
        PERFORM lockkeeper.restart();
    END IF;
    turn.roots := the_roots;
    turn.now_us := lockkeeper.now_us();
    turn.is_due := found_due_us <= turn.now_us;
    turn.is_awaited := found_awaited_us > turn.now_us;
    turn.is_bounded := known.is_bounded;
    turn.planned_us := the_due_us;
    RETURN turn;
END $$;

-- Locks more roots, out of the order, so it does not wait for them: two turns that do might wait
-- for each other. What is not to be had at once stays out of turn.roots.
CREATE OR REPLACE FUNCTION lockkeeper.widen_turn(INOUT turn lockkeeper.turn, wanted text[])
LANGUAGE plpgsql AS $$
DECLARE
    the_root text;
    known record;
BEGIN
    FOREACH the_root IN ARRAY wanted LOOP
        CONTINUE WHEN the_root = ANY (turn.roots);
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(
            hashtextextended('lockkeeper/' || the_root, 0));
        INSERT INTO lockkeeper.roots (root, due_us) VALUES (the_root, 9223372036854775807)
        ON CONFLICT (root) DO NOTHING;
        SELECT r.has_waiting, r.awaited_us INTO known
        FROM lockkeeper.roots AS r WHERE r.root = the_root;
        turn.roots := turn.roots || the_root;
        turn.has_waiting := turn.has_waiting OR known.has_waiting;
        turn.is_awaited := turn.is_awaited OR known.awaited_us > turn.now_us;
    END LOOP;
END $$;

-- R11: the server was away. What lived when it went down lives on for a while, once. It lived if its
-- deadline lies behind the last sign of life that the store has kept. `until` ends when it says.
CREATE OR REPLACE FUNCTION lockkeeper.restart() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    start_us bigint := lockkeeper.now_us();
    alive_us bigint;
BEGIN
    UPDATE lockkeeper.meta AS m SET server_start = pg_postmaster_start_time()
    WHERE m.server_start <> pg_postmaster_start_time();
    IF NOT FOUND THEN
        RETURN; -- somebody else was first
    END IF;
    SELECT greatest(
        (SELECT s.last_value FROM lockkeeper.draws AS s),
        (SELECT max(q.deadline_us - q.ttl_ms * 1000) FROM lockkeeper.requests AS q
         WHERE NOT q.fixed)) INTO alive_us;
    UPDATE lockkeeper.requests AS q
    SET deadline_us = greatest(q.deadline_us, start_us + least(q.ttl_ms, 60000) * 1000)
    WHERE NOT q.fixed AND q.deadline_us > alive_us
      AND q.deadline_us < start_us + least(q.ttl_ms, 60000) * 1000;
END $$;
