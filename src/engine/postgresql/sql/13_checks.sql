-- SPDX-License-Identifier: Apache-2.0
-- What no row may be, however it is written: a row that the library cannot read would make every listing
-- fail. The public functions (91_public_checks) say what is wrong; these constraints hold for the
-- internal procedures too, which take what they are given.
--
-- A constraint calls one function. The server reads a constraint's expression again in each statement
-- that writes to the table, which takes longer than to call what a session has compiled: with the rule
-- of paths as an expression, an insert took 17 us more, with the function 3 (pgbench -M prepared).

-- R1, as an expression; %1$s is the path.
CREATE OR REPLACE FUNCTION lockkeeper.path_rule() RETURNS text
LANGUAGE sql IMMUTABLE AS
$$ SELECT $rule$(octet_length(%1$s) BETWEEN 1 AND @LK_PATH_BYTES_MAX@
AND ('/' || %1$s || '/') COLLATE "C" !~ '/[.]?[.]?/|[?{}\u0001-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'
AND (octet_length(%1$s) <= 64 OR octet_length(%1$s) - octet_length(replace(%1$s, '/', '')) < @LK_PATH_DEPTH_MAX@)
AND (octet_length(%1$s) <= @LK_SEGMENT_BYTES_MAX@
     OR convert_from(convert_to(%1$s, 'UTF8'), 'LATIN1') COLLATE "C" !~ '[^/]{@LK_SEGMENT_BYTES_MAX@}[^/]'))$rule$ $$;

-- R1: whether it is a path as the store keeps it, without a slash at either end.
DO $do$ BEGIN
    EXECUTE format('CREATE OR REPLACE FUNCTION lockkeeper.is_path(path text) RETURNS boolean
        LANGUAGE plpgsql IMMUTABLE STRICT AS %L',
        'BEGIN RETURN ' || format(lockkeeper.path_rule(), 'path') || '; END');
END $do$;

-- R16: what an item's work needs.
CREATE OR REPLACE FUNCTION lockkeeper.are_needs(
    paths text[], limits integer[], counts integer[], roots text[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN cardinality(paths) <= @LK_NEEDS_MAX@ AND cardinality(limits) = cardinality(paths)
       AND cardinality(counts) = cardinality(paths)
       AND NOT EXISTS (
           SELECT FROM unnest(paths, limits, counts) AS n (path, unit_limit, units)
           WHERE NOT coalesce(lockkeeper.is_path(n.path)
               AND CASE WHEN n.unit_limit = 0 THEN n.units IN (-1, 0, 1)
                        ELSE n.units BETWEEN 1 AND n.unit_limit END, false))
       AND cardinality(paths) = (SELECT count(DISTINCT n.path COLLATE "C")
                                 FROM unnest(paths) AS n (path))
       AND roots = lockkeeper.roots_of(paths);
END $$;

-- R2, R3: whether these are all paths, each once, and all roots, in byte order.
CREATE OR REPLACE FUNCTION lockkeeper.are_sorted(paths text[], sorted_paths text, roots text[])
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN cardinality(paths) BETWEEN 1 AND @LK_PARTS_MAX@
       AND array_position(paths, NULL) IS NULL
       AND cardinality(paths) = (SELECT count(DISTINCT p.path COLLATE "C")
                                 FROM unnest(paths) AS p (path))
       AND sorted_paths = (SELECT string_agg(p.path, ' ' ORDER BY p.path COLLATE "C")
                           FROM unnest(paths) AS p (path))
       AND roots = lockkeeper.roots_of(paths);
END $$;

-- The roots of paths, in byte order.
CREATE OR REPLACE FUNCTION lockkeeper.roots_of(paths text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN ARRAY(SELECT DISTINCT split_part(p.path, '/', 1) COLLATE "C"
                 FROM unnest(paths) AS p (path) ORDER BY 1);
END $$;

-- R2: whether the parts of an event can be read.
CREATE OR REPLACE FUNCTION lockkeeper.are_parts(parts text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT FROM unnest(string_to_array(parts, ' ')) AS p (part)
        WHERE NOT (lockkeeper.is_path(split_part(p.part, '?', 1))
                   AND p.part ~ '^[^?]*([?](shared|limit=[0-9]{1,10}(&units=[0-9]{1,10})?))?$'));
END $$;

-- The constraints, where they are not there yet.
DO $do$
DECLARE
    rule record;
BEGIN
    FOR rule IN
        SELECT r.name, r.arguments, r.sound, format('lockkeeper.%I', r.name) AS place,
               format('lockkeeper.%s_are_sound(%s)', r.name,
                      regexp_replace(r.arguments, '("?\w+"?) [a-z]+(\[\])?', '\1', 'g'))
                   AS call
        FROM (VALUES
            ('requests', 'owner text, note text, ticket bigint, held boolean, token bigint,
                          ttl_ms bigint, is_claim boolean',
             'octet_length(owner) BETWEEN 1 AND @LK_OWNER_BYTES_MAX@
                AND octet_length(note) <= @LK_NOTE_BYTES_MAX@
                AND ticket > 0 AND held = (token > 0) AND token >= 0
                AND ttl_ms BETWEEN 1 AND @LK_TTL_MAX_MS@ AND (held OR NOT is_claim)'),
            ('parts', 'path text, "position" integer, unit_limit integer, units integer',
             format(lockkeeper.path_rule(), 'path') || ' AND "position" BETWEEN 1 AND @LK_PARTS_MAX@
                AND CASE WHEN unit_limit = 0 THEN units IN (0, 1)
                         ELSE units BETWEEN 1 AND unit_limit END'),
            ('values', 'path text, bytes bytea', format(lockkeeper.path_rule(), 'path') || '
                AND octet_length(bytes) <= @LK_VALUE_BYTES_MAX@'),
            ('queue_counts', 'path text', format(lockkeeper.path_rule(), 'path')),
            ('items', 'queue text, id text, last_error bytea, max_attempts integer, keep_ms bigint,
                       progress bytea, need_paths text[], need_limits integer[],
                       need_units integer[], need_roots text[]',
             format(lockkeeper.path_rule(), '(queue || ''/'' || id)') || '
                AND octet_length(id) BETWEEN 1 AND @LK_SEGMENT_BYTES_MAX@
                AND pg_catalog.strpos(id, ''/'') = 0
                AND octet_length(last_error) <= @LK_FAILURE_BYTES_MAX@ AND max_attempts >= 0
                AND keep_ms BETWEEN 0 AND @LK_TTL_MAX_MS@
                AND octet_length(progress) <= @LK_FAILURE_BYTES_MAX@
                AND (need_paths = ''{}'' AND need_roots = ''{}''
                     OR lockkeeper.are_needs(need_paths, need_limits, need_units, need_roots))'),
            ('item_values', 'bytes bytea', 'octet_length(bytes) <= @LK_VALUE_BYTES_MAX@'))
            AS r (name, arguments, sound)
    LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION lockkeeper.%s_are_sound(%s) RETURNS boolean
            LANGUAGE plpgsql IMMUTABLE AS %L', rule.name, rule.arguments,
            'BEGIN RETURN ' || rule.sound || '; END');
        CONTINUE WHEN EXISTS (SELECT FROM pg_catalog.pg_constraint AS c
                              WHERE c.conrelid = rule.place::regclass
                                AND c.conname = rule.name || '_are_sound');
        EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (%s)', rule.place,
                       rule.name || '_are_sound', rule.call);
    END LOOP;
END $do$;
