-- SPDX-License-Identifier: Apache-2.0
-- Renewals, ends by the owner or an administrator (R11, R12), and values (R15).

CREATE OR REPLACE FUNCTION lockkeeper.lost(why text) RETURNS lockkeeper.answer
LANGUAGE plpgsql AS $$
DECLARE
    answer lockkeeper.answer;
BEGIN
    answer.outcome := 'lost';
    answer.sentence := why;
    RETURN answer;
END $$;

-- R16: the claim that a renewal names by its item's path, or by all of its paths; NULL: none.
CREATE OR REPLACE FUNCTION lockkeeper.find_claim(
    the_owner text, the_paths text[], the_token bigint, now_us bigint)
RETURNS lockkeeper.requests
LANGUAGE sql AS $$
SELECT r.* FROM lockkeeper.parts AS p
CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x WHERE x.id = p.request OFFSET 0) AS r
WHERE p.path = ANY (the_paths) AND p.held AND p.position = 1 AND r.is_claim AND r.owner = the_owner
  AND r.deadline_us > now_us AND (the_token = 0 OR r.token = the_token)
  AND (cardinality(the_paths) = 1
       OR (SELECT array_agg(q.path ORDER BY q.path) FROM lockkeeper.parts AS q
           WHERE q.request = r.id)
          = (SELECT array_agg(t.path ORDER BY t.path COLLATE "C")
             FROM unnest(the_paths) AS t (path)))
LIMIT 1 $$;

CREATE OR REPLACE FUNCTION lockkeeper.renew_request(
    the_identity bytea, the_owner text, the_paths text[], the_roots text[], the_token bigint,
    the_ttl_ms bigint) RETURNS lockkeeper.answer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    answer lockkeeper.answer;
    decision lockkeeper.decision := lockkeeper.begin_decision(the_roots, @LK_NEVER@);
    self lockkeeper.requests;
    claim lockkeeper.requests;
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 4);
    END IF;
    SELECT r.* INTO self FROM lockkeeper.requests AS r
    WHERE r.identity = the_identity AND r.deadline_us - decision.now_us > 0;
    IF self.id IS NULL OR NOT self.held OR self.revoked
       OR (the_token <> 0 AND self.token <> the_token) THEN
        SELECT c.* INTO claim
        FROM lockkeeper.find_claim(the_owner, the_paths, the_token, decision.now_us) AS c;
        IF claim.id IS NOT NULL THEN
            self := claim;
        END IF;
    END IF;
    IF self.id IS NULL OR NOT self.held THEN
        RETURN lockkeeper.lost('there is no such lease: it has ended, or was never granted');
    END IF;
    IF self.revoked THEN
        RETURN lockkeeper.lost('@LK_TEXT_BROKEN@');
    END IF;
    IF the_token <> 0 AND self.token <> the_token THEN
        RETURN lockkeeper.lost('the lease there has another token: this one has ended');
    END IF;
    IF NOT self.fixed THEN
        UPDATE lockkeeper.requests AS r
        SET ttl_ms = CASE WHEN the_ttl_ms > 0 THEN the_ttl_ms ELSE r.ttl_ms END,
            deadline_us = decision.now_us
                          + CASE WHEN the_ttl_ms > 0 THEN the_ttl_ms ELSE r.ttl_ms END * 1000
        WHERE r.id = self.id
        RETURNING r.* INTO self;
        UPDATE lockkeeper.roots AS k SET due_us = self.deadline_us -- a shorter ttl than before
        WHERE k.root = ANY (self.roots) AND k.due_us - self.deadline_us > 0;
    END IF;
    answer.outcome := 'ok';
    answer.ticket := self.ticket;
    answer.token := self.token;
    answer.ttl_ms := self.ttl_ms;
    answer.left_us := self.deadline_us - decision.now_us;
    answer.fixed := self.fixed;
    RETURN answer;
END $$;

-- R3: whether the same call has already ended that token within the last five minutes.
CREATE OR REPLACE FUNCTION lockkeeper.has_ended(
    the_identity bytea, the_token bigint, now_us bigint) RETURNS boolean
