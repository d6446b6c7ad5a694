-- SPDX-License-Identifier: Apache-2.0
-- Checks of what is passed to the public functions of 92_public_locks, 93_public_values and
-- 94_public_work: the library's checks once more (src/model/path.c, part.c, command_check.c), with
-- their sentences. tests/postgresql/test_checks.c holds the two together.
--
-- An error of these functions has the SQLSTATE LK0nn; nn is the exit code of lk for the same outcome
-- (src/model/outcome.c).

CREATE OR REPLACE FUNCTION lockkeeper.refuse(outcome text, sentence text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING MESSAGE = sentence, ERRCODE = CASE outcome
        WHEN 'invalid' THEN 'LK0@LK_EXIT_INVALID@'
        WHEN 'full' THEN 'LK0@LK_EXIT_FULL@'
        WHEN 'busy' THEN 'LK0@LK_EXIT_NOT_GRANTED@'
        WHEN 'waiting' THEN 'LK0@LK_EXIT_NOT_GRANTED@'
        WHEN 'deadlock' THEN 'LK0@LK_EXIT_DEADLOCK@'
        WHEN 'lost' THEN 'LK0@LK_EXIT_LOST@'
        ELSE 'LK0@LK_EXIT_INTERNAL@' END;
END $$;

-- ---- R1 ----

-- What is wrong with a path: the rule, and the byte where it is broken, from 0. NULL: nothing.
CREATE OR REPLACE FUNCTION lockkeeper.path_objection(path text, OUT rule text, OUT at integer)
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    segment text;
    before text; -- what precedes the first character that is not allowed
    letter text;
    depth integer := 0;
BEGIN
    at := 0;
    IF starts_with(path, '/') THEN
        path := substr(path, 2);
        at := 1;
    END IF;
    path := regexp_replace(path, '/$', '');
    IF path = '' THEN
        rule := '@LK_TEXT_PATH_EMPTY@';
        RETURN;
    END IF;
    IF octet_length(path) > @LK_PATH_BYTES_MAX@ THEN
        at := at + @LK_PATH_BYTES_MAX@;
        rule := '@LK_TEXT_PATH_LONG@';
        RETURN;
    END IF;
    FOREACH segment IN ARRAY string_to_array(path, '/') LOOP
        before := substring(segment COLLATE "C" FROM
            '^[^?{}\u0001-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*');
        letter := substr(segment, length(before) + 1, 1);
        rule := CASE
            WHEN depth = @LK_PATH_DEPTH_MAX@ THEN '@LK_TEXT_PATH_DEEP@'
            WHEN letter = '?' THEN '@LK_TEXT_PATH_QUESTION@'
            WHEN letter IN ('{', '}') THEN '@LK_TEXT_PATH_BRACES@'
            WHEN letter COLLATE "C" ~ '[\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'
            THEN '@LK_TEXT_PATH_SPACE@'
            WHEN letter <> '' THEN '@LK_TEXT_PATH_CONTROL@'
            WHEN segment = '' THEN '@LK_TEXT_SEGMENT_EMPTY@'
            WHEN octet_length(segment) > @LK_SEGMENT_BYTES_MAX@ THEN '@LK_TEXT_SEGMENT_LONG@'
            WHEN segment IN ('.', '..') THEN '@LK_TEXT_SEGMENT_DOTS@' END;
        IF rule IS NOT NULL THEN
            at := at + CASE WHEN depth < @LK_PATH_DEPTH_MAX@ AND letter <> '' THEN octet_length(before) ELSE 0 END;
            RETURN;
        END IF;
        at := at + octet_length(segment) + 1;
        depth := depth + 1;
    END LOOP;
END $$;

-- The sentence of the library: an objection to a path, in words.
CREATE OR REPLACE FUNCTION lockkeeper.path_sentence(rule text, at integer) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT format('@LK_TEXT_PATH@', rule, at + 1,
                  CASE WHEN rule = '@LK_TEXT_PATH_SPACE@' THEN '@LK_TEXT_PATH_SPACE_ADVICE@' ELSE '' END)
$$;

-- The path as the store keeps it, without a slash at either end.
CREATE OR REPLACE FUNCTION lockkeeper.path_of(path text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    wrong record;
BEGIN
    IF lockkeeper.is_path(path) THEN
        RETURN path;
    END IF;
    SELECT o.rule, o.at INTO wrong FROM lockkeeper.path_objection(coalesce(path, '')) AS o;
    IF wrong.rule IS NOT NULL THEN
        PERFORM lockkeeper.refuse('invalid', lockkeeper.path_sentence(wrong.rule, wrong.at));
    END IF;
    RETURN regexp_replace(regexp_replace(path, '^/', ''), '/$', '');
END $$;

-- ---- R2 ----

-- The words behind the path, from the first `?` on, whose place in the part is `at`, from 0.
CREATE OR REPLACE FUNCTION lockkeeper.words_of(
    words text, at integer, OUT is_shared boolean, OUT is_strict boolean, OUT unit_limit integer,
    OUT units integer)
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    word text;
    digits text;
    known integer;
    rule text;
BEGIN
    is_shared := false;
    is_strict := false;
    FOREACH word IN ARRAY regexp_split_to_array(substr(words, 2), '[?&]') LOOP
        at := at + 1;
        IF word = 'shared' THEN
            rule := CASE WHEN is_shared THEN '@LK_TEXT_SHARED_TWICE@' END;
            is_shared := true;
        ELSIF word = 'strict' THEN
            rule := CASE WHEN is_strict THEN '@LK_TEXT_STRICT_TWICE@' END;
            is_strict := true;
        ELSIF starts_with(word, 'limit=') OR starts_with(word, 'units=') THEN
            known := CASE WHEN starts_with(word, 'limit=') THEN unit_limit ELSE units END;
            digits := substr(word, 7);
            IF known IS NOT NULL THEN
                rule := '@LK_TEXT_NUMBER_TWICE@';
            ELSIF digits COLLATE "C" !~ '^[0-9]{1,10}$'
                  OR digits::bigint NOT BETWEEN 1 AND @LK_LIMIT_MAX@ THEN
                rule := '@LK_TEXT_NUMBER@';
                at := at + 6;
            ELSIF starts_with(word, 'limit=') THEN
                unit_limit := digits::integer;
            ELSE
                units := digits::integer;
            END IF;
        ELSE
            rule := '@LK_TEXT_PART_WORDS@';
        END IF;
        EXIT WHEN rule IS NOT NULL;
        at := at + octet_length(word);
    END LOOP;
    IF rule IS NULL AND units IS NOT NULL AND unit_limit IS NULL THEN
        rule := '@LK_TEXT_UNITS_ALONE@';
        at := at - 1;
    END IF;
    IF rule IS NOT NULL THEN
        PERFORM lockkeeper.refuse('invalid', format('@LK_TEXT_PART@', rule, at + 1));
    END IF;
END $$;

-- A part, PATH[?shared][?limit=N[&units=U]], and what holds where its words leave it open. `units` 0:
-- it is exclusive. A need can also be PATH?strict; -1: that, and exclusive.
CREATE OR REPLACE FUNCTION lockkeeper.part_of(
    part text, is_shared boolean, shared_limit integer, part_units integer, is_need boolean,
    OUT path text, OUT unit_limit integer, OUT units integer)
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    said record;
    is_strict boolean := false;
BEGIN
    path := lockkeeper.path_of(split_part(part, '?', 1));
    IF position('?' IN part) > 0 THEN
        SELECT * INTO said
        FROM lockkeeper.words_of(substr(part, position('?' IN part)),
                                 octet_length(split_part(part, '?', 1)));
        is_shared := is_shared OR said.is_shared;
        is_strict := said.is_strict;
        shared_limit := coalesce(said.unit_limit, shared_limit);
        part_units := coalesce(said.units, part_units);
    END IF;
    IF shared_limit < 1 OR part_units < 1 THEN
        PERFORM lockkeeper.refuse('invalid', 'R2: limit and units are 1 to @LK_LIMIT_MAX@');
    ELSIF is_strict AND (is_shared OR shared_limit IS NOT NULL) THEN
        PERFORM lockkeeper.refuse('invalid', '@LK_TEXT_STRICT_EXCLUSIVE@');
    ELSIF part_units IS NOT NULL AND shared_limit IS NULL THEN
        PERFORM lockkeeper.refuse('invalid', '@LK_TEXT_UNITS_NEED_LIMIT@');
    ELSIF part_units > shared_limit THEN
        PERFORM lockkeeper.refuse('invalid', format(
            '@LK_TEXT_UNITS_FIT@', part_units, shared_limit));
    ELSIF is_strict AND NOT is_need THEN
        PERFORM lockkeeper.refuse('invalid', '@LK_TEXT_STRICT_NEED@');
    END IF;
    unit_limit := coalesce(shared_limit, 0);
    units := CASE WHEN is_shared OR unit_limit > 0 THEN coalesce(part_units, 1)
                  WHEN is_strict THEN -1 ELSE 0 END;
END $$;

DO $do$ BEGIN
    CREATE TYPE lockkeeper.parts_read AS (
        paths  text[],
        limits integer[],
        counts integer[],
        sorted text,  -- the paths in byte order, with a space between
        roots  text[] -- in byte order
    );
EXCEPTION WHEN duplicate_object THEN NULL;
END $do$;

-- The parts of a request.
CREATE OR REPLACE FUNCTION lockkeeper.parts_of(
    parts text[], is_shared boolean, shared_limit integer, units integer)
RETURNS lockkeeper.parts_read
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    of_all lockkeeper.parts_read := ('{}', '{}', '{}', '', '{}');
    one record;
    twice record;
BEGIN
    IF coalesce(cardinality(parts), 0) NOT BETWEEN 1 AND @LK_PARTS_MAX@ THEN
        PERFORM lockkeeper.refuse('invalid', format('@LK_TEXT_PARTS@', @LK_PARTS_MAX@,
                                                    coalesce(cardinality(parts), 0)));
    END IF;
    FOR i IN array_lower(parts, 1) .. array_upper(parts, 1) LOOP
        SELECT * INTO one
        FROM lockkeeper.part_of(coalesce(parts[i], ''), is_shared, shared_limit, units, false);
        of_all.paths := of_all.paths || one.path;
        of_all.limits := of_all.limits || one.unit_limit;
        of_all.counts := of_all.counts || one.units;
    END LOOP;
    SELECT p.n, p.path INTO twice FROM unnest(of_all.paths) WITH ORDINALITY AS p (path, n)
    WHERE p.path = ANY (of_all.paths[1 : p.n - 1]) ORDER BY p.n LIMIT 1;
    IF FOUND THEN
        PERFORM lockkeeper.refuse('invalid', format('@LK_TEXT_PART_TWICE@', twice.n,
                                                    twice.path));
    END IF;
    of_all.sorted := (SELECT string_agg(p.path, ' ' ORDER BY p.path COLLATE "C")
                      FROM unnest(of_all.paths) AS p (path));
    of_all.roots := lockkeeper.roots_of(of_all.paths);
    RETURN of_all;
END $$;

-- ---- owners, times, notes, values ----

CREATE OR REPLACE FUNCTION lockkeeper.check_owner(owner text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF octet_length(owner) NOT BETWEEN 1 AND @LK_OWNER_BYTES_MAX@ THEN
        PERFORM lockkeeper.refuse('invalid', format('@LK_TEXT_OWNER@', @LK_OWNER_BYTES_MAX@,
                                                    octet_length(owner)));
    END IF;
END $$;

-- R3: this owner, or a new one if none is named.
CREATE OR REPLACE FUNCTION lockkeeper.owner_or_new(owner text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lockkeeper.check_owner(owner);
    RETURN coalesce(owner, left(session_user, 24) || '@' || coalesce(host(inet_client_addr()), 'local')
        || '/' || pg_backend_pid() || '/' || nextval('lockkeeper.draws'));
END $$;

-- R11: in milliseconds; 0: none is named.
CREATE OR REPLACE FUNCTION lockkeeper.ttl_ms_of(ttl interval) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    ttl_ms bigint;
BEGIN
    IF ttl IS NULL THEN
        RETURN 0;
    END IF;
    BEGIN
        ttl_ms := round(extract(epoch FROM ttl)::numeric * 1000);
    EXCEPTION WHEN numeric_value_out_of_range OR feature_not_supported THEN
        ttl_ms := NULL; -- infinite
    END;
    IF ttl_ms IS NULL OR ttl_ms NOT BETWEEN @LK_TTL_MIN_MS@ AND @LK_TTL_MAX_MS@ THEN
        PERFORM lockkeeper.refuse('invalid', format(
            'R11: a ttl is @LK_TTL_MIN_MS@ ms to @LK_TTL_MAX_DAYS@ days, not %s',
            coalesce(ttl_ms || ' ms', ttl::text)));
    END IF;
    RETURN ttl_ms;
END $$;

-- R11: in microseconds of Unix time; 0: none is named.
CREATE OR REPLACE FUNCTION lockkeeper.until_us_of(until timestamptz, ttl interval) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    IF until IS NULL THEN
        RETURN 0;
    END IF;
    IF ttl IS NOT NULL THEN
        PERFORM lockkeeper.refuse('invalid', '@LK_TEXT_TTL_OR_END@');
    END IF;
    IF NOT isfinite(until) OR until <= to_timestamp(1) THEN
        PERFORM lockkeeper.refuse('invalid', '@LK_TEXT_FIXED_END_BAD@');
    END IF;
    RETURN floor(extract(epoch FROM until)::numeric * 1000000);
END $$;

-- `name` in a sentence; NULL is checked as nothing to check.
CREATE OR REPLACE FUNCTION lockkeeper.check_text(
    name text, words text, bytes_min integer, bytes_max integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF octet_length(words) NOT BETWEEN bytes_min AND bytes_max THEN
        PERFORM lockkeeper.refuse('invalid', format('%s has %s to %s bytes', name, bytes_min,
                                                    bytes_max));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.check_value(bytes bytea) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF octet_length(bytes) > @LK_VALUE_BYTES_MAX@ THEN
        PERFORM lockkeeper.refuse('invalid', format('@LK_TEXT_VALUE@', @LK_VALUE_BYTES_MAX@,
                                                    octet_length(bytes)));
    END IF;
END $$;

-- R16: a time of 0 to 366 days, in milliseconds; NULL: 0. `rule`: what another one is refused with.
CREATE OR REPLACE FUNCTION lockkeeper.time_ms_of(span interval, rule text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    seconds numeric;
BEGIN
    BEGIN
        seconds := extract(epoch FROM coalesce(span, '0'));
    EXCEPTION WHEN numeric_value_out_of_range OR feature_not_supported THEN
        seconds := -1; -- infinite
    END;
    IF seconds NOT BETWEEN 0 AND @LK_TTL_MAX_DAYS@ * 86400 THEN
        PERFORM lockkeeper.refuse('invalid', rule);
    END IF;
    RETURN round(seconds * 1000);
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.delay_ms_of(delay interval) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    RETURN lockkeeper.time_ms_of(delay, '@LK_TEXT_DELAY@');
END $$;

-- How long an item is kept once it is done.
CREATE OR REPLACE FUNCTION lockkeeper.keep_ms_of(keep interval) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    RETURN lockkeeper.time_ms_of(keep, '@LK_TEXT_KEEP@');
END $$;

-- ---- R16 ----

-- QUEUE/ID; the queue is checked already.
CREATE OR REPLACE FUNCTION lockkeeper.item_path_of(queue text, id text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    wrong record;
    cause text := '@LK_TEXT_ITEM_ID@';
BEGIN
    IF octet_length(id) BETWEEN 1 AND @LK_SEGMENT_BYTES_MAX@ AND position('/' IN id) = 0 THEN
        IF lockkeeper.is_path(queue || '/' || id) THEN
            RETURN queue || '/' || id;
        END IF;
        SELECT lockkeeper.path_sentence(o.rule, o.at) INTO cause
        FROM lockkeeper.path_objection(queue || '/' || id) AS o;
    END IF;
    PERFORM lockkeeper.refuse('invalid', format('@LK_TEXT_ITEM_PATH@', cause));
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.check_priority(priority integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF priority IS NULL OR priority NOT BETWEEN @LK_PRIORITY_MIN@ AND @LK_PRIORITY_MAX@ THEN
        PERFORM lockkeeper.refuse('invalid', format(
            '@LK_TEXT_PRIORITY@', @LK_PRIORITY_MIN@, @LK_PRIORITY_MAX@,
            coalesce(priority::text, 'NULL')));
    END IF;
END $$;

-- What the work on an item needs, beside the item itself.
CREATE OR REPLACE FUNCTION lockkeeper.needs_of(needs text[], item text)
RETURNS lockkeeper.parts_read
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    of_all lockkeeper.parts_read := ('{}', '{}', '{}', '', '{}');
    count integer := coalesce(cardinality(needs), 0);
    twice record;
BEGIN
    IF count = 0 THEN
        RETURN of_all;
    END IF;
    IF count > @LK_NEEDS_MAX@ THEN
        PERFORM lockkeeper.refuse('invalid', format(
            '@LK_TEXT_NEEDS@', @LK_NEEDS_MAX@, count));
    END IF;
    SELECT array_agg(p.path ORDER BY n.n), array_agg(p.unit_limit ORDER BY n.n),
           array_agg(p.units ORDER BY n.n)
    INTO of_all.paths, of_all.limits, of_all.counts
    FROM unnest(needs) WITH ORDINALITY AS n (part, n)
    CROSS JOIN LATERAL lockkeeper.part_of(coalesce(n.part, ''), false, NULL, NULL, true) AS p;
    SELECT p.n, p.path INTO twice
    FROM unnest(item || of_all.paths) WITH ORDINALITY AS p (path, n)
    WHERE p.path = ANY ((item || of_all.paths)[1 : p.n - 1]) ORDER BY p.n LIMIT 1;
    IF FOUND THEN
        PERFORM lockkeeper.refuse('invalid', format(
            '@LK_TEXT_NEEDS_CAUSE@',
            format('@LK_TEXT_PART_TWICE@', twice.n, twice.path)));
    END IF;
    of_all.roots := lockkeeper.roots_of(of_all.paths);
    RETURN of_all;
END $$;
