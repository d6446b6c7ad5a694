-- SPDX-License-Identifier: Apache-2.0
-- R13: cycles of owners that wait for each other.
--
-- The search covers all roots, of which only some are locked: of the others it sees what has been
-- committed. Two asks in two roots that close a cycle at the same moment do not see each other;
-- both check again within a second, and then the owner that waits with the greatest (ticket, owner)
-- gives way. An ask that closes a cycle which its search sees gives way itself, whatever its
-- ticket.
--
-- Exactly one does. A waiting request is withdrawn only upon a second search, behind the lock of
-- the store's row (give_way). So withdrawals follow each other: the search behind the lock sees
-- those that came before it, and finds none of the cycles that these have ended. Without the lock
-- two snapshots may show one cycle with different tickets, because one of its requests is being
-- converted (R9), and the owner of each would give way. A new request needs no lock: it becomes
-- visible when it commits, after its own search.
--
-- These functions are STABLE, all that they call as well: a search reads one snapshot, that of the
-- statement that calls find_cycle(), and so finds no cycle of which one part ended before another
-- began.

-- The cycle that `asked` closes: owners, its own first; NULL: none. A request that waits must not
-- reach its own owner; one that is held must not be reached from what its owner waits for.
-- `gives_way`: of all in the cycle, the owner of `asked` waits with the greatest (ticket, owner).
--
-- A breadth-first search in rounds of one statement: from the owners that the round before has
-- found to those that they wait for. Everything is looked up by index, beginning with these owners:
-- in an order that only one index has, and behind OFFSET 0, lest a planner that takes the tables
-- for empty read all requests that wait.
--
-- Of all that wait at one path in one way, only the one with the greatest ticket is followed
-- (`walks`): what is before the others is before it as well, and their owners are found already. So
-- a queue is read twice, however many wait in it: for `asked`, whose owner's own requests are not
-- in its way, and for the others. The ways of waiting: 'exclusive' and 'shared' for what conflicts
-- (R7a, R7b), 'limit' for what takes more units than there is `room` (R7c); a request that is
-- covered (R8) only waits for the latter.
--
-- Nothing is searched for a waiting request for which no owner can be waiting: the only one of its
-- owner, and the last one near its paths.
CREATE OR REPLACE FUNCTION lockkeeper.find_cycle(
    asked bigint, the_now_us bigint, OUT cycle text[], OUT gives_way boolean)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    self lockkeeper.requests;
    owners text[];     -- found so far
    parents integer[]; -- of each, the index of the owner that led there
    first integer := 1; -- of this round
    last integer := 1;
    at integer;        -- the index of an owner that closes a cycle
    blocker record;
BEGIN
    SELECT r.* INTO self FROM lockkeeper.requests AS r WHERE r.id = asked;
    IF NOT self.held
       AND NOT EXISTS (SELECT FROM lockkeeper.requests AS r
                       WHERE r.owner = self.owner AND r.id <> asked)
       AND NOT EXISTS (
           SELECT FROM (SELECT p.path, lockkeeper.path_and_above(p.path) AS above
                        FROM lockkeeper.parts AS p WHERE p.request = asked OFFSET 0) AS a
           CROSS JOIN LATERAL lockkeeper.parts_near(a.path, a.above) AS n
           WHERE NOT n.held AND n.ticket > self.ticket) THEN
        RETURN;
    END IF;
    owners := ARRAY[self.owner];
    parents := ARRAY[0];
    WHILE at IS NULL AND first <= last LOOP
        FOR blocker IN
            WITH waiting AS (
                SELECT n AS index, w.ticket, q.paths, q.limits, q.counts,
                       NOT CASE WHEN EXISTS (SELECT FROM lockkeeper.requests AS h
                                             WHERE h.owner = w.owner AND h.held)
                                THEN lockkeeper.is_covered(w.owner, w.id, q.paths, q.limits,
                                                           q.counts, the_now_us)
                                ELSE false END AS is_bare
                FROM generate_series(first, last) AS n
                CROSS JOIN LATERAL (
                    SELECT r.* FROM lockkeeper.requests AS r
                    WHERE r.owner >= owners[n] AND r.owner <= owners[n] AND NOT r.held
                    ORDER BY r.owner OFFSET 0) AS w
                CROSS JOIN LATERAL (
                    SELECT array_agg(p.path) AS paths, array_agg(p.unit_limit) AS limits,
                           array_agg(p.units) AS counts
                    FROM lockkeeper.parts AS p WHERE p.request = w.id) AS q
                WHERE w.deadline_us > the_now_us
                  AND (self.held OR n > 1 OR w.id = asked)
            ), walks AS (
                SELECT DISTINCT ON (a.path, k.way, k.room)
                       a.path, k.way, k.room, w.ticket, w.index
                FROM waiting AS w
                CROSS JOIN LATERAL unnest(w.paths, w.limits, w.counts)
                    AS a (path, unit_limit, units)
                CROSS JOIN LATERAL (
                    VALUES (CASE WHEN a.units = 0 THEN 'exclusive' ELSE 'shared' END, 0, w.is_bare),
                           ('limit', a.unit_limit - a.units, a.unit_limit > 0)
                ) AS k (way, room, is_so)
                WHERE k.is_so
                ORDER BY a.path, k.way, k.room, w.ticket DESC
            )
            SELECT r.owner, min(s.index) AS led_by,
                   min(s.index) FILTER (WHERE CASE WHEN self.held THEN r.request = asked
                                                   ELSE r.owner = self.owner END) AS closed_by
            FROM walks AS s
            CROSS JOIN LATERAL
                lockkeeper.requests_near(s.path, lockkeeper.path_and_above(s.path)) AS r
            WHERE r.deadline_us > the_now_us AND (r.held OR r.ticket < s.ticket)
              AND CASE s.way WHEN 'limit' THEN r.path = s.path AND r.units > s.room
                             WHEN 'shared' THEN r.units = 0 AND r.owner <> owners[s.index]
                             ELSE r.owner <> owners[s.index] END
            GROUP BY r.owner
        LOOP
            at := least(at, blocker.closed_by);
            IF blocker.owner <> ALL (owners) THEN
                owners := owners || blocker.owner;
                parents := parents || blocker.led_by;
            END IF;
        END LOOP;
        first := last + 1;
        last := cardinality(owners);
    END LOOP;
    IF at IS NULL THEN
        RETURN;
    END IF;
    cycle := '{}';
    WHILE at > 0 LOOP
        cycle := owners[at] || cycle;
        at := parents[at];
    END LOOP;
    gives_way := self.owner = (
        SELECT w.owner
        FROM unnest(cycle) AS o (owner)
        CROSS JOIN LATERAL (
            SELECT r.* FROM lockkeeper.requests AS r
            WHERE r.owner >= o.owner AND r.owner <= o.owner AND NOT r.held
            ORDER BY r.owner OFFSET 0) AS w
        WHERE w.deadline_us > the_now_us
        ORDER BY w.ticket DESC, w.owner DESC LIMIT 1);
END $$;
