-- SPDX-License-Identifier: Apache-2.0
-- Groups of items that need the same (R16). What blocks one of them by its needs blocks all of them,
-- so a claim reads only the first ready one of each group: the others are marked `follows`. Items
-- without needs are in no group, and cost nothing here.

-- The name of the group of these needs in this queue; NULL: it needs nothing. The queue is part of
-- it, so that a group is found by its name alone, and only the index of groups has that.
CREATE OR REPLACE FUNCTION lockkeeper.group_of(
    queue text, paths text[], limits integer[], counts integer[]) RETURNS bytea
LANGUAGE sql STABLE AS $$
SELECT CASE WHEN paths <> '{}'
            THEN sha256(convert_to(row_to_json((queue, paths, limits, counts))::text, 'UTF8'))
       END $$;

-- Marks all ready items of a group but the first, whatever was marked before. Reads the first of
-- those that are marked, and those that are not: one, and what has just become ready.
CREATE OR REPLACE FUNCTION lockkeeper.place_group(the_group bytea) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
    ahead record;
    marked record;
BEGIN
    SELECT i.number, i.priority, i.sequence INTO ahead FROM lockkeeper.items AS i
    WHERE i.need_group = the_group AND i.state = 'ready' AND NOT i.follows
    ORDER BY i.priority DESC, i.sequence LIMIT 1;
    SELECT i.number, i.priority, i.sequence INTO marked FROM lockkeeper.items AS i
    WHERE i.need_group = the_group AND i.state = 'ready' AND i.follows
    ORDER BY i.priority DESC, i.sequence LIMIT 1;
    IF ahead.number IS NULL OR marked.priority > ahead.priority
       OR (marked.priority = ahead.priority AND marked.sequence < ahead.sequence) THEN
        ahead := marked;
        UPDATE lockkeeper.items AS i SET follows = false WHERE i.number = marked.number;
    END IF;
    UPDATE lockkeeper.items AS i SET follows = true
    WHERE i.need_group = the_group AND i.state = 'ready' AND NOT i.follows
      AND i.number <> ahead.number;
END $$;

-- Behind each statement that changes which items of a group are ready.
CREATE OR REPLACE FUNCTION lockkeeper.place_item() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM lockkeeper.place_group(OLD.need_group);
    ELSE
        PERFORM lockkeeper.place_group(NEW.need_group);
    END IF;
    RETURN NULL;
END $$;

DO $do$ BEGIN
IF NOT EXISTS (SELECT FROM pg_catalog.pg_trigger AS t
               WHERE t.tgrelid = 'lockkeeper.items'::pg_catalog.regclass
                 AND t.tgname = 'items_come') THEN
    CREATE TRIGGER items_come AFTER INSERT ON lockkeeper.items FOR EACH ROW
    WHEN (NEW.need_group IS NOT NULL AND NEW.state = 'ready' AND NOT NEW.follows)
    EXECUTE FUNCTION lockkeeper.place_item();
    CREATE TRIGGER items_change AFTER UPDATE OF state ON lockkeeper.items FOR EACH ROW
    WHEN (NEW.need_group IS NOT NULL AND (NEW.state = 'ready') <> (OLD.state = 'ready'))
    EXECUTE FUNCTION lockkeeper.place_item();
    CREATE TRIGGER items_go AFTER DELETE ON lockkeeper.items FOR EACH ROW
    WHEN (OLD.need_group IS NOT NULL AND OLD.state = 'ready' AND NOT OLD.follows)
    EXECUTE FUNCTION lockkeeper.place_item();
END IF;
END $do$;
