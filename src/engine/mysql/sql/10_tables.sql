-- SPDX-License-Identifier: Apache-2.0
-- The tables of a Lockkeeper store in MySQL or MariaDB, format 1.
--
-- People can read it, too:  SELECT * FROM lk_locks  (lk_work, lk_events)
-- Only the procedures lk_... write here: every row is the outcome of a rule (docs/rules.md), and a
-- change by hand breaks a promise that a client relies on.
--
-- If a DBA creates the store, in the database that is to be used, a user needs these rights to use
-- it (here the user app and the database shop):
-- GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON shop.* TO app;
--
-- Running all of this creates a store, or brings one of an earlier format to this one (12_steps), if
-- nothing is in use. With the present format it only replaces the procedures. If it ends in the
-- middle, run it again.
--
-- For the client `mysql`, and for programs that split this: a statement ends before a line that is
-- nothing but //, and the lines that begin with DELIMITER are for the client only.
--
-- Texts are bytes of UTF-8 (VARBINARY), so that they are compared byte by byte whatever the
-- database's collation. All times `..._us` are microseconds of Unix time on the database's clock.
-- No secondary index is unique and there are no foreign keys: each decision locks the row of its
-- root, which keeps requests unique, and the gap locks of such checks would make roots wait for
-- each other.

DELIMITER //

SET NAMES utf8mb4, autocommit = 1
//
SET sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'
//
-- One installer at a time, up to 99_end. A program that finds a procedure missing meanwhile calls
-- again.
DO GET_LOCK(CONCAT('lockkeeper ', LEFT(SHA2(CONCAT(DATABASE(), '.lk_'), 256), 40)), 31536000)
//

-- ---- a store that is there ----

