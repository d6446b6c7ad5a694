-- SPDX-License-Identifier: Apache-2.0
-- The grant check: may a request be granted now (R7, R8)? These functions change nothing.
--
-- A probe is given as arrays: path, limit (0: none) and units (0: exclusive) of each part. `self`
-- is the request itself (0: it does not exist yet), `ticket` its position in the queue: the
-- greatest bigint is after all requests, 0 before all that wait (R9).

-- R8: each part is covered by a lease of its owner.
CREATE OR REPLACE FUNCTION lockkeeper.is_covered(
    asker text, self bigint, paths text[], limits integer[], counts integer[], now_us bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    FOR i IN 1 .. cardinality(paths) LOOP
        IF NOT EXISTS (
            SELECT FROM lockkeeper.parts AS p
            CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                                WHERE x.id = p.request OFFSET 0) AS r
            WHERE p.path = ANY (lockkeeper.path_and_above(paths[i]))
              AND r.owner = asker AND r.held AND NOT r.revoked AND NOT r.is_claim
              AND r.id <> self AND r.deadline_us > now_us
              AND (p.units = 0 OR (p.unit_limit = 0 AND limits[i] = 0 AND counts[i] > 0))
        ) THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $$;

-- verdict: 'grant', 'conflict' (R7a, R7b) or 'limit' (R7c); in_use: units held at the first path,
-- without its own. `is_item`: a claim of an item, which no lease covers (R16).
CREATE OR REPLACE FUNCTION lockkeeper.judge(
    asker text, self bigint, ticket bigint, is_item boolean,
    paths text[], limits integer[], counts integer[], now_us bigint,
    OUT verdict text, OUT in_use bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    above text[];
    is_blocked boolean;
    taken bigint;
    held_here bigint;
    is_any_blocked boolean := false;
    is_any_short boolean := false;
BEGIN
    FOR i IN 1 .. cardinality(paths) LOOP
        above := lockkeeper.path_and_above(paths[i]);
        SELECT coalesce(bool_or((r.units = 0 OR counts[i] = 0) AND r.owner <> asker
                                AND (r.held OR r.ticket < ticket)), false),
               coalesce(sum(r.units) FILTER (
                            WHERE r.path = paths[i] AND (r.held OR r.ticket < ticket)), 0),
               coalesce(sum(r.units) FILTER (WHERE r.path = paths[i] AND r.held), 0)
        INTO is_blocked, taken, held_here
        FROM lockkeeper.requests_near(paths[i], above) AS r
        WHERE r.deadline_us > now_us AND r.request <> self;
        IF i = 1 THEN
            in_use := held_here;
        END IF;
        is_any_blocked := is_any_blocked OR is_blocked;
        is_any_short := is_any_short OR (limits[i] > 0 AND taken + counts[i] > limits[i]);
    END LOOP;
    IF is_any_blocked AND NOT is_item
       AND EXISTS (SELECT FROM lockkeeper.requests AS r WHERE r.owner = asker AND r.held) THEN
        is_any_blocked :=
            NOT lockkeeper.is_covered(asker, self, paths, limits, counts, now_us);
    END IF;
    verdict := CASE WHEN is_any_blocked THEN 'conflict'
                    WHEN is_any_short THEN 'limit'
                    ELSE 'grant' END;
END $$;

-- The blockers of a probe (R20): one row each, with the path of the first part that it blocks.
CREATE OR REPLACE FUNCTION lockkeeper.obstacles(
    asker text, self bigint, the_ticket bigint,
    paths text[], limits integer[], counts integer[], the_now_us bigint)
RETURNS TABLE (request bigint, path text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    covered boolean := lockkeeper.is_covered(asker, self, paths, limits, counts, the_now_us);
BEGIN
    RETURN QUERY
    WITH asked AS (
        SELECT a.n, a.path, a.unit_limit, a.units
        FROM unnest(paths, limits, counts) WITH ORDINALITY AS a (path, unit_limit, units, n)
    ), near AS (
        SELECT a.n, r.request, r.position, r.path, r.units, r.owner,
               a.path AS asked_path, a.unit_limit AS asked_limit, a.units AS asked_units
        FROM asked AS a
        CROSS JOIN LATERAL
            lockkeeper.requests_near(a.path, lockkeeper.path_and_above(a.path)) AS r
        WHERE r.deadline_us > the_now_us AND r.request <> self
          AND (r.held OR r.ticket < the_ticket)
    ), short AS (
        SELECT a.n FROM asked AS a
        WHERE a.unit_limit > 0
          AND a.unit_limit < a.units + coalesce((
                SELECT sum(x.units) FROM near AS x WHERE x.n = a.n AND x.path = a.path), 0)
    ), met AS (
        SELECT x.request, x.path, x.n, 1 AS kind, x.position FROM near AS x
        WHERE NOT covered AND x.owner <> asker AND (x.units = 0 OR x.asked_units = 0)
        UNION ALL
        SELECT x.request, x.path, x.n, 2, x.position FROM near AS x JOIN short AS s ON s.n = x.n
        WHERE x.path = x.asked_path AND x.units > 0
    )
    SELECT DISTINCT ON (m.request) m.request, m.path FROM met AS m
    ORDER BY m.request, m.n, m.kind, m.position;
END $$;
