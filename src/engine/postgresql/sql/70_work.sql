-- SPDX-License-Identifier: Apache-2.0
-- Work (R16): items are pushed into queues, claimed by a lease, and done, given back, or lost with
-- their claim.

-- The item with this id, and its claim, as far as there are any; one that is past its deadline
-- perishes first, and may take its item with it. An item that was done, and whose time is over, is
-- removed. One whose time is not over yet is locked, for sweeps remove such items without the root's
-- lock.
CREATE OR REPLACE FUNCTION lockkeeper.find_item(
    the_queue text, the_id text, INOUT decision lockkeeper.decision, OUT item lockkeeper.items,
    OUT claim lockkeeper.requests)
LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        SELECT i.* INTO item FROM lockkeeper.items AS i
        WHERE i.queue = the_queue AND i.id = the_id;
        IF item.state = 'done' THEN
            SELECT i.* INTO item FROM lockkeeper.items AS i WHERE i.number = item.number FOR UPDATE;
            IF item.due_us - decision.now_us <= 0 THEN
                DELETE FROM lockkeeper.items AS i WHERE i.number = item.number;
                DELETE FROM lockkeeper.item_values AS v WHERE v.item = item.number;
                item := NULL;
            END IF;
        END IF;
        SELECT r.* INTO claim FROM lockkeeper.requests AS r WHERE r.id = item.claim;
        EXIT WHEN claim.id IS NULL OR claim.deadline_us - decision.now_us > 0;
        IF NOT claim.roots <@ decision.roots THEN
            decision := lockkeeper.lock_more_roots(decision, claim.roots);
        END IF;
        IF decision.is_due THEN -- what was due before it, first
            decision := lockkeeper.perish(decision, 4);
            decision.is_due := false;
        ELSE
            decision := lockkeeper.grant_waiters(
                decision, lockkeeper.lose_request(claim, 'perished'), NULL, claim.deadline_us);
        END IF;
    END LOOP;
END $$;

-- What a push has done. A push of an item that the queue has is counted as a duplicate, unless it
-- `is_work`: the first that asks for another run behind a claim.
DO $do$ BEGIN
    CREATE TYPE lockkeeper.pushed AS (
        added   boolean,
        changed boolean,
        was     text,    -- the state of the item that was there; NULL: added
        is_work boolean, -- counted as pushed
        wakes   boolean  -- the item may be claimed now, or later by its delay
    );
EXCEPTION WHEN duplicate_object THEN NULL;
END $do$;

-- Gives an item the value, the needs and the priority of a push. One that is claimed keeps its claim,
-- and is `again` from now on: then it is last in its queue, as a new item is.
CREATE OR REPLACE FUNCTION lockkeeper.replace_item(
    item lockkeeper.items, the_value bytea, delay_ms bigint, the_needs text[], the_limits integer[],
    the_counts integer[], the_roots text[], the_priority integer, the_keep_ms bigint, now_us bigint)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    is_claimed boolean := item.claim <> 0;
    its_group bytea := lockkeeper.group_of(item.queue, the_needs, the_limits, the_counts);
BEGIN
    IF item.is_head OR (item.state = 'ready' AND num_nonnulls(item.need_group, its_group) > 0) THEN
        -- It leaves its group, and comes to one below: 51_groups looks at changes of states.
        UPDATE lockkeeper.items AS i
        SET state = CASE WHEN i.state = 'ready' THEN 'delayed' ELSE i.state END, is_head = false
        WHERE i.number = item.number;
    END IF;
    UPDATE lockkeeper.items AS i
    SET priority = the_priority, keep_ms = the_keep_ms, need_paths = the_needs,
        need_limits = the_limits, need_units = the_counts, need_roots = the_roots, need_group = its_group, follows = false,
        attempts = CASE WHEN is_claimed THEN i.attempts ELSE 0 END,
        due_us = CASE WHEN delay_ms = 0 AND (item.state = 'ready'
                                             OR (item.state = 'delayed' AND item.due_us <= now_us))
                      THEN item.due_us -- it stays ready, since then
                      ELSE now_us + delay_ms * 1000 END,
        state = CASE WHEN is_claimed THEN 'again' WHEN delay_ms > 0 THEN 'delayed' ELSE 'ready' END,
        sequence = CASE WHEN item.state IN ('claimed', 'cancelled') THEN lockkeeper.draw()
                        ELSE i.sequence END
    WHERE i.number = item.number;
    DELETE FROM lockkeeper.item_values AS v WHERE v.item = item.number;
    IF the_value IS NOT NULL THEN
        INSERT INTO lockkeeper.item_values (item, bytes) VALUES (item.number, the_value);
    END IF;
    PERFORM lockkeeper.tell('pushed', item.queue || '/' || item.id, '', '', 0, 0,
                            CASE WHEN is_claimed THEN item.attempts ELSE 0 END, is_of_item => true);
END $$;

-- A push of an item that the queue has. `kind`: of @LK_PUSH_NEW@, which changes nothing,
-- @LK_PUSH_REPLACE@ and @LK_PUSH_AGAIN@.
CREATE OR REPLACE FUNCTION lockkeeper.push_over(
    item lockkeeper.items, the_value bytea, delay_ms bigint, the_needs text[], the_limits integer[],
    the_counts integer[], the_roots text[], the_priority integer, kind integer, the_keep_ms bigint,
    now_us bigint)
