-- SPDX-License-Identifier: Apache-2.0
-- Public functions for locks (docs/sql.md): they stay as they are, and views, triggers and programs
-- may rely on them. They check what they are given, and decide in the caller's transaction, by
-- the functions that the procedures of the library fall back to; what they do takes effect with its
-- commit. The root's lock is held until then.
--
-- A public function has a comment, which an upgrade goes by: it drops all others (12_steps).

DO $do$ BEGIN
    CREATE TYPE lockkeeper.acquired AS (
        outcome  text,        -- granted, waiting, busy, deadlock, full, lost
        token    bigint,      -- R4; of a lease
        owner    text,
        expires  timestamptz, -- of the lease, or of the place in the queue
        ticket   bigint,      -- R4
        in_use   bigint,      -- units held at the first path
        ahead    integer,     -- R20: requests that are in the way
        blockers jsonb,       -- R20: up to 16 of them: path, owner, note, ticket, held, expires
        cycle    text[],      -- R13: owners
        value    bytea,       -- R15: of the first path
        in_doubt boolean,     -- R15: of that value
        reason   text         -- in words; NULL: granted
    );
EXCEPTION WHEN duplicate_object THEN NULL;
END $do$;
COMMENT ON TYPE lockkeeper.acquired IS 'What lockkeeper.acquire() answers.';

-- R20: blockers as internal functions name them, six texts each.
CREATE OR REPLACE FUNCTION lockkeeper.blockers_as_json(blockers text[], now_us bigint) RETURNS jsonb
LANGUAGE sql AS $$
SELECT jsonb_agg(jsonb_build_object('path', blockers[i], 'owner', blockers[i + 1],
                                    'note', blockers[i + 2], 'ticket', blockers[i + 3]::bigint,
                                    'held', blockers[i + 4]::boolean,
                                    'expires', to_timestamp((now_us + blockers[i + 5]::bigint) / 1e6))
                 ORDER BY i)
FROM generate_series(1, cardinality(blockers), 6) AS i $$;

-- Why a request is not granted, if its answer has no sentence.
CREATE OR REPLACE FUNCTION lockkeeper.reason_of(answer lockkeeper.answer) RETURNS text
LANGUAGE sql AS $$
SELECT CASE
    WHEN answer.outcome = 'granted' THEN NULL
    WHEN answer.sentence <> '' THEN answer.sentence
    WHEN answer.outcome = 'deadlock' THEN
        'R13: waiting would close a cycle of owners: ' || array_to_string(answer.cycle, ', ')
    WHEN answer.blockers IS NULL THEN 'not granted: another request blocks it'
    WHEN answer.blockers[5]::boolean THEN
        format('not granted: %s holds %s', answer.blockers[2], answer.blockers[1])
    ELSE format('not granted: %s waits ahead for %s', answer.blockers[2], answer.blockers[1])
    END $$;

CREATE OR REPLACE FUNCTION lockkeeper.acquire(
    paths text[], owner text DEFAULT NULL, ttl interval DEFAULT NULL,
    shared_limit integer DEFAULT NULL, units integer DEFAULT NULL, shared boolean DEFAULT false,
    style text DEFAULT 'try', note text DEFAULT NULL, until timestamptz DEFAULT NULL,
    with_value boolean DEFAULT false, or_fail boolean DEFAULT false)
RETURNS lockkeeper.acquired
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    parts lockkeeper.parts_read :=
        lockkeeper.parts_of(paths, coalesce(shared, false), shared_limit, units);
    the_owner text := lockkeeper.owner_or_new(owner);
    until_us bigint := lockkeeper.until_us_of(until, ttl);
    ttl_ms bigint := coalesce(nullif(lockkeeper.ttl_ms_of(ttl), 0), @LK_TTL_DEFAULT_MS@);
    answer lockkeeper.answer;
    result lockkeeper.acquired;
    now_us bigint;
