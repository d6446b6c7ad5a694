-- SPDX-License-Identifier: Apache-2.0
-- The procedures that the engine calls most, here and in 86_short_work, and their short ways: in
-- common cases a few statements decide and write, as ask(), release_request(), take() and finish()
-- would. Every other case is left to these functions, which start again: the short way has then at most
-- drawn a number that is not used, and inserted the row of a new root.
--
-- Each procedure is one decision, which it commits itself. It begins with a COMMIT, so none can be
-- part of a caller's transaction: CALL lockkeeper.lk_ask(...) inside BEGIN is refused. It is
-- decided at READ COMMITTED, whatever the default is. A transaction that follows another in a
-- procedure is chained to it, or it would have the default again. Only long ways sweep overdue
-- requests: if no request waits, they block nothing.
--
-- A try looks before it locks (look_busy) if its session's last one was refused, or if the lock is not
-- free: so one that is granted at once does not pay for a look. The session remembers that in the
-- setting lk.refused, which chooses the way that comes first and nothing else.
--
-- A short ask takes its root's lock exclusively. The other short ways share it: README.md says why
-- they may. They release it before they go the long way, because two that wait for each other's
-- share would wait for ever.

-- Early lock release: of the roots, without waiting for the disk. A second commit after it waits, as
-- the server is configured (synchronous_commit), before the answer leaves. So decisions about one
-- root do not queue for the disk, and share its flushes. Called if other transactions wait: one
-- that has had to wait itself assumes that they do.
CREATE OR REPLACE PROCEDURE lockkeeper.release_early()
LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL synchronous_commit = off;
    COMMIT;
    PERFORM pg_catalog.pg_logical_emit_message(true, 'lockkeeper', '');
END $$;

