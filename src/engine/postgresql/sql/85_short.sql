-- SPDX-License-Identifier: Apache-2.0
-- The short way, for what is common: one part, one root, an owner who has nothing else; a release
-- that puts no value. It decides as ask() and release() do, with the same two steps in two
-- statements: lock the root, then judge and write at once. Whatever is not simple is left to them,
-- who begin anew: then nothing has been done here but a draw that nobody got.

-- The granted request's ticket, which is its token; NULL: not this way. `above` are the path and
-- all paths that contain it.
CREATE OR REPLACE FUNCTION lockkeeper.ask_short(
    the_identity bytea, asker text, the_path text, above text[], the_limit integer,
    the_units integer, the_root text, is_attended boolean, the_ttl_ms bigint, the_note text,
    OUT id bigint, OUT ticket bigint, OUT in_use bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    started_us bigint := lockkeeper.now_us();
    due bigint;
    is_simple boolean;
    now_us bigint;
BEGIN
    UPDATE lockkeeper.roots AS r
    SET last_draw = greatest(r.last_draw + 1, started_us),
        due_us = least(r.due_us, started_us + the_ttl_ms * 1000)
    FROM lockkeeper.meta AS m
    WHERE r.root = the_root
    RETURNING r.last_draw, r.due_us,
        m.server_start = pg_postmaster_start_time()
        AND m.live_max + m.live_per_owner_max + m.live_per_root_max + m.waiters_per_path_max = 0
    INTO ticket, due, is_simple;
    now_us := lockkeeper.now_us();
    IF NOT FOUND OR NOT is_simple OR due <= now_us THEN
        RETURN;
    END IF;
    WITH near AS (
        SELECT coalesce(bool_or((p.units = 0 OR the_units = 0) AND r.owner <> asker), false)
                   AS is_blocked,
               coalesce(sum(p.units) FILTER (WHERE p.path = the_path), 0) AS taken,
               coalesce(sum(p.units) FILTER (WHERE p.path = the_path AND r.held), 0) AS held
        FROM lockkeeper.parts_near(the_path, above) AS p
        JOIN lockkeeper.requests AS r ON r.id = p.request
        WHERE r.deadline_us > now_us
    ), request AS (
        INSERT INTO lockkeeper.requests AS q (identity, owner, note, held, attended, fixed, ticket,
            token, ttl_ms, deadline_us, wants_value, root, roots)
        SELECT the_identity, asker, the_note, true, is_attended, false, ticket, ticket, the_ttl_ms,
            now_us + the_ttl_ms * 1000, false, the_root, ARRAY[the_root]
        FROM near
        WHERE NOT near.is_blocked AND (the_limit = 0 OR near.taken + the_units <= the_limit)
          AND NOT EXISTS (SELECT FROM lockkeeper.requests AS o WHERE o.owner = asker)
        RETURNING q.id
    ), part AS (
        INSERT INTO lockkeeper.parts (request, position, path, unit_limit, units)
        SELECT request.id, 1, the_path, the_limit, the_units FROM request
    )
    SELECT request.id, near.held + the_units INTO id, in_use FROM request, near;
END $$;

-- Whether it was released.
CREATE OR REPLACE FUNCTION lockkeeper.release_short(
    the_identity bytea, the_root text, the_token bigint) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    is_simple boolean;
    now_us bigint;
BEGIN
    UPDATE lockkeeper.roots AS r SET last_draw = r.last_draw
    FROM lockkeeper.meta AS m
    WHERE r.root = the_root
    RETURNING NOT r.has_waiting
        AND r.awaited_us <= lockkeeper.now_us()
        AND m.server_start = pg_postmaster_start_time()
        AND r.due_us > lockkeeper.now_us() INTO is_simple;
    now_us := lockkeeper.now_us();
    IF NOT FOUND OR NOT is_simple THEN
        RETURN false;
    END IF;
    WITH gone AS (
        DELETE FROM lockkeeper.requests AS r
        WHERE r.identity = the_identity AND r.held AND r.deadline_us > now_us
          AND (the_token = 0 OR r.token = the_token)
        RETURNING r.id
    ), parts AS (
        DELETE FROM lockkeeper.parts AS p USING gone WHERE p.request = gone.id
    ), ended AS (
        INSERT INTO lockkeeper.ended (token, identity, ended_us)
        SELECT the_token, the_identity, now_us FROM gone WHERE the_token <> 0
    )
    SELECT true INTO is_simple FROM gone;
    RETURN FOUND;
END $$;
