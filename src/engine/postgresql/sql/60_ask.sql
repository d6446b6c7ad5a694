-- SPDX-License-Identifier: Apache-2.0
-- The ask: a new request (R7, R8, R10, R13, R22) or one that exists already (R3, R9).

DO $do$ BEGIN
    CREATE TYPE lockkeeper.answer AS (
        outcome    text,
        sentence   text,
        request    bigint,
        ticket     bigint,
        token      bigint,
        ttl_ms     bigint,
        left_us    bigint,  -- until its deadline; NULL: there is no live request
        in_use     bigint,  -- units held at the first path, its own included
        in_the_way integer, -- the number of blockers
        created    boolean,
        fixed      boolean,
        bytes      bytea,   -- R15: the values of all parts, one behind the other
        sizes      text[],  -- of each: -1: there is none; else twice its size, plus 1: in doubt
        blockers   text[],  -- of each: path, owner, note, ticket, held, microseconds left
        cycle      text[],
        look_us    bigint   -- microseconds until the first blocker is due
    );
    CREATE TYPE lockkeeper.asked AS (
        identity     bytea,
        owner        text,
        paths        text[],
        limits       integer[],
        counts       integer[],
        roots        text[],
        style        text,
        ttl_ms       bigint,
        until_us     bigint,  -- 0: none
        note         text,    -- NULL: as it is
        blockers_max integer,
        wants_value  boolean
    );
EXCEPTION WHEN duplicate_object THEN NULL;
END $do$;

-- R3: owner and set of paths (in byte order, with a space between) identify a request. A hash,
-- because they may be long.
CREATE OR REPLACE FUNCTION lockkeeper.identity(owner text, sorted_paths text) RETURNS bytea
LANGUAGE sql STABLE AS
$$ SELECT sha256(convert_to(sorted_paths || E'\n' || owner, 'UTF8')) $$;

-- R22: the bound that a new request would break; NULL: none. Bounds that span roots are counted by
-- one transaction at a time, which sees all those before it.
CREATE OR REPLACE FUNCTION lockkeeper.full_bound(
    the_owner text, paths text[], waits boolean, now_us bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    bounds lockkeeper.meta;
    the_path text;
BEGIN
    SELECT m.* INTO bounds FROM lockkeeper.meta AS m;
    IF bounds.live_max > 0 OR bounds.live_per_owner_max > 0 THEN
        PERFORM FROM lockkeeper.meta AS m FOR NO KEY UPDATE;
    END IF;
    IF bounds.live_max > 0 AND bounds.live_max <= (
        SELECT count(*) FROM lockkeeper.requests AS r WHERE r.deadline_us > now_us) THEN
        RETURN 'live requests in all';
    END IF;
    IF bounds.live_per_owner_max > 0 AND bounds.live_per_owner_max <= (
        SELECT count(*) FROM lockkeeper.requests AS r
        WHERE r.owner = the_owner AND r.deadline_us > now_us) THEN
        RETURN 'live requests of one owner';
    END IF;
    FOREACH the_path IN ARRAY paths LOOP
        IF bounds.live_per_root_max > 0 AND bounds.live_per_root_max <= (
            SELECT count(*) FROM lockkeeper.requests AS r
            WHERE r.deadline_us > now_us AND split_part(the_path, '/', 1) = ANY (r.roots)) THEN
            RETURN 'live requests under one root';
        END IF;
        IF waits AND bounds.waiters_per_path_max > 0 AND bounds.waiters_per_path_max <= (
            SELECT count(*) FROM lockkeeper.parts AS p
            CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                                WHERE x.id = p.request OFFSET 0) AS r
            WHERE p.path = the_path AND NOT p.held AND r.deadline_us > now_us) THEN
            RETURN 'requests waiting at one path';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- Adds the blockers of the ask to the answer (R20). Twice as many are read as are named, and 64 at
