-- SPDX-License-Identifier: Apache-2.0
-- Claims and their completion (R16), by the short ways that 85_short begins with; those of rows of
-- the owner's (R17) are in 87_short_table. All share the root's lock, and begin with it.
--
-- Small statements and not a large one, because execution starts every part of a large plan, used
-- or not. Each table is read by one index, whatever the statistics say: no join, no OR; and parts
-- in an order that only the index of their paths has.

-- The answer if no item is ready, or other workers are taking all of them. take() records that a
-- worker waits, with the root locked exclusively; if that has just been done, it is not done again.
CREATE OR REPLACE FUNCTION lockkeeper.nothing_shared(queue text, root text, moment_us bigint)
RETURNS lockkeeper.taken
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    taken lockkeeper.taken;
    delayed_us bigint;
    deadline_us bigint;
BEGIN
    PERFORM FROM lockkeeper.queue_counts AS q WHERE q.path = queue;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    taken.outcome := 'busy';
    taken.sentence := '@LK_TEXT_NOTHING_DUE@';
    PERFORM FROM lockkeeper.items AS i WHERE i.queue = queue AND i.state = 'ready'
      AND NOT i.follows ORDER BY i.priority DESC, i.sequence LIMIT 1;
    taken.has_held := FOUND;
    SELECT i.due_us INTO delayed_us FROM lockkeeper.items AS i
    WHERE i.queue = queue AND i.state = 'delayed' ORDER BY i.due_us LIMIT 1;
    SELECT r.deadline_us INTO deadline_us FROM lockkeeper.requests AS r
    WHERE r.root = root AND r.deadline_us > moment_us ORDER BY r.deadline_us LIMIT 1;
    taken.look_us := least(delayed_us, deadline_us) - moment_us;
    RETURN taken;
END $$;

-- Claims the next ready item, or this one (0: there is none), if nothing blocks it. NULL: left to
-- take(), and nothing has been done. A part near it may be dead: take() checks that.
CREATE OR REPLACE FUNCTION lockkeeper.claim_shared(
    queue text, above text[], root text, asker text, ttl_ms bigint, max_attempts integer,
    ask_number bigint, note text, candidate bigint) RETURNS lockkeeper.taken
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    taken lockkeeper.taken;
    drawn bigint := nextval('lockkeeper.draws');
    moment_us bigint := lockkeeper.now_us();
    the_path text;
    the_number bigint;
    has_needs boolean;
    known record;
