-- SPDX-License-Identifier: Apache-2.0
-- Parked items of a table's queue (R17), which the engine checks in portions: those whose rows no
-- longer match are removed, as marks of such rows are (75_table).

-- Parked items behind a position, which is a sequence; empty: from the first.
CREATE OR REPLACE FUNCTION lockkeeper.parked_after(the_queue text, behind text, most bigint)
RETURNS TABLE (id text, sequence bigint)
LANGUAGE sql STABLE ROWS 256
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
SELECT i.id, i.sequence FROM lockkeeper.items AS i
WHERE i.queue = the_queue AND i.state = 'parked'
  AND i.sequence > coalesce(nullif(behind, ''), '0')::bigint
ORDER BY i.sequence LIMIT most $$;

-- Removes items, if they are parked still.
CREATE OR REPLACE PROCEDURE lockkeeper.lk_drop_parked(
    the_queue text, the_root text, ids text[], INOUT dropped bigint DEFAULT NULL)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    decision lockkeeper.decision := lockkeeper.begin_decision(ARRAY[the_root], @LK_NEVER@);
BEGIN
    SELECT count(*) INTO dropped
    FROM unnest(ids) AS u (id)
    CROSS JOIN LATERAL lockkeeper.drop_item(the_queue, u.id, true, decision) AS a
    WHERE a.outcome = 'ok';
END $$;