-- least: up to that their number is exact, and beyond it the least that there are. A waiter
-- looks again when the first of these is due, and each second in any case.
CREATE OR REPLACE FUNCTION lockkeeper.explain(
    INOUT answer lockkeeper.answer, asked lockkeeper.asked, self bigint, ticket bigint,
    now_us bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    IF asked.blockers_max = 0 THEN
        RETURN;
    END IF;
    WITH found AS MATERIALIZED (
        SELECT o.request, o.path, r.owner, r.note, r.ticket, r.held,
               r.deadline_us - now_us AS left_us
        FROM lockkeeper.blockers(asked.owner, self, ticket, asked.paths, asked.limits,
                                 asked.counts, now_us,
                                 greatest(64, 2 * asked.blockers_max)) AS o
        CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                            WHERE x.id = o.request OFFSET 0) AS r
    ), named AS (
        SELECT f.* FROM found AS f -- claims of one decision share a ticket (R16)
        ORDER BY f.held DESC, f.ticket, f.request LIMIT asked.blockers_max
    )
    SELECT (SELECT count(*) FROM found), (SELECT min(f.left_us) FROM found AS f),
           (SELECT array_agg(x.field ORDER BY n.held DESC, n.ticket, n.request, x.place)
            FROM named AS n CROSS JOIN LATERAL (
                VALUES (1, n.path), (2, n.owner), (3, n.note), (4, n.ticket::text),
                       (5, n.held::text), (6, n.left_us::text)) AS x (place, field))
    INTO answer.in_the_way, answer.look_us, answer.blockers;
END $$;

-- The answer for a request in its present state.
CREATE OR REPLACE FUNCTION lockkeeper.state_of(
    asked lockkeeper.asked, id bigint, now_us bigint) RETURNS lockkeeper.answer
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    answer lockkeeper.answer;
    self lockkeeper.requests;
