-- SPDX-License-Identifier: Apache-2.0
-- Tries that are refused by what has been committed. A look reads one snapshot; it takes no lock and
-- writes nothing, so no decision waits for it: tries without a pause do not hold up the renewals of
-- the lease that refuses them.
--
-- All functions here, and those that they call, are STABLE, and so read the same snapshot: that of
-- the statement that calls look_busy().

-- R7, R20: what refuses a try of one part where no request waits below its root, and its owner has
-- none: conflicting leases at, above and below the path, and if there is no room in the limit, what
-- counts at the path (R7c). At most 64 are read, which is as many as explain() counts where no more than
-- 32 are named. NULL in_the_way: left to explain(), as more are named, or one has several parts. The
-- same answer, by two short statements.
CREATE OR REPLACE FUNCTION lockkeeper.holders_in_the_way(
    the_path text, the_limit integer, the_units integer, most integer, moment_us bigint,
    OUT in_the_way integer, OUT in_use bigint, OUT look_us bigint, OUT blockers text[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
    above text[] := lockkeeper.path_and_above(the_path);
    units_max integer := CASE WHEN the_units = 0 THEN @LK_LIMIT_MAX@ ELSE 0 END; -- of what conflicts
    is_short boolean;
    found integer := 0;
    holder record;
BEGIN
    SELECT coalesce(sum(p.units), 0) INTO in_use FROM lockkeeper.parts AS p
    CROSS JOIN LATERAL (SELECT x.deadline_us FROM lockkeeper.requests AS x
                        WHERE x.id = p.request OFFSET 0) AS r
    WHERE p.path = the_path AND p.held AND p.units >= 1 AND r.deadline_us > moment_us;
    is_short := the_limit > 0 AND the_limit < the_units + in_use;
    FOR holder IN
        SELECT n.* FROM (
            SELECT p.request, p.path, p.position, r.owner, r.note, r.ticket,
                   r.deadline_us - moment_us AS left_us
            FROM (SELECT h.* FROM lockkeeper.parts AS h
                  WHERE h.path = ANY (above) AND h.held
                    AND (h.units <= units_max OR (is_short AND h.path = the_path))
                  UNION ALL
                  SELECT h.* FROM lockkeeper.parts AS h
                  WHERE h.path > the_path || '/' AND h.path < the_path || '0' AND h.held
                    AND h.units <= units_max) AS p
            CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                                WHERE x.id = p.request OFFSET 0) AS r
            WHERE r.deadline_us > moment_us
            LIMIT 64) AS n
        ORDER BY n.ticket, n.request
    LOOP
        found := found + 1;
        IF (found = 64 AND most > 32) OR holder.position > 1 THEN
            RETURN;
        END IF;
        look_us := least(look_us, holder.left_us);
        IF found <= most THEN
            blockers := blockers || ARRAY[holder.path, holder.owner, holder.note,
                holder.ticket::text, 'true', holder.left_us::text];
        END IF;
    END LOOP;
    in_the_way := found;
END $$;

-- R7, R20: answers as ask() would, or not at all (`outcome` NULL): then nothing is known, and the try
-- goes its usual way, which decides. That is left:
--   what may be granted, or covered by a lease of its owner (R8): the owner has another request;
--   the refresh of a request that exists (R3, R10), which is one of the owner's, too;
--   a deadline that has passed where a request waits, which may be granted by it (R11), or where a
--   value is asked for, which it may leave in doubt (R15). Elsewhere, dead requests block nothing;
--   events (R21), a server that was restarted (R11), a standby.
--
-- The try is refused as of the snapshot. The clock is read after that, so all that has not reached
-- its deadline by then was live in the snapshot: limits count what was held at one moment (R7c).
CREATE OR REPLACE FUNCTION lockkeeper.look_busy(asked lockkeeper.asked) RETURNS lockkeeper.answer
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    last bigint := @LK_NEVER@; -- its ticket would be behind all others
    moment_us bigint := lockkeeper.now_us();
    answer lockkeeper.answer;
    has_line boolean; -- a request waits below one of the roots
    is_busy boolean;
BEGIN
    IF pg_is_in_recovery() THEN -- which has no table `awake`
        RETURN answer;
    END IF;
    SELECT EXISTS (SELECT FROM lockkeeper.roots AS k
                   WHERE k.root = ANY (asked.roots) AND k.has_waiting)
    INTO has_line
    FROM lockkeeper.meta AS m
    WHERE m.events_max = 0 AND m.watched_until_us <= moment_us
      AND EXISTS (SELECT FROM lockkeeper.awake AS w
                  WHERE w.server_start = pg_postmaster_start_time())
      AND NOT EXISTS (SELECT FROM lockkeeper.requests AS o WHERE o.owner = asked.owner)
      AND NOT EXISTS (SELECT FROM lockkeeper.roots AS k
                      WHERE k.root = ANY (asked.roots) AND k.due_us - moment_us <= 0
                        AND (k.has_waiting OR asked.wants_value));
    IF NOT FOUND THEN
        RETURN answer;
    END IF;
    IF NOT has_line AND cardinality(asked.paths) = 1 AND asked.blockers_max > 0 THEN
        SELECT h.in_the_way, h.in_use, h.look_us, h.blockers
        INTO answer.in_the_way, answer.in_use, answer.look_us, answer.blockers
        FROM lockkeeper.holders_in_the_way(asked.paths[1], asked.limits[1], asked.counts[1],
                                           asked.blockers_max, moment_us) AS h;
    END IF;
    IF answer.in_the_way IS NULL AND asked.blockers_max > 0 THEN
        answer := lockkeeper.explain(answer, asked, 0, last, moment_us);
        answer.in_use := lockkeeper.units_held(asked.paths[1], 0, moment_us);
    END IF;
    is_busy := answer.in_the_way > 0; -- what is named is in the way
    IF asked.blockers_max = 0 THEN
        SELECT j.verdict <> 'grant', j.in_use INTO is_busy, answer.in_use
        FROM lockkeeper.check_grant(asked.owner, 0, last, false, asked.paths, asked.limits, asked.counts,
                                    moment_us) AS j;
    END IF;
    IF is_busy THEN
        answer.outcome := 'busy';
    END IF;
    RETURN answer;
END $$;