BEGIN
    PERFORM lockkeeper.check_text('R19: the note', note, 0, @LK_NOTE_BYTES_MAX@);
    IF style IS NULL OR style NOT IN ('try', 'queue') THEN
        PERFORM lockkeeper.refuse('invalid', format(
            'R10: a style is try or queue, not %s', coalesce(style, 'NULL')));
    END IF;
    answer := lockkeeper.ask((lockkeeper.identity(the_owner, parts.sorted), the_owner, parts.paths,
        parts.limits, parts.counts, parts.roots, style, ttl_ms, until_us, note, 16,
        coalesce(with_value, false)));
    result.reason := lockkeeper.reason_of(answer);
    IF answer.outcome = 'invalid' OR (or_fail AND answer.outcome NOT IN ('granted', 'waiting')) THEN
        PERFORM lockkeeper.refuse(answer.outcome, result.reason);
    END IF;
    now_us := lockkeeper.now_us();
    result.outcome := answer.outcome;
    result.token := nullif(answer.token, 0);
    result.owner := the_owner;
    result.expires := (SELECT to_timestamp(r.deadline_us / 1e6) FROM lockkeeper.requests AS r
                       WHERE r.id = answer.request AND answer.left_us IS NOT NULL);
    result.ticket := answer.ticket;
    result.in_use := answer.in_use;
    result.ahead := answer.in_the_way;
    result.blockers := lockkeeper.blockers_as_json(answer.blockers, now_us);
    result.cycle := answer.cycle;
    IF answer.sizes[1]::bigint >= 0 THEN -- of the first path
        result.value := substring(answer.bytes FROM 1 FOR (answer.sizes[1]::bigint / 2)::integer);
        result.in_doubt := answer.sizes[1]::bigint % 2 = 1;
    END IF;
    RETURN result;
END $$;
COMMENT ON FUNCTION lockkeeper.acquire(text[], text, interval, integer, integer, boolean, text, text,
    timestamptz, boolean, boolean) IS 'Asks for all of these parts (R2) or none; takes effect with the commit.';

CREATE OR REPLACE FUNCTION lockkeeper.acquire(
    path text, owner text DEFAULT NULL, ttl interval DEFAULT NULL,
    shared_limit integer DEFAULT NULL, units integer DEFAULT NULL, shared boolean DEFAULT false,
    style text DEFAULT 'try', note text DEFAULT NULL, until timestamptz DEFAULT NULL,
    with_value boolean DEFAULT false, or_fail boolean DEFAULT false)
RETURNS lockkeeper.acquired
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN lockkeeper.acquire(ARRAY[path], owner, ttl, shared_limit, units, shared, style, note,
                              until, with_value, or_fail);
END $$;
COMMENT ON FUNCTION lockkeeper.acquire(text, text, interval, integer, integer, boolean, text, text,
    timestamptz, boolean, boolean) IS 'Asks for a lock; takes effect with the commit.';

-- R12: the owner that an end names, or that of the request with this token. An owner that is not
-- found is none: the request has ended.
CREATE OR REPLACE FUNCTION lockkeeper.owner_or_found(
    owner text, the_paths text[], the_token bigint, now_us bigint) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lockkeeper.check_owner(owner);
    IF owner IS NULL AND the_token IS NULL THEN
        PERFORM lockkeeper.refuse('invalid', 'R12: what ends or moves a lease names its owner or its token');
    END IF;
    RETURN coalesce(owner, (
        SELECT r.owner FROM lockkeeper.parts AS p JOIN lockkeeper.requests AS r ON r.id = p.request
        WHERE p.path = ANY (the_paths) AND r.token = the_token
        ORDER BY r.deadline_us > now_us DESC LIMIT 1), '');
END $$;

-- The deadline of the lease with this token and a part at this path.
CREATE OR REPLACE FUNCTION lockkeeper.deadline_at(the_path text, the_token bigint)
RETURNS timestamptz
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT to_timestamp(r.deadline_us / 1e6)
            FROM lockkeeper.parts AS p JOIN lockkeeper.requests AS r ON r.id = p.request
            WHERE p.path = the_path AND r.token = the_token LIMIT 1);
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.renew(
    paths text[], owner text DEFAULT NULL, token bigint DEFAULT NULL, ttl interval DEFAULT NULL,
    or_fail boolean DEFAULT true) RETURNS timestamptz
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    parts lockkeeper.parts_read := lockkeeper.parts_of(paths, false, NULL, NULL);
    ttl_ms bigint := lockkeeper.ttl_ms_of(ttl);
    the_owner text := lockkeeper.owner_or_found(owner, parts.paths, token, lockkeeper.now_us());
    answer lockkeeper.answer;
BEGIN
    answer := lockkeeper.renew_request(lockkeeper.identity(the_owner, parts.sorted), the_owner,
        parts.paths, parts.roots, coalesce(token, 0), ttl_ms);
    IF answer.outcome = 'ok' THEN
        RETURN lockkeeper.deadline_at(parts.paths[1], answer.token);
    END IF;
    IF or_fail THEN
        PERFORM lockkeeper.refuse(answer.outcome, answer.sentence);
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION lockkeeper.renew(text[], text, bigint, interval, boolean)
    IS 'Moves the deadline of a lease; answers it, or NULL: lost.';

