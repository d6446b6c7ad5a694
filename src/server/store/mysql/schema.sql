-- SPDX-License-Identifier: Apache-2.0
-- The tables of services that share a MySQL or MariaDB database, format 1. The leading service keeps
-- all of it in memory and writes every change here before it answers, so people can read the
-- present state:  SELECT * FROM lk_service_request
--
-- `..._us` is in microseconds. Deadlines are on the clock of this server (lk_service_clock), so that
-- each service reckons them from the time that is left. `..._unix_us` is the wall clock of the
-- service that wrote it, and only for people. Texts are bytes of UTF-8 (VARBINARY, BLOB), so that
-- they are compared byte by byte whatever the database's collation.
--
-- If a DBA makes them, in the database that is to be used, the services' user needs these rights
-- (here the user locks and the database shop):
-- GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON shop.* TO locks;
--
-- For the client `mysql`, and for programs that split this: a statement ends before a line that is
-- nothing but //, and the lines that begin with DELIMITER are for the client only. Each statement
-- commits by itself. The last one adds the row of lk_service_leader: without that row, all of this
-- is run again.

DELIMITER //

DROP PROCEDURE IF EXISTS lk_service_clock
//
CREATE PROCEDURE lk_service_clock(OUT ret_us BIGINT)
SQL SECURITY INVOKER
BEGIN
    SET ret_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
END
//