-- R3, R10: the repeated ask of a wait that has been granted meanwhile, and changes nothing but the
-- deadline: one row is read and written. The root's lock is held, exclusively: a transaction that
-- shares it may be ignoring this request, as one that is dead. `left_us` is NULL in all other cases.
CREATE OR REPLACE FUNCTION lockkeeper.collect(
    the_identity bytea, the_path text, the_limit integer, the_units integer, the_root text,
    the_ttl_ms bigint, the_note text,
    OUT request bigint, OUT ticket bigint, OUT token bigint, OUT left_us bigint, OUT in_use bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    moment_us bigint := lockkeeper.now_us();
BEGIN
    UPDATE lockkeeper.requests AS r
    SET deadline_us = moment_us + the_ttl_ms * 1000, ttl_ms = the_ttl_ms,
        note = coalesce(the_note, r.note)
    WHERE r.identity = the_identity AND r.held AND r.attended AND NOT r.revoked AND NOT r.fixed
      AND r.deadline_us - moment_us > 0
      AND EXISTS (SELECT FROM lockkeeper.awake AS w
                  WHERE w.server_start = pg_postmaster_start_time())
      AND EXISTS (SELECT FROM lockkeeper.parts AS p
                  WHERE p.request = r.id AND p.position = 1 AND p.path || '' = the_path
                    AND p.unit_limit = the_limit AND p.units = the_units)
      AND EXISTS (SELECT FROM lockkeeper.roots AS k
                  WHERE k.root = the_root AND k.due_us - moment_us > 0
                    AND k.due_us - moment_us <= the_ttl_ms * 1000)
    RETURNING r.id, r.ticket, r.token, the_ttl_ms * 1000, -- none of the root's requests is dead
              (SELECT coalesce(sum(p.units), 0) FROM lockkeeper.parts AS p
               WHERE p.path = the_path AND p.held AND p.units >= 1)
    INTO request, ticket, token, left_us, in_use;
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
    INOUT fixed boolean DEFAULT NULL, INOUT bytes bytea DEFAULT NULL,
    INOUT sizes text[] DEFAULT NULL, INOUT blockers text[] DEFAULT NULL,
    INOUT cycle text[] DEFAULT NULL, INOUT look_us bigint DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    setting text;
    identity bytea;
    moment_us bigint;
    has_waited boolean := false;
    is_contended boolean := false;
    is_free boolean := false; -- it is granted by the short way
    was_refused boolean;
    may_look boolean; -- before it locks the root
    must_look boolean;
    is_simple boolean; -- neither restart nor bounds nor events concern the root, nor a line
    all_live boolean; -- no deadline below it has passed
    has_line boolean; -- a request waits below it
    may_join boolean; -- this one may
    has_joined boolean;
    stripes integer; -- 0: the root's lock alone
    the_path text := paths[1];
    the_root text := roots[1];
    the_limit integer := limits[1];
    the_count integer := counts[1];
    units_max integer; -- of what conflicts
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    setting := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    was_refused := coalesce(current_setting('lk.refused', true), '') = 'yes';
    may_look := style = 'try' AND until_us = 0;
    must_look := may_look AND was_refused;
    units_max := CASE WHEN counts[1] = 0 THEN @LK_LIMIT_MAX@ ELSE 0 END;
    IF (CASE WHEN cardinality(paths) = 1
             THEN sorted_paths <> the_path OR the_root <> split_part(the_path, '/', 1)
             ELSE NOT lockkeeper.are_sorted(paths, sorted_paths, roots) END) THEN
        RAISE EXCEPTION USING ERRCODE = 'LK0@LK_EXIT_INVALID@', MESSAGE = 'R3: the paths are not those that are '
            'sorted'; -- a request of the same owner and paths would not be found
    END IF;
    identity := sha256(convert_to(sorted_paths || E'\n' || asker, 'UTF8'));
    IF style = 'wait' AND cardinality(paths) = 1 AND until_us = 0 AND NOT wants_value
       AND NOT pg_is_in_recovery() -- which has no table `awake`
       AND EXISTS (SELECT FROM lockkeeper.requests AS r WHERE r.identity = identity AND r.held) THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('lockkeeper/' || the_root, 0));
        SELECT 'granted', c.request, c.ticket, c.token, ttl_ms, c.left_us, c.in_use, false, false
        INTO outcome, request, ticket, token, new_ttl_ms, left_us, in_use, created, fixed
        FROM lockkeeper.collect(identity, the_path, the_limit, the_count, the_root, ttl_ms,
                                note) AS c
        WHERE c.left_us IS NOT NULL;
        IF outcome IS NOT NULL THEN
            CALL lockkeeper.release_early();
            RETURN;
        END IF;
        ROLLBACK AND CHAIN; -- a stripe's lock is taken before the root's
        setting := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    END IF;
    stripes := CASE WHEN the_limit > 4 AND the_count = 1 THEN 4 ELSE 0 END;
    LOOP
        IF must_look THEN
            SELECT b.outcome, b.in_use, b.in_the_way, b.blockers, b.look_us
            INTO outcome, in_use, in_the_way, blockers, look_us
            FROM lockkeeper.look_busy((identity, asker, paths, limits, counts, roots, style, ttl_ms,
                                       until_us, note, blockers_max, wants_value)) AS b;
            IF outcome IS NOT NULL THEN
                setting := pg_catalog.set_config('lk.refused', 'yes', false);
                RETURN;
            END IF;
            may_look := false;
            must_look := false;
        END IF;
        IF cardinality(paths) > 1 OR until_us > 0 OR wants_value THEN -- not short
            must_look := may_look AND NOT pg_try_advisory_xact_lock(
                hashtextextended('lockkeeper/' || the_root, 0));
            CONTINUE WHEN must_look;
            EXIT;
        END IF;
        setting := set_config('search_path', 'pg_catalog, pg_temp', true)
            || set_config('jit', 'off', true) || set_config('enable_seqscan', 'off', true)
            || set_config('enable_bitmapscan', 'off', true)
            || set_config('plan_cache_mode', 'force_generic_plan', true);
        has_waited := NOT CASE WHEN stripes = 0
            THEN pg_try_advisory_xact_lock(hashtextextended('lockkeeper/' || the_root, 0))
            ELSE pg_try_advisory_xact_lock(hashtextextended('lockkeeper/' || the_path,
                                               1 + (hashtextextended(asker, 0) & 3)))
                 AND pg_try_advisory_xact_lock_shared(
                         hashtextextended('lockkeeper/' || the_root, 0)) END;
        must_look := has_waited AND may_look;
        CONTINUE WHEN must_look;
        IF has_waited AND stripes > 0 THEN
            PERFORM pg_advisory_xact_lock(hashtextextended('lockkeeper/' || the_path,
                                              1 + (hashtextextended(asker, 0) & 3)));
            PERFORM pg_advisory_xact_lock_shared(hashtextextended('lockkeeper/' || the_root, 0));
        ELSIF has_waited THEN
            PERFORM pg_advisory_xact_lock(hashtextextended('lockkeeper/' || the_root, 0));
        END IF;
        ticket := nextval('lockkeeper.draws');
        moment_us := lockkeeper.now_us();
        IF ticket < moment_us - 10000 THEN
            ticket := lockkeeper.catch_up(); -- NULL: for the long way
        END IF;
        LOOP
            SELECT k.due_us > moment_us, k.has_waiting, k.contended_us > moment_us,
                   ticket IS NOT NULL AND k.due_us <= moment_us + ttl_ms * 1000
                   AND NOT (k.has_waiting AND (the_limit > 0 OR k.due_us <= moment_us))
                   AND NOT m.is_bounded AND m.events_max = 0 AND m.watched_until_us <= moment_us
                   AND EXISTS (SELECT FROM lockkeeper.awake AS w
                               WHERE w.server_start = pg_postmaster_start_time())
            INTO all_live, has_line, is_contended, is_simple
            FROM lockkeeper.roots AS k CROSS JOIN lockkeeper.meta AS m WHERE k.root = the_root;
            EXIT WHEN FOUND;
            INSERT INTO lockkeeper.roots (root, due_us) VALUES (the_root, moment_us + ttl_ms * 1000)
            ON CONFLICT (root) DO NOTHING; -- a transaction in another stripe may be doing the same
        END LOOP;
        may_join := is_simple AND all_live AND stripes = 0 AND style <> 'try';
        has_joined := may_join AND has_line AND lockkeeper.join_line(
            identity, asker, the_path, above, the_root, the_limit, the_count, style, ttl_ms, note,
            ticket, moment_us, true);
        IF has_joined THEN
            is_free := false;
        ELSIF is_simple AND all_live THEN
            SELECT here.units + the_count,
                   NOT EXISTS (SELECT FROM lockkeeper.parts AS p
                               WHERE p.path = ANY (above) AND p.units <= units_max)
                   AND NOT EXISTS (SELECT FROM lockkeeper.parts AS p
                                   WHERE p.path > the_path || '/' AND p.path < the_path || '0'
                                     AND p.units <= units_max)
                   AND (the_limit = 0 OR here.units + greatest(the_count, stripes) <= the_limit)
                   AND NOT EXISTS (SELECT FROM lockkeeper.requests AS o WHERE o.owner = asker)
            INTO in_use, is_free
            FROM (SELECT coalesce(sum(p.units), 0) AS units FROM lockkeeper.parts AS p
                  WHERE p.path = the_path AND p.held AND p.units >= 1) AS here;
        ELSIF is_simple THEN -- dead requests do not count
            SELECT here.units + the_count,
                   NOT EXISTS (SELECT FROM lockkeeper.parts_near(the_path, above) AS p
                               CROSS JOIN LATERAL (
                                   SELECT x.deadline_us FROM lockkeeper.requests AS x
                                   WHERE x.id = p.request OFFSET 0) AS r
                               WHERE p.units <= units_max AND r.deadline_us > moment_us)
                   AND (the_limit = 0 OR here.units + greatest(the_count, stripes) <= the_limit)
                   AND NOT EXISTS (SELECT FROM lockkeeper.requests AS o WHERE o.owner = asker)
            INTO in_use, is_free
            FROM (SELECT coalesce(sum(p.units), 0) AS units
                  FROM lockkeeper.parts AS p
                  CROSS JOIN LATERAL (SELECT x.deadline_us FROM lockkeeper.requests AS x
                                      WHERE x.id = p.request OFFSET 0) AS r
                  WHERE p.path = the_path AND p.held AND p.units >= 1
                    AND r.deadline_us > moment_us) AS here;
        END IF;
        IF may_join AND NOT has_line AND NOT is_free THEN
            has_joined := lockkeeper.join_line(
                identity, asker, the_path, above, the_root, the_limit, the_count, style, ttl_ms, note,
                ticket, moment_us, false);
        END IF;
        IF has_joined THEN
            CALL lockkeeper.release_early();
            SELECT 'waiting', ticket, 0, ttl_ms, ttl_ms * 1000, e.in_use, e.in_the_way, true, false,
                   e.blockers, e.look_us
            INTO outcome, request, token, new_ttl_ms, left_us, in_use, in_the_way, created, fixed,
                blockers, look_us
            FROM lockkeeper.explain_line(asker, ticket, the_path, the_limit, the_count,
                                         blockers_max) AS e;
            RETURN;
        END IF;
        IF is_free AND stripes > 0 THEN
            is_free := NOT EXISTS (
                SELECT FROM lockkeeper.queue_counts AS q
                WHERE q.path >= the_root AND q.path < the_root || '0'
                  AND (q.path = ANY (above)
                       OR (q.path > the_path || '/' AND q.path < the_path || '0')));
        END IF;
        EXIT WHEN is_free OR stripes = 0;
        ROLLBACK AND CHAIN;
        setting := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        stripes := 0;
    END LOOP;
    IF is_free THEN
        WITH part AS (
            INSERT INTO lockkeeper.parts (request, position, path, held, ticket, unit_limit, units)
            VALUES (ticket, 1, the_path, true, ticket, the_limit, the_count)
        )
        INSERT INTO lockkeeper.requests AS r (id, identity, owner, note, held, attended, fixed,
            ticket, token, ttl_ms, deadline_us, wants_value, root, roots)
        VALUES (ticket, identity, asker,
            coalesce(note, ''), true, style = 'wait', false, ticket, ticket, ttl_ms,
            moment_us + ttl_ms * 1000, false, the_root, roots)
        RETURNING 'granted', r.id, r.token, r.ttl_ms, r.ttl_ms * 1000, true, false
        INTO outcome, request, token, new_ttl_ms, left_us, created, fixed;
        IF has_waited AND NOT is_contended THEN
            UPDATE lockkeeper.roots AS k -- a stripe's is for a quarter of the owners only
            SET contended_us = moment_us + CASE WHEN stripes > 0 THEN 300000 ELSE 3000000 END
            WHERE k.root = the_root AND k.contended_us < moment_us;
        END IF;
    ELSE
        SELECT a.* INTO outcome, sentence, request, ticket, token, new_ttl_ms, left_us, in_use,
            in_the_way, created, fixed, bytes, sizes, blockers, cycle, look_us
        FROM lockkeeper.ask((identity, asker, paths, limits,
            counts, roots, style, ttl_ms, until_us, note, blockers_max, wants_value)) AS a;
        has_waited := has_waited OR pg_catalog.clock_timestamp()
                                    > pg_catalog.statement_timestamp() + interval '1 ms';
    END IF;
    IF style = 'try' AND (outcome = 'busy') <> was_refused THEN
        setting := pg_catalog.set_config('lk.refused',
                                         CASE outcome WHEN 'busy' THEN 'yes' ELSE '' END, false);
    END IF;
    IF has_waited OR is_contended THEN
        setting := pg_catalog.set_config('synchronous_commit', 'off', true);
        COMMIT;
        PERFORM pg_catalog.pg_logical_emit_message(true, 'lockkeeper', '');
    END IF;
