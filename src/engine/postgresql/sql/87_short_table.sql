-- SPDX-License-Identifier: Apache-2.0
-- Work in tables of the owner's (R17) by the short ways of 86_short_work: inside transactions of
-- the engine's, which cannot fall back to a long way. If a decision is not simple, the function
-- returns NULL or, after the owner's statement, raises the error @LK_SQLSTATE_NOT_SIMPLE@, and the
-- engine starts again with 75_table.
--
-- Here, too, the owner's SQL runs before the root is locked: next_item() names a row, the owner's
-- condition checks and locks it, and only then does the transaction wait for the root's lock.

-- announce(), into a queue that exists. NULL: it is not simple. Finders insert in the order of the
-- ids, so that they cannot wait for each other in a circle.
CREATE OR REPLACE FUNCTION lockkeeper.announce_shared(
    the_queue text, the_root text, ids text[], OUT pushed bigint, OUT duplicates bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    drawn bigint := lockkeeper.draw(); -- NULL: the server has been restarted (20_transactions)
    moment_us bigint := lockkeeper.now_us();
    is_awaited boolean;
    wanted bigint;
    added bigint[];
    already_done bigint;
BEGIN
    SELECT k.awaited_us > moment_us INTO is_awaited
    FROM lockkeeper.roots AS k CROSS JOIN lockkeeper.meta AS m
    WHERE k.root = the_root AND lockkeeper.is_awake()
      AND m.events_max = 0 AND m.watched_until_us <= moment_us;
    IF NOT FOUND OR drawn IS NULL THEN
        RETURN;
    END IF;
    PERFORM FROM lockkeeper.queue_counts AS q WHERE q.path = the_queue;
    IF NOT FOUND OR lockkeeper.is_any_over(the_queue, ids, moment_us) THEN
        RETURN; -- a new queue needs the root's lock exclusively, and so does forgetting
    END IF;
    WITH wanted AS (
        SELECT u.id, u.n FROM unnest(ids) WITH ORDINALITY AS u (id, n)
        WHERE NOT EXISTS (SELECT FROM lockkeeper.done_rows AS d
                          WHERE d.queue = the_queue AND d.id = u.id)
    ), drawn AS (
        SELECT w.id, lockkeeper.draw() AS sequence
        FROM (SELECT o.id FROM wanted AS o ORDER BY o.n) AS w
    ), added AS (
        INSERT INTO lockkeeper.items AS i (queue, id, sequence, state, due_us, need_paths,
            need_limits, need_units, need_roots)
        SELECT the_queue, d.id, d.sequence, 'ready', 0, '{}', '{}', '{}', '{}'
        FROM drawn AS d ORDER BY d.id COLLATE "C"
        ON CONFLICT (queue, id) DO NOTHING
        RETURNING i.number
    )
    SELECT (SELECT count(*) FROM wanted), array_agg(a.number) INTO wanted, added FROM added AS a;
    -- A row that was being finished while it was found is marked by now: until then the insert
    -- waited for its old item.
    WITH gone AS (
        DELETE FROM lockkeeper.items AS i USING lockkeeper.done_rows AS d
        WHERE i.number = ANY (added) AND d.queue = the_queue AND d.id = i.id
        RETURNING i.number
    )
    SELECT count(*) INTO already_done FROM gone;
    duplicates := wanted - coalesce(cardinality(added), 0);
    pushed := coalesce(cardinality(added), 0) - already_done;
    UPDATE lockkeeper.queue_counts AS q
    SET pushed = q.pushed + announce_shared.pushed,
        duplicates = q.duplicates + announce_shared.duplicates
    WHERE q.path = the_queue;
    IF is_awaited AND announce_shared.pushed > 0 THEN
        PERFORM lockkeeper.notify('/' || the_root);
    END IF;
END $$;

CREATE OR REPLACE PROCEDURE lockkeeper.lk_announce(
    queue text, root text, ids text[], INOUT pushed bigint DEFAULT NULL,
    INOUT duplicates bigint DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    setting text;
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    setting := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    setting := set_config('jit', 'off', true) || set_config('enable_seqscan', 'off', true)
        || set_config('enable_bitmapscan', 'off', true)
        || set_config('plan_cache_mode', 'force_generic_plan', true)
        || pg_advisory_xact_lock_shared(hashtextextended('lockkeeper/' || root, 0));
    SELECT a.pushed, a.duplicates INTO pushed, duplicates
    FROM lockkeeper.announce_shared(queue, root, ids) AS a;
    IF pushed IS NULL THEN
        ROLLBACK AND CHAIN;
        setting := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        SELECT a.pushed, a.duplicates INTO pushed, duplicates
        FROM lockkeeper.announce(queue, root, ids) AS a;
        IF pg_catalog.clock_timestamp() > pg_catalog.statement_timestamp() + interval '1 ms' THEN
            CALL lockkeeper.release_early();
        END IF;
    END IF;
END $$;

-- The next ready item that no other transaction is taking, in one row; NULLs if there is none.
-- The item is reserved until this transaction ends: the others do not wait for it, but take the
-- next.
CREATE OR REPLACE FUNCTION lockkeeper.next_item(
    the_queue text, OUT number bigint, OUT id text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
    FOR number, id IN
        SELECT i.number, i.id FROM lockkeeper.items AS i
        WHERE i.queue = the_queue AND i.state = 'ready' AND NOT i.follows
        ORDER BY i.priority DESC, i.sequence LIMIT 64
    LOOP
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(
            hashtextextended('lockkeeper/' || next_item.number, 5));
        PERFORM FROM lockkeeper.items AS i -- another transaction may just have claimed it
        WHERE i.number = next_item.number AND i.state = 'ready';
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
    number := NULL;
    id := NULL;
END $$;

-- Claims that item, whose row matches and is locked, or finds that there is none. If the outcome is
-- NULL, it was not simple, and nothing was done; `looked` is then 0 if the item's row does not
-- match.
CREATE OR REPLACE FUNCTION lockkeeper.take_row_shared(
    the_queue text, the_above text[], the_root text, the_owner text, the_ttl_ms bigint,
    the_max_attempts integer, the_ask_number bigint, the_note text, candidate bigint, fits boolean)
RETURNS lockkeeper.taken_row
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    result lockkeeper.taken_row;
BEGIN
    IF candidate IS NOT NULL AND NOT fits THEN
        result.looked := 0;
    ELSE
        PERFORM pg_advisory_xact_lock(hashtextextended('lockkeeper//' || the_owner, 0)), -- R3
            pg_advisory_xact_lock_shared(hashtextextended('lockkeeper/' || the_root, 0));
        result.taken := lockkeeper.claim_shared(the_queue, the_above, the_root, the_owner,
            the_ttl_ms, the_max_attempts, the_ask_number, the_note, coalesce(candidate, 0));
    END IF;
    RETURN result;
END $$;

-- Before the owner's statement, as begin_finish(). If the end will not be simple, the statement
-- does not run at all.
CREATE OR REPLACE FUNCTION lockkeeper.begin_finish_shared(
    the_queue text, the_id text, the_root text, the_owner text, the_token bigint) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    now_us bigint := lockkeeper.now_us();
    item record;
    setting text;
BEGIN
    PERFORM FROM lockkeeper.roots AS k CROSS JOIN lockkeeper.meta AS m
    WHERE k.root = the_root AND NOT k.has_waiting
      AND lockkeeper.is_awake() AND m.events_max = 0
      AND m.watched_until_us <= now_us;
    IF FOUND THEN
        SELECT i.attempts, i.claim INTO item FROM lockkeeper.items AS i
        WHERE i.queue = the_queue AND i.id = the_id AND i.state = 'claimed'
          AND i.need_paths = '{}';
        PERFORM FROM lockkeeper.requests AS r
        WHERE r.id = item.claim AND r.owner = the_owner AND r.token = the_token
          AND r.deadline_us - now_us > 0;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this is for begin_finish()' USING ERRCODE = '@LK_SQLSTATE_NOT_SIMPLE@';
    END IF;
    setting := set_config('lockkeeper.attempt', item.attempts::text, true)
        || set_config('lockkeeper.finishes', the_token::text, true);
END $$;

-- After it, as finish_row(), which handles a repeated call.
CREATE OR REPLACE FUNCTION lockkeeper.finish_row_shared(
    the_queue text, the_id text, the_root text, the_owner text, the_token bigint,
    still_fits boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    identity bytea := sha256(convert_to(the_queue || '/' || the_id || E'\n' || the_owner, 'UTF8'));
BEGIN
    IF current_setting('lockkeeper.finishes', true) IS DISTINCT FROM the_token::text THEN
        RAISE EXCEPTION 'it must not begin or end transactions' USING ERRCODE = '@LK_SQLSTATE_COMMITTED@';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('lockkeeper/' || the_root, 0));
    IF lockkeeper.finish_shared(the_queue, the_id, the_root, the_owner, identity, the_token, NULL, 0)
       IS NULL THEN
        RAISE EXCEPTION 'this is for finish_row()' USING ERRCODE = '@LK_SQLSTATE_NOT_SIMPLE@';
    END IF;
    IF still_fits THEN
        INSERT INTO lockkeeper.done_rows (queue, id) VALUES (the_queue, the_id)
        ON CONFLICT (queue, id) DO NOTHING;
    END IF;
END $$;

-- Ends one claim, and makes the next one if that is simple.
CREATE OR REPLACE FUNCTION lockkeeper.finish_and_take_row(
    the_queue text, the_id text, the_root text, the_owner text, the_token bigint,
    still_fits boolean, the_above text[], the_ttl_ms bigint, the_max_attempts integer,
    the_ask_number bigint, the_note text, candidate bigint, fits boolean)
RETURNS lockkeeper.taken_row
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_catalog.pg_advisory_xact_lock( -- before the root's, as any take does
        pg_catalog.hashtextextended('lockkeeper//' || the_owner, 0));
    PERFORM lockkeeper.finish_row_shared(the_queue, the_id, the_root, the_owner, the_token,
                                         still_fits);
    RETURN lockkeeper.take_row_shared(the_queue, the_above, the_root, the_owner, the_ttl_ms,
        the_max_attempts, the_ask_number, the_note, candidate, fits);
END $$;