-- The first statement of every transaction of the service that leads: an error unless it still
-- does, and the tables have the format that it knows.
-- A service that takes over locks the same row, so it waits for this transaction, or this one fails.
-- Afterwards @lockkeeper_us is the present, for the instants that the transaction writes.
DROP PROCEDURE IF EXISTS lk_service_renew
//
CREATE PROCEDURE lk_service_renew(
    IN asked_epoch BIGINT, IN asked_floor BIGINT, IN asked_event BIGINT, IN asked_watch BIGINT,
    IN asked_format INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE present_epoch, present_format, present_us BIGINT;

    SELECT l.epoch, l.format INTO present_epoch, present_format
    FROM lk_service_leader AS l WHERE l.only_row = 1 FOR UPDATE;
    IF present_epoch IS NULL OR present_epoch <> asked_epoch OR present_format <> asked_format THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'another service leads';
    END IF;
    CALL lk_service_clock(present_us); -- behind the wait for the row
    SET @lockkeeper_us = present_us;
    UPDATE lk_service_leader
    SET renewed_us = present_us, draw_floor = GREATEST(draw_floor, asked_floor),
        last_event = GREATEST(last_event, asked_event),
        watched_us = CASE WHEN asked_watch IS NULL THEN watched_us WHEN asked_watch = 0 THEN 0
            ELSE present_us + asked_watch END
    WHERE only_row = 1;
END
//

-- Begins the next epoch for the process, unless another one leads. What was live at the last commit
-- of the one before lives on for a while (R11), in the same transaction: a process that dies
-- afterwards leaves nothing undone. The first look takes no lock: it must not hold up the one that
-- leads.
DROP PROCEDURE IF EXISTS lk_service_lead
//
CREATE PROCEDURE lk_service_lead(
    IN asked_process VARBINARY(64), IN asked_address VARBINARY(255), IN asked_lease BIGINT,
    IN asked_format INT)
SQL SECURITY INVOKER
BEGIN
    DECLARE found_epoch, found_renewed, found_lease, found_format, present_us BIGINT;
    DECLARE found_text VARCHAR(20);
    DECLARE found_process VARBINARY(64);
    DECLARE found_address VARBINARY(255);
    DECLARE found_free, leads BOOLEAN;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    SELECT l.epoch, l.process, l.address, l.renewed_us, l.lease_us, l.is_free, l.format
    INTO found_epoch, found_process, found_address, found_renewed, found_lease, found_free,
        found_format
    FROM lk_service_leader AS l WHERE l.only_row = 1;
    IF found_format <> asked_format THEN -- a later version has changed the tables
        SET found_text = CAST(found_format AS CHAR);
        SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = found_text;
    END IF;
    CALL lk_service_clock(present_us);
    SET leads = found_free OR found_process = asked_process
        OR found_renewed + found_lease <= present_us;
    IF leads THEN
        START TRANSACTION;
        SELECT l.epoch, l.process, l.address, l.renewed_us, l.lease_us, l.is_free, l.format
        INTO found_epoch, found_process, found_address, found_renewed, found_lease, found_free,
            found_format
        FROM lk_service_leader AS l WHERE l.only_row = 1 FOR UPDATE;
        IF found_format <> asked_format THEN
            SET found_text = CAST(found_format AS CHAR);
            SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = found_text;
        END IF;
        CALL lk_service_clock(present_us);
        SET leads = found_free OR found_process = asked_process
            OR found_renewed + found_lease <= present_us;
        IF leads THEN
            UPDATE lk_service_request
            SET expires_us = present_us + LEAST(ttl_ms, @LK_GRACE_MAX_MS@) * 1000, graced = 1
            WHERE NOT fixed AND NOT graced AND expires_us > found_renewed
                AND expires_us < present_us + LEAST(ttl_ms, @LK_GRACE_MAX_MS@) * 1000;
            SET found_epoch = found_epoch + 1;
            CALL lk_service_clock(present_us);
            UPDATE lk_service_leader
            SET epoch = found_epoch, process = asked_process, address = asked_address,
                renewed_us = present_us, lease_us = asked_lease, is_free = 0
            WHERE only_row = 1;
        END IF;
        COMMIT;
    END IF;
    SELECT leads, found_epoch, found_address, found_renewed + found_lease - present_us, present_us;
END
//

DROP PROCEDURE IF EXISTS lk_service_limits
//
CREATE PROCEDURE lk_service_limits(
    IN asked_events BIGINT, IN asked_live BIGINT, IN asked_owner BIGINT, IN asked_root BIGINT,
    IN asked_waiters BIGINT)
SQL SECURITY INVOKER
BEGIN
    UPDATE lk_service_leader
    SET events_max = asked_events, live_max = asked_live, live_per_owner_max = asked_owner,
        live_per_root_max = asked_root, waiters_per_path_max = asked_waiters
    WHERE only_row = 1;
END
//

CREATE TABLE IF NOT EXISTS lk_service_request (
    id           BIGINT         NOT NULL PRIMARY KEY,
    owner        VARBINARY(255) NOT NULL,
    note         VARBINARY(255) NOT NULL,
    state        VARBINARY(8)   NOT NULL, -- waiting, held
    revoked      BOOLEAN NOT NULL, -- R12
    attended     BOOLEAN NOT NULL, -- R10
    fixed        BOOLEAN NOT NULL, -- R11: the deadline came from `until`
    ticket       BIGINT  NOT NULL, -- R4
    token        BIGINT  NOT NULL, -- R4; 0 while waiting
    ttl_ms       BIGINT  NOT NULL,
    expires_us   BIGINT  NOT NULL,
    wants_value  BOOLEAN NOT NULL, -- R15
    is_claim     BOOLEAN NOT NULL, -- R16: of the item at its first path
    ask_number   BIGINT  NOT NULL,
    max_attempts BIGINT  NOT NULL,
    parts        BLOB    NOT NULL, -- R2, in the order of the ask
    bound        BOOLEAN NOT NULL, -- R18
    graced       BOOLEAN NOT NULL DEFAULT 0 -- R11: lives on since a takeover, not written since
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

CREATE TABLE IF NOT EXISTS lk_service_value (
    path     VARBINARY(512) NOT NULL PRIMARY KEY,
    bytes    MEDIUMBLOB NOT NULL,
    in_doubt BOOLEAN    NOT NULL DEFAULT 0 -- R15
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

CREATE TABLE IF NOT EXISTS lk_service_item (
    queue      VARBINARY(512) NOT NULL,
    id         VARBINARY(512) NOT NULL,
    sequence   BIGINT       NOT NULL, -- the smaller, the older
    state      VARBINARY(9) NOT NULL, -- ready, delayed, claimed, parked, cancelled, again, done
    due_us     BIGINT       NOT NULL, -- of what is delayed, or claimed and pushed again, or done
    attempts   BIGINT       NOT NULL,
    was_lost   BOOLEAN      NOT NULL,
    is_head   BOOLEAN      NOT NULL, -- of its strict needs
    priority   BIGINT       NOT NULL,
    keep_ms    BIGINT       NOT NULL, -- for how long, once it is done; 0: not at all
    value      MEDIUMBLOB   NOT NULL, -- of what is done: its result
    needs      BLOB         NOT NULL,
    has_exit   BOOLEAN      NOT NULL, -- of the last retry that told one: the exit code, the error text
    last_exit  BIGINT       NOT NULL,
    last_error MEDIUMBLOB   NOT NULL,
    progress   MEDIUMBLOB   NOT NULL, -- of its last claim
    PRIMARY KEY (queue, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

CREATE TABLE IF NOT EXISTS lk_service_queue (
    path       VARBINARY(512) NOT NULL PRIMARY KEY,
    pushed     BIGINT NOT NULL,
    duplicates BIGINT NOT NULL,
    claims     BIGINT NOT NULL,
    steals     BIGINT NOT NULL,
    done       BIGINT NOT NULL,
    retried    BIGINT NOT NULL,
    parked     BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

-- R3: tokens that their owner has ended, for a caller that lost the answer.
CREATE TABLE IF NOT EXISTS lk_service_ended (
    token      BIGINT         NOT NULL,
    owner      VARBINARY(255) NOT NULL,
    parts      BLOB           NOT NULL,
    ended_us   BIGINT         NOT NULL,
    parts_hash BINARY(32)     NOT NULL, -- the parts are too long for a key
    PRIMARY KEY (token, owner, parts_hash),
    KEY ended_by_time (ended_us)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

-- R12: what administrators have broken.
CREATE TABLE IF NOT EXISTS lk_service_audit (
    number     BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at_unix_us BIGINT NOT NULL,
    broken_by  BLOB   NOT NULL,
    reason     BLOB   NOT NULL,
    path       BLOB   NOT NULL,
    owner      BLOB   NOT NULL,
    note       BLOB   NOT NULL,
    ticket     BIGINT NOT NULL,
    token      BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

-- R21: the latest events.
CREATE TABLE IF NOT EXISTS lk_service_event (
    sequence    BIGINT  NOT NULL PRIMARY KEY,
    at_unix_us  BIGINT  NOT NULL,
    event       VARBINARY(32) NOT NULL,
    refusal     VARBINARY(32) NOT NULL,
    parts       BLOB    NOT NULL,
    owner       BLOB    NOT NULL,
    note        BLOB    NOT NULL,
    ticket      BIGINT  NOT NULL,
    token       BIGINT  NOT NULL,
    attempt     BIGINT  NOT NULL,
    is_of_item  BOOLEAN NOT NULL,
    is_deletion BOOLEAN NOT NULL,
    broken_by   BLOB    NOT NULL,
    reason      BLOB    NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

-- One row: which service leads, and what there is once.
CREATE TABLE IF NOT EXISTS lk_service_leader (
    only_row   TINYINT        NOT NULL DEFAULT 1 PRIMARY KEY CHECK (only_row = 1),
    format     INT            NOT NULL,
    epoch      BIGINT         NOT NULL, -- grows by one whenever a service begins to lead
    process    VARBINARY(64)  NOT NULL, -- a random name of the process that leads
    address    VARBINARY(255) NOT NULL, -- where clients find it
    renewed_us BIGINT         NOT NULL, -- when it has committed last
    lease_us   BIGINT         NOT NULL, -- so long no other service takes over
    is_free    BOOLEAN        NOT NULL, -- handed over: the next one need not wait
    draw_floor BIGINT NOT NULL DEFAULT 0, -- R4: the greatest draw
    last_event BIGINT NOT NULL DEFAULT 0, -- R21: the last number drawn
    watched_us BIGINT NOT NULL DEFAULT 0, -- R21: events are kept until then; 0: no client follows
    events_max BIGINT NOT NULL DEFAULT 0,
    live_max             BIGINT NOT NULL DEFAULT 0, -- R22; 0: unbounded
    live_per_owner_max   BIGINT NOT NULL DEFAULT 0,
    live_per_root_max    BIGINT NOT NULL DEFAULT 0,
    waiters_per_path_max BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4
//

INSERT INTO lk_service_leader (format, epoch, process, address, renewed_us, lease_us, is_free)
VALUES (1, 0, '', '', 0, 0, 1)
//
DELIMITER ;
