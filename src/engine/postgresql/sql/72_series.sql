-- SPDX-License-Identifier: Apache-2.0
-- Several commands of one kind about one queue, in one decision (R16): each as if it were alone, at
-- the same moment and in their order. The engine calls these functions in a transaction of its own
-- (series.c). Each answers a row for each command.
--
-- `commands` is a JSON array of objects. Lists in them are texts in PostgreSQL's form. What needs
-- no grant check is done by a statement for all of it (73_short_series), the rest one after the other.

-- R16. Needs as parts, and their roots. `value`: hexadecimal digits; absent: none. `kind` as in
-- push_over(). `keep_ms` absent: 0.
CREATE OR REPLACE FUNCTION lockkeeper.lk_push_many(the_queue text, the_root text, commands text)
RETURNS TABLE (added boolean, changed boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    begun timestamptz := clock_timestamp();
    decision lockkeeper.decision := lockkeeper.begin_decision(ARRAY[the_root], @LK_NEVER@);
    push record;
    pushed lockkeeper.pushed;
    count_pushed bigint := 0;
    count_duplicates bigint := 0;
    wakes boolean := false;
BEGIN
    FOR push IN
        SELECT c.* FROM json_to_recordset(commands::json) AS c (id text, value text,
            delay_ms bigint, needs text[], limits integer[], counts integer[], roots text[],
            priority integer, kind integer, keep_ms bigint)
    LOOP
        pushed := lockkeeper.push_item(the_queue, push.id, decode(push.value, 'hex'), push.delay_ms,
            push.needs, push.limits, push.counts, push.roots, push.priority, push.kind,
            coalesce(push.keep_ms, 0), decision);
        count_pushed := count_pushed + pushed.is_work::integer;
        count_duplicates := count_duplicates + (NOT pushed.is_work)::integer;
        wakes := wakes OR pushed.wakes;
        added := pushed.added;
        changed := pushed.changed;
        RETURN NEXT;
    END LOOP;
    PERFORM lockkeeper.count_pushes(the_queue, count_pushed, count_duplicates, wakes, decision);
    PERFORM lockkeeper.release_early_at_commit(begun);
END $$;

-- Claims as many items as there are ask numbers, all with one token (R4). The first that finds
-- nothing is the last row. Where the first ones are claimed already (R3), the next get that token
-- if the whole store has drawn no other since.
CREATE OR REPLACE FUNCTION lockkeeper.take_several(
    the_queue text, the_above text[], the_root text, the_owner text, the_ttl_ms bigint,
    the_max_attempts integer, the_note text, numbers bigint[])
RETURNS SETOF lockkeeper.taken
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    decision lockkeeper.decision := lockkeeper.begin_decision(
        lockkeeper.roots_to_take(the_queue, the_root, 16 + cardinality(numbers)),
        lockkeeper.now_us() + the_ttl_ms * 1000);
    shared bigint := 0;
    number bigint;
    taken lockkeeper.taken;
    count_plain integer := 0;
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 256);
    END IF;
    IF lockkeeper.is_plain_to_take(the_queue, the_above, the_owner, numbers, decision) THEN
        shared := lockkeeper.draw();
        RETURN QUERY
        SELECT t.* FROM lockkeeper.take_plain(the_queue, the_root, the_owner, the_ttl_ms,
            the_max_attempts, the_note, numbers, shared, decision.now_us) AS t;
        GET DIAGNOSTICS count_plain = ROW_COUNT;
        shared := CASE WHEN count_plain > 0 THEN shared ELSE 0 END;
    END IF;
    FOREACH number IN ARRAY numbers[count_plain + 1:] LOOP
        taken := NULL;
        IF number <> 0 THEN
            taken := lockkeeper.take_again(the_queue, the_owner, number, the_ttl_ms, decision.now_us);
        END IF;
        IF taken.outcome IS NULL THEN
            taken := lockkeeper.take_next(the_queue, the_above, the_root, the_owner,
                the_ttl_ms, the_max_attempts, number, the_note, shared, decision);
            shared := CASE WHEN shared = 0 THEN taken.token ELSE shared END;
        ELSIF shared = 0 THEN
            shared := CASE WHEN taken.token = (SELECT s.last_value FROM lockkeeper.draws AS s)
                           THEN taken.token ELSE -1 END;
        END IF;
        RETURN NEXT taken;
        EXIT WHEN taken.outcome <> 'granted';
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.lk_take_many(
    the_queue text, the_above text, the_root text, the_owner text, the_ttl_ms bigint,
    the_max_attempts bigint, the_note text, commands text)
