-- SPDX-License-Identifier: Apache-2.0
-- Steps from one format of the tables to the next, for stores of older programs. They skip what
-- 10_tables has just created, and what an installer that was killed in the middle has done.
--
-- A step keeps what the procedures of the older format need: they decide until the following files
-- have replaced them, one by one. A call that finds a procedure missing, or meets old and new ones,
-- fails and has done nothing; the engine repeats it while the lock of 10_tables is held. 99_end
-- writes the new format last.

DELIMITER //

DROP PROCEDURE IF EXISTS lk_step
//
CREATE PROCEDURE lk_step()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE found INT;
    DECLARE is_there BOOLEAN;
    DECLARE why VARCHAR(128) CHARACTER SET utf8mb4;
    SELECT MAX(m.format) INTO found FROM lk_meta AS m;
    IF found > 11 THEN
        SET why = CONCAT('the store has format ', found, ', which is newer than 11: ',
                         'use the newer program that has made it');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = why;
    END IF;

    -- From 1 to 2: events (R21).
    SELECT COUNT(*) INTO is_there FROM information_schema.COLUMNS AS c
    WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = 'lk_meta'
      AND c.COLUMN_NAME = 'told_until_us';
    IF NOT is_there THEN
        ALTER TABLE lk_meta
            ADD COLUMN events_max BIGINT NOT NULL DEFAULT 0,
            ADD COLUMN watched_until_us BIGINT NOT NULL DEFAULT 0,
            ADD COLUMN last_event BIGINT NOT NULL DEFAULT 0,
            ADD COLUMN is_bounded BOOLEAN AS (live_max + live_per_owner_max + live_per_root_max
                                              + waiters_per_path_max > 0) STORED,
            ADD COLUMN told_until_us BIGINT
                AS (IF(events_max > 0, 9223372036854775807, watched_until_us)) STORED;
    END IF;

    -- From 1 to 2: further columns of roots and items. Existing rows, and those that procedures of
    -- format 1 add meanwhile, are of any kind, and may have a value.
    SELECT COUNT(*) INTO is_there FROM information_schema.COLUMNS AS c
    WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = 'lk_roots' AND c.COLUMN_NAME = 'kind';
    IF NOT is_there THEN
        ALTER TABLE lk_roots
            ADD COLUMN kind TINYINT NOT NULL DEFAULT 0,
            ADD COLUMN mixed_until_us BIGINT NOT NULL DEFAULT 9223372036854775807;
    END IF;
    SELECT COUNT(*) INTO is_there FROM information_schema.COLUMNS AS c
    WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = 'lk_items'
      AND c.COLUMN_NAME = 'has_value';
    IF NOT is_there THEN
        ALTER TABLE lk_items
            ADD COLUMN claims BIGINT NOT NULL DEFAULT 0 AFTER max_attempts,
            ADD COLUMN steals BIGINT NOT NULL DEFAULT 0 AFTER claims,
            ADD COLUMN has_value BOOLEAN NOT NULL DEFAULT 1 AFTER steals;
    END IF;
    SELECT COUNT(*) INTO is_there FROM information_schema.STATISTICS AS s
    WHERE s.TABLE_SCHEMA = DATABASE() AND s.TABLE_NAME = 'lk_requests'
      AND s.INDEX_NAME = 'requests_by_owner' AND s.COLUMN_NAME = 'token';
    IF NOT is_there THEN
        ALTER TABLE lk_requests
            DROP KEY requests_by_owner,
            ADD KEY requests_by_owner (owner, held, identity, token);
    END IF;

    -- From 2 to 3: the grace of a restart is given once (R11).
    SELECT COUNT(*) INTO is_there FROM information_schema.COLUMNS AS c
    WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = 'lk_requests'
      AND c.COLUMN_NAME = 'grace_us';
    IF NOT is_there THEN
        ALTER TABLE lk_requests ADD COLUMN grace_us BIGINT NOT NULL DEFAULT 0;
    END IF;

    -- From 3 to 4: requests at a path in the order of its queue.
    SELECT COUNT(*) INTO is_there FROM information_schema.STATISTICS AS s
    WHERE s.TABLE_SCHEMA = DATABASE() AND s.TABLE_NAME = 'lk_requests'
      AND s.INDEX_NAME = 'requests_by_path' AND s.COLUMN_NAME = 'ticket';
    IF NOT is_there THEN
        ALTER TABLE lk_requests
            DROP KEY requests_by_path,
            ADD KEY requests_by_path (path, held, ticket, deadline_us, unit_limit);
    END IF;

    -- From 4 to 5: priorities of items, and why they were given back. Procedures of older formats
    -- find the right items by the new index, too.
    SELECT COUNT(*) INTO is_there FROM information_schema.COLUMNS AS c
    WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = 'lk_items' AND c.COLUMN_NAME = 'place';
    IF NOT is_there THEN
        ALTER TABLE lk_items
            ADD COLUMN priority SMALLINT NOT NULL DEFAULT 0,
            ADD COLUMN last_exit INT NULL,
            ADD COLUMN last_error VARBINARY(1024) NULL,
            ADD COLUMN place DECIMAL(24, 0)
                AS (CAST(IF(state = 'ready', -priority, 0) AS DECIMAL(5, 0))
                    * 1000000000000000000 + arrival) STORED,
            DROP KEY items_by_state,
            ADD KEY items_by_state (queue, state, due_us, place);
    END IF;

    -- From 4 to 5: events of breaks say by whom, and why. Procedures of older formats leave it out.
    SELECT COUNT(*) INTO is_there FROM information_schema.COLUMNS AS c
    WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = 'lk_happenings'
      AND c.COLUMN_NAME = 'reason';
    IF NOT is_there THEN
        ALTER TABLE lk_happenings
            ADD COLUMN broken_by VARBINARY(1024) NOT NULL DEFAULT '',
            ADD COLUMN reason VARBINARY(1024) NOT NULL DEFAULT '';
    END IF;

    -- From 5 to 6: only procedures, which decide beside those of format 5.

    -- From 6 to 7: only procedures, the public ones.

    -- From 7 to 8: only procedures, those for work among them.

    -- From 8 to 9: constraints, which 13_checks adds.

    -- From 10 to 11: groups of items, which 99_end makes when all procedures keep them.
END
//
CALL lk_step()
//
DELIMITER ;
