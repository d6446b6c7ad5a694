-- SPDX-License-Identifier: Apache-2.0
-- Claims and their completion (R16), by the short ways that 85_short begins with.

-- R16.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_take(
    queue text, above text[], root text, asker text, ttl_ms bigint, max_attempts integer,
    ask_number bigint, note text, INOUT outcome text DEFAULT NULL,
    INOUT sentence text DEFAULT NULL, INOUT id text DEFAULT NULL,
    INOUT token bigint DEFAULT NULL, INOUT attempt integer DEFAULT NULL,
    INOUT stolen boolean DEFAULT NULL, INOUT new_ttl_ms bigint DEFAULT NULL,
    INOUT left_us bigint DEFAULT NULL, INOUT value bytea DEFAULT NULL,
    INOUT look_us bigint DEFAULT NULL, INOUT has_held boolean DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    setting text;
    moment_us bigint;
    drawn bigint;
    is_hurried boolean := false;
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    setting := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)
        || set_config('jit', 'off', true) || set_config('enable_seqscan', 'off', true)
        || set_config('enable_bitmapscan', 'off', true)
        || set_config('plan_cache_mode', 'force_generic_plan', true);
    PERFORM pg_advisory_xact_lock(hashtextextended('lockkeeper//' || asker, 0)); -- R3
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('lockkeeper/' || root, 0));
    drawn := nextval('lockkeeper.draws');
    moment_us := lockkeeper.now_us();
    IF drawn < moment_us - 10000 THEN
        drawn := lockkeeper.catch_up(drawn);
    END IF;
    WITH ready AS (
        SELECT k.hurried_us FROM lockkeeper.roots AS k CROSS JOIN lockkeeper.meta AS m
        WHERE k.root = root AND k.due_us > moment_us AND k.due_us <= moment_us + ttl_ms * 1000
          AND m.server_start = pg_postmaster_start_time() AND NOT m.is_bounded
          AND m.events_max = 0 AND m.watched_until_us <= moment_us
          AND NOT EXISTS (SELECT FROM lockkeeper.requests AS o WHERE o.owner = asker)
          AND NOT EXISTS (SELECT FROM lockkeeper.parts AS p
                          JOIN lockkeeper.requests AS r ON r.id = p.request
                          WHERE p.path = ANY (above) AND r.deadline_us > moment_us)
          AND NOT EXISTS (SELECT FROM lockkeeper.items AS i
                          WHERE i.queue = queue AND i.state = 'delayed' AND i.due_us <= moment_us)
          AND NOT EXISTS (SELECT FROM lockkeeper.queue_counts AS q
                          WHERE (q.path = ANY (above) AND q.path <> queue)
                             OR (q.path > queue || '/' AND q.path < queue || '0'))
    ), first AS (
        SELECT i.number, i.id, i.need_paths, i.was_lost, ready.hurried_us
        FROM ready CROSS JOIN LATERAL (
            SELECT x.number, x.id, x.need_paths, x.was_lost FROM lockkeeper.items AS x
            WHERE x.queue = queue AND x.state = 'ready'
            ORDER BY x.sequence LIMIT 1 FOR UPDATE SKIP LOCKED) AS i
    ), free AS (
        SELECT f.number, f.id, f.was_lost, f.hurried_us FROM first AS f
        WHERE f.need_paths = '{}'
          AND NOT EXISTS (SELECT FROM lockkeeper.parts AS p
                          JOIN lockkeeper.requests AS r ON r.id = p.request
                          WHERE r.deadline_us > moment_us
                            AND (p.path = queue || '/' || f.id
                                 OR (p.path > queue || '/' || f.id || '/'
                                     AND p.path < queue || '/' || f.id || '0')))
    ), made AS (
        INSERT INTO lockkeeper.requests AS q (owner, note, held, attended, fixed, ticket, token,
            ttl_ms, deadline_us, wants_value, is_claim, root, roots)
        SELECT asker, note, true, false, false, drawn, drawn, ttl_ms, moment_us + ttl_ms * 1000,
            false, true, root, ARRAY[root]
        FROM free
        RETURNING q.id
    ), part AS (
        INSERT INTO lockkeeper.parts (request, position, path, unit_limit, units)
        SELECT made.id, 1, queue || '/' || free.id, 0, 0 FROM made CROSS JOIN free
    ), item AS (
        UPDATE lockkeeper.items AS i
        SET state = 'claimed', claim = made.id, attempts = i.attempts + 1, was_lost = false,
            ask_number = ask_number, max_attempts = max_attempts, claims = i.claims + 1,
            steals = i.steals + i.was_lost::integer
        FROM made CROSS JOIN free WHERE i.number = free.number
        RETURNING i.number, i.id, i.attempts, free.was_lost, free.hurried_us
    )
    SELECT 'granted', item.id, item.attempts, item.was_lost, item.hurried_us > moment_us,
        (SELECT v.bytes FROM lockkeeper.item_values AS v WHERE v.item = item.number)
    INTO outcome, id, attempt, stolen, is_hurried, value FROM item;
    IF outcome IS NOT NULL THEN
        token := drawn;
        new_ttl_ms := ttl_ms;
        left_us := ttl_ms * 1000;
    ELSE
        ROLLBACK;
        SELECT a.* INTO outcome, sentence, id, token, attempt, stolen, new_ttl_ms, left_us, value,
            look_us, has_held
        FROM lockkeeper.take(queue, above, root, asker, ttl_ms, max_attempts, ask_number, note)
            AS a;
    END IF;
    IF is_hurried OR pg_catalog.clock_timestamp()
                     > pg_catalog.statement_timestamp() + interval '1 ms' THEN
        setting := pg_catalog.set_config('synchronous_commit', 'off', true);
        COMMIT;
        PERFORM pg_catalog.pg_logical_emit_message(true, 'lockkeeper', '');
    END IF;