LANGUAGE sql AS
$$ SELECT EXISTS (SELECT FROM lockkeeper.ended AS e
                  WHERE e.token = the_token AND e.identity = the_identity
                    AND e.ended_us > now_us - @LK_ENDED_MEMORY_US@) $$;

-- Release or withdraw. R15: `the_paths` are those that are put, `the_bytes` their values, one behind
-- the other; NULL: none.
CREATE OR REPLACE FUNCTION lockkeeper.release_request(
    the_identity bytea, the_paths text[], the_roots text[], the_token bigint,
    the_sizes integer[], the_bytes bytea)
RETURNS lockkeeper.answer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    answer lockkeeper.answer;
    decision lockkeeper.decision := lockkeeper.begin_decision(the_roots, @LK_NEVER@);
    self lockkeeper.requests;
    paths text[];
    at integer := 1; -- where the next value begins
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 4);
    END IF;
    SELECT r.* INTO self FROM lockkeeper.requests AS r
    WHERE r.identity = the_identity AND r.deadline_us - decision.now_us > 0;
    IF self.id IS NULL OR (the_token <> 0 AND NOT (self.held AND self.token = the_token)) THEN
        IF the_token <> 0 AND lockkeeper.has_ended(the_identity, the_token, decision.now_us) THEN
            answer.outcome := 'ok'; -- R3: the reply was lost, not the release
            RETURN answer;
        END IF;
        RETURN lockkeeper.lost(CASE WHEN self.id IS NULL
            THEN 'there is no such request: it has ended, or never was'
            ELSE 'the request there has another token: this one has ended' END);
    END IF;
    IF the_bytes IS NOT NULL THEN
        IF NOT self.held OR cardinality(the_paths) > (
            SELECT count(*) FROM lockkeeper.parts AS p
            WHERE p.request = self.id AND p.path = ANY (the_paths) AND p.units = 0) THEN
            RETURN lockkeeper.lost('@LK_TEXT_PUT_NEEDS_LEASE@');
        END IF;
        IF decision.is_due THEN
            decision := lockkeeper.lose_writers(decision, the_paths);
        END IF;
        FOR i IN 1 .. cardinality(the_paths) LOOP
            INSERT INTO lockkeeper."values" AS v (path, in_doubt, bytes)
            VALUES (the_paths[i], false, substring(the_bytes FROM at FOR the_sizes[i]))
            ON CONFLICT (path) DO UPDATE SET in_doubt = false, bytes = excluded.bytes;
            PERFORM lockkeeper.tell('value_written', the_paths[i], self.owner, '', 0, 0);
            at := at + the_sizes[i];
        END LOOP;
    END IF;
    IF the_token <> 0 THEN
        INSERT INTO lockkeeper.ended AS e (token, identity, ended_us)
        VALUES (the_token, the_identity, decision.now_us)
        ON CONFLICT (token, identity) DO UPDATE SET ended_us = excluded.ended_us;
    END IF;
    PERFORM lockkeeper.tell_request(CASE WHEN self.held THEN 'released' ELSE 'withdrawn' END,
                                    self.id);
    paths := lockkeeper.remove_request(self, true);
    IF decision.has_waiting OR decision.is_awaited THEN
        decision := lockkeeper.grant_waiters(decision, paths, NULL, decision.now_us);
    END IF;
    answer.outcome := 'ok';
    RETURN answer;
END $$;

-- All roots of the requests with a part at exactly the path, as far as they are known before they
-- are locked.
CREATE OR REPLACE FUNCTION lockkeeper.roots_at(the_path text, the_root text) RETURNS text[]
LANGUAGE sql AS $$
SELECT array_agg(DISTINCT t.root COLLATE "C" ORDER BY t.root COLLATE "C")
FROM (SELECT the_root AS root
      UNION ALL
      SELECT unnest(r.roots) FROM lockkeeper.parts AS p
      CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                          WHERE x.id = p.request OFFSET 0) AS r
      WHERE p.path = the_path AND cardinality(r.roots) > 1) AS t $$;

-- R12: all requests with a part at exactly the path; of `the_owner`, unless it is empty.
CREATE OR REPLACE FUNCTION lockkeeper.break_requests(
    the_path text, the_root text, the_owner text, at_once boolean, by text, why text)
