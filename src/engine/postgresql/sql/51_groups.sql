-- SPDX-License-Identifier: Apache-2.0
-- Groups of items that need the same (R16). What blocks one of them by its needs blocks all of them,
-- so a claim reads only the first ready one of each group: the others are marked `follows`. Where an
-- item is the head, all others are, even while that one is not ready. Items without needs are in no
-- group, and cost nothing here.

-- The name of the group of these needs in this queue; NULL: it needs nothing. The queue is part of
-- it, so that a group is found by its name alone, and only the index of groups has that.
CREATE OR REPLACE FUNCTION lockkeeper.group_of(
    queue text, paths text[], limits integer[], counts integer[]) RETURNS bytea
LANGUAGE sql STABLE AS $$
SELECT CASE WHEN paths <> '{}'
            THEN sha256(convert_to(row_to_json((queue, paths, limits, counts))::text, 'UTF8'))
       END $$;

-- ---- heads of strict needs (R16) ----

-- The item is the head of its strict needs. No other item has one of them.
CREATE OR REPLACE FUNCTION lockkeeper.begin_head(item lockkeeper.items) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lockkeeper.heads (queue, path, item, need_group)
    SELECT item.queue, n.path, item.number, item.need_group
    FROM unnest(item.need_paths, item.need_units) AS n (path, units) WHERE n.units < 0;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.end_head(item lockkeeper.items) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM lockkeeper.heads AS t
    WHERE t.queue = item.queue AND t.path = ANY (item.need_paths) AND t.item = item.number;
END $$;

-- Whether another item is the head of one of its strict needs.
CREATE OR REPLACE FUNCTION lockkeeper.waits_for_head(item lockkeeper.items) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    FOR n IN 1 .. CASE WHEN item.is_head THEN 0 ELSE cardinality(item.need_units) END LOOP
        CONTINUE WHEN item.need_units[n] >= 0;
        PERFORM FROM lockkeeper.heads AS t
        WHERE t.queue = item.queue AND t.path = item.need_paths[n];
        IF FOUND THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;

-- The item of a group that is the head; NULL: none. It has that of all of its strict needs, so one
-- of them is looked up.
CREATE OR REPLACE FUNCTION lockkeeper.head_of_group(
    the_group bytea, the_queue text, paths text[], counts integer[]) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    place integer := array_position(counts, -1);
    found bigint;
BEGIN
    IF place IS NOT NULL THEN
        SELECT t.item INTO found FROM lockkeeper.heads AS t
        WHERE t.queue = the_queue AND t.path = paths[place] AND t.need_group = the_group;
    END IF;
    RETURN found;
END $$;

-- ---- the first of each group ----

-- Marks all ready items of a group but the one that is the head.
CREATE OR REPLACE FUNCTION lockkeeper.place_behind(the_group bytea, head bigint) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
    UPDATE lockkeeper.items AS i SET follows = true
    WHERE i.need_group = the_group AND i.state = 'ready' AND NOT i.follows AND i.number <> head;
    UPDATE lockkeeper.items AS i SET follows = false WHERE i.number = head AND i.follows;
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

-- Behind each statement that changes which items of a group are ready, or which is the head.
CREATE OR REPLACE FUNCTION lockkeeper.place_item() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    item lockkeeper.items := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
    head bigint;
BEGIN
    IF TG_OP = 'DELETE' AND item.is_head THEN
        PERFORM lockkeeper.end_head(item);
    ELSIF TG_OP = 'UPDATE' AND item.is_head <> OLD.is_head THEN
        IF item.is_head THEN
            PERFORM lockkeeper.begin_head(item);
        ELSE
            PERFORM lockkeeper.end_head(item);
        END IF;
    END IF;
    head := lockkeeper.head_of_group(item.need_group, item.queue, item.need_paths, item.need_units);
    IF head IS NULL THEN
        PERFORM lockkeeper.place_group(item.need_group);
    ELSE
        PERFORM lockkeeper.place_behind(item.need_group, head);
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
    WHEN (NEW.need_group IS NOT NULL AND ((NEW.state = 'ready') <> (OLD.state = 'ready')
                                          OR NEW.is_head <> OLD.is_head))
    EXECUTE FUNCTION lockkeeper.place_item();
    CREATE TRIGGER items_go AFTER DELETE ON lockkeeper.items FOR EACH ROW
    WHEN (OLD.need_group IS NOT NULL AND (OLD.is_head OR (OLD.state = 'ready' AND NOT OLD.follows)))
    EXECUTE FUNCTION lockkeeper.place_item();
END IF;
END $do$;