RETURNS lockkeeper.pushed
LANGUAGE plpgsql AS $$
DECLARE
    pushed lockkeeper.pushed;
BEGIN
    pushed.added := false;
    pushed.was := CASE WHEN item.state = 'delayed' AND item.due_us <= now_us THEN 'ready'
                       ELSE item.state END;
    pushed.changed := kind = @LK_PUSH_AGAIN@
        OR (kind = @LK_PUSH_REPLACE@ AND pushed.was IN ('ready', 'delayed', 'again'));
    pushed.is_work := pushed.changed AND pushed.was IN ('claimed', 'cancelled');
    pushed.wakes := pushed.changed AND (item.claim = 0 OR item.is_head); -- no head any more
    IF pushed.changed THEN
        PERFORM lockkeeper.replace_item(item, the_value, delay_ms, the_needs, the_limits, the_counts,
                                        the_roots, the_priority, the_keep_ms, now_us);
    END IF;
    RETURN pushed;
END $$;

-- Adds an item. If there is one with this id, that is changed, if the push is of such a `kind`.
CREATE OR REPLACE FUNCTION lockkeeper.push_item(
    the_queue text, the_id text, the_value bytea, delay_ms bigint, the_needs text[],
    the_limits integer[], the_counts integer[], the_roots text[], the_priority integer,
    kind integer, the_keep_ms bigint, decision lockkeeper.decision) RETURNS lockkeeper.pushed
LANGUAGE plpgsql AS $$
DECLARE
    new_number bigint;
    its_group bytea := lockkeeper.group_of(the_queue, the_needs, the_limits, the_counts);
    -- As 51_groups would mark it, which would leave a dead row and its entries in each index.
    is_behind boolean := its_group IS NOT NULL AND coalesce(delay_ms, 0) <= 0
        AND (EXISTS (SELECT FROM lockkeeper.items AS i
                     WHERE i.need_group = its_group AND i.state = 'ready' AND NOT i.follows
                       AND i.priority >= the_priority)
             OR lockkeeper.head_of_group(its_group, the_queue, the_needs, the_counts) IS NOT NULL);
    found record;
BEGIN
    LOOP
        INSERT INTO lockkeeper.items AS i (queue, id, sequence, priority, state, due_us, need_paths,
            need_limits, need_units, need_roots, need_group, follows, keep_ms)
        VALUES (the_queue, the_id, lockkeeper.draw(), the_priority,
            CASE WHEN delay_ms > 0 THEN 'delayed' ELSE 'ready' END,
            CASE WHEN delay_ms > 0 THEN decision.now_us + delay_ms * 1000 ELSE 0 END,
            the_needs, the_limits, the_counts, the_roots, its_group,
            is_behind, the_keep_ms)
        ON CONFLICT (queue, id) DO NOTHING
        RETURNING i.number INTO new_number;
        EXIT WHEN new_number IS NOT NULL;
        SELECT * INTO found FROM lockkeeper.find_item(the_queue, the_id, decision);
        IF (found.item).number IS NOT NULL THEN
            RETURN lockkeeper.push_over(found.item, the_value, delay_ms, the_needs, the_limits,
                the_counts, the_roots, the_priority, kind, the_keep_ms, decision.now_us);
        END IF;
    END LOOP;
    IF the_value IS NOT NULL THEN
        INSERT INTO lockkeeper.item_values (item, bytes) VALUES (new_number, the_value);
    END IF;
    PERFORM lockkeeper.tell('pushed', the_queue || '/' || the_id, '', '', 0, 0, is_of_item => true);
    RETURN (true, false, NULL, true, true)::lockkeeper.pushed;
END $$;

-- Counts pushes, and wakes workers if some have added or changed what may be claimed.
CREATE OR REPLACE FUNCTION lockkeeper.count_pushes(
    the_queue text, count_pushed bigint, count_duplicates bigint, wakes boolean,
    decision lockkeeper.decision) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lockkeeper.queue_counts AS q (path, pushed, duplicates)
    VALUES (the_queue, count_pushed, count_duplicates)
    ON CONFLICT (path) DO UPDATE
    SET pushed = q.pushed + excluded.pushed, duplicates = q.duplicates + excluded.duplicates;
    IF wakes THEN
        PERFORM lockkeeper.wake_workers(decision);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.push_one(
    the_queue text, the_id text, the_root text, the_value bytea, delay_ms bigint,
    the_needs text[], the_limits integer[], the_counts integer[], the_roots text[],
    the_priority integer, kind integer, the_keep_ms bigint) RETURNS lockkeeper.pushed
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    decision lockkeeper.decision := lockkeeper.begin_decision(ARRAY[the_root], @LK_NEVER@);
    pushed lockkeeper.pushed;
BEGIN
    pushed := lockkeeper.push_item(the_queue, the_id, the_value, delay_ms, the_needs, the_limits,
                                   the_counts, the_roots, the_priority, kind, the_keep_ms, decision);
    PERFORM lockkeeper.count_pushes(the_queue, pushed.is_work::integer,
                                    (NOT pushed.is_work)::integer, pushed.wakes, decision);
    RETURN pushed;
END $$;

