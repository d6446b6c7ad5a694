-- SPDX-License-Identifier: Apache-2.0
-- Short ways of series (72_series): claims and their completion (R16) that need no grant check, each
-- step by one statement for all items. The root is locked exclusively.
--
-- The tables are found by arrays of numbers, not joined: so each is read by its key, whatever the
-- statistics say.

-- Whether claims of the next items can be taken by take_plain(), as far as that does not depend on
-- the items: nothing is held or waits at or above the queue, no event is told, no bound is set, the
-- owner waits for nothing (R13), and none of the claims has been made already (R3).
CREATE OR REPLACE FUNCTION lockkeeper.is_plain_to_take(
    the_queue text, the_above text[], the_owner text, numbers bigint[], decision lockkeeper.decision)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    RETURN NOT decision.is_bounded
        AND (SELECT m.events_max = 0 AND m.watched_until_us <= decision.now_us
             FROM lockkeeper.meta AS m)
        AND NOT EXISTS (SELECT FROM lockkeeper.parts AS p WHERE p.path = ANY (the_above))
        AND NOT EXISTS (SELECT FROM lockkeeper.requests AS r
                        WHERE r.owner = the_owner AND NOT r.held)
        AND NOT EXISTS (
            SELECT FROM (SELECT x.id FROM lockkeeper.requests AS x
                         WHERE x.owner = the_owner AND x.is_claim OFFSET 0) AS r
            CROSS JOIN LATERAL (SELECT x.path FROM lockkeeper.parts AS x
                                WHERE x.request = r.id AND x.position = 1 OFFSET 0) AS p
            CROSS JOIN LATERAL (SELECT x.ask_number FROM lockkeeper.items AS x
                                WHERE x.queue = the_queue AND x.claim = r.id
                                  AND x.id = substring(p.path FROM '[^/]*$') OFFSET 0) AS i
            WHERE i.ask_number <> 0 AND i.ask_number = ANY (numbers));
END $$;

-- Claims the next items, one for each ask number, up to the first that needs more parts or that a
-- request is near. They get the token `drawn`.
CREATE OR REPLACE FUNCTION lockkeeper.take_plain(
    the_queue text, the_root text, the_owner text, the_ttl_ms bigint, the_max_attempts integer,
    the_note text, numbers bigint[], drawn bigint, now_us bigint)
RETURNS SETOF lockkeeper.taken
LANGUAGE plpgsql AS $$
DECLARE
    next record; -- arrays, in the order of the queue
    the_claims bigint[];
BEGIN
    UPDATE lockkeeper.items AS i SET state = 'ready'
    WHERE i.queue = the_queue AND i.state = 'delayed' AND i.due_us <= now_us;
    SELECT array_agg(n.number ORDER BY n.place) AS items, array_agg(n.id ORDER BY n.place) AS ids,
           array_agg(n.attempts + 1 ORDER BY n.place) AS attempts,
           array_agg(n.was_lost ORDER BY n.place) AS lost
    INTO next
    FROM (SELECT b.*, bool_or(b.is_blocked) OVER (ORDER BY b.place) AS is_behind
          FROM (SELECT i.*, i.has_needs
                       OR (SELECT true FROM lockkeeper.parts AS p
                           WHERE p.path >= i.path AND p.path <= i.path
                           ORDER BY p.path LIMIT 1) IS NOT NULL
                       OR (SELECT true FROM lockkeeper.parts AS p
                           WHERE p.path > i.path || '/' AND p.path < i.path || '0'
                           ORDER BY p.path LIMIT 1) IS NOT NULL AS is_blocked
                FROM (SELECT x.number, x.id, x.attempts, x.was_lost,
                             x.need_paths <> '{}' AS has_needs, the_queue || '/' || x.id AS path,
                             row_number() OVER (ORDER BY x.priority DESC, x.sequence) AS place
                      FROM lockkeeper.items AS x WHERE x.queue = the_queue AND x.state = 'ready'
                        AND NOT x.follows
                      ORDER BY x.priority DESC, x.sequence LIMIT cardinality(numbers)) AS i) AS b
         ) AS n
    WHERE NOT n.is_behind;
    IF next.items IS NULL THEN
        RETURN;
    END IF;
    WITH made AS (
        INSERT INTO lockkeeper.requests AS r (owner, note, held, attended, fixed, ticket, token,
            ttl_ms, deadline_us, wants_value, is_claim, root, roots)
        SELECT the_owner, the_note, true, false, false, drawn, drawn, the_ttl_ms,
               now_us + the_ttl_ms * 1000, false, true, the_root, ARRAY[the_root]
        FROM generate_series(1, cardinality(next.items))
        RETURNING r.id)
    SELECT array_agg(m.id ORDER BY m.id) INTO the_claims FROM made AS m;
    INSERT INTO lockkeeper.parts (request, position, path, held, ticket, unit_limit, units)
    SELECT c.id, 1, the_queue || '/' || c.item, true, drawn, 0, 0
    FROM unnest(the_claims, next.ids) AS c (id, item);
    UPDATE lockkeeper.items AS i
    SET state = 'claimed', claim = the_claims[array_position(next.items, i.number)],
        attempts = i.attempts + 1, was_lost = false,
        ask_number = numbers[array_position(next.items, i.number)],
        max_attempts = the_max_attempts, claims = i.claims + 1, progress = NULL,
        steals = i.steals + i.was_lost::integer
    WHERE i.number = ANY (next.items);
    RETURN QUERY
    SELECT 'granted', NULL::text, c.id, drawn, c.attempt, c.was_lost, the_ttl_ms, the_ttl_ms * 1000,
           (SELECT v.bytes FROM lockkeeper.item_values AS v WHERE v.item = c.item),
           NULL::bigint, NULL::boolean
    FROM unnest(next.items, next.ids, next.attempts, next.lost)
        AS c (item, id, attempt, was_lost);