END $$;

-- R16. `delay_ms` NULL: done; else given back.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_finish(
    queue text, id text, root text, asker text, the_token bigint, delay_ms bigint,
    INOUT outcome text DEFAULT NULL, INOUT sentence text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    the_identity bytea;
    setting text;
    moment_us bigint;
    is_hurried boolean := false;
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    setting := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)
        || set_config('jit', 'off', true) || set_config('enable_seqscan', 'off', true)
        || set_config('enable_bitmapscan', 'off', true)
        || set_config('plan_cache_mode', 'force_generic_plan', true);
    the_identity := sha256(convert_to(queue || '/' || id || E'\n' || asker, 'UTF8'));
    IF delay_ms IS NULL THEN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('lockkeeper/' || root, 0));
        moment_us := lockkeeper.now_us();
        WITH item AS (
            SELECT i.number, i.claim, i.claims, i.steals, k.hurried_us
            FROM lockkeeper.items AS i CROSS JOIN lockkeeper.roots AS k
            CROSS JOIN lockkeeper.meta AS m
            WHERE i.queue = queue AND i.id = id AND i.need_paths = '{}'
              AND k.root = root AND NOT k.has_waiting
              AND m.server_start = pg_postmaster_start_time()
              AND m.events_max = 0 AND m.watched_until_us <= moment_us
        ), gone AS (
            DELETE FROM lockkeeper.requests AS r USING item
            WHERE r.id = item.claim AND r.deadline_us > moment_us AND r.owner = asker
              AND (the_token = 0 OR r.token = the_token)
            RETURNING r.id, r.token, item.number, item.claims, item.steals, item.hurried_us
        ), parts AS (
            DELETE FROM lockkeeper.parts AS p USING gone WHERE p.request = gone.id
        ), done AS (
            DELETE FROM lockkeeper.items AS i USING gone WHERE i.number = gone.number
        ), bytes AS (
            DELETE FROM lockkeeper.item_values AS v USING gone WHERE v.item = gone.number
        ), ended AS (
            INSERT INTO lockkeeper.ended (token, identity, ended_us, queue, claims, steals)
            SELECT gone.token, the_identity, moment_us, queue, gone.claims, gone.steals FROM gone
        )
        SELECT 'ok', gone.hurried_us > moment_us INTO outcome, is_hurried FROM gone;
        IF outcome IS NULL THEN
            ROLLBACK;
        END IF;
    END IF;
    IF outcome IS NULL THEN
        SELECT a.outcome, a.sentence INTO outcome, sentence
        FROM lockkeeper.finish(queue, id, root, asker, the_identity, the_token, delay_ms) AS a;
    END IF;
    IF is_hurried OR pg_catalog.clock_timestamp()
                     > pg_catalog.statement_timestamp() + interval '1 ms' THEN
        setting := pg_catalog.set_config('synchronous_commit', 'off', true);
        COMMIT;
        PERFORM pg_catalog.pg_logical_emit_message(true, 'lockkeeper', '');
    END IF;
END $$;