DO $do$ BEGIN
    CREATE TYPE lockkeeper.taken AS (
        outcome  text,
        sentence text,
        id       text,
        token    bigint,
        attempt  integer,
        stolen   boolean,
        ttl_ms   bigint,
        left_us  bigint,
        value    bytea,
        look_us  bigint,  -- busy: microseconds until an item may become free
        has_held boolean  -- busy: there are items, but locks block them
    );
EXCEPTION WHEN duplicate_object THEN NULL;
END $do$;

CREATE OR REPLACE FUNCTION lockkeeper.taken_of(
    item lockkeeper.items, claim lockkeeper.requests, stolen boolean, now_us bigint)
RETURNS lockkeeper.taken
LANGUAGE plpgsql AS $$
DECLARE
    taken lockkeeper.taken;
BEGIN
    taken.outcome := 'granted';
    taken.id := item.id;
    taken.token := claim.token;
    taken.attempt := item.attempts;
    taken.stolen := stolen;
    taken.ttl_ms := claim.ttl_ms;
    taken.left_us := claim.deadline_us - now_us;
    SELECT v.bytes INTO taken.value FROM lockkeeper.item_values AS v WHERE v.item = item.number;
    RETURN taken;
END $$;

-- R3: the claim that the same ask has already got; renews its deadline.
CREATE OR REPLACE FUNCTION lockkeeper.take_again(
    the_queue text, the_owner text, the_ask_number bigint, new_ttl_ms bigint, now_us bigint)
RETURNS lockkeeper.taken
LANGUAGE plpgsql AS $$
DECLARE
    item lockkeeper.items;
    claim lockkeeper.requests;
BEGIN
    SELECT i.* INTO item
    FROM (SELECT x.* FROM lockkeeper.requests AS x WHERE x.owner = the_owner OFFSET 0) AS r
    CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.parts AS x
                        WHERE x.request = r.id AND x.position = 1 OFFSET 0) AS p
    CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.items AS x
                        WHERE x.queue = the_queue AND x.id = substring(p.path FROM '[^/]*$')
                        OFFSET 0) AS i
    WHERE r.is_claim AND r.deadline_us > now_us AND p.path = i.queue || '/' || i.id
      AND i.claim = r.id AND i.ask_number = the_ask_number;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    UPDATE lockkeeper.requests AS r
    SET ttl_ms = CASE WHEN r.revoked THEN r.ttl_ms ELSE new_ttl_ms END,
        deadline_us = CASE WHEN r.revoked THEN r.deadline_us ELSE now_us + new_ttl_ms * 1000 END
    WHERE r.id = item.claim
    RETURNING r.* INTO claim;
    RETURN lockkeeper.taken_of(item, claim, false, now_us);
END $$;

-- Whether a request at or above the queue, held or waiting, blocks every item.
CREATE OR REPLACE FUNCTION lockkeeper.is_paused(
    the_owner text, the_above text[], now_us bigint) RETURNS boolean
LANGUAGE sql AS $$
SELECT EXISTS (SELECT FROM lockkeeper.parts AS p
               CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x
                                   WHERE x.id = p.request OFFSET 0) AS r
               WHERE p.path = ANY (the_above) AND r.owner <> the_owner
                 AND r.deadline_us > now_us) $$;

-- Makes the claim of an item whose parts are free; NULL: it would close a cycle (R13). `shared`: the
-- token of another claim of this decision, which this one gets, too; 0: it draws one.
CREATE OR REPLACE FUNCTION lockkeeper.make_claim(
    item lockkeeper.items, paths text[], limits integer[], counts integer[], the_roots text[],
    the_owner text, the_note text, the_ttl_ms bigint, decision lockkeeper.decision, shared bigint)
RETURNS lockkeeper.requests
LANGUAGE plpgsql AS $$
DECLARE
    claim lockkeeper.requests;
    drawn bigint := CASE WHEN shared = 0 THEN lockkeeper.draw() ELSE shared END;
    found record;
BEGIN
    INSERT INTO lockkeeper.requests AS r (owner, note, held, attended, fixed, ticket, token, ttl_ms,
        deadline_us, wants_value, is_claim, root, roots)
    VALUES (the_owner, the_note, true, false, false, drawn, drawn, the_ttl_ms,
        decision.now_us + the_ttl_ms * 1000, false, true, the_roots[1], the_roots)
    RETURNING r.* INTO claim;
    INSERT INTO lockkeeper.parts (request, position, path, held, ticket, unit_limit, units)
    SELECT claim.id, a.n, a.path, true, drawn, a.unit_limit, a.units
    FROM unnest(paths, limits, counts) WITH ORDINALITY AS a (path, unit_limit, units, n);
    IF EXISTS (SELECT FROM lockkeeper.requests AS r WHERE r.owner = the_owner AND NOT r.held) THEN
        SELECT * INTO found FROM lockkeeper.find_cycle(claim.id, decision.now_us);
        IF found.cycle IS NOT NULL THEN
            PERFORM lockkeeper.remove_request(claim, false);
            RETURN NULL;
        END IF;
    END IF;
    UPDATE lockkeeper.roots AS k SET due_us = claim.deadline_us
    WHERE k.root = ANY (the_roots) AND k.due_us - claim.deadline_us > 0;
    RETURN claim;
END $$;