RETURNS bigint -- how many
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    decision lockkeeper.decision := lockkeeper.begin_decision(
        lockkeeper.roots_at(the_path, the_root), @LK_NEVER@);
    found lockkeeper.requests;
    released text[] := '{}';
    broken bigint := 0;
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 256);
    END IF;
    FOR found IN
        SELECT r.* FROM lockkeeper.parts AS p
        CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                            WHERE x.id = p.request OFFSET 0) AS r
        WHERE p.path = the_path AND r.deadline_us > decision.now_us
          AND (the_owner = '' OR r.owner = the_owner)
        ORDER BY r.ticket, r.id
    LOOP
        IF NOT found.held OR at_once THEN
            released := released || lockkeeper.lose_request(found, 'broken', by, why);
        ELSIF found.revoked THEN
            CONTINUE;
        ELSE
            UPDATE lockkeeper.requests AS r SET revoked = true WHERE r.id = found.id;
            PERFORM lockkeeper.tell_request('broken', found.id, 0, by, why);
        END IF;
        broken := broken + 1;
        INSERT INTO lockkeeper.audit (at_us, broken_by, reason, path, owner, note, ticket, token)
        VALUES (decision.now_us, by, why, the_path, found.owner, found.note, found.ticket,
                found.token);
    END LOOP;
    IF broken > 0 THEN
        decision := lockkeeper.grant_waiters(decision, released, NULL, decision.now_us);
        PERFORM lockkeeper.notify('*'); -- for holders: a lease of theirs may be revoked
        DELETE FROM lockkeeper.audit AS a -- the last 65,536 are kept
        WHERE a.id <= (SELECT max(b.id) - @LK_AUDITS_MAX@ FROM lockkeeper.audit AS b);
    END IF;
    RETURN broken;
END $$;

-- R15: writes or deletes (`the_value` NULL) a value, after marking it in doubt if its holder is
-- dead.
CREATE OR REPLACE FUNCTION lockkeeper.put_value(
    the_path text, the_above text[], the_root text, the_owner text, the_token bigint,
    the_value bytea) RETURNS lockkeeper.answer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    answer lockkeeper.answer;
    decision lockkeeper.decision := lockkeeper.begin_decision(ARRAY[the_root], @LK_NEVER@);
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.lose_writers(decision, ARRAY[the_path]);
        decision := lockkeeper.perish(decision, 4);
    END IF;
    IF EXISTS (
        SELECT FROM lockkeeper.parts AS p
        CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                            WHERE x.id = p.request OFFSET 0) AS r
        WHERE p.path = ANY (the_above) AND p.units = 0 AND p.held AND r.deadline_us > decision.now_us
          AND CASE WHEN the_token <> 0 THEN r.owner = the_owner AND r.token = the_token
                   ELSE r.owner <> the_owner END) <> (the_token <> 0) THEN
        answer.outcome := CASE WHEN the_token <> 0 THEN 'lost' ELSE 'busy' END;
        PERFORM lockkeeper.tell_refusal(answer.outcome, ARRAY[the_path], '{0}', '{0}', the_owner, '');
        answer.sentence := CASE WHEN the_token <> 0
            THEN '@LK_TEXT_PUT_UNCOVERED@'
            ELSE '@LK_TEXT_PUT_COVERED@' END;
        RETURN answer;
    END IF;
    IF the_value IS NULL THEN
        DELETE FROM lockkeeper."values" AS v WHERE v.path = the_path;
        IF FOUND THEN
            PERFORM lockkeeper.tell('value_written', the_path, the_owner, '', 0, 0,
                                    is_deletion => true);
        END IF;
    ELSE
        INSERT INTO lockkeeper."values" AS v (path, in_doubt, bytes)
        VALUES (the_path, false, the_value)
        ON CONFLICT (path) DO UPDATE SET in_doubt = false, bytes = excluded.bytes;
        PERFORM lockkeeper.tell('value_written', the_path, the_owner, '', 0, 0);
    END IF;
    answer.outcome := 'ok';
    RETURN answer;
END $$;