END $$;

-- Ends claims that are held, and removes their items, or keeps them with their results. Answers for
-- each command whether that was done; NULL: for none. The rest is left to finish_item().
CREATE OR REPLACE FUNCTION lockkeeper.finish_plain(
    the_queue text, ids text[], owners text[], tokens bigint[], results bytea[], keeps bigint[],
    decision lockkeeper.decision)
RETURNS boolean[]
LANGUAGE plpgsql AS $$
DECLARE
    known record; -- arrays
BEGIN
    IF decision.has_waiting
       OR NOT (SELECT m.events_max = 0 AND m.watched_until_us <= decision.now_us
               FROM lockkeeper.meta AS m)
       OR (SELECT count(*) <> count(DISTINCT t.id) FROM unnest(ids) AS t (id)) THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(c.place) AS places, array_agg(i.number) AS items, array_agg(i.claim) AS claims,
           array_agg(r.token) AS tokens, array_agg(i.claims) AS counts,
           array_agg(i.steals) AS steals, array_agg(greatest(i.keep_ms, c.keep_ms)) AS kept_ms,
           array_agg(c.result) AS results,
           array_agg(CASE WHEN c.token <> 0
                          THEN lockkeeper.identity(c.owner, the_queue || '/' || c.id)
                          ELSE convert_to(i.number::text, 'UTF8') END) AS identities
    INTO known
    FROM unnest(ids, owners, tokens, results, keeps) WITH ORDINALITY
        AS c (id, owner, token, result, keep_ms, place)
    CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.items AS x
                        WHERE x.queue = the_queue AND x.id = c.id OFFSET 0) AS i
    CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x WHERE x.id = i.claim OFFSET 0) AS r
    WHERE i.state = 'claimed' AND i.need_paths = '{}' AND r.deadline_us - decision.now_us > 0 AND r.owner = c.owner
      AND (c.token = 0 OR r.token = c.token);
    IF known.items IS NULL THEN
        RETURN NULL;
    END IF;
    DELETE FROM lockkeeper.requests AS r WHERE r.id = ANY (known.claims);
    DELETE FROM lockkeeper.parts AS p WHERE p.request = ANY (known.claims);
    DELETE FROM lockkeeper.item_values AS v WHERE v.item = ANY (known.items);
    IF 0 < ANY (known.kept_ms) THEN -- as keep_done()
        DELETE FROM lockkeeper.items AS i
        WHERE i.number = ANY (ARRAY(SELECT k.item FROM unnest(known.items, known.kept_ms)
                                        AS k (item, kept_ms) WHERE k.kept_ms = 0));
        UPDATE lockkeeper.items AS i
        SET state = 'done', claim = 0, ask_number = 0, progress = NULL, claims = 0, steals = 0,
            due_us = decision.now_us
                     + 1000 * known.kept_ms[array_position(known.items, i.number)]
        WHERE i.number = ANY (ARRAY(SELECT k.item FROM unnest(known.items, known.kept_ms)
                                        AS k (item, kept_ms) WHERE k.kept_ms > 0));
        INSERT INTO lockkeeper.item_values (item, bytes)
        SELECT k.item, k.result
        FROM unnest(known.items, known.kept_ms, known.results) AS k (item, kept_ms, result)
        WHERE k.kept_ms > 0 AND k.result IS NOT NULL;
    ELSE
        DELETE FROM lockkeeper.items AS i WHERE i.number = ANY (known.items);
    END IF;
    INSERT INTO lockkeeper.ended (token, identity, ended_us, queue, claims, steals)
    SELECT e.token, e.identity, decision.now_us, the_queue, e.claims, e.steals
    FROM unnest(known.tokens, known.identities, known.counts, known.steals)
        AS e (token, identity, claims, steals);
    PERFORM lockkeeper.wake_workers(decision);
    RETURN ARRAY(SELECT n = ANY (known.places) FROM generate_subscripts(ids, 1) AS n);
END $$;