CREATE OR REPLACE FUNCTION lockkeeper.renew(
    path text, owner text DEFAULT NULL, token bigint DEFAULT NULL, ttl interval DEFAULT NULL,
    or_fail boolean DEFAULT true) RETURNS timestamptz
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN lockkeeper.renew(ARRAY[path], owner, token, ttl, or_fail);
END $$;
COMMENT ON FUNCTION lockkeeper.renew(text, text, bigint, interval, boolean)
    IS 'Moves the deadline of a lease; answers it, or NULL: lost.';

-- R15: a value for each path, in their order; NULL: it stays as it is.
CREATE OR REPLACE FUNCTION lockkeeper.release(
    paths text[], owner text DEFAULT NULL, token bigint DEFAULT NULL, vals bytea[] DEFAULT NULL,
    or_fail boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    parts lockkeeper.parts_read := lockkeeper.parts_of(paths, false, NULL, NULL);
    the_owner text := lockkeeper.owner_or_found(owner, parts.paths, token, lockkeeper.now_us());
    put record;
    answer lockkeeper.answer;
BEGIN
    IF cardinality(vals) > cardinality(parts.paths) THEN
        PERFORM lockkeeper.refuse('invalid', format('R15: %s values for %s parts',
                                                    cardinality(vals), cardinality(parts.paths)));
    END IF;
    PERFORM lockkeeper.check_value(v.bytes) FROM unnest(vals) AS v (bytes);
    SELECT array_agg(a.path ORDER BY a.n) AS paths,
           array_agg(octet_length(a.bytes) ORDER BY a.n) AS sizes,
           string_agg(a.bytes, ''::bytea ORDER BY a.n) AS bytes
    INTO put FROM unnest(parts.paths, vals) WITH ORDINALITY AS a (path, bytes, n)
    WHERE a.bytes IS NOT NULL;
    answer := lockkeeper.release_request(lockkeeper.identity(the_owner, parts.sorted), put.paths,
        parts.roots, coalesce(token, 0), put.sizes, put.bytes);
    IF or_fail AND answer.outcome <> 'ok' THEN
        PERFORM lockkeeper.refuse(answer.outcome, answer.sentence);
    END IF;
    RETURN answer.outcome;
END $$;
COMMENT ON FUNCTION lockkeeper.release(text[], text, bigint, bytea[], boolean)
    IS 'Ends a lease, or withdraws a waiting request; answers ok, or lost.';

CREATE OR REPLACE FUNCTION lockkeeper.release(
    path text, owner text DEFAULT NULL, token bigint DEFAULT NULL, value text DEFAULT NULL,
    or_fail boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN lockkeeper.release(ARRAY[path], owner, token,
                              ARRAY[pg_catalog.convert_to(value, 'UTF8')], or_fail);
END $$;
COMMENT ON FUNCTION lockkeeper.release(text, text, bigint, text, boolean)
    IS 'Ends a lease, or withdraws a waiting request; answers ok, or lost.';

CREATE OR REPLACE FUNCTION lockkeeper.release(
    path text, value bytea, owner text DEFAULT NULL, token bigint DEFAULT NULL,
    or_fail boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN lockkeeper.release(ARRAY[path], owner, token, ARRAY[value], or_fail);
END $$;
COMMENT ON FUNCTION lockkeeper.release(text, bytea, text, bigint, boolean)
    IS 'Ends a lease and writes the value of its path; answers ok, or lost.';

-- Removes what no call asks about any more: dead requests, tokens that have ended. The library does it
-- along with its own calls.
CREATE OR REPLACE PROCEDURE lockkeeper.sweep()
LANGUAGE plpgsql AS $$
BEGIN
    CALL lockkeeper.lk_sweep();
END $$;
COMMENT ON PROCEDURE lockkeeper.sweep()
    IS 'Removes some of what is over; for a store that the library does not use.';

-- R12.
CREATE OR REPLACE FUNCTION lockkeeper.break(
    path text, reason text, by text DEFAULT session_user, now boolean DEFAULT false,
    owner text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    the_path text := lockkeeper.path_of(path);
BEGIN
    PERFORM lockkeeper.check_text('R12: the reason', coalesce(reason, ''), 1, @LK_REASON_BYTES_MAX@);
    PERFORM lockkeeper.check_text('R12: the user of a break', coalesce(by, ''), 1, @LK_BREAKER_BYTES_MAX@);
    PERFORM lockkeeper.check_owner(owner);
    RETURN lockkeeper.break_requests(the_path, split_part(the_path, '/', 1), coalesce(owner, ''),
                                     coalesce(now, false), by, reason);
END $$;
COMMENT ON FUNCTION lockkeeper.break(text, text, text, boolean, text)
    IS 'Ends what is held or waits at a path, on record; answers how many requests.';