RETURNS SETOF lockkeeper.taken
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    begun timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT t.* FROM lockkeeper.take_several(the_queue, the_above::text[], the_root, the_owner,
        the_ttl_ms, the_max_attempts::integer, the_note, ARRAY(
            SELECT c.ask_number FROM json_to_recordset(commands::json) AS c (ask_number bigint)
        )) AS t;
    PERFORM lockkeeper.release_early_at_commit(begun);
END $$;

-- Ends claims whose items are done. `result`: hexadecimal digits; absent: none. `keep_ms` absent: 0.
CREATE OR REPLACE FUNCTION lockkeeper.lk_finish_many(the_queue text, the_root text, commands text)
RETURNS TABLE (outcome text, sentence text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    begun timestamptz := clock_timestamp();
    decision lockkeeper.decision := lockkeeper.begin_decision(lockkeeper.roots_to_finish(the_queue,
        ARRAY(SELECT c.id FROM json_to_recordset(commands::json) AS c (id text)), the_root),
        @LK_NEVER@);
    ids text[];
    owners text[];
    tokens bigint[];
    results bytea[];
    keeps bigint[]; -- in milliseconds
    are_done boolean[];
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 4);
    END IF;
    SELECT array_agg(c.id), array_agg(c.owner), array_agg(c.token),
           array_agg(decode(c.result, 'hex')), array_agg(coalesce(c.keep_ms, 0))
    INTO ids, owners, tokens, results, keeps
    FROM json_to_recordset(commands::json)
        AS c (id text, owner text, token bigint, result text, keep_ms bigint);
    are_done := lockkeeper.finish_plain(the_queue, ids, owners, tokens, results, keeps, decision);
    FOR n IN 1 .. cardinality(ids) LOOP
        IF are_done[n] THEN
            outcome := 'ok';
            sentence := NULL;
        ELSE
            SELECT a.outcome, a.sentence INTO outcome, sentence
            FROM lockkeeper.finish_item(the_queue, ids[n], owners[n],
                lockkeeper.identity(owners[n], the_queue || '/' || ids[n]), tokens[n], NULL, NULL,
                NULL, false, false, results[n], keeps[n], decision) AS a;
        END IF;
        RETURN NEXT;
    END LOOP;
    PERFORM lockkeeper.release_early_at_commit(begun);
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.lk_unpark_many(the_queue text, the_root text, commands text)
RETURNS TABLE (outcome text, sentence text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    begun timestamptz := clock_timestamp();
    decision lockkeeper.decision := lockkeeper.begin_decision(ARRAY[the_root], @LK_NEVER@);
    is_any boolean := false;
    the_id text;
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 256);
    END IF;
    FOR the_id IN SELECT c.id FROM json_to_recordset(commands::json) AS c (id text) LOOP
        SELECT a.outcome, a.sentence INTO outcome, sentence
        FROM lockkeeper.unpark_item(the_queue, the_id) AS a;
        is_any := is_any OR outcome = 'ok';
        RETURN NEXT;
    END LOOP;
    IF is_any THEN
        PERFORM lockkeeper.wake_workers(decision);
    END IF;
    PERFORM lockkeeper.release_early_at_commit(begun);
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.lk_drop_many(the_queue text, the_root text, commands text)
RETURNS TABLE (outcome text, sentence text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    begun timestamptz := clock_timestamp();
    decision lockkeeper.decision := lockkeeper.begin_decision(ARRAY[the_root], @LK_NEVER@);
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 256);
    END IF;
    RETURN QUERY
    SELECT a.outcome, a.sentence
    FROM json_to_recordset(commands::json) AS c (id text, only_parked boolean)
    CROSS JOIN LATERAL lockkeeper.drop_item(the_queue, c.id, c.only_parked, decision) AS a;
    PERFORM lockkeeper.release_early_at_commit(begun);
END $$;
