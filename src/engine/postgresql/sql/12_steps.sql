-- SPDX-License-Identifier: Apache-2.0
-- Steps from one format of the tables to the next, for stores of earlier programs.
--
-- They are taken only while nothing is held, claimed or waiting. A program of the earlier format that
-- runs meanwhile waits, and is refused at its next call: its functions are dropped here, and the next
-- format has other names for what programs call, lk_... . A call that has begun before the upgrade may
-- go on after it, so a step renames a column that each INSERT INTO requests names. (README.md, "The next
-- format".) Public functions, which have a comment, stay: views and triggers of theirs may depend on
-- them, and the following files replace them.

DO $do$
DECLARE
    this_format CONSTANT integer := 1;
    found integer;
    held bigint;
    claimed bigint;
    waiting bigint;
    old record;
BEGIN
    SELECT m.format INTO found FROM lockkeeper.meta AS m;
    IF found = this_format THEN
        RETURN;
    END IF;
    IF coalesce(found, 0) NOT BETWEEN 1 AND this_format THEN
        RAISE EXCEPTION USING ERRCODE = 'LK079', MESSAGE = format(
            'the store in schema lockkeeper is of format %s, and this text makes format %s',
            coalesce(found::text, 'none'), this_format),
            HINT = 'Use the program that made it, or another schema.';
    END IF;

    -- Looked at before the lock, so that a store in use is not held up, and behind it.
    FOR look IN 1 .. 2 LOOP
        SELECT count(*) FILTER (WHERE r.held AND NOT r.is_claim),
               count(*) FILTER (WHERE r.is_claim), count(*) FILTER (WHERE NOT r.held)
        INTO held, claimed, waiting
        FROM lockkeeper.requests AS r
        WHERE r.deadline_us > extract(epoch FROM clock_timestamp()) * 1000000;
        IF held + claimed + waiting > 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'LK079', MESSAGE = format(
                'the store in schema lockkeeper is in use by programs of format %s, and stays so '
                'until they end: %s leases are held, %s items claimed, %s requests waiting',
                found, held, claimed, waiting);
        END IF;
        EXIT WHEN look = 2;
        BEGIN
            SET LOCAL lock_timeout = '2s'; -- of a caller's transaction, which may be long
            LOCK TABLE lockkeeper.meta, lockkeeper.roots, lockkeeper.requests, lockkeeper.parts,
                lockkeeper.items, lockkeeper.ended IN ACCESS EXCLUSIVE MODE;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            RAISE EXCEPTION USING ERRCODE = 'LK079', MESSAGE = format(
                'the store in schema lockkeeper is in use by transactions of this database, and '
                'stays of format %s until they end', found);
        END;
    END LOOP;

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

    -- The steps: IF found = 1 THEN ...; found := 2; END IF;
    UPDATE lockkeeper.meta SET format = this_format;
END $do$;
