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
            WHERE p.path = ANY (lockkeeper.path_and_above(paths[i])) AND p.held
              AND r.owner = asker AND r.held AND NOT r.revoked AND NOT r.is_claim
              AND r.id <> self AND r.deadline_us > now_us
              AND (p.units = 0 OR (p.unit_limit = 0 AND limits[i] = 0 AND counts[i] > 0))
        ) THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $$;

-- The parts of other owners' requests that conflict with a part (R6, R7a, R7b): of held ones, then
-- of those that wait with a smaller ticket, in the order of these as far as they are at or above the
-- path. Stops at `most`: a decision needs to know of one. Nothing else is read, so the number of
-- requests that are held or wait there makes no difference.
CREATE OR REPLACE FUNCTION lockkeeper.conflicts(
    asker text, self bigint, ticket bigint, the_path text, is_shared boolean, now_us bigint,
    most bigint)
RETURNS TABLE (request bigint, path text, "position" integer)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    above text[] := lockkeeper.path_and_above(the_path);
    units_max integer := CASE WHEN is_shared THEN 0 ELSE @LK_LIMIT_MAX@ END; -- 0: an exclusive part
    found bigint;
    left_over bigint := most;
BEGIN
    RETURN QUERY
    SELECT p.request, p.path, p.position FROM lockkeeper.parts AS p
    CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                        WHERE x.id = p.request OFFSET 0) AS r
    WHERE p.path = ANY (above) AND p.held AND p.units <= units_max
      AND r.owner <> asker AND r.deadline_us > now_us AND r.id <> self
    LIMIT left_over;
    GET DIAGNOSTICS found = ROW_COUNT;
    left_over := left_over - found;
    IF left_over > 0 THEN
        RETURN QUERY
        SELECT p.request, p.path, p.position FROM lockkeeper.parts AS p
        CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                            WHERE x.id = p.request OFFSET 0) AS r
        WHERE p.path > the_path || '/' AND p.path < the_path || '0' AND p.held
          AND p.units <= units_max
          AND r.owner <> asker AND r.deadline_us > now_us AND r.id <> self
        LIMIT left_over;
        GET DIAGNOSTICS found = ROW_COUNT;
        left_over := left_over - found;
    END IF;
    IF left_over > 0 AND ticket > 0 THEN
        RETURN QUERY
        SELECT p.request, p.path, p.position FROM unnest(above) AS a (path)
        CROSS JOIN LATERAL (
            SELECT w.* FROM lockkeeper.parts AS w
            WHERE w.path = a.path AND NOT w.held AND w.ticket < ticket AND w.units <= units_max
            ORDER BY w.ticket) AS p
        CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                            WHERE x.id = p.request OFFSET 0) AS r
        WHERE r.owner <> asker AND r.deadline_us > now_us AND r.id <> self
        LIMIT left_over;
        GET DIAGNOSTICS found = ROW_COUNT;
        left_over := left_over - found;
    END IF;
    IF left_over > 0 AND ticket > 0 THEN
        RETURN QUERY
        SELECT p.request, p.path, p.position FROM lockkeeper.parts AS p
        CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                            WHERE x.id = p.request OFFSET 0) AS r
        WHERE p.path > the_path || '/' AND p.path < the_path || '0' AND NOT p.held
          AND p.ticket < ticket AND p.units <= units_max
          AND r.owner <> asker AND r.deadline_us > now_us AND r.id <> self
        LIMIT left_over;
    END IF;
END $$;

-- The parts that count at exactly a path (R7c): of what is held, then of what waits with a smaller
-- ticket, in this order. Stops at `most`.
CREATE OR REPLACE FUNCTION lockkeeper.counted(
    self bigint, ticket bigint, the_path text, now_us bigint, most bigint)
