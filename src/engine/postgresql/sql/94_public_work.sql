-- SPDX-License-Identifier: Apache-2.0
-- Public functions for work (R16, docs/sql.md), as 92_public_locks.

-- Pushes items of one queue in one decision, of a `kind` as in push_over(). Answers what became of each.
CREATE OR REPLACE FUNCTION lockkeeper.push_all(
    queue text, ids text[], vals bytea[], delay interval, priority integer, needs text[],
    keep interval, kind integer) RETURNS lockkeeper.pushed[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_variable
DECLARE
    the_queue text := lockkeeper.path_of(queue);
    delay_ms bigint;
    keep_ms bigint;
    items text[] := '{}';
    needed lockkeeper.parts_read;
    decision lockkeeper.decision;
    pushed lockkeeper.pushed;
    all_pushed lockkeeper.pushed[] := '{}';
    count_pushed bigint := 0;
    wakes boolean := false;
BEGIN
    IF coalesce(cardinality(ids), 0) NOT BETWEEN 1 AND @LK_DECIDE_MANY_MAX@ THEN
        PERFORM lockkeeper.refuse('invalid', format(
            'R16: one decision adds 1 to @LK_DECIDE_MANY_MAX@ items, not %s',
            coalesce(cardinality(ids), 0)));
    END IF;
    IF vals IS NOT NULL AND cardinality(vals) <> cardinality(ids) THEN
        PERFORM lockkeeper.refuse('invalid', format('R16: %s values for %s items',
                                                    cardinality(vals), cardinality(ids)));
    END IF;
    FOR i IN 1 .. cardinality(ids) LOOP
        items := items || lockkeeper.item_path_of(the_queue, ids[i]);
        PERFORM lockkeeper.check_value(vals[i]);
    END LOOP;
    delay_ms := lockkeeper.delay_ms_of(delay);
    PERFORM lockkeeper.check_priority(priority);
    keep_ms := lockkeeper.keep_ms_of(keep);
    FOR i IN 1 .. CASE WHEN needs = '{}' THEN 1 ELSE cardinality(ids) END LOOP
        needed := lockkeeper.needs_of(needs, items[i]);
    END LOOP;
    decision := lockkeeper.begin_decision(ARRAY[split_part(the_queue, '/', 1)], @LK_NEVER@);
    FOR i IN 1 .. cardinality(ids) LOOP
        pushed := lockkeeper.push_item(the_queue, ids[i], vals[i], delay_ms, needed.paths,
            needed.limits, needed.counts, needed.roots, priority, kind, keep_ms, decision);
        all_pushed := all_pushed || pushed;
        count_pushed := count_pushed + pushed.is_work::integer;
        wakes := wakes OR pushed.wakes;
    END LOOP;
    PERFORM lockkeeper.count_pushes(the_queue, count_pushed, cardinality(ids) - count_pushed, wakes,
                                    decision);
    RETURN all_pushed;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.push(
    queue text, ids text[], vals bytea[] DEFAULT NULL, delay interval DEFAULT '0',
    priority integer DEFAULT 0, needs text[] DEFAULT '{}', keep interval DEFAULT '0')
RETURNS boolean[]
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN ARRAY(SELECT p.added
                 FROM pg_catalog.unnest(lockkeeper.push_all(queue, ids, vals, delay, priority, needs, keep,
                                                            @LK_PUSH_NEW@)) AS p);
END $$;
COMMENT ON FUNCTION lockkeeper.push(text, text[], bytea[], interval, integer, text[], interval)
    IS 'Adds items, all with the same delay, priority and needs; answers of each whether it was added.';

CREATE OR REPLACE FUNCTION lockkeeper.push(
    queue text, id text, value text DEFAULT NULL, delay interval DEFAULT '0',
    priority integer DEFAULT 0, needs text[] DEFAULT '{}', keep interval DEFAULT '0')
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN (lockkeeper.push_all(queue, ARRAY[id], ARRAY[pg_catalog.convert_to(value, 'UTF8')], delay,
                                priority, needs, keep, @LK_PUSH_NEW@))[1].added;
END $$;
COMMENT ON FUNCTION lockkeeper.push(text, text, text, interval, integer, text[], interval)
    IS 'Adds an item to a queue, unless there is one with this id; answers whether it was added.';

CREATE OR REPLACE FUNCTION lockkeeper.push(
    queue text, id text, value bytea, delay interval DEFAULT '0', priority integer DEFAULT 0,
    needs text[] DEFAULT '{}', keep interval DEFAULT '0') RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN (lockkeeper.push_all(queue, ARRAY[id], ARRAY[value], delay, priority, needs, keep,
                                @LK_PUSH_NEW@))[1].added;
END $$;
COMMENT ON FUNCTION lockkeeper.push(text, text, bytea, interval, integer, text[], interval)
    IS 'Adds an item to a queue, unless there is one with this id; answers whether it was added.';

-- An item that waits or is parked gets all that the push says, and is as new; one that is claimed is so
-- when its claim ends.
CREATE OR REPLACE FUNCTION lockkeeper.push_again(
    queue text, ids text[], vals bytea[] DEFAULT NULL, delay interval DEFAULT '0',
    priority integer DEFAULT 0, needs text[] DEFAULT '{}', keep interval DEFAULT '0')
RETURNS text[]
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN ARRAY(SELECT p.was
                 FROM pg_catalog.unnest(lockkeeper.push_all(queue, ids, vals, delay, priority, needs, keep,
                                                            @LK_PUSH_AGAIN@)) AS p);
END $$;
COMMENT ON FUNCTION lockkeeper.push_again(text, text[], bytea[], interval, integer, text[], interval)
    IS 'Adds items, or has those that are there worked on once more; answers of each its former state, or NULL: added.';

CREATE OR REPLACE FUNCTION lockkeeper.push_again(
    queue text, id text, value text DEFAULT NULL, delay interval DEFAULT '0',
    priority integer DEFAULT 0, needs text[] DEFAULT '{}', keep interval DEFAULT '0')
RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN (lockkeeper.push_all(queue, ARRAY[id], ARRAY[pg_catalog.convert_to(value, 'UTF8')], delay,
                                priority, needs, keep, @LK_PUSH_AGAIN@))[1].was;
END $$;
COMMENT ON FUNCTION lockkeeper.push_again(text, text, text, interval, integer, text[], interval)
    IS 'Adds an item to a queue, or has the one with this id worked on once more; answers its former state, or NULL: added.';

CREATE OR REPLACE FUNCTION lockkeeper.push_again(
    queue text, id text, value bytea, delay interval DEFAULT '0', priority integer DEFAULT 0,
    needs text[] DEFAULT '{}', keep interval DEFAULT '0') RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN (lockkeeper.push_all(queue, ARRAY[id], ARRAY[value], delay, priority, needs, keep,
                                @LK_PUSH_AGAIN@))[1].was;
END $$;
COMMENT ON FUNCTION lockkeeper.push_again(text, text, bytea, interval, integer, text[], interval)
    IS 'Adds an item to a queue, or has the one with this id worked on once more; answers its former state, or NULL: added.';

-- Only an item that is ready, delayed, or pushed again behind its claim gets what the push says.
CREATE OR REPLACE FUNCTION lockkeeper.push_replace(
    queue text, ids text[], vals bytea[] DEFAULT NULL, delay interval DEFAULT '0',
    priority integer DEFAULT 0, needs text[] DEFAULT '{}', keep interval DEFAULT '0')
RETURNS text[]
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN ARRAY(SELECT p.was
                 FROM pg_catalog.unnest(lockkeeper.push_all(queue, ids, vals, delay, priority, needs, keep,
                                                            @LK_PUSH_REPLACE@)) AS p);
END $$;
COMMENT ON FUNCTION lockkeeper.push_replace(text, text[], bytea[], interval, integer, text[], interval)
    IS 'Adds items, or changes those that wait to be claimed; answers of each its former state, or NULL: added.';

CREATE OR REPLACE FUNCTION lockkeeper.push_replace(
    queue text, id text, value text DEFAULT NULL, delay interval DEFAULT '0',
    priority integer DEFAULT 0, needs text[] DEFAULT '{}', keep interval DEFAULT '0')
RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN (lockkeeper.push_all(queue, ARRAY[id], ARRAY[pg_catalog.convert_to(value, 'UTF8')], delay,
                                priority, needs, keep, @LK_PUSH_REPLACE@))[1].was;
END $$;
COMMENT ON FUNCTION lockkeeper.push_replace(text, text, text, interval, integer, text[], interval)
    IS 'Adds an item to a queue, or changes the one with this id if it waits to be claimed; answers its former state, or NULL: added.';

CREATE OR REPLACE FUNCTION lockkeeper.push_replace(
    queue text, id text, value bytea, delay interval DEFAULT '0', priority integer DEFAULT 0,
    needs text[] DEFAULT '{}', keep interval DEFAULT '0') RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN (lockkeeper.push_all(queue, ARRAY[id], ARRAY[value], delay, priority, needs, keep,
                                @LK_PUSH_REPLACE@))[1].was;
END $$;
COMMENT ON FUNCTION lockkeeper.push_replace(text, text, bytea, interval, integer, text[], interval)
    IS 'Adds an item to a queue, or changes the one with this id if it waits to be claimed; answers its former state, or NULL: added.';

DO $do$ BEGIN
    CREATE TYPE lockkeeper.claimed AS (
        id        text,
        value     bytea,
        token     bigint,      -- R4; the items of one claim share it
        owner     text,
        expires   timestamptz,
        attempt   integer,
        is_stolen boolean      -- its former claim has perished
    );
EXCEPTION WHEN duplicate_object THEN NULL;
END $do$;
COMMENT ON TYPE lockkeeper.claimed IS 'A row of what lockkeeper.claim() answers.';

-- `ask`: a number that is repeated with the call if its answer was lost (R3).
CREATE OR REPLACE FUNCTION lockkeeper.claim(
    queue text, n integer DEFAULT 1, owner text DEFAULT NULL, ttl interval DEFAULT NULL,
    max_attempts integer DEFAULT 0, note text DEFAULT NULL, ask bigint DEFAULT NULL)
RETURNS SETOF lockkeeper.claimed
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    the_queue text := lockkeeper.path_of(queue);
    the_owner text := lockkeeper.owner_or_new(owner);
    ttl_ms bigint := coalesce(nullif(lockkeeper.ttl_ms_of(ttl), 0), @LK_TTL_DEFAULT_MS@);
    taken lockkeeper.taken;
    is_any boolean := false;
BEGIN
    IF max_attempts IS NULL OR max_attempts NOT BETWEEN 0 AND @LK_ATTEMPTS_MAX@
       OR octet_length(note) > @LK_NOTE_BYTES_MAX@ THEN
        PERFORM lockkeeper.refuse('invalid', format(
            '@LK_TEXT_ATTEMPTS@', @LK_ATTEMPTS_MAX@, @LK_NOTE_BYTES_MAX@));
    END IF;
    IF n IS NULL OR n NOT BETWEEN 1 AND @LK_TAKES_MAX@ THEN
        PERFORM lockkeeper.refuse('invalid', format(
            'R16: one decision claims 1 to @LK_TAKES_MAX@ items, not %s',
            coalesce(n::text, 'NULL')));
    END IF;
    IF ask NOT BETWEEN 1 AND 9007199254740991 THEN
        PERFORM lockkeeper.refuse('invalid', 'R3: the number of an ask is 1 to 9007199254740991');
    END IF;
    FOR taken IN
        SELECT t.* FROM lockkeeper.take_several(the_queue, lockkeeper.path_and_above(the_queue),
            split_part(the_queue, '/', 1), the_owner, ttl_ms, max_attempts, coalesce(note, ''),
            ARRAY(SELECT coalesce(ask * @LK_TAKES_MAX@ + i, 0) FROM generate_series(0, n - 1) AS i)) AS t
    LOOP
        IF taken.outcome = 'full' AND NOT is_any THEN
            PERFORM lockkeeper.refuse(taken.outcome, taken.sentence);
        END IF;
        CONTINUE WHEN taken.outcome <> 'granted';
        is_any := true;
        RETURN NEXT (taken.id, taken.value, taken.token, the_owner,
            lockkeeper.deadline_at(the_queue || '/' || taken.id, taken.token), taken.attempt,
            taken.stolen)::lockkeeper.claimed;
    END LOOP;
END $$;
COMMENT ON FUNCTION lockkeeper.claim(text, integer, text, interval, integer, text, bigint)
    IS 'Claims up to n items that are due and free: a row for each.';

-- Ends claims whose items are done (delay_ms NULL), or given back. All of them or, with or_fail, none.
CREATE OR REPLACE FUNCTION lockkeeper.finish_all(
    queue text, ids text[], owner text, token bigint, delay_ms bigint, code integer, words bytea,
    uncounted boolean, parks boolean, results bytea[], keep interval, or_fail boolean) RETURNS text[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_variable
DECLARE
    the_queue text := lockkeeper.path_of(queue);
    item text;
    items text[] := '{}';
    keep_ms bigint;
    decision lockkeeper.decision;
    the_owner text;
    answer lockkeeper.answer;
    outcomes text[] := '{}';
BEGIN
    IF coalesce(cardinality(ids), 0) NOT BETWEEN 1 AND @LK_DECIDE_MANY_MAX@ THEN
        PERFORM lockkeeper.refuse('invalid', format(
            'R16: one decision ends 1 to @LK_DECIDE_MANY_MAX@ claims, not %s',
            coalesce(cardinality(ids), 0)));
    END IF;
    IF results IS NOT NULL AND cardinality(results) <> cardinality(ids) THEN
        PERFORM lockkeeper.refuse('invalid', format('R16: %s results for %s items',
                                                    cardinality(results), cardinality(ids)));
    END IF;
    FOR i IN 1 .. cardinality(ids) LOOP
        items := items || lockkeeper.item_path_of(the_queue, ids[i]);
        PERFORM lockkeeper.check_value(results[i]);
    END LOOP;
    PERFORM lockkeeper.check_owner(owner);
    keep_ms := lockkeeper.keep_ms_of(keep);
    decision := lockkeeper.begin_decision(lockkeeper.roots_to_finish(the_queue, ids,
                                      split_part(the_queue, '/', 1)), @LK_NEVER@);
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 4);
    END IF;
    FOR i IN 1 .. cardinality(ids) LOOP
        the_owner := lockkeeper.owner_or_found(owner, ARRAY[items[i]], token, decision.now_us);
        answer := lockkeeper.finish_item(the_queue, ids[i], the_owner,
            lockkeeper.identity(the_owner, items[i]), coalesce(token, 0), delay_ms, code, words,
            uncounted, parks, results[i], keep_ms, decision);
        IF or_fail AND answer.outcome <> 'ok' THEN
            PERFORM lockkeeper.refuse(answer.outcome, answer.sentence);
        END IF;
        outcomes := outcomes || answer.outcome;
    END LOOP;
    RETURN outcomes;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.done(
    queue text, ids text[], owner text DEFAULT NULL, token bigint DEFAULT NULL,
    or_fail boolean DEFAULT true, results bytea[] DEFAULT NULL, keep interval DEFAULT '0')
RETURNS text[]
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN lockkeeper.finish_all(queue, ids, owner, token, NULL, NULL, NULL, false, false, results,
                                 keep, or_fail);
END $$;
COMMENT ON FUNCTION lockkeeper.done(text, text[], text, bigint, boolean, bytea[], interval)
    IS 'Removes claimed items, or keeps them with their results; answers of each ok, or lost.';

CREATE OR REPLACE FUNCTION lockkeeper.done(
    queue text, id text, owner text DEFAULT NULL, token bigint DEFAULT NULL,
    or_fail boolean DEFAULT true, result text DEFAULT NULL, keep interval DEFAULT '0') RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN (lockkeeper.finish_all(queue, ARRAY[id], owner, token, NULL, NULL, NULL, false, false,
                                  ARRAY[pg_catalog.convert_to(result, 'UTF8')], keep, or_fail))[1];
END $$;
COMMENT ON FUNCTION lockkeeper.done(text, text, text, bigint, boolean, text, interval)
    IS 'Removes a claimed item, or keeps it with its result; answers ok, or lost.';

CREATE OR REPLACE FUNCTION lockkeeper.done(
    queue text, id text, result bytea, owner text DEFAULT NULL, token bigint DEFAULT NULL,
    or_fail boolean DEFAULT true, keep interval DEFAULT '0') RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN (lockkeeper.finish_all(queue, ARRAY[id], owner, token, NULL, NULL, NULL, false, false,
                                  ARRAY[result], keep, or_fail))[1];
END $$;
COMMENT ON FUNCTION lockkeeper.done(text, text, bytea, text, bigint, boolean, interval)
    IS 'Removes a claimed item, or keeps it with its result; answers ok, or lost.';

CREATE OR REPLACE FUNCTION lockkeeper.progress(
    queue text, id text, progress text, owner text DEFAULT NULL, token bigint DEFAULT NULL,
    or_fail boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    the_queue text := lockkeeper.path_of(queue);
    item text := lockkeeper.item_path_of(the_queue, id);
    the_owner text;
    answer lockkeeper.answer;
BEGIN
    PERFORM lockkeeper.check_owner(owner);
    IF octet_length(progress) > @LK_FAILURE_BYTES_MAX@ THEN
        PERFORM lockkeeper.refuse('invalid', format(
            '@LK_TEXT_PROGRESS@', @LK_FAILURE_BYTES_MAX@, octet_length(progress)));
    END IF;
    PERFORM lockkeeper.begin_decision(ARRAY[split_part(the_queue, '/', 1)], @LK_NEVER@);
    the_owner := lockkeeper.owner_or_found(owner, ARRAY[item], token, lockkeeper.now_us());
    answer := lockkeeper.tell_progress(the_queue, id, the_owner, coalesce(token, 0),
                                       convert_to(nullif(progress, ''), 'UTF8'));
    IF or_fail AND answer.outcome <> 'ok' THEN
        PERFORM lockkeeper.refuse(answer.outcome, answer.sentence);
    END IF;
    RETURN answer.outcome;
END $$;
COMMENT ON FUNCTION lockkeeper.progress(text, text, text, text, bigint, boolean)
    IS 'Says how far the work on a claimed item is; answers ok, or lost.';

CREATE OR REPLACE FUNCTION lockkeeper.retry(
    queue text, id text, owner text DEFAULT NULL, token bigint DEFAULT NULL,
    delay interval DEFAULT '0', exit_code integer DEFAULT NULL, error text DEFAULT NULL,
    or_fail boolean DEFAULT true, uncounted boolean DEFAULT false, park boolean DEFAULT false)
RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    delay_ms bigint;
BEGIN
    PERFORM lockkeeper.item_path_of(lockkeeper.path_of(queue), id);
    PERFORM lockkeeper.check_owner(owner);
    delay_ms := lockkeeper.delay_ms_of(delay);
    IF park AND delay_ms <> 0 THEN
        PERFORM lockkeeper.refuse('invalid', '@LK_TEXT_PARKS_DELAYED@');
    END IF;
    IF octet_length(error) > @LK_FAILURE_BYTES_MAX@ THEN
        PERFORM lockkeeper.refuse('invalid', format(
            '@LK_TEXT_FAILURE@', @LK_FAILURE_BYTES_MAX@, octet_length(error)));
    END IF;
    RETURN (lockkeeper.finish_all(queue, ARRAY[id], owner, token, delay_ms, exit_code,
                                  convert_to(nullif(error, ''), 'UTF8'), coalesce(uncounted, false),
                                  coalesce(park, false), NULL, NULL, or_fail))[1];
END $$;
COMMENT ON FUNCTION lockkeeper.retry(text, text, text, bigint, interval, integer, text, boolean,
                                     boolean, boolean)
    IS 'Gives a claimed item back, or parks it, and keeps why; answers ok, or lost.';

CREATE OR REPLACE FUNCTION lockkeeper.unpark(
    queue text, id text, or_fail boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    the_queue text := lockkeeper.path_of(queue);
    answer lockkeeper.answer;
BEGIN
    PERFORM lockkeeper.item_path_of(the_queue, id);
    answer := lockkeeper.unpark_one(the_queue, id, split_part(the_queue, '/', 1));
    IF or_fail AND answer.outcome <> 'ok' THEN
        PERFORM lockkeeper.refuse(answer.outcome, answer.sentence);
    END IF;
    RETURN answer.outcome;
END $$;
COMMENT ON FUNCTION lockkeeper.unpark(text, text, boolean)
    IS 'Makes a parked item ready again; answers ok, or lost.';

CREATE OR REPLACE FUNCTION lockkeeper.drop(
    queue text, id text, only_parked boolean DEFAULT false, or_fail boolean DEFAULT true)
RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    the_queue text := lockkeeper.path_of(queue);
    answer lockkeeper.answer;
BEGIN
    PERFORM lockkeeper.item_path_of(the_queue, id);
    answer := lockkeeper.drop_one(the_queue, id, split_part(the_queue, '/', 1),
                                  coalesce(only_parked, false));
    IF or_fail AND answer.outcome <> 'ok' THEN
        PERFORM lockkeeper.refuse(answer.outcome, answer.sentence);
    END IF;
    RETURN answer.outcome;
END $$;
COMMENT ON FUNCTION lockkeeper.drop(text, text, boolean, boolean)
    IS 'Removes an item that is not claimed; answers ok, or lost.';

-- R16, R12.
CREATE OR REPLACE FUNCTION lockkeeper.cancel(
    queue text, id text, reason text, by text DEFAULT session_user, now boolean DEFAULT false,
    or_fail boolean DEFAULT true) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    item text := lockkeeper.item_path_of(lockkeeper.path_of(queue), id);
    answer record;
BEGIN
    PERFORM lockkeeper.check_text('R12: the reason', coalesce(reason, ''), 1, @LK_REASON_BYTES_MAX@);
    PERFORM lockkeeper.check_text('R12: the user of a break', coalesce(by, ''), 1, @LK_BREAKER_BYTES_MAX@);
    SELECT a.* INTO answer
    FROM lockkeeper.cancel_item(item, split_part(item, '/', 1), coalesce(now, false), by, reason) AS a;
    IF or_fail AND answer.outcome <> 'ok' THEN
        PERFORM lockkeeper.refuse(answer.outcome, answer.sentence);
    END IF;
    RETURN answer.broken;
END $$;
COMMENT ON FUNCTION lockkeeper.cancel(text, text, text, text, boolean, boolean)
    IS 'Removes an item, on record; a claimed one when its claim has ended, which is broken. Answers how many claims, or NULL: lost.';