BEGIN
    IF drawn < moment_us - 10000 THEN
        drawn := lockkeeper.catch_up();
        IF drawn IS NULL THEN
            RETURN NULL;
        END IF;
    END IF;
    SELECT k.due_us, k.awaited_us INTO known
    FROM lockkeeper.roots AS k CROSS JOIN lockkeeper.meta AS m
    WHERE k.root = root AND k.due_us - moment_us > 0
      AND lockkeeper.is_awake() AND NOT m.is_bounded
      AND m.events_max = 0 AND m.watched_until_us <= moment_us
      AND (SELECT true FROM lockkeeper.requests AS o WHERE o.owner = asker -- R3: the same claim?
           LIMIT 1) IS NULL
      AND (SELECT true FROM lockkeeper.items AS i
           WHERE i.queue = queue AND i.state = 'delayed' AND i.due_us <= moment_us
           ORDER BY i.due_us LIMIT 1) IS NULL
      AND (SELECT true FROM lockkeeper.queue_counts AS q
           WHERE q.path > queue || '/' AND q.path < queue || '0' ORDER BY q.path LIMIT 1) IS NULL
      AND (SELECT true FROM lockkeeper.parts AS p WHERE p.path >= queue AND p.path <= queue
           ORDER BY p.path LIMIT 1) IS NULL;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    FOREACH the_path IN ARRAY above LOOP
        CONTINUE WHEN the_path = queue;
        PERFORM FROM lockkeeper.queue_counts AS q WHERE q.path = the_path;
        IF FOUND THEN
            RETURN NULL;
        END IF;
        PERFORM FROM lockkeeper.parts AS p WHERE p.path >= the_path AND p.path <= the_path
        ORDER BY p.path LIMIT 1;
        IF FOUND THEN
            RETURN NULL;
        END IF;
    END LOOP;
    IF candidate IS NULL THEN
        SELECT i.number, i.id, i.was_lost, i.need_paths <> '{}'
        INTO the_number, taken.id, taken.stolen, has_needs
        FROM lockkeeper.items AS i WHERE i.queue = queue AND i.state = 'ready' AND NOT i.follows
        ORDER BY i.priority DESC, i.sequence LIMIT 1 FOR UPDATE SKIP LOCKED;
    ELSE
        SELECT i.number, i.id, i.was_lost, i.need_paths <> '{}'
        INTO the_number, taken.id, taken.stolen, has_needs
        FROM lockkeeper.items AS i WHERE i.number = candidate AND i.state = 'ready'
        FOR UPDATE SKIP LOCKED;
    END IF;
    IF the_number IS NULL AND coalesce(candidate, 0) = 0
       AND known.awaited_us >= moment_us + 1500000 THEN
        RETURN lockkeeper.nothing_shared(queue, root, moment_us);
    END IF;
    IF the_number IS NULL OR has_needs OR known.due_us > moment_us + ttl_ms * 1000 THEN
        RETURN NULL;
    END IF;
    the_path := queue || '/' || taken.id;
    IF (SELECT true FROM lockkeeper.parts AS p WHERE p.path >= the_path AND p.path <= the_path
        ORDER BY p.path LIMIT 1)
       OR (SELECT true FROM lockkeeper.parts AS p
           WHERE p.path > the_path || '/' AND p.path < the_path || '0' ORDER BY p.path LIMIT 1)
    THEN
        RETURN NULL;
    END IF;
    INSERT INTO lockkeeper.requests AS r (id, owner, note, held, attended, fixed, ticket, token,
        ttl_ms, deadline_us, wants_value, is_claim, root, roots)
    VALUES (drawn, asker, note, true, false, false, drawn, drawn, ttl_ms,
        moment_us + ttl_ms * 1000, false, true, root, ARRAY[root]);
    INSERT INTO lockkeeper.parts (request, position, path, held, ticket, unit_limit, units)
    VALUES (drawn, 1, the_path, true, drawn, 0, 0);
    UPDATE lockkeeper.items AS i
    SET state = 'claimed', claim = drawn, attempts = i.attempts + 1, was_lost = false,
        ask_number = ask_number, max_attempts = max_attempts, claims = i.claims + 1,
        steals = i.steals + i.was_lost::integer, progress = NULL
    WHERE i.number = the_number
    RETURNING i.attempts INTO taken.attempt;
    SELECT v.bytes INTO taken.value FROM lockkeeper.item_values AS v WHERE v.item = the_number;
    taken.outcome := 'granted';
    taken.token := drawn;
    taken.ttl_ms := ttl_ms;
    taken.left_us := ttl_ms * 1000;
    RETURN taken;
END $$;