-- The roots of the queue and of the needs of its next items, in byte order, as far as they are
-- known before they are locked.
CREATE OR REPLACE FUNCTION lockkeeper.roots_to_take(the_queue text, the_root text, items integer)
RETURNS text[]
LANGUAGE sql AS $$
SELECT array_agg(DISTINCT t.root COLLATE "C" ORDER BY t.root COLLATE "C")
FROM (SELECT the_root AS root
      UNION ALL
      SELECT unnest(n.need_roots)
      FROM (SELECT i.need_roots FROM lockkeeper.items AS i
            WHERE i.queue = the_queue AND i.state = 'ready' AND NOT i.follows
            ORDER BY i.priority DESC, i.sequence LIMIT items) AS n) AS t $$;

-- The answer to a take that finds nothing: when to try again.
CREATE OR REPLACE FUNCTION lockkeeper.nothing_to_take(
    the_queue text, why text, saw_items boolean, decision lockkeeper.decision) RETURNS lockkeeper.taken
LANGUAGE plpgsql AS $$
DECLARE
    taken lockkeeper.taken;
    own text := split_part(the_queue, '/', 1); -- its workers are notified of changes there
BEGIN
    UPDATE lockkeeper.roots AS r
    SET awaited_us = decision.now_us + 3000000,
        awaited_by = CASE
            WHEN r.root = own OR own = ANY (r.awaited_by) THEN r.awaited_by
            -- Some of many may wait no more; those that do come back within a second or two.
            WHEN r.awaited_us <= decision.now_us OR cardinality(r.awaited_by) >= 32 THEN ARRAY[own]
            ELSE r.awaited_by || own END
    WHERE r.root = ANY (decision.roots)
      AND (r.awaited_us < decision.now_us + 1500000 OR NOT own = ANY (r.root || r.awaited_by));
    taken.outcome := 'busy';
    taken.sentence := CASE
        WHEN EXISTS (SELECT FROM lockkeeper.queue_counts AS q WHERE q.path = the_queue) THEN why
        ELSE '@LK_TEXT_QUEUE_EMPTY@' END;
    taken.has_held := saw_items;
    SELECT least(
        (SELECT min(i.due_us) FROM lockkeeper.items AS i
         WHERE i.queue = the_queue AND i.state = 'delayed'),
        (SELECT min(q.deadline_us) FROM unnest(decision.roots) AS t (root)
         CROSS JOIN LATERAL (SELECT x.deadline_us FROM lockkeeper.requests AS x
                             WHERE x.root = t.root AND x.deadline_us > decision.now_us
                             ORDER BY x.deadline_us LIMIT 1) AS q)) - decision.now_us
    INTO taken.look_us;
    RETURN taken;
END $$;

-- Claims the next item, by priority and then by age, that is due and free to be locked. `shared` as
-- in make_claim(); -1: there is a token to share, but greater ones may have been drawn since.
CREATE OR REPLACE FUNCTION lockkeeper.take_next(
    the_queue text, the_above text[], the_root text, the_owner text, the_ttl_ms bigint,
    the_max_attempts integer, the_ask_number bigint, the_note text, shared bigint,
    decision lockkeeper.decision) RETURNS lockkeeper.taken
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    taken lockkeeper.taken;
    item lockkeeper.items;
    claim lockkeeper.requests;
    stolen boolean;
    paths text[];
    limits integer[];
    counts integer[];
    all_roots text[];
    checked record;
    candidates refcursor;
    reads_all boolean := false; -- not only the first of each group
    refused bytea[] := '{}'; -- groups whose needs are not free
    behind bytea[] := '{}';  -- groups that another item keeps from being claimed by its turn
    saw_items boolean := false;
