-- SPDX-License-Identifier: Apache-2.0
-- R13: cycles of owners who wait for each other.
--
-- The search goes over all roots, of which only some are locked: of the others it sees what has
-- been committed. Two asks in two roots that close a cycle in the same moment miss each other; both
-- look again within a second, and then the one with the greatest (ticket, owner) gives way.

-- Requests that must end before this waiting one can be granted.
CREATE OR REPLACE FUNCTION lockkeeper.waits_for(waiting bigint, the_now_us bigint)
RETURNS TABLE (request bigint, owner text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    waiter lockkeeper.requests;
    paths text[];
    limits integer[];
    counts integer[];
    covered boolean;
BEGIN
    SELECT r.* INTO waiter FROM lockkeeper.requests AS r WHERE r.id = waiting;
    SELECT array_agg(p.path), array_agg(p.unit_limit), array_agg(p.units)
    INTO paths, limits, counts
    FROM lockkeeper.parts AS p WHERE p.request = waiting;
    covered := lockkeeper.is_covered(waiter.owner, waiting, paths, limits, counts, the_now_us);
    RETURN QUERY
    SELECT DISTINCT r.request, r.owner
    FROM unnest(paths, limits, counts) AS a (path, unit_limit, units)
    CROSS JOIN LATERAL lockkeeper.requests_near(a.path, lockkeeper.path_and_above(a.path)) AS r
    WHERE r.deadline_us > the_now_us AND r.request <> waiting
      AND (r.held OR r.ticket < waiter.ticket)
      AND ((NOT covered AND r.owner <> waiter.owner AND (r.units = 0 OR a.units = 0))
           OR (r.path = a.path AND a.unit_limit > 0 AND r.units > a.unit_limit - a.units));
END $$;

-- The cycle that `asked` closes: owners, its own first; NULL: none. A request that waits must not
-- reach its own owner; one that is held must not be reached from what its owner waits for.
-- `gives_way`: of all in the cycle, the owner of `asked` waits with the greatest (ticket, owner).
--
-- Whoever stands in front of a waiting request with the very same parts waits for some of those that
-- it waits for itself: nothing new is behind him, and a long line is not gone through for each in it.
CREATE OR REPLACE FUNCTION lockkeeper.find_cycle(
    asked bigint, the_now_us bigint, OUT cycle text[], OUT gives_way boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    self lockkeeper.requests;
    owners text[];     -- found so far
    parents integer[]; -- who led there
    at integer := 1;
    waiting record;
    blocker record;
    its_parts text[]; -- of `asked`, while it waits
BEGIN
    SELECT r.* INTO self FROM lockkeeper.requests AS r WHERE r.id = asked;
    IF NOT self.held THEN
        SELECT array_agg(lockkeeper.part_text(p.path, p.unit_limit, p.units) ORDER BY p.path)
        INTO its_parts FROM lockkeeper.parts AS p WHERE p.request = asked;
    END IF;
    owners := ARRAY[self.owner];
    parents := ARRAY[0];
    WHILE at <= cardinality(owners) LOOP
        FOR waiting IN
            SELECT r.id FROM lockkeeper.requests AS r
            WHERE r.owner = owners[at] AND NOT r.held AND r.deadline_us > the_now_us
              AND (self.held OR at > 1 OR r.id = asked)
        LOOP
            FOR blocker IN
                SELECT b.request, b.owner, EXISTS (
                    SELECT FROM lockkeeper.requests AS w
                    WHERE w.owner = b.owner AND NOT w.held AND w.deadline_us > the_now_us
                      AND NOT (NOT self.held AND w.ticket < self.ticket AND its_parts = (
                            SELECT array_agg(lockkeeper.part_text(p.path, p.unit_limit, p.units)
                                             ORDER BY p.path)
                            FROM lockkeeper.parts AS p WHERE p.request = w.id))) AS leads_on
                FROM lockkeeper.waits_for(waiting.id, the_now_us) AS b
            LOOP
                IF (self.held AND blocker.request = asked)
                   OR (NOT self.held AND blocker.owner = self.owner) THEN
                    cycle := '{}';
                    WHILE at > 0 LOOP
                        cycle := owners[at] || cycle;
                        at := parents[at];
                    END LOOP;
                    gives_way := self.owner = (
                        SELECT r.owner FROM lockkeeper.requests AS r
                        WHERE r.owner = ANY (cycle) AND NOT r.held AND r.deadline_us > the_now_us
                        ORDER BY r.ticket DESC, r.owner DESC LIMIT 1);
                    RETURN;
                END IF;
                IF blocker.leads_on AND blocker.owner <> ALL (owners) THEN
                    owners := owners || blocker.owner;
                    parents := parents || at;
                END IF;
            END LOOP;
        END LOOP;
        at := at + 1;
    END LOOP;
END $$;