-- Ends a claim that is still held, and removes its item, or keeps it with its result. NULL: left to
-- finish(), and nothing has been done; else the token.
CREATE OR REPLACE FUNCTION lockkeeper.finish_shared(
    queue text, id text, root text, asker text, identity bytea, the_token bigint, the_result bytea,
    the_keep_ms bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    moment_us bigint := lockkeeper.now_us();
    item record;
    ended bigint;
BEGIN
    PERFORM FROM lockkeeper.roots AS k CROSS JOIN lockkeeper.meta AS m
    WHERE k.root = root AND NOT k.has_waiting AND lockkeeper.is_awake()
      AND m.events_max = 0 AND m.watched_until_us <= moment_us;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT i.number, i.claim, i.claims, i.steals, i.keep_ms INTO item FROM lockkeeper.items AS i
    WHERE i.queue = queue AND i.id = id AND i.state = 'claimed' AND i.need_paths = '{}';
    DELETE FROM lockkeeper.requests AS r
    WHERE r.id = item.claim AND r.deadline_us - moment_us > 0 AND r.owner = asker
      AND (the_token = 0 OR r.token = the_token)
    RETURNING r.token INTO ended;
    IF ended IS NULL THEN
        RETURN NULL;
    END IF;
    DELETE FROM lockkeeper.parts AS p WHERE p.request = item.claim;
    DELETE FROM lockkeeper.item_values AS v WHERE v.item = item.number;
    IF item.keep_ms = 0 AND the_keep_ms = 0 THEN
        DELETE FROM lockkeeper.items AS i WHERE i.number = item.number;
    ELSE -- as keep_done()
        UPDATE lockkeeper.items AS i
        SET state = 'done', due_us = moment_us + greatest(i.keep_ms, the_keep_ms) * 1000, claim = 0,
            ask_number = 0, progress = NULL, claims = 0, steals = 0
        WHERE i.number = item.number;
        IF the_result IS NOT NULL THEN
            INSERT INTO lockkeeper.item_values (item, bytes) VALUES (item.number, the_result);
        END IF;
    END IF;
    INSERT INTO lockkeeper.ended (token, identity, ended_us, queue, claims, steals)
    VALUES (ended, CASE WHEN the_token <> 0 THEN identity
                        ELSE convert_to(item.number::text, 'UTF8') END,
        moment_us, queue, item.claims, item.steals);
    RETURN ended;
END $$;

-- Whether the queue has an item to be done now or later. Those that are parked or done may be many,
-- and none of them is read: items that are claimed are found by their claims.
CREATE OR REPLACE FUNCTION lockkeeper.lk_has_items(the_queue text) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
SELECT EXISTS (SELECT FROM lockkeeper.items AS i
               WHERE i.queue = the_queue AND i.state = 'ready')
    OR EXISTS (SELECT FROM lockkeeper.items AS i
               WHERE i.queue = the_queue AND i.state = 'delayed')
    OR EXISTS (SELECT FROM (SELECT x.request, x.path FROM lockkeeper.parts AS x
                            WHERE x.path > the_queue || '/' AND x.path < the_queue || '0'
                              AND x.position = 1 OFFSET 0) AS p
               CROSS JOIN LATERAL (SELECT x.is_claim FROM lockkeeper.requests AS x
                                   WHERE x.id = p.request OFFSET 0) AS r
               CROSS JOIN LATERAL (SELECT x.claim FROM lockkeeper.items AS x
                                   WHERE x.queue = the_queue
                                     AND x.id = substring(p.path FROM '[^/]*$') OFFSET 0) AS i
               WHERE r.is_claim AND i.claim = p.request) $$;

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
    taken lockkeeper.taken;
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
        || pg_advisory_xact_lock(hashtextextended('lockkeeper//' || asker, 0)) -- R3
        || pg_advisory_xact_lock_shared(hashtextextended('lockkeeper/' || root, 0));
    taken := lockkeeper.claim_shared(queue, above, root, asker, ttl_ms, max_attempts, ask_number,
                                     note, NULL);
    IF taken.outcome IS NULL THEN
        ROLLBACK AND CHAIN;
        setting := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        SELECT a.* INTO taken
        FROM lockkeeper.take(queue, above, root, asker, ttl_ms, max_attempts, ask_number, note)
            AS a;
        IF pg_catalog.clock_timestamp() > pg_catalog.statement_timestamp() + interval '1 ms' THEN
            CALL lockkeeper.release_early();
        END IF;
    END IF;
    outcome := taken.outcome;
    sentence := taken.sentence;
    id := taken.id;
    token := taken.token;
    attempt := taken.attempt;
    stolen := taken.stolen;
    new_ttl_ms := taken.ttl_ms;
    left_us := taken.left_us;
    value := taken.value;
    look_us := taken.look_us;
    has_held := taken.has_held;
END $$;

-- R16. `delay_ms` NULL: done; else given back, because of `code` or `words`, if one is not NULL, with
-- its attempt, if it is `uncounted`, and set aside, if it `parks`. `result` (NULL: none) and `keep_ms` are
-- of one that is done.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_finish_claim(
    queue text, id text, root text, asker text, the_token bigint, delay_ms bigint, code integer,
    words bytea, uncounted boolean, parks boolean, result bytea, keep_ms bigint,
    INOUT outcome text DEFAULT NULL, INOUT sentence text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    identity bytea;
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
        || set_config('plan_cache_mode', 'force_generic_plan', true);
    identity := sha256(convert_to(queue || '/' || id || E'\n' || asker, 'UTF8'));
    IF delay_ms IS NULL THEN
        setting := pg_advisory_xact_lock_shared(hashtextextended('lockkeeper/' || root, 0));
        IF lockkeeper.finish_shared(queue, id, root, asker, identity, the_token, result, keep_ms)
           IS NOT NULL THEN
            outcome := 'ok';
            RETURN;
        END IF;
        ROLLBACK AND CHAIN;
        setting := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    END IF;
    SELECT a.outcome, a.sentence INTO outcome, sentence
    FROM lockkeeper.finish(queue, id, root, asker, identity, the_token, delay_ms, code, words,
                           uncounted, parks, result, keep_ms) AS a;
    IF pg_catalog.clock_timestamp() > pg_catalog.statement_timestamp() + interval '1 ms' THEN
        CALL lockkeeper.release_early();
    END IF;
END $$;