BEGIN
    UPDATE lockkeeper.items AS i SET state = 'ready'
    WHERE i.queue = the_queue AND i.state = 'delayed' AND i.due_us <= decision.now_us;
    IF lockkeeper.is_paused(the_owner, the_above, decision.now_us) THEN
        RETURN lockkeeper.nothing_to_take(the_queue,
            '@LK_TEXT_QUEUE_PAUSED@', true, decision);
    END IF;
    OPEN candidates FOR
        SELECT i.* FROM lockkeeper.items AS i
        WHERE i.queue = the_queue AND i.state = 'ready' AND NOT i.follows
        ORDER BY i.priority DESC, i.sequence;
    LOOP
        FETCH candidates INTO item;
        EXIT WHEN NOT FOUND;
        CONTINUE WHEN reads_all
            AND (item.need_group = ANY (refused)
                 OR (item.need_group = ANY (behind) AND NOT item.is_head));
        IF -1 = ANY (item.need_units) AND lockkeeper.waits_for_head(item) THEN
            behind := behind || item.need_group;
            CONTINUE;
        END IF;
        saw_items := true;
        IF NOT item.need_roots <@ decision.roots THEN
            IF shared <> 0 THEN -- a greater number may have been drawn there since
                CLOSE candidates;
                RETURN lockkeeper.nothing_to_take(the_queue,
                    '@LK_TEXT_TOKEN_TAKEN@', true, decision);
            END IF;
            decision := lockkeeper.lock_more_roots(decision, item.need_roots);
            CONTINUE WHEN NOT item.need_roots <@ decision.roots;
        END IF;
        paths := (the_queue || '/' || item.id) || item.need_paths;
        limits := 0 || item.need_limits;
        counts := 0 || array_replace(item.need_units, -1, 0); -- no request is strict
        SELECT * INTO checked
        FROM lockkeeper.check_grant(the_owner, 0, @LK_NEVER@, true, paths, limits, counts,
                                    decision.now_us);
        IF checked.verdict <> 'grant' THEN
            IF item.need_paths <> '{}' THEN
                SELECT * INTO checked
                FROM lockkeeper.check_grant(the_owner, 0, @LK_NEVER@, true, item.need_paths,
                                            item.need_limits, counts[2:], decision.now_us);
                IF checked.verdict <> 'grant' THEN
                    refused := refused || item.need_group;
                ELSIF NOT reads_all AND NOT item.is_head THEN
                    -- It is locked itself, and hides no other of its group.
                    reads_all := true;
                    CLOSE candidates;
                    OPEN candidates FOR
                        SELECT i.* FROM lockkeeper.items AS i
                        WHERE i.queue = the_queue AND i.state = 'ready'
                          AND (i.priority < item.priority OR
                               (i.priority = item.priority AND i.sequence > item.sequence))
                        ORDER BY i.priority DESC, i.sequence;
                END IF;
            END IF;
            CONTINUE;
        END IF;
        all_roots := ARRAY(SELECT DISTINCT t.root COLLATE "C"
                           FROM unnest(the_root || item.need_roots) AS t (root) ORDER BY 1);
        IF decision.is_bounded THEN
            taken.sentence :=
                lockkeeper.full_bound(the_owner, paths, false, decision.now_us);
            IF taken.sentence IS NOT NULL THEN
                CLOSE candidates;
                taken.outcome := 'full';
                taken.sentence :=
                    format('@LK_TEXT_BOUND@', taken.sentence);
                PERFORM lockkeeper.tell_refusal('full', ARRAY[the_queue], '{0}', '{0}', the_owner,
                                                '');
                RETURN taken;
            END IF;
        END IF;
        IF shared < 0 THEN
            CLOSE candidates;
            RETURN lockkeeper.nothing_to_take(the_queue,
                '@LK_TEXT_TOKEN_TAKEN@', true, decision);
        END IF;
        claim := lockkeeper.make_claim(item, paths, limits, counts, all_roots, the_owner,
                                       the_note, the_ttl_ms, decision, shared);
        CONTINUE WHEN claim.id IS NULL; -- the cycle goes through a need: so with all of the group
        CLOSE candidates;
        stolen := item.was_lost;
        UPDATE lockkeeper.items AS i
        SET state = 'claimed', claim = claim.id, attempts = i.attempts + 1, was_lost = false,
            ask_number = the_ask_number, max_attempts = the_max_attempts, claims = i.claims + 1,
            steals = i.steals + stolen::integer, progress = NULL,
            is_head = -1 = ANY (i.need_units)
        WHERE i.number = item.number
        RETURNING i.* INTO item;
        PERFORM lockkeeper.tell_request(CASE WHEN stolen THEN 'stolen' ELSE 'claimed' END, claim.id,
                                        item.attempts);
        RETURN lockkeeper.taken_of(item, claim, stolen, decision.now_us);
    END LOOP;
    CLOSE candidates;
    RETURN lockkeeper.nothing_to_take(the_queue, '@LK_TEXT_NOTHING_DUE@', saw_items,
                                      decision);
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.take(
    the_queue text, the_above text[], the_root text, the_owner text, the_ttl_ms bigint,
    the_max_attempts integer, the_ask_number bigint, the_note text) RETURNS lockkeeper.taken
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    decision lockkeeper.decision := lockkeeper.begin_decision(
        lockkeeper.roots_to_take(the_queue, the_root, 16),
        lockkeeper.now_us() + the_ttl_ms * 1000);
    taken lockkeeper.taken;
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 256);
    END IF;
    IF the_ask_number <> 0 THEN
        taken := lockkeeper.take_again(the_queue, the_owner, the_ask_number, the_ttl_ms,
                                       decision.now_us);
        IF taken.outcome IS NOT NULL THEN
            RETURN taken;
        END IF;
    END IF;
    RETURN lockkeeper.take_next(the_queue, the_above, the_root, the_owner, the_ttl_ms,
        the_max_attempts, the_ask_number, the_note, 0, decision);
END $$;

-- An item is removed that has not been done. Its claims so far stay counted.
CREATE OR REPLACE FUNCTION lockkeeper.count_dropped(item lockkeeper.items) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM lockkeeper.item_values AS v WHERE v.item = item.number;
    IF item.claims > 0 THEN
        UPDATE lockkeeper.queue_counts AS q
        SET claims = q.claims + item.claims, steals = q.steals + item.steals
        WHERE q.path = item.queue;
    END IF;
    PERFORM lockkeeper.tell('dropped', item.queue || '/' || item.id, '', '', 0, 0, item.attempts,
                            is_of_item => true);
END $$;

-- Removes a cancelled item, whose claim ends.
CREATE OR REPLACE FUNCTION lockkeeper.drop_claimed(item lockkeeper.items) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM lockkeeper.items AS i WHERE i.number = item.number;
    PERFORM lockkeeper.count_dropped(item);
END $$;

