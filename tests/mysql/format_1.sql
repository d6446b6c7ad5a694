-- SPDX-License-Identifier: Apache-2.0
-- A store of format 1, as the first program left it, with something in it; and one of its
-- procedures.

DELIMITER //

SET NAMES utf8mb4
//
SET sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'
//
CREATE TABLE lk_meta (
    only_row             TINYINT NOT NULL DEFAULT 1 PRIMARY KEY CHECK (only_row = 1),
    format               INT    NOT NULL,
    writable_from        INT    NOT NULL,
    server_start         BIGINT NOT NULL,
    draw_floor           BIGINT NOT NULL DEFAULT 0,
    live_max             BIGINT NOT NULL DEFAULT 0,
    live_per_owner_max   BIGINT NOT NULL DEFAULT 0,
    live_per_root_max    BIGINT NOT NULL DEFAULT 0,
    waiters_per_path_max BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//
CREATE TABLE lk_roots (
    root        VARBINARY(255) NOT NULL PRIMARY KEY,
    last_draw   BIGINT  NOT NULL,
    due_us      BIGINT  NOT NULL,
    has_waiting BOOLEAN NOT NULL,
    KEY roots_by_due (due_us)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//
CREATE TABLE lk_requests (
    id           BIGINT  NOT NULL AUTO_INCREMENT,
    part         TINYINT NOT NULL,
    path         VARBINARY(512) NOT NULL,
    unit_limit   INT     NOT NULL,
    units        INT     NOT NULL,
    root         VARBINARY(255) NOT NULL,
    owner        VARBINARY(128) NOT NULL,
    note         VARBINARY(255) NOT NULL,
    held         BOOLEAN NOT NULL,
    revoked      BOOLEAN NOT NULL DEFAULT 0,
    attended     BOOLEAN NOT NULL,
    fixed        BOOLEAN NOT NULL,
    wants_value  BOOLEAN NOT NULL,
    is_claim     BOOLEAN NOT NULL DEFAULT 0,
    ticket       BIGINT  NOT NULL,
    token        BIGINT  NOT NULL,
    ttl_ms       BIGINT  NOT NULL,
    deadline_us  BIGINT  NOT NULL,
    identity     BINARY(32) NULL,
    roots        VARBINARY(4095) NOT NULL,
    part_count   TINYINT NOT NULL,
    PRIMARY KEY (id, part),
    KEY requests_by_path (path, deadline_us),
    KEY requests_by_owner (owner, held, identity),
    KEY requests_by_root (root, held, deadline_us, ticket)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//
CREATE TABLE lk_values (
    path     VARBINARY(512) NOT NULL PRIMARY KEY,
    in_doubt BOOLEAN    NOT NULL,
    bytes    MEDIUMBLOB NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//
CREATE TABLE lk_queues (
    path       VARBINARY(512) NOT NULL PRIMARY KEY,
    pushed     BIGINT NOT NULL DEFAULT 0,
    duplicates BIGINT NOT NULL DEFAULT 0,
    claims     BIGINT NOT NULL DEFAULT 0,
    steals     BIGINT NOT NULL DEFAULT 0,
    done       BIGINT NOT NULL DEFAULT 0,
    retried    BIGINT NOT NULL DEFAULT 0,
    parked     BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//
CREATE TABLE lk_items (
    queue        VARBINARY(512) NOT NULL,
    id           VARBINARY(255) NOT NULL,
    arrival      BIGINT  NOT NULL,
    state        ENUM('ready', 'delayed', 'claimed', 'parked') CHARACTER SET ascii NOT NULL,
    due_us       BIGINT  NOT NULL,
    attempts     INT UNSIGNED NOT NULL DEFAULT 0,
    was_lost     BOOLEAN NOT NULL DEFAULT 0,
    claim        BIGINT  NOT NULL DEFAULT 0,
    ask_number   BIGINT  NOT NULL DEFAULT 0,
    max_attempts INT UNSIGNED NOT NULL DEFAULT 0,
    needs        VARBINARY(8207) NOT NULL,
    need_limits  VARBINARY(255)  NOT NULL,
    need_units   VARBINARY(255)  NOT NULL,
    need_roots   VARBINARY(4095) NOT NULL,
    PRIMARY KEY (queue, id),
    KEY items_by_state (queue, state, due_us, arrival)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//
CREATE TABLE lk_item_values (
    queue VARBINARY(512) NOT NULL,
    id    VARBINARY(255) NOT NULL,
    bytes MEDIUMBLOB NOT NULL,
    PRIMARY KEY (queue, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//
CREATE TABLE lk_done_rows (
    queue VARBINARY(512) NOT NULL,
    id    VARBINARY(255) NOT NULL,
    PRIMARY KEY (queue, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//
CREATE TABLE lk_ended (
    token    BIGINT NOT NULL,
    identity BINARY(32) NOT NULL,
    ended_us BIGINT NOT NULL,
    PRIMARY KEY (token, identity)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
  STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0
//
CREATE TABLE lk_audits (
    id        BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at_us     BIGINT NOT NULL,
    broken_by VARBINARY(1024) NOT NULL,
    reason    VARBINARY(1024) NOT NULL,
    path      VARBINARY(512) NOT NULL,
    owner     VARBINARY(128) NOT NULL,
    note      VARBINARY(255) NOT NULL,
    ticket    BIGINT NOT NULL,
    token     BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//
CREATE TABLE lk_numbers (
    n SMALLINT NOT NULL PRIMARY KEY
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//
INSERT INTO lk_numbers (n)
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
INSERT INTO lk_meta (format, writable_from, server_start) VALUES (1, 1, 0)
//

CREATE PROCEDURE lk_ready_count(IN the_queue VARBINARY(512), IN most BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT 'an older one' AS ready;
END
//

INSERT INTO lk_roots (root, last_draw, due_us, has_waiting)
VALUES ('db', 4000000000000002, 4000000060000000, FALSE),
       ('mail', 3000000000000000, 9223372036854775807, FALSE)
//
INSERT INTO lk_requests (part, path, unit_limit, units, root, owner, note, held, attended, fixed,
    wants_value, ticket, token, ttl_ms, deadline_us, identity, roots, part_count)
VALUES (1, 'db/t1', 0, 0, 'db', 'alice', '', TRUE, FALSE, FALSE, FALSE, 4000000000000001,
    4000000000000001, 60000, 4000000060000000, UNHEX(SHA2('db/t1\nalice', 256)), 'db', 1)
//
INSERT INTO lk_items (queue, id, arrival, state, due_us, needs, need_limits, need_units, need_roots)
VALUES ('mail', 'two', 2, 'ready', 0, '', '', '', '')
//
INSERT INTO lk_queues (path, pushed, claims, done) VALUES ('mail', 12, 11, 11)
//
DELIMITER ;