BEGIN
    SELECT r.* INTO self FROM lockkeeper.requests AS r WHERE r.id = id;
    answer.request := id;
    answer.ticket := self.ticket;
    answer.token := self.token;
    answer.ttl_ms := self.ttl_ms;
    answer.left_us := self.deadline_us - now_us;
    answer.fixed := self.fixed;
    answer.in_use := lockkeeper.units_held(asked.paths[1], 0, now_us);
    IF self.held THEN
        answer.outcome := 'granted';
        IF asked.wants_value THEN
            SELECT string_agg(v.bytes, ''::bytea ORDER BY a.n),
                   array_agg(coalesce(2 * octet_length(v.bytes) + v.in_doubt::integer, -1)::text
                             ORDER BY a.n)
            INTO answer.bytes, answer.sizes
            FROM unnest(asked.paths) WITH ORDINALITY AS a (path, n)
            LEFT JOIN lockkeeper."values" AS v ON v.path = a.path;
        END IF;
    ELSE
        answer.outcome := CASE WHEN asked.style = 'try' THEN 'busy' ELSE 'waiting' END;
        SELECT array_agg(p.path ORDER BY p.position), array_agg(p.unit_limit ORDER BY p.position),
               array_agg(p.units ORDER BY p.position)
        INTO asked.paths, asked.limits, asked.counts
        FROM lockkeeper.parts AS p WHERE p.request = id;
        answer := lockkeeper.explain(answer, asked, id, self.ticket, now_us);
    END IF;
    RETURN answer;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.deadline_of(asked lockkeeper.asked, now_us bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN asked.until_us > 0 THEN asked.until_us
               ELSE now_us + asked.ttl_ms * 1000 END $$;

CREATE OR REPLACE FUNCTION lockkeeper.ttl_of(asked lockkeeper.asked, now_us bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN asked.until_us > 0 THEN (asked.until_us - now_us + 999) / 1000
               ELSE asked.ttl_ms END $$;

-- An ask that has no request yet.
CREATE OR REPLACE FUNCTION lockkeeper.ask_new(asked lockkeeper.asked, decision lockkeeper.decision)
RETURNS lockkeeper.answer
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    answer lockkeeper.answer;
    checked record;
    granted boolean;
    new_id bigint;
    drawn bigint;
    owner_lives boolean;
    owner_waits boolean;
    found record;
BEGIN
    SELECT * INTO checked
    FROM lockkeeper.check_grant(asked.owner, 0, @LK_NEVER@, false, asked.paths, asked.limits,
                                asked.counts, decision.now_us);
    granted := checked.verdict = 'grant';
    IF NOT granted AND asked.style = 'try' THEN
        answer.outcome := 'busy';
        answer.in_use := checked.in_use;
        RETURN lockkeeper.explain(answer, asked, 0, @LK_NEVER@, decision.now_us);
    END IF;
    IF decision.is_bounded THEN
        answer.sentence := lockkeeper.full_bound(asked.owner, asked.paths, NOT granted,
                                                 decision.now_us);
        IF answer.sentence IS NOT NULL THEN
            answer.outcome := 'full';
            answer.sentence := format('@LK_TEXT_BOUND@', answer.sentence);
            RETURN answer;
        END IF;
    END IF;
    drawn := lockkeeper.draw();
    WITH request AS (
        INSERT INTO lockkeeper.requests AS r (id, identity, owner, note, held, attended, fixed,
            ticket, token, ttl_ms, deadline_us, wants_value, root, roots)
        VALUES (drawn, asked.identity, asked.owner, coalesce(asked.note, ''), granted,
            asked.style = 'wait', asked.until_us > 0, drawn,
            CASE WHEN granted THEN drawn ELSE 0 END, lockkeeper.ttl_of(asked, decision.now_us),
            lockkeeper.deadline_of(asked, decision.now_us), asked.wants_value, asked.roots[1],
            asked.roots)
        RETURNING r.id
    ), parts AS (
        INSERT INTO lockkeeper.parts (request, position, path, held, ticket, unit_limit, units)
        SELECT request.id, a.n, a.path, granted, drawn, a.unit_limit, a.units
        FROM request, unnest(asked.paths, asked.limits, asked.counts) WITH ORDINALITY
            AS a (path, unit_limit, units, n)
    )
    SELECT request.id,
           EXISTS (SELECT FROM lockkeeper.requests AS r WHERE r.owner = asked.owner),
           EXISTS (SELECT FROM lockkeeper.requests AS r
                   WHERE r.owner = asked.owner AND NOT r.held)
    INTO new_id, owner_lives, owner_waits FROM request;
    IF (granted AND owner_waits) OR (NOT granted AND owner_lives) THEN
        SELECT * INTO found FROM lockkeeper.find_cycle(new_id, decision.now_us);
        IF found.cycle IS NOT NULL THEN
            DELETE FROM lockkeeper.parts AS p WHERE p.request = new_id;
            DELETE FROM lockkeeper.requests AS r WHERE r.id = new_id;
            answer.outcome := 'deadlock';
            answer.cycle := found.cycle;
            RETURN answer;
        END IF;
    END IF;
    PERFORM lockkeeper.tell_request(CASE WHEN granted THEN 'granted' ELSE 'queued' END, new_id);
    IF NOT granted THEN
        UPDATE lockkeeper.roots AS r SET has_waiting = true
        WHERE r.root = ANY (asked.roots) AND NOT r.has_waiting;
    ELSIF owner_waits THEN -- R8: it may cover what its owner waits for
        decision := lockkeeper.grant_waiters(decision, '{}', asked.owner, decision.now_us);
    END IF;
    IF granted AND NOT asked.wants_value THEN -- as state_of(), without reading
        answer.outcome := 'granted';
        answer.request := new_id;
        answer.ticket := drawn;
        answer.token := drawn;
        answer.ttl_ms := lockkeeper.ttl_of(asked, decision.now_us);
        answer.left_us := lockkeeper.deadline_of(asked, decision.now_us) - decision.now_us;
        answer.fixed := asked.until_us > 0;
        answer.in_use := checked.in_use + asked.counts[1];
    ELSE
        answer := lockkeeper.state_of(asked, new_id, decision.now_us);
    END IF;
    answer.created := true;
    RETURN answer;
END $$;

-- R3: a repeated ask renews the deadline; a fixed one does not move (R11).
CREATE OR REPLACE FUNCTION lockkeeper.refresh(
    asked lockkeeper.asked, self lockkeeper.requests, now_us bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE lockkeeper.requests AS r
    SET attended = asked.style = 'wait',
        note = coalesce(asked.note, r.note),
        wants_value = r.wants_value OR asked.wants_value,
        fixed = r.fixed OR asked.until_us > 0,
        ttl_ms = CASE WHEN r.fixed THEN r.ttl_ms ELSE lockkeeper.ttl_of(asked, now_us) END,
        deadline_us = CASE WHEN r.fixed THEN r.deadline_us
                           ELSE lockkeeper.deadline_of(asked, now_us) END
    WHERE r.id = self.id;
END $$;

-- R9: gives the request the parts of the ask.
CREATE OR REPLACE FUNCTION lockkeeper.convert(
    asked lockkeeper.asked, id bigint, new_ticket bigint, new_token bigint) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE lockkeeper.requests AS r SET ticket = new_ticket, token = new_token WHERE r.id = id;
    UPDATE lockkeeper.parts AS p
    SET unit_limit = a.unit_limit, units = a.units, ticket = new_ticket
    FROM unnest(asked.paths, asked.limits, asked.counts) AS a (path, unit_limit, units)
    WHERE p.request = id AND p.path || '' = a.path; -- by its key
END $$;

-- R9: 'same', 'weaker' (no stronger) or 'stronger'.
CREATE OR REPLACE FUNCTION lockkeeper.compare(asked lockkeeper.asked, id bigint) RETURNS text
LANGUAGE sql AS $$
SELECT CASE WHEN bool_or(p.units > 0 AND (a.units = 0 OR a.units > p.units)) THEN 'stronger'
            WHEN bool_or(p.units <> a.units OR p.unit_limit <> a.unit_limit) THEN 'weaker'
            ELSE 'same' END
FROM (SELECT x.* FROM lockkeeper.parts AS x WHERE x.request = id OFFSET 0) AS p
JOIN unnest(asked.paths, asked.limits, asked.counts) AS a (path, unit_limit, units)
  ON a.path = p.path $$;

-- R9: shared to exclusive, or more units, of a lease. Never waits.
CREATE OR REPLACE FUNCTION lockkeeper.strengthen_held(
    asked lockkeeper.asked, self lockkeeper.requests, decision lockkeeper.decision)
RETURNS lockkeeper.answer
LANGUAGE plpgsql AS $$
DECLARE
    answer lockkeeper.answer;
    former lockkeeper.asked := asked;
    checked record;
    found record;
    new_token bigint;
BEGIN
    SELECT * INTO checked
    FROM lockkeeper.check_grant(asked.owner, self.id, 0, false, asked.paths, asked.limits, asked.counts,
                                decision.now_us);
    IF checked.verdict <> 'grant' THEN
        PERFORM lockkeeper.refresh(asked, self, decision.now_us);
        answer := lockkeeper.state_of(asked, self.id, decision.now_us);
        answer.outcome := 'busy';
        answer.sizes := NULL;
        RETURN lockkeeper.explain(answer, asked, self.id, 0, decision.now_us);
    END IF;
    SELECT array_agg(p.path), array_agg(p.unit_limit), array_agg(p.units)
    INTO former.paths, former.limits, former.counts
    FROM lockkeeper.parts AS p WHERE p.request = self.id;
    new_token := lockkeeper.draw();
    PERFORM lockkeeper.convert(asked, self.id, self.ticket, new_token);
    SELECT * INTO found FROM lockkeeper.find_cycle(self.id, decision.now_us);
    IF found.cycle IS NOT NULL THEN
        PERFORM lockkeeper.convert(former, self.id, self.ticket, self.token);
        answer := lockkeeper.state_of(asked, self.id, decision.now_us);
        answer.outcome := 'deadlock';
        answer.sizes := NULL;
        answer.cycle := found.cycle;
        answer.in_use := 0;
        RETURN answer;
    END IF;
    PERFORM lockkeeper.refresh(asked, self, decision.now_us);
    PERFORM lockkeeper.tell_request('converted', self.id);
    decision := lockkeeper.grant_waiters(decision, asked.paths, asked.owner, decision.now_us);
    RETURN lockkeeper.state_of(asked, self.id, decision.now_us);
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.ask_held(
    asked lockkeeper.asked, self lockkeeper.requests, decision lockkeeper.decision)
RETURNS lockkeeper.answer
LANGUAGE plpgsql AS $$
DECLARE
    change text := lockkeeper.compare(asked, self.id);
BEGIN
    IF change = 'stronger' THEN
        RETURN lockkeeper.strengthen_held(asked, self, decision);
    END IF;
    IF change = 'weaker' THEN
        PERFORM lockkeeper.convert(asked, self.id, self.ticket, self.token);
    END IF;
    PERFORM lockkeeper.refresh(asked, self, decision.now_us);
    IF change = 'weaker' THEN
        PERFORM lockkeeper.tell_request('converted', self.id);
        decision := lockkeeper.grant_waiters(decision, asked.paths, asked.owner, decision.now_us);
    END IF;
    RETURN lockkeeper.state_of(asked, self.id, decision.now_us);
END $$;

-- R13: withdraws a waiting request that lies in a cycle, if this ask closes the cycle, or if the
-- cycle was closed unseen and this request is the one to give way. The search is repeated behind
-- the lock of the store's row: exactly one request of a cycle gives way (40_deadlock).
CREATE OR REPLACE FUNCTION lockkeeper.give_way(
    self lockkeeper.requests, closes_cycle boolean, decision lockkeeper.decision)
RETURNS text[] -- the cycle; NULL: the request stays
LANGUAGE plpgsql AS $$
DECLARE
    found record;
    paths text[];
BEGIN
    FOR search IN 1 .. 2 LOOP
        IF search = 2 THEN
            PERFORM FROM lockkeeper.meta AS m FOR NO KEY UPDATE;
        END IF;
        SELECT * INTO found FROM lockkeeper.find_cycle(self.id, lockkeeper.now_us());
        IF found.cycle IS NULL OR NOT (closes_cycle OR found.gives_way) THEN
            RETURN NULL;
        END IF;
    END LOOP;
    PERFORM lockkeeper.tell_request('withdrawn', self.id);
    paths := lockkeeper.remove_request(self, false);
    decision := lockkeeper.grant_waiters(decision, paths, NULL, decision.now_us);
    RETURN found.cycle;
END $$;

-- A waiting request that cannot be granted in its present state.
CREATE OR REPLACE FUNCTION lockkeeper.ask_waiting(
    asked lockkeeper.asked, self lockkeeper.requests, decision lockkeeper.decision)
RETURNS lockkeeper.answer
LANGUAGE plpgsql AS $$
DECLARE
    answer lockkeeper.answer;
    change text := lockkeeper.compare(asked, self.id);
    checked record;
    closes_cycle boolean := false;
    told bigint := (SELECT m.last_event FROM lockkeeper.meta AS m);
BEGIN
    IF change = 'stronger' AND asked.style = 'try' THEN
        SELECT * INTO checked
        FROM lockkeeper.check_grant(asked.owner, self.id, @LK_NEVER@, false, asked.paths,
                                    asked.limits, asked.counts, decision.now_us);
        IF checked.verdict <> 'grant' THEN
            change := 'same';
        END IF;
    END IF;
    IF change <> 'same' THEN
        -- A cycle that exists before was closed unseen, not by this ask.
        SELECT f.cycle IS NULL INTO closes_cycle
        FROM lockkeeper.find_cycle(self.id, decision.now_us) AS f;
        PERFORM lockkeeper.convert(asked, self.id, CASE WHEN change = 'stronger'
            THEN lockkeeper.draw() ELSE self.ticket END, 0);
    END IF;
    PERFORM lockkeeper.refresh(asked, self, decision.now_us);
    IF change <> 'same' THEN
        PERFORM lockkeeper.tell_request('converted', self.id);
    END IF;
    IF change <> 'same' THEN
        decision := lockkeeper.grant_waiters(decision, asked.paths, asked.owner, decision.now_us);
    END IF;
    SELECT r.* INTO self FROM lockkeeper.requests AS r WHERE r.id = self.id;
    IF self.held THEN -- R21: the events written so far tell the present state
        UPDATE lockkeeper.events AS e SET token = self.token
        WHERE e.sequence > told AND e.event = 'converted' AND e.owner = self.owner
          AND e.ticket = self.ticket AND e.token = 0;
    END IF;
    IF change <> 'same' OR NOT self.held THEN
        -- A grant that overtakes a request whose owner its own owner waits for is undone in any
        -- case.
        answer.cycle := lockkeeper.give_way(self, closes_cycle OR self.held, decision);
        IF answer.cycle IS NOT NULL THEN
            answer.outcome := 'deadlock';
            RETURN answer;
        END IF;
    END IF;
    RETURN lockkeeper.state_of(asked, self.id, decision.now_us);
END $$;

-- Whether a waiting request can be granted in its present state.
CREATE OR REPLACE FUNCTION lockkeeper.is_grantable(self lockkeeper.requests, now_us bigint)
RETURNS boolean
LANGUAGE sql AS $$
SELECT j.verdict = 'grant'
FROM (SELECT array_agg(p.path) AS paths, array_agg(p.unit_limit) AS limits,
             array_agg(p.units) AS counts
      FROM lockkeeper.parts AS p WHERE p.request = self.id) AS q
CROSS JOIN LATERAL lockkeeper.check_grant(self.owner, self.id, self.ticket, false, q.paths, q.limits,
                                          q.counts, now_us) AS j $$;

-- The roots are in byte order.
CREATE OR REPLACE FUNCTION lockkeeper.decide(asked lockkeeper.asked) RETURNS lockkeeper.answer
LANGUAGE plpgsql AS $$
DECLARE
    answer lockkeeper.answer;
    decision lockkeeper.decision;
    self lockkeeper.requests;
    paths text[];
    now_us bigint := lockkeeper.now_us();
BEGIN
    IF asked.until_us > 0
       AND (asked.until_us <= now_us OR asked.until_us - now_us > @LK_TTL_MAX_MS@ * 1000) THEN
        answer.outcome := 'invalid';
        answer.sentence := '@LK_TEXT_FIXED_END@';
        RETURN answer;
    END IF;
    decision := lockkeeper.begin_decision(asked.roots, lockkeeper.deadline_of(asked, now_us));
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 4);
        IF asked.wants_value THEN
            decision := lockkeeper.lose_writers(decision, asked.paths);
        END IF;
    END IF;
    SELECT r.* INTO self FROM lockkeeper.requests AS r WHERE r.identity = asked.identity;
    IF self.id IS NOT NULL AND self.deadline_us <= decision.now_us THEN
        paths := lockkeeper.lose_request(self, 'perished');
        decision := lockkeeper.grant_waiters(decision, paths, NULL, self.deadline_us);
        self := NULL;
    END IF;
    IF self.id IS NULL THEN
        RETURN lockkeeper.ask_new(asked, decision);
    END IF;
    IF self.revoked THEN
        answer := lockkeeper.state_of(asked, self.id, decision.now_us);
        answer.outcome := 'lost';
        answer.sentence :=
            '@LK_TEXT_BROKEN_HELD@';
        answer.sizes := NULL;
        answer.in_use := 0;
        RETURN answer;
    END IF;
    -- A transaction that could not lock all of its roots has left it waiting. It is granted first:
    -- this ask is then a conversion of a lease (R9), and the grant of the former parts is never
    -- answered as one of the parts of this ask.
    IF NOT self.held AND lockkeeper.is_grantable(self, decision.now_us) THEN
        decision := lockkeeper.grant_waiters(decision, asked.paths, asked.owner, decision.now_us);
        SELECT r.* INTO self FROM lockkeeper.requests AS r WHERE r.id = self.id;
    END IF;
    IF self.held THEN
        RETURN lockkeeper.ask_held(asked, self, decision);
    END IF;
    RETURN lockkeeper.ask_waiting(asked, self, decision);
END $$;

-- Decides one ask.
CREATE OR REPLACE FUNCTION lockkeeper.ask(asked lockkeeper.asked) RETURNS lockkeeper.answer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    answer lockkeeper.answer := lockkeeper.decide(asked);
BEGIN
    PERFORM lockkeeper.tell_refusal(answer.outcome, asked.paths, asked.limits, asked.counts,
                                    asked.owner, coalesce(asked.note, ''));
    RETURN answer;
END $$;