-- The claim of an item that was pushed again has ended: the item is as that push would have added it.
-- `code` and `words` are why it was given back; both NULL: the former reason stays. `ended_us`: when the
-- claim ended, since when the item is ready if it is.
CREATE OR REPLACE FUNCTION lockkeeper.begin_again(
    item lockkeeper.items, is_lost boolean, code integer, words bytea, now_us bigint,
    ended_us bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE lockkeeper.items AS i
    SET claim = 0, ask_number = 0, attempts = 0, was_lost = is_lost,
        state = CASE WHEN i.due_us > now_us THEN 'delayed' ELSE 'ready' END,
        due_us = greatest(i.due_us, ended_us),
        last_exit = CASE WHEN num_nonnulls(code, words) = 0 THEN i.last_exit ELSE code END,
        last_error = CASE WHEN num_nonnulls(code, words) = 0 THEN i.last_error ELSE words END
    WHERE i.number = item.number;
END $$;

-- An item that is done, and whose claim has ended, is kept with this result until then; see `ended`
-- about its counters.
CREATE OR REPLACE FUNCTION lockkeeper.keep_done(
    item lockkeeper.items, the_result bytea, until_us bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE lockkeeper.items AS i
    SET state = 'done', due_us = until_us, claim = 0, ask_number = 0, progress = NULL, claims = 0,
        steals = 0, is_head = false -- then 51_groups looks at its needs
    WHERE i.number = item.number;
    IF item.need_paths <> '{}' THEN
        UPDATE lockkeeper.items AS i
        SET need_paths = '{}', need_limits = '{}', need_units = '{}', need_roots = '{}',
            need_group = NULL
        WHERE i.number = item.number;
    END IF;
    DELETE FROM lockkeeper.item_values AS v WHERE v.item = item.number;
    IF the_result IS NOT NULL THEN
        INSERT INTO lockkeeper.item_values (item, bytes) VALUES (item.number, the_result);
    END IF;
END $$;

-- Ends a claim that is still held: the item is removed, or kept with its result (delay_ms NULL), or given
-- back. It is kept for as long as its push or `keep_ms` says, whichever is longer. Given back, `code`
-- and `words` are the reason; both NULL: the former one stays. `uncounted`: the attempt does not
-- count, so the item is not parked unless it `parks`. A cancelled item is removed in any case, and
-- one that was pushed again is as new in any case.
CREATE OR REPLACE FUNCTION lockkeeper.finish_item(
    the_queue text, the_id text, the_owner text, the_identity bytea, the_token bigint,
    delay_ms bigint, code integer, words bytea, uncounted boolean, parks boolean, the_result bytea,
    the_keep_ms bigint, decision lockkeeper.decision)
RETURNS lockkeeper.answer
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    answer lockkeeper.answer;
    item lockkeeper.items;
    self lockkeeper.requests;
    paths text[];
    is_dropped boolean;
    is_again boolean;
    kept_us bigint;
BEGIN
    SELECT i.* INTO item FROM lockkeeper.items AS i WHERE i.queue = the_queue AND i.id = the_id;
    SELECT r.* INTO self FROM lockkeeper.requests AS r
    WHERE r.id = item.claim AND r.deadline_us - decision.now_us > 0 AND r.owner = the_owner
      AND (the_token = 0 OR r.token = the_token);
    IF self.id IS NULL THEN
        IF the_token <> 0 AND lockkeeper.has_ended(the_identity, the_token, decision.now_us) THEN
            answer.outcome := 'ok'; -- R3
            RETURN answer;
        END IF;
        RETURN lockkeeper.lost('@LK_TEXT_NOT_CLAIMED@');
    END IF;
    IF NOT self.roots <@ decision.roots THEN
        decision := lockkeeper.lock_more_roots(decision, self.roots);
    END IF;
    is_again := item.state = 'again';
    IF the_token <> 0 OR delay_ms IS NULL THEN -- without a token only for its counters
        INSERT INTO lockkeeper.ended AS e (token, identity, ended_us, queue, claims, steals)
        VALUES (self.token, CASE WHEN the_token <> 0 THEN the_identity
                                 ELSE convert_to(item.number::text, 'UTF8') END,
            decision.now_us, CASE WHEN delay_ms IS NULL THEN the_queue END,
            CASE WHEN is_again THEN 0 ELSE item.claims END, -- which stay with the item
            CASE WHEN is_again THEN 0 ELSE item.steals END);
    END IF;
    kept_us := greatest(item.keep_ms, the_keep_ms) * 1000;
    is_dropped := delay_ms IS NOT NULL AND item.state = 'cancelled';
    parks := NOT is_again AND (parks OR (NOT uncounted AND item.max_attempts > 0
                                         AND item.attempts >= item.max_attempts));
    IF is_again THEN
        item.attempts := 0;
    ELSIF uncounted THEN
        item.attempts := greatest(item.attempts - 1, 0);
    END IF;
    IF NOT is_dropped THEN
        PERFORM lockkeeper.tell_request(
            CASE WHEN delay_ms IS NULL THEN 'done' WHEN parks THEN 'parked' ELSE 'retried' END,
            self.id, item.attempts);
    END IF;
    paths := lockkeeper.remove_request(self, false);
    IF is_dropped THEN
        PERFORM lockkeeper.drop_claimed(item);
    ELSIF is_again THEN
        PERFORM lockkeeper.begin_again(item, false, code, words, decision.now_us, decision.now_us);
    ELSIF delay_ms IS NULL AND item.state = 'claimed' AND kept_us > 0 THEN
        PERFORM lockkeeper.keep_done(item, the_result, decision.now_us + kept_us);
    ELSIF delay_ms IS NULL THEN
        DELETE FROM lockkeeper.items AS i WHERE i.number = item.number;
        DELETE FROM lockkeeper.item_values AS v WHERE v.item = item.number;
    ELSE
        UPDATE lockkeeper.items AS i
        SET claim = 0, ask_number = 0, was_lost = false, attempts = item.attempts,
            due_us = CASE WHEN parks THEN 0 ELSE decision.now_us + delay_ms * 1000 END,
            state = CASE WHEN parks THEN 'parked' WHEN delay_ms > 0 THEN 'delayed'
                         ELSE 'ready' END,
            last_exit = CASE WHEN num_nonnulls(code, words) = 0 THEN i.last_exit ELSE code END,
            last_error = CASE WHEN num_nonnulls(code, words) = 0 THEN i.last_error ELSE words END
        WHERE i.number = item.number;
    END IF;
    IF delay_ms IS NOT NULL AND NOT is_dropped THEN
        UPDATE lockkeeper.queue_counts AS q
        SET retried = q.retried + 1, parked = q.parked + parks::integer WHERE q.path = the_queue;
    END IF;
    PERFORM lockkeeper.grant_waiters(decision, paths, NULL, decision.now_us);
    answer.outcome := 'ok';
    RETURN answer;
END $$;

-- The roots of the queue and of the claims of these items, in byte order.
CREATE OR REPLACE FUNCTION lockkeeper.roots_to_finish(the_queue text, ids text[], the_root text)
RETURNS text[]
LANGUAGE sql AS $$
SELECT array_agg(DISTINCT t.root COLLATE "C" ORDER BY t.root COLLATE "C")
FROM (SELECT the_root AS root
      UNION ALL
      SELECT unnest(CASE WHEN i.state = 'claimed' THEN i.need_roots
                         ELSE (SELECT r.roots FROM lockkeeper.requests AS r WHERE r.id = i.claim)
                    END) -- a push that came behind the claim may have changed the needs
      FROM unnest(ids) AS u (id)
      CROSS JOIN LATERAL (SELECT x.state, x.need_roots, x.claim -- each by its id, in any plan
                          FROM lockkeeper.items AS x
                          WHERE x.queue = the_queue AND x.id = u.id OFFSET 0) AS i
      WHERE i.claim <> 0) AS t $$;

CREATE OR REPLACE FUNCTION lockkeeper.finish(
    the_queue text, the_id text, the_root text, the_owner text, the_identity bytea,
    the_token bigint, delay_ms bigint, code integer, words bytea, uncounted boolean, parks boolean,
    the_result bytea, the_keep_ms bigint)
RETURNS lockkeeper.answer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    decision lockkeeper.decision := lockkeeper.begin_decision(
        lockkeeper.roots_to_finish(the_queue, ARRAY[the_id], the_root), @LK_NEVER@);
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 4);
    END IF;
    RETURN lockkeeper.finish_item(the_queue, the_id, the_owner, the_identity, the_token, delay_ms,
                                  code, words, uncounted, parks, the_result, the_keep_ms, decision);
END $$;

-- R16: how far the work is, said by its claimant. It is one statement, for which the root's lock is
-- shared: the claim may be ended meanwhile by another one that shares it.
CREATE OR REPLACE FUNCTION lockkeeper.tell_progress(
    the_queue text, the_id text, the_owner text, the_token bigint, words bytea)
RETURNS lockkeeper.answer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    answer lockkeeper.answer;
    now_us bigint := lockkeeper.now_us();
BEGIN
    UPDATE lockkeeper.items AS i SET progress = words
    WHERE i.queue = the_queue AND i.id = the_id AND i.claim <> 0
      AND i.claim = (SELECT r.id FROM lockkeeper.requests AS r
                     WHERE r.id = (SELECT x.claim FROM lockkeeper.items AS x
                                   WHERE x.queue = the_queue AND x.id = the_id)
                       AND r.deadline_us - now_us > 0 AND r.owner = the_owner
                       AND (the_token = 0 OR r.token = the_token));
    IF NOT FOUND THEN
        RETURN lockkeeper.lost('@LK_TEXT_NOT_CLAIMED@');
    END IF;
    answer.outcome := 'ok';
    RETURN answer;
END $$;

-- Makes a parked item ready again.
CREATE OR REPLACE FUNCTION lockkeeper.unpark_item(the_queue text, the_id text)
RETURNS lockkeeper.answer
LANGUAGE plpgsql AS $$
DECLARE
    answer lockkeeper.answer;
BEGIN
    UPDATE lockkeeper.items AS i
    SET state = 'ready', due_us = lockkeeper.now_us(), attempts = 0, was_lost = false
    WHERE i.queue = the_queue AND i.id = the_id AND i.state = 'parked';
    IF NOT FOUND THEN
        RETURN lockkeeper.lost('@LK_TEXT_NOT_PARKED@');
    END IF;
    PERFORM lockkeeper.tell('unparked', the_queue || '/' || the_id, '', '', 0, 0,
                            is_of_item => true);
    answer.outcome := 'ok';
    RETURN answer;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.unpark_one(the_queue text, the_id text, the_root text)
RETURNS lockkeeper.answer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    answer lockkeeper.answer;
    decision lockkeeper.decision := lockkeeper.begin_decision(ARRAY[the_root], @LK_NEVER@);
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 256);
    END IF;
    answer := lockkeeper.unpark_item(the_queue, the_id);
    IF answer.outcome = 'ok' THEN
        PERFORM lockkeeper.wake_workers(decision);
    END IF;
    RETURN answer;