END $$;

-- R12, R15. `paths` are those that are put, `bytes` their values, one behind the other; NULL: none.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_release(
    asker text, paths text[], sorted_paths text, roots text[], the_token bigint,
    sizes integer[], bytes bytea,
    INOUT outcome text DEFAULT NULL, INOUT sentence text DEFAULT NULL)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    the_identity bytea;
    setting text;
    moment_us bigint;
    has_waited boolean := false;
    is_contended boolean := false;
    is_told boolean;
    the_root text := roots[1];
BEGIN
    COMMIT;
    IF pg_catalog.current_setting('transaction_isolation')
       OPERATOR(pg_catalog.<>) 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    setting := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    setting := set_config('jit', 'off', true) || set_config('enable_seqscan', 'off', true)
        || set_config('enable_bitmapscan', 'off', true)
        || set_config('plan_cache_mode', 'force_generic_plan', true);
    the_identity := sha256(convert_to(sorted_paths || E'\n' || asker, 'UTF8'));
    IF bytes IS NULL AND the_token <> 0 AND cardinality(roots) = 1
       AND NOT pg_is_in_recovery()
       AND pg_try_advisory_xact_lock_shared(hashtextextended('lockkeeper/' || the_root, 0)) THEN
        moment_us := lockkeeper.now_us();
        WITH gone AS (
            DELETE FROM lockkeeper.requests AS r USING lockkeeper.roots AS k, lockkeeper.meta AS m
            WHERE r.id = the_token AND r.token = the_token AND r.identity = the_identity
              AND r.held AND r.deadline_us - moment_us > 0
              AND k.root = the_root AND NOT k.has_waiting AND k.awaited_us <= moment_us
              AND EXISTS (SELECT FROM lockkeeper.awake AS w
                          WHERE w.server_start = pg_postmaster_start_time())
              AND m.events_max = 0 AND m.watched_until_us <= moment_us
            RETURNING k.contended_us
        ), parts AS (
            DELETE FROM lockkeeper.parts AS p WHERE p.request = the_token
        ), ended AS (
            INSERT INTO lockkeeper.ended (token, identity, ended_us)
            SELECT the_token, the_identity, moment_us FROM gone
        )
        SELECT 'ok', gone.contended_us > moment_us INTO outcome, is_contended FROM gone;
        IF outcome IS NULL THEN
            ROLLBACK AND CHAIN;
            setting := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        END IF;
    END IF;
    IF outcome IS NULL AND bytes IS NULL AND cardinality(roots) = 1
       AND position(' ' IN sorted_paths) = 0 AND NOT pg_is_in_recovery() THEN
        has_waited := NOT pg_try_advisory_xact_lock(hashtextextended('lockkeeper/' || the_root, 0));
        IF has_waited THEN
            PERFORM pg_advisory_xact_lock(hashtextextended('lockkeeper/' || the_root, 0));
        END IF;
        is_told := lockkeeper.pass_on(the_identity, sorted_paths, the_root, the_token);
        IF is_told IS NOT NULL THEN
            outcome := 'ok';
            has_waited := has_waited OR is_told; -- the next holder is not to wait for the disk
        END IF;
    END IF;
    IF outcome IS NULL THEN
        SELECT a.outcome, a.sentence INTO outcome, sentence
        FROM lockkeeper.release_request(the_identity, paths, roots, the_token, sizes, bytes) AS a;
        has_waited := has_waited OR pg_catalog.clock_timestamp()
                                    > pg_catalog.statement_timestamp() + interval '1 ms';
    END IF;
    IF has_waited OR is_contended THEN
        setting := pg_catalog.set_config('synchronous_commit', 'off', true);
        COMMIT;
        PERFORM pg_catalog.pg_logical_emit_message(true, 'lockkeeper', '');
    END IF;
END $$;
