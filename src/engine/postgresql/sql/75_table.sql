-- SPDX-License-Identifier: Apache-2.0
-- Work in a table of the owner's (R17). These functions run none of the owner's SQL: the engine
-- sends it as statements of its own (source.c), around these functions and in their transaction.
--
-- Errors of these codes undo such a transaction: @LK_SQLSTATE_REPEATED@, the same call has ended the
-- claim before (R3); @LK_SQLSTATE_LOST@, the claim is lost; @LK_SQLSTATE_COMMITTED@, the owner's
-- statement has ended the transaction.

-- ---- the ids of rows, and segments of paths ----
--
-- Functions that the owner's statements call are PL/pgSQL: SQL functions would be parsed and
-- planned with each of the statements, each time.

-- An id as the segment of a path, as in engine/row_id.h. NULL: it cannot be one.
CREATE OR REPLACE FUNCTION lockkeeper.row_id_encoded(id text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    segment text;
BEGIN
    SELECT string_agg(
        CASE WHEN id IN ('.', '..')
                  OR c.letter ~ '[%/?{}\u0001-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'
             THEN regexp_replace(upper(encode(convert_to(c.letter, 'UTF8'), 'hex')), '(..)',
                                 '%\1', 'g')
             ELSE c.letter END, '' ORDER BY c.n) INTO segment
    FROM regexp_split_to_table(id, '') WITH ORDINALITY AS c (letter, n);
    RETURN CASE WHEN octet_length(segment) <= @LK_SEGMENT_BYTES_MAX@ THEN segment END;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.row_id(id text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE WHEN id IS NULL OR octet_length(id) NOT BETWEEN 1 AND @LK_SEGMENT_BYTES_MAX@ THEN NULL
                WHEN id ~ '^[0-9A-Za-z_:-][0-9A-Za-z_:.-]*$' THEN id
                ELSE lockkeeper.row_id_encoded(id) END;
END $$;

-- The id that a segment stands for; NULL: none does.
CREATE OR REPLACE FUNCTION lockkeeper.row_text_decoded(segment text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    piece text;
    bytes bytea := '';
BEGIN
    IF segment !~ '^([^%]|%[0-9A-F][0-9A-F])+$' THEN
        RETURN NULL;
    END IF;
    FOR piece IN SELECT m[1] FROM regexp_matches(segment, '(%..|[^%]+)', 'g') AS m LOOP
        bytes := bytes || CASE WHEN starts_with(piece, '%') THEN decode(substr(piece, 2), 'hex')
                               ELSE convert_to(piece, 'UTF8') END;
    END LOOP;
    RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.row_text(segment text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN CASE WHEN position('%' IN segment) = 0 THEN segment
                ELSE lockkeeper.row_text_decoded(segment) END;
END $$;

-- The same for ids of other types. NULL, never an error, if the segment is no such id. They are called
-- with the search_path of the caller, whose own SQL surrounds them: each operator fits its types.
CREATE OR REPLACE FUNCTION lockkeeper.row_integer(segment text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN CASE WHEN segment ~ '^-?[0-9]{1,18}$' THEN segment::bigint
                WHEN segment ~ '^-?[0-9]{19}$'
                     AND segment::numeric BETWEEN (-9223372036854775808)::numeric
                                              AND 9223372036854775807::numeric
                THEN segment::bigint END;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.row_numeric(segment text) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN CASE WHEN segment ~ '^-?[0-9]+(\.[0-9]+)?$' THEN segment::numeric END;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.row_uuid(segment text) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN CASE WHEN segment ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                   THEN segment::uuid END;
END $$;

-- ---- announcing ----

-- How many items are ready; counts no further than `most`.
CREATE OR REPLACE FUNCTION lockkeeper.lk_ready_count(the_queue text, most bigint) RETURNS bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
SELECT count(*) FROM (SELECT FROM lockkeeper.items AS i
                      WHERE i.queue = the_queue AND i.state = 'ready' LIMIT most) AS r $$;

-- Marks of rows that are done, in portions.
CREATE OR REPLACE FUNCTION lockkeeper.marks_after(the_queue text, the_id text, most bigint)
RETURNS TABLE (id text)
LANGUAGE sql STABLE ROWS 256
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
SELECT d.id FROM lockkeeper.done_rows AS d WHERE d.queue = the_queue AND d.id > the_id
ORDER BY d.id LIMIT most $$;

-- Whether an item of these ids was done, and its time is over.
CREATE OR REPLACE FUNCTION lockkeeper.is_any_over(the_queue text, ids text[], now_us bigint)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT true FROM lockkeeper.items AS i WHERE i.state = 'done' AND i.due_us <= now_us
            ORDER BY i.due_us LIMIT 1) IS NOT NULL
       AND EXISTS (SELECT FROM unnest(ids) AS u (id)
                   CROSS JOIN LATERAL (SELECT x.state, x.due_us FROM lockkeeper.items AS x
                                       WHERE x.queue = the_queue AND x.id = u.id OFFSET 0) AS i
                   WHERE i.state = 'done' AND i.due_us - now_us <= 0);
END $$;

-- Pushes the rows of these ids (segments), except those that are done.
CREATE OR REPLACE FUNCTION lockkeeper.announce(
    the_queue text, the_root text, ids text[], OUT pushed bigint, OUT duplicates bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    decision lockkeeper.decision := lockkeeper.begin_decision(ARRAY[the_root], @LK_NEVER@);
BEGIN
    IF lockkeeper.is_any_over(the_queue, ids, decision.now_us) THEN
        WITH gone AS (
            DELETE FROM lockkeeper.items AS i
            WHERE i.number = ANY (ARRAY(
                SELECT f.number FROM unnest(ids) AS u (id)
                CROSS JOIN LATERAL (SELECT x.number FROM lockkeeper.items AS x
                                    WHERE x.queue = the_queue AND x.id = u.id OFFSET 0) AS f))
              AND i.state = 'done'
              AND i.due_us - decision.now_us <= 0
            RETURNING i.number)
        DELETE FROM lockkeeper.item_values AS v
        WHERE v.item = ANY (ARRAY(SELECT g.number FROM gone AS g));
    END IF;
    WITH wanted AS (
        SELECT u.id, u.n FROM unnest(ids) WITH ORDINALITY AS u (id, n)
        WHERE NOT EXISTS (SELECT FROM lockkeeper.done_rows AS d
                          WHERE d.queue = the_queue AND d.id = u.id)
    ), added AS (
        INSERT INTO lockkeeper.items AS i (queue, id, sequence, state, due_us, need_paths,
            need_limits, need_units, need_roots)
        SELECT the_queue, w.id, lockkeeper.draw(), 'ready', 0, '{}', '{}', '{}', '{}'
        FROM (SELECT o.id FROM wanted AS o ORDER BY o.n) AS w
        ON CONFLICT (queue, id) DO NOTHING
        RETURNING i.id, i.sequence
    ), told AS (
        SELECT count(lockkeeper.tell('pushed', the_queue || '/' || a.id, '', '', 0, 0,
                                     is_of_item => true) IS NULL) AS count
        FROM (SELECT n.id FROM added AS n ORDER BY n.sequence) AS a
    )
    SELECT (SELECT t.count FROM told AS t),
           (SELECT count(*) FROM wanted) - (SELECT count(*) FROM added) INTO pushed, duplicates;
    INSERT INTO lockkeeper.queue_counts AS q (path, pushed, duplicates)
    VALUES (the_queue, announce.pushed, announce.duplicates)
    ON CONFLICT (path) DO UPDATE
    SET pushed = q.pushed + excluded.pushed, duplicates = q.duplicates + excluded.duplicates;
    IF announce.pushed > 0 THEN
        PERFORM lockkeeper.wake_workers(decision);
    END IF;
END $$;

-- Removes the marks of rows that no longer match.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_forget(
    the_queue text, ids text[], INOUT forgotten bigint DEFAULT NULL)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM lockkeeper.done_rows AS d WHERE d.queue = the_queue AND d.id = ANY (ids);
    GET DIAGNOSTICS forgotten = ROW_COUNT;
END $$;

-- ---- in a transaction that the engine begins and commits ----

-- The counterpart of release_early(): a decision that began then and had to wait commits without waiting
-- for the disk. A second transaction, which the engine sends along, waits for it.
CREATE OR REPLACE FUNCTION lockkeeper.release_early_at_commit(begun timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF clock_timestamp() > begun + interval '1 ms'
       AND current_setting('synchronous_commit') <> 'off' THEN
        PERFORM set_config('synchronous_commit', 'off', true);
        PERFORM set_config('lockkeeper.owes', 'a flush', false);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.flush_what_is_owed() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF current_setting('lockkeeper.owes', true) = 'a flush' THEN
        PERFORM set_config('lockkeeper.owes', '', false);
        PERFORM pg_logical_emit_message(true, 'lockkeeper', '');
    END IF;
END $$;

-- Before rows are read: makes items ready whose claim has perished or whose time has come.
CREATE OR REPLACE FUNCTION lockkeeper.table_ripen(the_queue text, the_root text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    decision lockkeeper.decision;
    now_us bigint := lockkeeper.now_us();
BEGIN
    IF NOT EXISTS (SELECT FROM lockkeeper.roots AS r
                   WHERE r.root = the_root AND r.due_us - now_us <= 0)
       AND NOT EXISTS (SELECT FROM lockkeeper.items AS i
                       WHERE i.queue = the_queue AND i.state = 'delayed' AND i.due_us <= now_us)
    THEN
        RETURN;
    END IF;
    decision := lockkeeper.begin_decision(ARRAY[the_root], @LK_NEVER@);
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 256);
    END IF;
    UPDATE lockkeeper.items AS i SET state = 'ready'
    WHERE i.queue = the_queue AND i.state = 'delayed' AND i.due_us <= decision.now_us;
END $$;

-- The next ready items behind the position of one of them: '0', from the first; else its sequence
-- and, after a comma, its priority, if it has one.
CREATE OR REPLACE FUNCTION lockkeeper.ready_items(the_queue text, behind text, most bigint)
RETURNS TABLE (number bigint, id text, at text)
LANGUAGE plpgsql STABLE ROWS 8
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
#variable_conflict use_column
DECLARE
    last_sequence bigint := split_part(behind, ',', 1)::bigint;
    last_priority integer := CASE WHEN behind = '0' THEN @LK_PRIORITY_MAX@
        ELSE coalesce(nullif(split_part(behind, ',', 2), '')::integer, 0) END;
BEGIN
    RETURN QUERY
    SELECT n.number, n.id, n.sequence || coalesce(',' || nullif(n.priority, 0), '')
    FROM (VALUES (false), (true)) AS f (follows)
    CROSS JOIN LATERAL (
        (SELECT i.* FROM lockkeeper.items AS i
         WHERE i.queue = the_queue AND i.state = 'ready' AND i.follows = f.follows
           AND i.priority = last_priority AND i.sequence > last_sequence
         ORDER BY i.priority DESC, i.sequence LIMIT most)
        UNION ALL
        (SELECT i.* FROM lockkeeper.items AS i
         WHERE i.queue = the_queue AND i.state = 'ready' AND i.follows = f.follows
           AND i.priority < last_priority
         ORDER BY i.priority DESC, i.sequence LIMIT most)) AS n
    ORDER BY n.priority DESC, n.sequence LIMIT most;
END $$;

DO $do$ BEGIN
    CREATE TYPE lockkeeper.taken_row AS (
        taken       lockkeeper.taken,
        looked      integer, -- busy: candidates
        portion_end text     -- busy: the position of the last item that was checked; NULL: none
    );
EXCEPTION WHEN duplicate_object THEN NULL;
END $do$;

-- take(), of these items only: their rows match, and are locked by this transaction. The number
-- identifies an item: one that is pushed again meanwhile has another, and has not been checked.
CREATE OR REPLACE FUNCTION lockkeeper.take_row(
    the_queue text, the_above text[], the_root text, the_owner text, the_ttl_ms bigint,
    the_max_attempts integer, the_ask_number bigint, the_note text, behind text, most bigint,
    candidates bigint[]) RETURNS lockkeeper.taken_row
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    begun timestamptz := clock_timestamp();
    result lockkeeper.taken_row;
    decision lockkeeper.decision := lockkeeper.begin_decision(
        ARRAY[the_root], lockkeeper.now_us() + the_ttl_ms * 1000);
    item lockkeeper.items;
BEGIN
    IF decision.is_due THEN
        decision := lockkeeper.perish(decision, 256);
    END IF;
    IF the_ask_number <> 0 THEN
        result.taken := lockkeeper.take_again(the_queue, the_owner, the_ask_number, the_ttl_ms,
                                              decision.now_us);
        IF (result.taken).outcome IS NOT NULL THEN
            RETURN result;
        END IF;
    END IF;
    IF lockkeeper.is_paused(the_owner, the_above, decision.now_us) THEN
        result.taken := lockkeeper.nothing_to_take(the_queue,
            '@LK_TEXT_QUEUE_PAUSED@', true, decision);
        RETURN result;
    END IF;
    FOR item IN
        SELECT i.* FROM lockkeeper.items AS i
        WHERE i.number = ANY (candidates) AND i.state = 'ready'
        ORDER BY i.priority DESC, i.sequence
    LOOP
        result.taken := lockkeeper.take_item(item, the_root, the_owner, the_ttl_ms,
            the_max_attempts, the_ask_number, the_note, decision);
        IF (result.taken).outcome IS NOT NULL THEN
            PERFORM lockkeeper.release_early_at_commit(begun);
            RETURN result;
        END IF;
    END LOOP;
    SELECT r.at INTO result.portion_end
    FROM lockkeeper.ready_items(the_queue, behind, most) WITH ORDINALITY AS r (number, id, at, n)
    ORDER BY r.n DESC LIMIT 1;
    result.looked := cardinality(candidates);
    result.taken := lockkeeper.nothing_to_take(the_queue,
        '@LK_TEXT_NOTHING_DUE@', behind <> '0' OR result.portion_end IS NOT NULL, decision);
    RETURN result;
END $$;

-- Claims an item, if its parts are free and it is behind no head.
CREATE OR REPLACE FUNCTION lockkeeper.take_item(
    item lockkeeper.items, the_root text, the_owner text, the_ttl_ms bigint,
    the_max_attempts integer, the_ask_number bigint, the_note text, decision lockkeeper.decision)
RETURNS lockkeeper.taken
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    taken lockkeeper.taken;
    claim lockkeeper.requests;
    stolen boolean := item.was_lost;
    paths text[] := (item.queue || '/' || item.id) || item.need_paths;
    limits integer[] := 0 || item.need_limits;
    counts integer[] := 0 || array_replace(item.need_units, -1, 0); -- no request is strict
    all_roots text[] := ARRAY[the_root];
    checked record;
BEGIN
    IF -1 = ANY (item.need_units) AND lockkeeper.waits_for_head(item) THEN
        RETURN NULL;
    END IF;
    IF NOT item.need_roots <@ decision.roots THEN
        decision := lockkeeper.lock_more_roots(decision, item.need_roots);
        IF NOT item.need_roots <@ decision.roots THEN
            RETURN NULL;
        END IF;
        all_roots := ARRAY(SELECT DISTINCT t.root COLLATE "C"
                           FROM unnest(the_root || item.need_roots) AS t (root) ORDER BY 1);
    END IF;
    SELECT * INTO checked
    FROM lockkeeper.check_grant(the_owner, 0, @LK_NEVER@, true, paths, limits, counts,
                                decision.now_us);
    IF checked.verdict <> 'grant' THEN
        RETURN NULL;
    END IF;
    IF decision.is_bounded THEN
        taken.sentence := lockkeeper.full_bound(the_owner, paths, false, decision.now_us);
        IF taken.sentence IS NOT NULL THEN
            taken.outcome := 'full';
            taken.sentence := format('@LK_TEXT_BOUND@', taken.sentence);
            PERFORM lockkeeper.tell_refusal('full', ARRAY[item.queue], '{0}', '{0}', the_owner, '');
            RETURN taken;
        END IF;
    END IF;
    claim := lockkeeper.make_claim(item, paths, limits, counts, all_roots, the_owner, the_note,
                                   the_ttl_ms, decision, 0);
    IF claim.id IS NULL THEN
        RETURN NULL;
    END IF;
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
END $$;

-- Drops ready items whose rows no longer match.
CREATE OR REPLACE FUNCTION lockkeeper.drop_items(the_root text, numbers bigint[]) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
AS $$
DECLARE
    decision lockkeeper.decision;
    dropped bigint := 0;
    ends_heads boolean;
BEGIN
    IF cardinality(numbers) > 0 THEN
        decision := lockkeeper.begin_decision(ARRAY[the_root], @LK_NEVER@);
        WITH gone AS (
            DELETE FROM lockkeeper.items AS i WHERE i.number = ANY (numbers) AND i.state = 'ready'
            RETURNING i.number, i.queue, i.claims, i.steals, i.is_head
        ), their_values AS (
            DELETE FROM lockkeeper.item_values AS v USING gone AS g WHERE v.item = g.number
        ), counted AS (
            UPDATE lockkeeper.queue_counts AS q
            SET claims = q.claims + c.claims, steals = q.steals + c.steals
            FROM (SELECT g.queue, sum(g.claims) AS claims, sum(g.steals) AS steals
                  FROM gone AS g GROUP BY g.queue) AS c
            WHERE q.path = c.queue AND c.claims > 0
        )
        SELECT count(*), bool_or(g.is_head) INTO dropped, ends_heads FROM gone AS g;
        IF ends_heads THEN
            PERFORM lockkeeper.wake_workers(decision);
        END IF;
    END IF;
    RETURN dropped;
END $$;

-- Before the owner's statement: whether there is anything to finish. No lock is held while the
-- statement runs; finish_row() checks again.
CREATE OR REPLACE FUNCTION lockkeeper.begin_finish(
    the_queue text, the_id text, the_owner text, the_token bigint) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    the_attempt integer;
BEGIN
    SELECT i.attempts INTO the_attempt
    FROM lockkeeper.items AS i
    CROSS JOIN LATERAL (SELECT x.* FROM lockkeeper.requests AS x WHERE x.id = i.claim OFFSET 0) AS r
    WHERE i.queue = the_queue AND i.id = the_id AND r.owner = the_owner AND r.token = the_token
      AND r.deadline_us > lockkeeper.now_us();
    IF NOT FOUND THEN
        IF lockkeeper.has_ended(lockkeeper.identity(the_owner, the_queue || '/' || the_id),
                                the_token, lockkeeper.now_us()) THEN
            RAISE EXCEPTION 'the claim was ended by this very call'
                USING ERRCODE = '@LK_SQLSTATE_REPEATED@';
        END IF;
        RAISE EXCEPTION '@LK_TEXT_NOT_CLAIMED@'
            USING ERRCODE = '@LK_SQLSTATE_LOST@';
    END IF;
    PERFORM set_config('lockkeeper.attempt', the_attempt::text, true),
            set_config('lockkeeper.finishes', the_token::text, true);
END $$;

-- After it: ends the claim, in the same transaction or not at all. A repeated call may find that
-- the first one has ended it, even just now: then this transaction must roll back, or the statement
-- would take effect twice. The row in `ended` records the end, its xmin the transaction. A row that
-- `still_fits` is remembered as done.
CREATE OR REPLACE FUNCTION lockkeeper.finish_row(
    the_queue text, the_id text, the_root text, the_owner text, the_token bigint,
    still_fits boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    begun timestamptz := clock_timestamp();
    the_identity bytea := lockkeeper.identity(the_owner, the_queue || '/' || the_id);
    answer lockkeeper.answer;
BEGIN
    IF current_setting('lockkeeper.finishes', true) IS DISTINCT FROM the_token::text THEN
        RAISE EXCEPTION 'it must not begin or end transactions' USING ERRCODE = '@LK_SQLSTATE_COMMITTED@';
    END IF;
    answer := lockkeeper.finish(the_queue, the_id, the_root, the_owner, the_identity, the_token,
                                NULL, NULL, NULL, false, false, NULL, 0);
    IF answer.outcome <> 'ok' THEN
        RAISE EXCEPTION '%', answer.sentence USING ERRCODE = '@LK_SQLSTATE_LOST@';
    END IF;
    IF NOT EXISTS (SELECT FROM lockkeeper.ended AS e
                   WHERE e.token = the_token AND e.identity = the_identity
                     AND e.xmin = pg_current_xact_id()::xid) THEN
        RAISE EXCEPTION 'the claim was ended by this very call'
            USING ERRCODE = '@LK_SQLSTATE_REPEATED@';
    END IF;
    IF still_fits THEN
        INSERT INTO lockkeeper.done_rows (queue, id) VALUES (the_queue, the_id)
        ON CONFLICT (queue, id) DO NOTHING;
    END IF;
    PERFORM lockkeeper.release_early_at_commit(begun);
END $$;