END $$;

-- Removes an item that is not claimed. Its claims so far stay counted.
CREATE OR REPLACE FUNCTION lockkeeper.drop_item(
    the_queue text, the_id text, only_parked boolean, decision lockkeeper.decision)
RETURNS lockkeeper.answer
LANGUAGE plpgsql AS $$
DECLARE
    answer lockkeeper.answer;
    item lockkeeper.items;
BEGIN
    DELETE FROM lockkeeper.items AS i
    WHERE i.queue = the_queue AND i.id = the_id
      AND CASE WHEN only_parked THEN i.state = 'parked'
               ELSE i.claim = 0 AND NOT (i.state = 'done' AND i.due_us <= decision.now_us) END
    RETURNING i.* INTO item;
    IF NOT FOUND THEN
        RETURN lockkeeper.lost(CASE WHEN only_parked THEN '@LK_TEXT_NOT_PARKED@'
                                    ELSE '@LK_TEXT_NO_ITEM@' END);
    END IF;
    PERFORM lockkeeper.count_dropped(item);
    IF item.is_head THEN
        PERFORM lockkeeper.wake_workers(decision); -- what it kept from being claimed may be now
    END IF;
    answer.outcome := 'ok';
    RETURN answer;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.drop_one(
    the_queue text, the_id text, the_root text, only_parked boolean) RETURNS lockkeeper.answer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    decision lockkeeper.decision := lockkeeper.begin_decision(ARRAY[the_root], @LK_NEVER@);
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 256);
    END IF;
    RETURN lockkeeper.drop_item(the_queue, the_id, only_parked, decision);