RETURNS TABLE (request bigint, path text, "position" integer, units integer)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    found bigint;
BEGIN
    RETURN QUERY
    SELECT p.request, p.path, p.position, p.units FROM lockkeeper.parts AS p
    CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                        WHERE x.id = p.request OFFSET 0) AS r
    WHERE p.path = the_path AND p.held AND p.units >= 1
      AND r.deadline_us > now_us AND r.id <> self
    LIMIT most;
    GET DIAGNOSTICS found = ROW_COUNT;
    IF found < most AND ticket > 0 THEN
        RETURN QUERY
        SELECT p.request, p.path, p.position, p.units FROM (
            SELECT w.* FROM lockkeeper.parts AS w
            WHERE w.path = the_path AND NOT w.held AND w.ticket < ticket AND w.units >= 1
            ORDER BY w.ticket) AS p
        CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                            WHERE x.id = p.request OFFSET 0) AS r
        WHERE r.deadline_us > now_us AND r.id <> self
        LIMIT most - found;
    END IF;
END $$;

-- Units held at a path, without those of `self`.
CREATE OR REPLACE FUNCTION lockkeeper.units_held(the_path text, self bigint, now_us bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(sum(c.units), 0)
            FROM lockkeeper.counted(self, 0, the_path, now_us, @LK_NEVER@) AS c);
END $$;

-- R7c: whether a part finds no room in its limit. What counts has at least one unit each, so as many
-- of them as the limit are enough to know.
CREATE OR REPLACE FUNCTION lockkeeper.is_short(
    self bigint, ticket bigint, the_path text, the_limit integer, the_units integer, now_us bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN the_limit > 0 AND the_limit < the_units + (
        SELECT coalesce(sum(c.units), 0)
        FROM lockkeeper.counted(self, ticket, the_path, now_us, the_limit) AS c);
END $$;

-- verdict: 'grant', 'conflict' (R7a, R7b) or 'limit' (R7c); in_use: units held at the first path,
-- without its own. `is_item`: a claim of an item, which no lease covers (R16).
CREATE OR REPLACE FUNCTION lockkeeper.check_grant(
    asker text, self bigint, ticket bigint, is_item boolean,
    paths text[], limits integer[], counts integer[], now_us bigint,
    OUT verdict text, OUT in_use bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    is_any_blocked boolean := false;
    is_any_short boolean := false;
BEGIN
    in_use := lockkeeper.units_held(paths[1], self, now_us);
    FOR i IN 1 .. cardinality(paths) LOOP
        is_any_blocked := is_any_blocked OR EXISTS (
            SELECT FROM lockkeeper.conflicts(asker, self, ticket, paths[i], counts[i] > 0, now_us,
                                             1));
        is_any_short := is_any_short
            OR lockkeeper.is_short(self, ticket, paths[i], limits[i], counts[i], now_us);
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

-- The blockers of a probe (R20): one row each, with the path of the first part that it blocks. Of
-- each part and kind, `most` at most: held ones, then those that have waited longest.
CREATE OR REPLACE FUNCTION lockkeeper.blockers(
    asker text, self bigint, ticket bigint,
    paths text[], limits integer[], counts integer[], now_us bigint, most bigint)
RETURNS TABLE (request bigint, path text)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    covered boolean := EXISTS (SELECT FROM lockkeeper.requests AS r WHERE r.owner = asker AND r.held)
        AND lockkeeper.is_covered(asker, self, paths, limits, counts, now_us);
BEGIN
    RETURN QUERY
    WITH asked AS (
        SELECT a.n, a.path, a.unit_limit, a.units
        FROM unnest(paths, limits, counts) WITH ORDINALITY AS a (path, unit_limit, units, n)
    ), met AS (
        SELECT c.request, c.path, a.n, 1 AS kind, c.position FROM asked AS a
        CROSS JOIN LATERAL lockkeeper.conflicts(asker, self, blockers.ticket, a.path, a.units > 0,
                                                now_us, most) AS c
        WHERE NOT covered
        UNION ALL
        SELECT c.request, c.path, a.n, 2, c.position FROM asked AS a
        CROSS JOIN LATERAL lockkeeper.counted(self, blockers.ticket, a.path, now_us, most) AS c
        WHERE lockkeeper.is_short(self, blockers.ticket, a.path, a.unit_limit, a.units, now_us)
    )
    SELECT DISTINCT ON (m.request) m.request, m.path FROM met AS m
    ORDER BY m.request, m.n, m.kind, m.position;
END $$;
