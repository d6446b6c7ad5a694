-- SPDX-License-Identifier: Apache-2.0
-- What the engine calls. Each procedure is one decision, which it commits itself, so none can be
-- part of a caller's transaction: CALL lockkeeper.lk_ask(...) inside BEGIN is refused.
--
-- It is decided at READ COMMITTED, whatever the default is.

-- Lets go the locks of the roots. Where others have been waited for, others will wait: then the
-- commit does not wait for the disk, and a second one behind it does, as the server is set up to
-- (synchronous_commit), before anybody hears the answer. So those who decide about one root do not
-- queue for the disk, and share its flushes.
CREATE OR REPLACE PROCEDURE lockkeeper.let_go()
LANGUAGE plpgsql AS $$
BEGIN
    IF clock_timestamp() > statement_timestamp() + interval '1 ms' THEN
        SET LOCAL synchronous_commit = off;
        COMMIT;
        PERFORM pg_logical_emit_message(true, 'lockkeeper', '');
    END IF;
END $$;

-- R3, R7-R10, R13. `sorted_paths`: in byte order, with a space between; `roots` in byte order;
-- `above`: the first path and all paths that contain it.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_ask(
    asker text, paths text[], limits integer[], counts integer[], sorted_paths text,
    roots text[], style text, ttl_ms bigint, until_us bigint, note text, blockers_max integer,
    wants_value boolean, above text[],
    INOUT outcome text DEFAULT NULL, INOUT sentence text DEFAULT NULL,
    INOUT request bigint DEFAULT NULL, INOUT ticket bigint DEFAULT NULL,
    INOUT token bigint DEFAULT NULL, INOUT new_ttl_ms bigint DEFAULT NULL,
    INOUT left_us bigint DEFAULT NULL, INOUT in_use bigint DEFAULT NULL,
    INOUT in_the_way integer DEFAULT NULL, INOUT created boolean DEFAULT NULL,
    INOUT fixed boolean DEFAULT NULL, INOUT value bytea DEFAULT NULL,
    INOUT in_doubt boolean DEFAULT NULL, INOUT blockers text[] DEFAULT NULL,
    INOUT cycle text[] DEFAULT NULL, INOUT look_us bigint DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    identity bytea := sha256(convert_to(sorted_paths || E'\n' || asker, 'UTF8'));
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    IF cardinality(paths) = 1 AND until_us = 0 AND NOT wants_value THEN
        SELECT a.id, a.ticket, a.in_use INTO request, ticket, in_use
        FROM lockkeeper.ask_short(identity, asker, paths[1], above, limits[1], counts[1], roots[1],
            style = 'wait', ttl_ms, coalesce(note, '')) AS a;
    END IF;
    IF request IS NOT NULL THEN
        outcome := 'granted';
        token := ticket;
        new_ttl_ms := ttl_ms;
        left_us := ttl_ms * 1000;
        created := true;
        fixed := false;
    ELSE
        SELECT a.* INTO outcome, sentence, request, ticket, token, new_ttl_ms, left_us, in_use,
            in_the_way, created, fixed, value, in_doubt, blockers, cycle, look_us
        FROM lockkeeper.ask((identity, asker, paths, limits, counts, roots, style, ttl_ms,
            until_us, note, blockers_max, wants_value)) AS a;
    END IF;
    CALL lockkeeper.let_go();
END $$;

-- R11. `token` 0: not named; `ttl_ms` 0: the former.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_renew(
    asker text, paths text[], sorted_paths text, roots text[], the_token bigint, ttl_ms bigint,
    INOUT outcome text DEFAULT NULL, INOUT sentence text DEFAULT NULL,
    INOUT ticket bigint DEFAULT NULL, INOUT token bigint DEFAULT NULL,
    INOUT new_ttl_ms bigint DEFAULT NULL, INOUT left_us bigint DEFAULT NULL,
    INOUT fixed boolean DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    SELECT a.outcome, a.sentence, a.ticket, a.token, a.ttl_ms, a.left_us, a.fixed
    INTO outcome, sentence, ticket, token, new_ttl_ms, left_us, fixed
    FROM lockkeeper.renew(lockkeeper.identity(asker, sorted_paths), asker, paths, roots, the_token,
        ttl_ms) AS a;
    CALL lockkeeper.let_go();
END $$;

-- R12, R15. `value` NULL: none is put at `path`, the first one.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_release(
    asker text, path text, sorted_paths text, roots text[], the_token bigint, value bytea,
    INOUT outcome text DEFAULT NULL, INOUT sentence text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    identity bytea := sha256(convert_to(sorted_paths || E'\n' || asker, 'UTF8'));
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    IF value IS NULL AND cardinality(roots) = 1
       AND lockkeeper.release_short(identity, roots[1], the_token) THEN
        outcome := 'ok';
    ELSE
        SELECT a.outcome, a.sentence INTO outcome, sentence
        FROM lockkeeper.release(identity, path, roots, the_token, value) AS a;
    END IF;
    CALL lockkeeper.let_go();
END $$;

-- R12. `asker` empty: anybody's.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_break(
    path text, root text, asker text, at_once boolean, by text, why text,
    INOUT broken bigint DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    broken := lockkeeper.break(path, root, asker, at_once, by, why);
    CALL lockkeeper.let_go();
END $$;

-- R15. `value` NULL: deletes.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_put(
    path text, above text[], root text, asker text, the_token bigint, value bytea,
    INOUT outcome text DEFAULT NULL, INOUT sentence text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    SELECT a.outcome, a.sentence INTO outcome, sentence
    FROM lockkeeper.put(path, above, root, asker, the_token, value) AS a;
    CALL lockkeeper.let_go();
END $$;

-- R16. The needs as parts, and their roots.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_push(
    queue text, id text, root text, value bytea, delay_ms bigint, needs text[], limits integer[],
    counts integer[], roots text[], INOUT added boolean DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    added := lockkeeper.push(queue, id, root, value, delay_ms, needs, limits, counts, roots);
    CALL lockkeeper.let_go();
END $$;

-- R16.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_take(
    queue text, above text[], root text, asker text, ttl_ms bigint, max_attempts integer,
    ask_number bigint, note text, INOUT outcome text DEFAULT NULL,
    INOUT sentence text DEFAULT NULL, INOUT id text DEFAULT NULL,
    INOUT token bigint DEFAULT NULL, INOUT attempt integer DEFAULT NULL,
    INOUT stolen boolean DEFAULT NULL, INOUT new_ttl_ms bigint DEFAULT NULL,
    INOUT left_us bigint DEFAULT NULL, INOUT value bytea DEFAULT NULL,
    INOUT look_us bigint DEFAULT NULL, INOUT has_held boolean DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    SELECT a.* INTO outcome, sentence, id, token, attempt, stolen, new_ttl_ms, left_us, value,
        look_us, has_held
    FROM lockkeeper.take(queue, above, root, asker, ttl_ms, max_attempts, ask_number, note) AS a;
    CALL lockkeeper.let_go();
END $$;

-- R16. `delay_ms` NULL: done; else given back.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_finish(
    queue text, id text, root text, asker text, the_token bigint, delay_ms bigint,
    INOUT outcome text DEFAULT NULL, INOUT sentence text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    SELECT a.outcome, a.sentence INTO outcome, sentence
    FROM lockkeeper.finish(queue, id, root, asker,
        lockkeeper.identity(asker, queue || '/' || id), the_token, delay_ms) AS a;
    CALL lockkeeper.let_go();
END $$;

-- R16.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_unpark(
    queue text, id text, root text, INOUT outcome text DEFAULT NULL,
    INOUT sentence text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    SELECT a.outcome, a.sentence INTO outcome, sentence
    FROM lockkeeper.unpark(queue, id, root) AS a;
    CALL lockkeeper.let_go();
END $$;

-- R11: what is overdue below a root (NULL: anywhere) takes effect. Writes nothing where nothing is.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_tick(the_root text)
LANGUAGE plpgsql AS $$
DECLARE
    due text;
    turn lockkeeper.turn;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    FOR due IN SELECT r.root FROM lockkeeper.roots AS r
               WHERE r.due_us <= lockkeeper.now_us() AND (the_root IS NULL OR r.root = the_root)
               ORDER BY r.due_us LIMIT 1024
    LOOP
        turn := lockkeeper.begin_turn(ARRAY[due], 9223372036854775807);
        turn := lockkeeper.perish(turn, 256);
        COMMIT;
    END LOOP;
END $$;

-- Sweeping: whoever comes by does a little of it now and then, after his own call. Bounded, and
-- out of everybody's way: what is locked is skipped.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_sweep()
LANGUAGE plpgsql AS $$
DECLARE
    due text;
    turn lockkeeper.turn;
    now_us bigint := lockkeeper.now_us();
BEGIN
    SET LOCAL synchronous_commit = off;
    SELECT r.root INTO due FROM lockkeeper.roots AS r
    WHERE r.due_us <= now_us ORDER BY r.due_us LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF due IS NOT NULL THEN
        turn := lockkeeper.begin_turn(ARRAY[due], 9223372036854775807);
        turn := lockkeeper.perish(turn, 16);
        COMMIT;
        SET LOCAL synchronous_commit = off;
    END IF;
    DELETE FROM lockkeeper.ended AS e WHERE (e.token, e.identity) IN (
        SELECT o.token, o.identity FROM lockkeeper.ended AS o
        WHERE o.ended_us <= now_us - 300000000
        ORDER BY o.ended_us LIMIT 64 FOR UPDATE SKIP LOCKED);
    COMMIT;
    SET LOCAL synchronous_commit = off;
    -- R4: a root that nobody has used for a minute is forgotten; draws never fall below it.
    WITH unused AS (
        SELECT r.root FROM lockkeeper.roots AS r
        WHERE r.due_us = 9223372036854775807 AND r.last_draw < now_us - 60000000
          AND NOT EXISTS (SELECT FROM lockkeeper.requests AS q WHERE q.root = r.root)
          AND NOT EXISTS (SELECT FROM lockkeeper.requests AS q
                          WHERE cardinality(q.roots) > 1 AND r.root = ANY (q.roots))
        LIMIT 16 FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM lockkeeper.roots AS r USING unused AS u WHERE r.root = u.root
        RETURNING r.last_draw
    )
    UPDATE lockkeeper.meta AS m SET draw_floor = greatest(m.draw_floor, g.last_draw)
    FROM (SELECT max(gone.last_draw) AS last_draw FROM gone) AS g
    WHERE g.last_draw > m.draw_floor;
END $$;