END $$;

-- R16: cancels the item at this path. One that is not claimed is removed; of another one the claim is
-- revoked, or ended `at_once`, and the item is removed when that has ended. `broken`: whether it is
-- claimed. On record (R12) if it changes anything.
CREATE OR REPLACE FUNCTION lockkeeper.cancel_item(
    the_path text, the_root text, at_once boolean, by text, why text,
    OUT outcome text, OUT sentence text, OUT broken bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    the_id text := substring(the_path FROM '[^/]*$');
    the_queue text := CASE WHEN the_id <> the_path THEN regexp_replace(the_path, '/[^/]*$', '') END;
    decision lockkeeper.decision := lockkeeper.begin_decision(
        lockkeeper.roots_to_finish(the_queue, ARRAY[the_id], the_root), @LK_NEVER@);
    found record;
    item lockkeeper.items;
    claim lockkeeper.requests;
    released text[] := '{}';
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 256);
    END IF;
    SELECT * INTO found FROM lockkeeper.find_item(the_queue, the_id, decision);
    decision := found.decision;
    item := found.item;
    claim := found.claim;
    IF NOT claim.roots <@ decision.roots THEN
        decision := lockkeeper.lock_more_roots(decision, claim.roots);
    END IF;
    IF item.number IS NULL THEN
        outcome := 'lost';
        sentence := '@LK_TEXT_NOT_THERE@';
        RETURN;
    END IF;
    outcome := 'ok';
    broken := (claim.id IS NOT NULL)::integer;
    IF item.state = 'cancelled' AND NOT at_once THEN
        RETURN;
    END IF;
    IF broken = 0 THEN
        DELETE FROM lockkeeper.items AS i WHERE i.number = item.number;
        PERFORM lockkeeper.count_dropped(item);
    ELSE
        UPDATE lockkeeper.items AS i SET state = 'cancelled', due_us = 0
        WHERE i.number = item.number;
        IF at_once THEN
            released := lockkeeper.lose_request(claim, 'broken', by, why);
        ELSIF NOT claim.revoked THEN
            UPDATE lockkeeper.requests AS r SET revoked = true WHERE r.id = claim.id;
            PERFORM lockkeeper.tell_request('broken', claim.id, 0, by, why);
        END IF;
    END IF;
    INSERT INTO lockkeeper.audit (at_us, broken_by, reason, path, owner, note, ticket, token)
    VALUES (decision.now_us, by, why, the_path, coalesce(claim.owner, ''), coalesce(claim.note, ''),
            coalesce(claim.ticket, 0), coalesce(claim.token, 0));
    PERFORM lockkeeper.grant_waiters(decision, released, NULL, decision.now_us);
    PERFORM lockkeeper.notify('*'); -- for holders: a lease of theirs may be revoked
    DELETE FROM lockkeeper.audit AS a -- the last 65,536 are kept
    WHERE a.id <= (SELECT max(b.id) - @LK_AUDITS_MAX@ FROM lockkeeper.audit AS b);
END $$;
