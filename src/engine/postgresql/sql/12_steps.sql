-- SPDX-License-Identifier: Apache-2.0
-- Steps from one format of the tables to the next, for stores of older programs.
--
-- The functions of the older format are dropped, but for the public ones, on which views and
-- triggers of theirs may depend; the following files create them again. Programs
-- that run meanwhile wait, and find the new ones under the same names. An old function that is
-- already running fails for want of a column, having done nothing.

DO $do$
DECLARE
    found integer;
    old record;
BEGIN
    SELECT m.format INTO found FROM lockkeeper.meta AS m;
    IF found > 10 THEN
        RAISE EXCEPTION 'the store in schema lockkeeper has format %, which is newer than 10', found
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'Use the newer program that has made it.';
    END IF;
    IF found = 10 THEN
        RETURN;
    END IF;
    LOCK TABLE lockkeeper.roots, lockkeeper.requests, lockkeeper.parts, lockkeeper.items,
        lockkeeper.ended
        IN ACCESS EXCLUSIVE MODE; -- waits for running decisions
    FOR old IN SELECT p.oid::regprocedure AS name FROM pg_catalog.pg_proc AS p
               WHERE p.pronamespace = 'lockkeeper'::regnamespace
                 AND pg_catalog.obj_description(p.oid, 'pg_proc') IS NULL -- not the public ones
    LOOP
        EXECUTE 'DROP ROUTINE ' || old.name || ' CASCADE';
    END LOOP;
    FOR old IN SELECT t.oid::regtype AS name FROM pg_catalog.pg_type AS t
               JOIN pg_catalog.pg_class AS c ON c.oid = t.typrelid
               WHERE t.typnamespace = 'lockkeeper'::regnamespace AND c.relkind = 'c'
                 AND pg_catalog.obj_description(t.oid, 'pg_type') IS NULL
    LOOP
        EXECUTE 'DROP TYPE ' || old.name || ' CASCADE';
    END LOOP;

    IF found = 1 THEN
        -- Draws come from a sequence; the root's row is not written at each decision any more.
        CREATE SEQUENCE lockkeeper.draws;
        GRANT SELECT, USAGE, UPDATE ON SEQUENCE lockkeeper.draws TO public;
        PERFORM setval('lockkeeper.draws', greatest(1,
            (SELECT max(r.last_draw) FROM lockkeeper.roots AS r),
            (SELECT m.draw_floor FROM lockkeeper.meta AS m)));
        ALTER TABLE lockkeeper.roots DROP COLUMN last_draw;
        ALTER TABLE lockkeeper.roots ADD COLUMN contended_us bigint NOT NULL DEFAULT 0;
        ALTER TABLE lockkeeper.meta DROP COLUMN draw_floor;
        ALTER TABLE lockkeeper.meta ADD COLUMN is_bounded boolean NOT NULL GENERATED ALWAYS AS
            (live_max + live_per_owner_max + live_per_root_max + waiters_per_path_max > 0) STORED;
        ALTER TABLE lockkeeper.queues RENAME TO queue_counts;
        ALTER TABLE lockkeeper.items ADD COLUMN claims integer NOT NULL DEFAULT 0;
        ALTER TABLE lockkeeper.items ADD COLUMN steals integer NOT NULL DEFAULT 0;
        ALTER TABLE lockkeeper.ended ADD COLUMN queue text COLLATE "C";
        ALTER TABLE lockkeeper.ended ADD COLUMN claims integer;
        ALTER TABLE lockkeeper.ended ADD COLUMN steals integer;
        -- Events (R21).
        ALTER TABLE lockkeeper.meta ADD COLUMN events_max bigint NOT NULL DEFAULT 0;
        ALTER TABLE lockkeeper.meta ADD COLUMN watched_until_us bigint NOT NULL DEFAULT 0;
        ALTER TABLE lockkeeper.meta ADD COLUMN last_event bigint NOT NULL DEFAULT 0;
        ALTER TABLE lockkeeper.meta SET (fillfactor = 10);
        CREATE TABLE lockkeeper.events (
            sequence    bigint  PRIMARY KEY,
            at_us       bigint  NOT NULL,
            event       text    NOT NULL,
            refusal     text    NOT NULL,
            parts       text    NOT NULL,
            owner       text    NOT NULL,
            note        text    NOT NULL,
            ticket      bigint  NOT NULL,
            token       bigint  NOT NULL,
            attempt     integer NOT NULL,
            is_of_item  boolean NOT NULL,
            is_deletion boolean NOT NULL
        );
        -- Work in tables (R17).
        CREATE TABLE IF NOT EXISTS lockkeeper.done_rows (
            queue text COLLATE "C" NOT NULL,
            id    text COLLATE "C" NOT NULL,
            PRIMARY KEY (queue, id)
        );
        found := 2;
    END IF;
    IF found = 2 THEN
        found := 3; -- only the functions have changed
    END IF;
    IF found = 3 THEN
        CREATE UNLOGGED TABLE lockkeeper.awake (
            server_start timestamptz PRIMARY KEY
        );
        INSERT INTO lockkeeper.awake SELECT m.server_start FROM lockkeeper.meta AS m;
        ALTER TABLE lockkeeper.meta DROP COLUMN server_start;
        ALTER TABLE lockkeeper.requests ADD COLUMN grace_us bigint NOT NULL DEFAULT 0;
        CREATE INDEX requests_waiting_by_owner ON lockkeeper.requests (owner) WHERE NOT held;
        found := 4;
    END IF;
    IF found = 4 THEN
        ALTER TABLE lockkeeper.parts ADD COLUMN held boolean, ADD COLUMN ticket bigint;
        DELETE FROM lockkeeper.parts AS p
        WHERE NOT EXISTS (SELECT FROM lockkeeper.requests AS r WHERE r.id = p.request);
        UPDATE lockkeeper.parts AS p SET held = r.held, ticket = r.ticket
        FROM lockkeeper.requests AS r WHERE r.id = p.request;
        ALTER TABLE lockkeeper.parts ALTER COLUMN held SET NOT NULL,
            ALTER COLUMN ticket SET NOT NULL;
        DROP INDEX lockkeeper.parts_by_path;
        CREATE INDEX parts_by_path ON lockkeeper.parts (path, held, ticket, units, unit_limit);
        found := 5;
    END IF;
    IF found = 5 THEN
        ALTER TABLE lockkeeper.items ADD COLUMN priority smallint NOT NULL DEFAULT 0,
            ADD COLUMN last_exit integer, ADD COLUMN last_error bytea;
        DROP INDEX lockkeeper.items_ready;
        CREATE INDEX items_ready ON lockkeeper.items (queue, priority DESC, sequence)
            WHERE state = 'ready';
        CREATE INDEX items_parked ON lockkeeper.items (queue, sequence) WHERE state = 'parked';
        ALTER TABLE lockkeeper.events ADD COLUMN broken_by text NOT NULL DEFAULT '',
            ADD COLUMN reason text NOT NULL DEFAULT '';
        found := 6;
    END IF;
    IF found = 6 THEN
        found := 7; -- only functions: they notify on other channels
    END IF;
    IF found = 7 THEN
        found := 8; -- public functions, and constraints (13_checks); a refused try looks first
    END IF;
    IF found = 8 THEN
        found := 9; -- functions have a search_path; lk_items has texts
    END IF;
    IF found = 9 THEN
        -- Items that need the same are a group (51_groups), of which a claim reads the first.
        ALTER TABLE lockkeeper.items ADD COLUMN IF NOT EXISTS need_group bytea,
            ADD COLUMN IF NOT EXISTS follows boolean NOT NULL DEFAULT false;
        UPDATE lockkeeper.items AS i
        SET need_group = sha256(convert_to(
            row_to_json((i.queue, i.need_paths, i.need_limits, i.need_units))::text, 'UTF8'))
        WHERE i.need_paths <> '{}';
        UPDATE lockkeeper.items AS i SET follows = true
        FROM (SELECT x.number, row_number() OVER (PARTITION BY x.need_group
                                                  ORDER BY x.priority DESC, x.sequence) AS place
              FROM lockkeeper.items AS x
              WHERE x.state = 'ready' AND x.need_group IS NOT NULL) AS n
        WHERE i.number = n.number AND n.place > 1;
        DROP INDEX IF EXISTS lockkeeper.items_ready, lockkeeper.items_by_need;
        CREATE INDEX items_ready ON lockkeeper.items (queue, follows, priority DESC, sequence)
            WHERE state = 'ready';
        CREATE INDEX items_by_need ON lockkeeper.items
            (need_group, follows, priority DESC, sequence)
            WHERE state = 'ready' AND need_group IS NOT NULL;
        ALTER TABLE lockkeeper.roots
            ADD COLUMN IF NOT EXISTS awaited_by text[] COLLATE "C" NOT NULL DEFAULT '{}';
        found := 10;
    END IF;
    UPDATE lockkeeper.meta SET format = found;
END $do$;
