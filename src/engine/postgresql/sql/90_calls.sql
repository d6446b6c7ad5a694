-- SPDX-License-Identifier: Apache-2.0
-- The other procedures that the engine calls; see 85_short and 86_short_work.

-- R11: the renewal of a lease in one root, as renew() decides it, where nothing else is due: one row
-- is written. The root's lock is held, exclusively: a transaction that shares it may be ignoring this
-- request, as one that is dead. `left_us` is NULL in all other cases.
CREATE OR REPLACE FUNCTION lockkeeper.renew_alone(
    the_identity bytea, the_root text, the_token bigint, the_ttl_ms bigint,
    OUT ticket bigint, OUT token bigint, OUT ttl_ms bigint, OUT left_us bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    moment_us bigint := lockkeeper.now_us();
BEGIN
    UPDATE lockkeeper.requests AS r
    SET deadline_us = moment_us + coalesce(nullif(the_ttl_ms, 0), r.ttl_ms) * 1000,
        ttl_ms = coalesce(nullif(the_ttl_ms, 0), r.ttl_ms)
    WHERE r.identity = the_identity AND r.held AND NOT r.revoked AND NOT r.fixed
      AND r.deadline_us - moment_us > 0 AND (the_token = 0 OR r.token = the_token)
      AND EXISTS (SELECT FROM lockkeeper.awake AS w
                  WHERE w.server_start = pg_postmaster_start_time())
      AND EXISTS (SELECT FROM lockkeeper.roots AS k
                  WHERE k.root = the_root AND (k.due_us - moment_us > 0 OR NOT k.has_waiting)
                    AND k.due_us - moment_us
                        <= coalesce(nullif(the_ttl_ms, 0), r.ttl_ms) * 1000)
    RETURNING r.ticket, r.token, r.ttl_ms, r.ttl_ms * 1000 INTO ticket, token, ttl_ms, left_us;
END $$;

-- R11. `token` 0: not named; `ttl_ms` 0: as before.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_renew(
    asker text, paths text[], sorted_paths text, roots text[], the_token bigint, ttl_ms bigint,
    INOUT outcome text DEFAULT NULL, INOUT sentence text DEFAULT NULL,
    INOUT ticket bigint DEFAULT NULL, INOUT token bigint DEFAULT NULL,
    INOUT new_ttl_ms bigint DEFAULT NULL, INOUT left_us bigint DEFAULT NULL,
    INOUT fixed boolean DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    identity bytea;
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    identity := lockkeeper.identity(asker, sorted_paths);
    IF cardinality(roots) = 1 AND NOT pg_is_in_recovery() THEN -- which has no table `awake`
        PERFORM pg_advisory_xact_lock(hashtextextended('lockkeeper/' || roots[1], 0));
        SELECT 'ok', a.ticket, a.token, a.ttl_ms, a.left_us, false
        INTO outcome, ticket, token, new_ttl_ms, left_us, fixed
        FROM lockkeeper.renew_alone(identity, roots[1], the_token, ttl_ms) AS a
        WHERE a.left_us IS NOT NULL;
    END IF;
    IF outcome IS NULL THEN
        SELECT a.outcome, a.sentence, a.ticket, a.token, a.ttl_ms, a.left_us, a.fixed
        INTO outcome, sentence, ticket, token, new_ttl_ms, left_us, fixed
        FROM lockkeeper.renew_request(identity, asker, paths, roots, the_token, ttl_ms) AS a;
    END IF;
    IF clock_timestamp() > statement_timestamp() + interval '1 ms' THEN
        CALL lockkeeper.release_early();
    END IF;
END $$;

-- R12. `asker` empty: of any owner.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_break(
    path text, root text, asker text, at_once boolean, by text, why text,
    INOUT broken bigint DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    broken := lockkeeper.break_requests(path, root, asker, at_once, by, why);
    IF clock_timestamp() > statement_timestamp() + interval '1 ms' THEN
        CALL lockkeeper.release_early();
    END IF;
END $$;

-- R16: cancels an item.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_cancel(
    path text, root text, at_once boolean, by text, why text, INOUT outcome text DEFAULT NULL,
    INOUT sentence text DEFAULT NULL, INOUT broken bigint DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT a.outcome, a.sentence, a.broken INTO outcome, sentence, broken
    FROM lockkeeper.cancel_item(path, root, at_once, by, why) AS a;
    IF clock_timestamp() > statement_timestamp() + interval '1 ms' THEN
        CALL lockkeeper.release_early();
    END IF;
END $$;

-- R15. `value` NULL: deletes.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_put(
    path text, above text[], root text, asker text, the_token bigint, value bytea,
    INOUT outcome text DEFAULT NULL, INOUT sentence text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT a.outcome, a.sentence INTO outcome, sentence
    FROM lockkeeper.put_value(path, above, root, asker, the_token, value) AS a;
    IF clock_timestamp() > statement_timestamp() + interval '1 ms' THEN
        CALL lockkeeper.release_early();
    END IF;
END $$;

-- R16. The needs as parts, and their roots. `kind` as in push_over().
CREATE OR REPLACE PROCEDURE lockkeeper.lk_push_item(
    queue text, id text, root text, value bytea, delay_ms bigint, needs text[], limits integer[],
    counts integer[], roots text[], priority integer, kind integer, keep_ms bigint,
    INOUT added boolean DEFAULT NULL, INOUT changed boolean DEFAULT NULL,
    INOUT was text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT p.added, p.changed, p.was INTO added, changed, was
    FROM lockkeeper.push_one(queue, id, root, value, delay_ms, needs, limits, counts, roots,
                             priority, kind, keep_ms) AS p;
    IF clock_timestamp() > statement_timestamp() + interval '1 ms' THEN
        CALL lockkeeper.release_early();
    END IF;
END $$;

-- R16. `words` NULL: none any more.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_progress(
    queue text, id text, root text, asker text, the_token bigint, words bytea,
    INOUT outcome text DEFAULT NULL, INOUT sentence text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('lockkeeper/' || root, 0));
    IF NOT lockkeeper.is_awake() THEN -- R11: deadlines are to be moved first
        ROLLBACK AND CHAIN;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        PERFORM lockkeeper.begin_decision(ARRAY[root], @LK_NEVER@);
    END IF;
    SELECT a.outcome, a.sentence INTO outcome, sentence
    FROM lockkeeper.tell_progress(queue, id, asker, the_token, words) AS a;
END $$;

-- R16.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_unpark(
    queue text, id text, root text, INOUT outcome text DEFAULT NULL,
    INOUT sentence text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT a.outcome, a.sentence INTO outcome, sentence
    FROM lockkeeper.unpark_one(queue, id, root) AS a;
    IF clock_timestamp() > statement_timestamp() + interval '1 ms' THEN
        CALL lockkeeper.release_early();
    END IF;
END $$;

-- R16.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_drop(
    queue text, id text, root text, only_parked boolean, INOUT outcome text DEFAULT NULL,
    INOUT sentence text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT a.outcome, a.sentence INTO outcome, sentence
    FROM lockkeeper.drop_one(queue, id, root, only_parked) AS a;
    IF clock_timestamp() > statement_timestamp() + interval '1 ms' THEN
        CALL lockkeeper.release_early();
    END IF;
END $$;

-- For the rest of the transaction: each table is read by an index, and plans are kept. A procedure
-- that commits cannot have these settings of its own.
CREATE OR REPLACE FUNCTION lockkeeper.read_by_index() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    path text := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    setting text := set_config('jit', 'off', true) || set_config('enable_seqscan', 'off', true)
        || set_config('enable_bitmapscan', 'off', true)
        || set_config('plan_cache_mode', 'force_generic_plan', true);
BEGIN
END $$;

-- The roots with a deadline that may have passed, the earliest first; only this one, unless it is
-- NULL.
CREATE OR REPLACE FUNCTION lockkeeper.due_roots(the_root text, now_us bigint, most integer)
RETURNS SETOF text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF the_root IS NULL THEN
        RETURN QUERY SELECT r.root FROM lockkeeper.roots AS r
                     WHERE r.due_us <= now_us ORDER BY r.due_us LIMIT most;
    ELSE
        RETURN QUERY SELECT r.root FROM lockkeeper.roots AS r
                     WHERE r.root = the_root AND r.due_us - now_us <= 0;
    END IF;
END $$;

-- R11: overdue deadlines below a root (NULL: anywhere) take effect. Writes nothing if there is
-- none.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_tick(the_root text)
LANGUAGE plpgsql AS $$
DECLARE
    due text;
    decision lockkeeper.decision;
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    PERFORM lockkeeper.read_by_index();
    FOR due IN SELECT d.* FROM lockkeeper.due_roots(the_root, lockkeeper.now_us(), 1024) AS d
    LOOP
        PERFORM lockkeeper.read_by_index();
        decision := lockkeeper.begin_decision(ARRAY[due], @LK_NEVER@);
        decision := lockkeeper.perish(decision, 256);
        COMMIT AND CHAIN;
    END LOOP;
END $$;

-- Sweeps dead requests below a root whose end has no consequence, the oldest first. Returns how
-- many.
CREATE OR REPLACE FUNCTION lockkeeper.sweep_dead(the_root text, few integer, now_us bigint)
RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    swept bigint;
BEGIN
    WITH found AS (
        SELECT d.id FROM lockkeeper.requests AS d
        WHERE d.root = the_root AND d.deadline_us <= now_us
          AND NOT d.is_claim AND NOT d.wants_value AND cardinality(d.roots) = 1
          AND EXISTS (SELECT FROM lockkeeper.roots AS k
                      WHERE k.root = the_root AND NOT k.has_waiting)
          AND NOT EXISTS (SELECT FROM lockkeeper.meta AS m
                          WHERE m.events_max > 0 OR m.watched_until_us > now_us)
        ORDER BY d.deadline_us LIMIT few FOR UPDATE OF d SKIP LOCKED
    ), dead AS (
        DELETE FROM lockkeeper.requests AS r WHERE r.id = ANY (ARRAY(SELECT f.id FROM found AS f))
        RETURNING r.id
    ), parts AS (
        DELETE FROM lockkeeper.parts AS p WHERE p.request = ANY (ARRAY(SELECT f.id FROM found AS f))
    )
    SELECT count(*) INTO swept FROM dead;
    RETURN swept;
END $$;

-- Removes old ended tokens (R3), and adds their counters to those of the queues (R16). By their place
-- in the table (ctid), which holds because they are locked: a join by their key takes 40 times as long.
-- Those of a queue whose counters another transaction has written stay: it may be open for long.
CREATE OR REPLACE FUNCTION lockkeeper.sweep_ended(few integer, now_us bigint) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    WITH free AS MATERIALIZED (
        SELECT q.path FROM lockkeeper.queue_counts AS q
        WHERE q.path = ANY (ARRAY(
            SELECT o.queue FROM lockkeeper.ended AS o
            WHERE o.ended_us <= now_us - @LK_ENDED_MEMORY_US@ ORDER BY o.ended_us LIMIT few))
        ORDER BY q.path FOR NO KEY UPDATE SKIP LOCKED
    ), old AS (
        DELETE FROM lockkeeper.ended AS e WHERE e.ctid = ANY (ARRAY(
            SELECT o.ctid FROM lockkeeper.ended AS o
            WHERE o.ended_us <= now_us - @LK_ENDED_MEMORY_US@
              AND (o.queue IS NULL OR o.queue IN (SELECT f.path FROM free AS f))
            ORDER BY o.ended_us LIMIT few FOR UPDATE SKIP LOCKED))
        RETURNING e.queue, e.claims, e.steals
    ), counted AS (
        SELECT o.queue, sum(o.claims) AS claims, sum(o.steals) AS steals, count(*) AS done
        FROM old AS o WHERE o.queue IS NOT NULL GROUP BY o.queue ORDER BY o.queue
    )
    UPDATE lockkeeper.queue_counts AS q
    SET claims = q.claims + c.claims, steals = q.steals + c.steals, done = q.done + c.done
    FROM counted AS c WHERE q.path = c.queue;
END $$;

-- R16: removes items that were done, and whose time is over, with their results. Their counters have
-- been zero since they were done. A push that finds such an item locks it first (find_item).
CREATE OR REPLACE FUNCTION lockkeeper.forget_done(few integer, now_us bigint) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    numbers bigint[] := ARRAY(
        SELECT i.number FROM lockkeeper.items AS i WHERE i.state = 'done' AND i.due_us <= now_us
        ORDER BY i.due_us LIMIT few FOR UPDATE SKIP LOCKED);
BEGIN
    IF numbers <> '{}' THEN
        DELETE FROM lockkeeper.items AS i WHERE i.number = ANY (numbers);
        DELETE FROM lockkeeper.item_values AS v WHERE v.item = ANY (numbers);
    END IF;
END $$;

-- Sweeping: every Nth call sweeps a little after its own answer, two rows for each call since, so
-- that it keeps up. It skips what is locked.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_sweep()
LANGUAGE plpgsql AS $$
DECLARE
    due text;
    decision lockkeeper.decision;
    few integer := 128;
    swept bigint := 0;
    now_us bigint := lockkeeper.now_us();
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    SET LOCAL synchronous_commit = off;
    PERFORM lockkeeper.read_by_index();
    SELECT d.* INTO due FROM lockkeeper.due_roots(NULL, now_us, 1) AS d;
    IF due IS NOT NULL
       AND pg_try_advisory_xact_lock_shared(hashtextextended('lockkeeper/' || due, 0)) THEN
        swept := lockkeeper.sweep_dead(due, few, now_us);
    END IF;
    COMMIT AND CHAIN; -- and releases the share of the lock
    SET LOCAL synchronous_commit = off;
    PERFORM lockkeeper.read_by_index();
    IF due IS NOT NULL AND swept < few -- the rest has consequences
       AND pg_try_advisory_xact_lock(hashtextextended('lockkeeper/' || due, 0)) THEN
        decision := lockkeeper.begin_decision(ARRAY[due], @LK_NEVER@);
        decision := lockkeeper.perish(decision, 16);
        COMMIT AND CHAIN;
        SET LOCAL synchronous_commit = off;
    END IF;
    PERFORM lockkeeper.sweep_ended(few, now_us);
    COMMIT AND CHAIN;
    SET LOCAL synchronous_commit = off;
    PERFORM lockkeeper.read_by_index();
    PERFORM lockkeeper.forget_done(few, now_us);
    DELETE FROM lockkeeper.events AS e -- not watched for five minutes
    WHERE e.sequence IN (
        SELECT o.sequence FROM lockkeeper.meta AS m CROSS JOIN lockkeeper.events AS o
        WHERE m.events_max = 0 AND m.watched_until_us < now_us - @LK_EVENTS_LINGER_US@
        ORDER BY o.sequence LIMIT 128 FOR UPDATE OF o SKIP LOCKED);
    FOR due IN -- removes unused roots
        SELECT r.root FROM lockkeeper.roots AS r
        WHERE r.due_us = @LK_NEVER@ AND r.awaited_us < now_us - @LK_ROOT_IDLE_US@ LIMIT 16
    LOOP
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(hashtextextended('lockkeeper/' || due, 0));
        DELETE FROM lockkeeper.roots AS r
        WHERE r.root = due AND r.due_us = @LK_NEVER@
          AND NOT EXISTS (SELECT FROM lockkeeper.requests AS q WHERE q.root = r.root)
          AND NOT EXISTS (SELECT FROM lockkeeper.requests AS q
                          WHERE cardinality(q.roots) > 1 AND r.root = ANY (q.roots));
    END LOOP;
END $$;