-- Closes a store of an earlier format, up to lk_open_store(): a constraint lets no request live longer
-- than now. Adding it waits for the transactions that have read or written requests, fails if one of
-- them lives, and is the first change: so nothing is held, claimed or waiting from then on, and what a
-- program of the earlier format asks for has no effect. An installer that goes on where another one
-- was broken off finds the store closed.
DROP PROCEDURE IF EXISTS lk_close_store
//
CREATE PROCEDURE lk_close_store(IN found INT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE is_closed BOOLEAN;
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    DECLARE held, claimed, waiting BIGINT DEFAULT 0;
    DECLARE was_patient BIGINT DEFAULT @@lock_wait_timeout;
    DECLARE why VARCHAR(128) CHARACTER SET utf8mb4;
    DECLARE EXIT HANDLER FOR 1205, 3819, 4025 -- a lock is kept; a request lives (MySQL, MariaDB)
    BEGIN
        SET SESSION lock_wait_timeout = was_patient;
        SET why = CONCAT('the store lk_... stays of format ', found,
                         ': transactions of this database use it; let them end');
        SIGNAL SQLSTATE 'LK079' SET MESSAGE_TEXT = why, MYSQL_ERRNO = 30079;
    END;
    SELECT COUNT(*) INTO is_closed FROM information_schema.TABLE_CONSTRAINTS AS c
    WHERE c.CONSTRAINT_SCHEMA = DATABASE() AND c.TABLE_NAME = 'lk_requests'
      AND c.CONSTRAINT_NAME = 'lk_requests_closed';
    IF NOT is_closed THEN
        SELECT COALESCE(SUM(r.held AND NOT r.is_claim), 0), COALESCE(SUM(r.is_claim), 0),
               COALESCE(SUM(NOT r.held), 0)
        INTO held, claimed, waiting
        FROM lk_requests AS r WHERE r.part = 1 AND r.deadline_us > now_us;
        IF held + claimed + waiting > 0 THEN
            SET why = CONCAT('the store lk_... stays of format ', found, ' while its programs use it: ',
                             held, ' leases held, ', claimed, ' items claimed, ', waiting, ' waiting');
            SIGNAL SQLSTATE 'LK079' SET MESSAGE_TEXT = why, MYSQL_ERRNO = 30079;
        END IF;
        SET @lk_question = CONCAT('ALTER TABLE lk_requests ADD CONSTRAINT lk_requests_closed ',
                                  'CHECK (deadline_us <= ', now_us, ')');
        SET SESSION lock_wait_timeout = 2; -- of a caller's transaction, which may be long
        PREPARE lk_asking FROM @lk_question;
        EXECUTE lk_asking;
        DEALLOCATE PREPARE lk_asking;
        SET SESSION lock_wait_timeout = was_patient;
    END IF;
END
//

-- In a store that is new, not whole, or of this format there is nothing to do; one of an earlier format
-- is closed; another one stays as it is, and so does one that a newer program has closed.
DROP PROCEDURE IF EXISTS lk_check_format
//
CREATE PROCEDURE lk_check_format(IN this_format INT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE is_there BOOLEAN;
    DECLARE is_closed BOOLEAN;
    DECLARE found INT;
    DECLARE why VARCHAR(128) CHARACTER SET utf8mb4;
    SELECT COUNT(*) INTO is_there FROM information_schema.TABLES AS t
    WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = 'lk_meta';
    IF is_there THEN
        SELECT MAX(m.format) INTO found FROM lk_meta AS m;
    END IF;
    IF found NOT BETWEEN 1 AND this_format THEN
        SET why = CONCAT('the store lk_... is of format ', found, ', and this text makes format ',
                         this_format, ': use the program that made it');
        SIGNAL SQLSTATE 'LK079' SET MESSAGE_TEXT = why, MYSQL_ERRNO = 30079;
    END IF;
    SELECT COUNT(*) INTO is_closed FROM information_schema.TABLE_CONSTRAINTS AS c
    WHERE c.CONSTRAINT_SCHEMA = DATABASE() AND c.TABLE_NAME = 'lk_requests'
      AND c.CONSTRAINT_NAME = 'lk_requests_closed';
    IF found = this_format AND is_closed THEN
        SIGNAL SQLSTATE 'LK079' SET MYSQL_ERRNO = 30079,
            MESSAGE_TEXT = 'the store lk_... is being brought to a newer format; use the program that does';
    END IF;
    IF found < this_format THEN
        CALL lk_close_store(found);
    END IF;
END
//
CALL lk_check_format(1)
//

-- ---- tables ----

-- One row about the store itself.
CREATE TABLE IF NOT EXISTS lk_meta (
    only_row             TINYINT NOT NULL DEFAULT 1 PRIMARY KEY CHECK (only_row = 1),
    format               INT    NOT NULL, -- of these tables and procedures
    server_start         BIGINT NOT NULL, -- R11: another run of a server has another one
    draw_floor           BIGINT NOT NULL DEFAULT 0, -- R4: no draw of a removed root was greater
    live_max             BIGINT NOT NULL DEFAULT 0, -- R22; 0: unbounded
    live_per_owner_max   BIGINT NOT NULL DEFAULT 0,
    live_per_root_max    BIGINT NOT NULL DEFAULT 0,
    waiters_per_path_max BIGINT NOT NULL DEFAULT 0,
    events_max           BIGINT NOT NULL DEFAULT 0, -- R21: kept at all times; 0: only while watched
    watched_until_us     BIGINT NOT NULL DEFAULT 0, -- R21: a client watches, until then
    last_event           BIGINT NOT NULL DEFAULT 0, -- R21: the last number drawn
    is_bounded    BOOLEAN AS (live_max + live_per_owner_max + live_per_root_max
                              + waiters_per_path_max > 0) STORED,
    told_until_us BIGINT AS (IF(events_max > 0, 9223372036854775807, watched_until_us)) STORED
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

-- A root is the first segment of paths. Every decision about anything below it first locks its row:
-- decisions about one root follow each other, different roots never wait for each other.
CREATE TABLE IF NOT EXISTS lk_roots (
    root        VARBINARY(255) NOT NULL PRIMARY KEY,
    last_draw   BIGINT  NOT NULL, -- R4: the last ticket or token
    due_us      BIGINT  NOT NULL, -- no deadline and no delayed item here is due earlier
    has_waiting BOOLEAN NOT NULL, -- false: no request waits below it
    -- All requests that live here past `mixed_until_us` have one part and are of one kind: twice
    -- the depth, and one more for claims. 0: none yet. So a request of that kind only checks its
    -- own path.
    kind           TINYINT NOT NULL DEFAULT 0,
    mixed_until_us BIGINT  NOT NULL DEFAULT 9223372036854775807,
    KEY roots_by_due (due_us)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//

-- Every live request: leases and waiting ones. One row for each of its parts, in the order in which
-- they were asked for; all but the part is the same in each of them. (One table instead of two,
-- because most requests have one part, and a row costs as much as all that is in it.) Past its
-- deadline a request is dead, swept or not.
CREATE TABLE IF NOT EXISTS lk_requests (
    id           BIGINT  NOT NULL AUTO_INCREMENT,
    part         TINYINT NOT NULL,          -- 1, 2, ...
    path         VARBINARY(512) NOT NULL,   -- of this part
    unit_limit   INT     NOT NULL,          -- R2 limit; 0: none
    units        INT     NOT NULL,          -- R7c: what it counts; 0: it is exclusive
    root         VARBINARY(255) NOT NULL,   -- of this path
    owner        VARBINARY(128) NOT NULL,
    note         VARBINARY(255) NOT NULL,
    held         BOOLEAN NOT NULL,          -- else it waits
    revoked      BOOLEAN NOT NULL DEFAULT 0, -- R12: held to its deadline, not renewable
    attended     BOOLEAN NOT NULL,          -- R10: its client was blocked when it last asked
    fixed        BOOLEAN NOT NULL,          -- R11: the deadline came from `until`
    wants_value  BOOLEAN NOT NULL,          -- R15: its values are in doubt when it perishes
    is_claim     BOOLEAN NOT NULL DEFAULT 0, -- R16: of the item at its first path
    ticket       BIGINT  NOT NULL,          -- R4
    token        BIGINT  NOT NULL,          -- R4; 0 while waiting
    ttl_ms       BIGINT  NOT NULL,
    deadline_us  BIGINT  NOT NULL,
    identity     BINARY(32) NULL, -- R3: a hash of owner and paths; NULL: a claim has none
    roots        VARBINARY(4095) NOT NULL,  -- all of its roots in byte order, a space between
    part_count   TINYINT NOT NULL,
    grace_us     BIGINT  NOT NULL DEFAULT 0, -- R11: the deadline that the last restart has set
    PRIMARY KEY (id, part),
    KEY requests_by_path (path, held, ticket, deadline_us, unit_limit),
    KEY requests_by_owner (owner, held, identity, token),
    KEY requests_by_root (root, held, deadline_us, ticket)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//

-- R15: the value kept at a path.
CREATE TABLE IF NOT EXISTS lk_values (
    path     VARBINARY(512) NOT NULL PRIMARY KEY,
    in_doubt BOOLEAN    NOT NULL, -- its last holder perished; what it describes may be half done
    bytes    MEDIUMBLOB NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

-- R16: every queue that an item was ever pushed to, and its counters.
CREATE TABLE IF NOT EXISTS lk_queues (
    path       VARBINARY(512) NOT NULL PRIMARY KEY,
    pushed     BIGINT NOT NULL DEFAULT 0,
    duplicates BIGINT NOT NULL DEFAULT 0, -- pushes of items that existed
    claims     BIGINT NOT NULL DEFAULT 0,
    steals     BIGINT NOT NULL DEFAULT 0, -- claims of items whose former claim had perished
    done       BIGINT NOT NULL DEFAULT 0,
    retried    BIGINT NOT NULL DEFAULT 0,
    parked     BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//

-- R16: work. A claimed item has a request at queue/id.
CREATE TABLE IF NOT EXISTS lk_items (
    queue        VARBINARY(512) NOT NULL,
    id           VARBINARY(255) NOT NULL,
    arrival      BIGINT  NOT NULL, -- in its queue: the smaller, the older
    state        ENUM('ready', 'delayed', 'claimed', 'parked', 'cancelled', 'again', 'done')
                 CHARACTER SET ascii NOT NULL,
    -- Of a delayed item, and one that was pushed again with a delay while it is claimed: when it is
    -- ready. Of one that is done: when it is forgotten (71_kept). Of a ready one: 0, or the number of
    -- its group (lk_groups), if a claim reads another item of that instead. Else 0.
    due_us       BIGINT  NOT NULL,
    ready_us     BIGINT  NOT NULL DEFAULT 0, -- of a ready item: since when; 0: since it was pushed
    attempts     INT UNSIGNED NOT NULL DEFAULT 0, -- claims so far
    was_lost     BOOLEAN NOT NULL DEFAULT 0, -- the last claim perished: the next is a steal
    claim        BIGINT  NOT NULL DEFAULT 0, -- the request that has it; 0: none
    ask_number   BIGINT  NOT NULL DEFAULT 0, -- R3, of that claim
    max_attempts INT UNSIGNED NOT NULL DEFAULT 0, -- of that claim; 0: no maximum
    claims       BIGINT  NOT NULL DEFAULT 0, -- of it, and not yet counted with its queue's
    steals       BIGINT  NOT NULL DEFAULT 0, -- likewise
    has_value    BOOLEAN NOT NULL DEFAULT 1, -- false: there is no row in lk_item_values
    needs        VARBINARY(8207) NOT NULL, -- further paths of a claim, a space between
    need_limits  VARBINARY(255)  NOT NULL, -- as many numbers
    need_units   VARBINARY(255)  NOT NULL, -- -1: it is strict
    need_roots   VARBINARY(4095) NOT NULL, -- their roots, in byte order
    is_head     BOOLEAN NOT NULL DEFAULT 0, -- of all of its strict needs, with units -1 (lk_heads)
    priority     SMALLINT NOT NULL DEFAULT 0, -- the greater, the earlier it is claimed
    last_exit    INT NULL,             -- of its last retry that gave a failure
    last_error   VARBINARY(1024) NULL, -- likewise
    keep_ms      BIGINT NOT NULL DEFAULT 0, -- how long it is kept once it is done; 0: not at all
    progress     VARBINARY(1024) NULL, -- of its last claim
    -- Its place among the items of its state: the ready ones in the order of their claims.
    place DECIMAL(24, 0) AS (CAST(IF(state = 'ready', -priority, 0) AS DECIMAL(5, 0))
                             * 1000000000000000000 + arrival) STORED,
    PRIMARY KEY (queue, id),
    KEY items_by_state (queue, state, due_us, place)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//

-- R16: the ready items of a queue that need the same, if any (51_groups). A claim reads only the
-- leader, and those that are behind none. While an item is the head of the group's strict needs, only
-- that one leads, and none if it is not ready.
CREATE TABLE IF NOT EXISTS lk_groups (
    queue  VARBINARY(512) NOT NULL,
    needs  BINARY(32)     NOT NULL, -- a hash of needs, need_limits and need_units
    number BIGINT         NOT NULL, -- a draw of the root's; in `due_us` of those behind the leader
    leader VARBINARY(255) NOT NULL, -- an item's id; empty: none leads
    head   VARBINARY(255) NOT NULL DEFAULT '', -- the item of them that is the head; empty: none
    PRIMARY KEY (queue, needs)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//

-- R16: the strict needs that have a head, and the item that is it (52_heads).
CREATE TABLE IF NOT EXISTS lk_heads (
    queue VARBINARY(512) NOT NULL,
    path  VARBINARY(512) NOT NULL, -- of the need
    id    VARBINARY(255) NOT NULL, -- of the item
    PRIMARY KEY (queue, path)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//

-- R16: the items that are done and kept, in the order in which they are forgotten (71_kept).
CREATE TABLE IF NOT EXISTS lk_kept (
    until_us BIGINT NOT NULL, -- `due_us` of the item
    queue    VARBINARY(512) NOT NULL,
    id       VARBINARY(255) NOT NULL,
    PRIMARY KEY (until_us, queue, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//

-- The values of items that have one, and the results of those that are done; in a table of their own,
-- so that a claim does not rewrite them.
CREATE TABLE IF NOT EXISTS lk_item_values (
    queue VARBINARY(512) NOT NULL,
    id    VARBINARY(255) NOT NULL,
    bytes MEDIUMBLOB NOT NULL,
    PRIMARY KEY (queue, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

-- R17: rows of the owner's tables that are done, and still match their queue's query.
CREATE TABLE IF NOT EXISTS lk_done_rows (
    queue VARBINARY(512) NOT NULL,
    id    VARBINARY(255) NOT NULL, -- as in lk_items
    PRIMARY KEY (queue, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

-- R3: tokens that a release has ended, for a repeated call whose answer was lost; five minutes.
CREATE TABLE IF NOT EXISTS lk_ended (
    token    BIGINT NOT NULL,
    identity BINARY(32) NOT NULL,
    ended_us BIGINT NOT NULL,
    PRIMARY KEY (token, identity)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//

-- R12: the requests that administrators have broken, and why.
CREATE TABLE IF NOT EXISTS lk_audits (
    id        BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at_us     BIGINT NOT NULL,
    broken_by VARBINARY(1024) NOT NULL,
    reason    VARBINARY(1024) NOT NULL,
    path      VARBINARY(512) NOT NULL,
    owner     VARBINARY(128) NOT NULL,
    note      VARBINARY(255) NOT NULL,
    ticket    BIGINT NOT NULL,
    token     BIGINT NOT NULL -- 0: it was waiting
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

-- R21: events, while a client watches or the bounds keep some. View: lk_events.
CREATE TABLE IF NOT EXISTS lk_happenings (
    sequence    BIGINT NOT NULL PRIMARY KEY, -- in the order of their commits, without gaps
    at_us       BIGINT NOT NULL,
    event       VARBINARY(16) NOT NULL,
    refusal     VARBINARY(16) NOT NULL,   -- the outcome of a refused ask; else empty
    parts       VARBINARY(9215) NOT NULL, -- parts (R2), with a space between
    owner       VARBINARY(128) NOT NULL,  -- empty: none
    note        VARBINARY(255) NOT NULL,
    ticket      BIGINT NOT NULL,
    token       BIGINT NOT NULL,
    attempt     INT UNSIGNED NOT NULL, -- of an item
    is_of_item  BOOLEAN NOT NULL,      -- the first path is QUEUE/ID
    is_deletion BOOLEAN NOT NULL,      -- the value is gone
    broken_by   VARBINARY(1024) NOT NULL DEFAULT '', -- R12: of a break: by whom, and why
    reason      VARBINARY(1024) NOT NULL DEFAULT ''
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//

-- 1 to 1000, to split lists and paths.
CREATE TABLE IF NOT EXISTS lk_numbers (
    n SMALLINT NOT NULL PRIMARY KEY
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//
INSERT IGNORE INTO lk_numbers (n)
SELECT 1 + a.d + 10 * b.d + 100 * c.d
FROM (SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
      UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8
      UNION ALL SELECT 9) AS a
CROSS JOIN (SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
            UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7
            UNION ALL SELECT 8 UNION ALL SELECT 9) AS b
CROSS JOIN (SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
            UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7
            UNION ALL SELECT 8 UNION ALL SELECT 9) AS c
//
DELIMITER ;
