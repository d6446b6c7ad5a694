-- SPDX-License-Identifier: Apache-2.0
-- The tables of services that share a PostgreSQL database, format 1. The leading service keeps all
-- of it in memory and writes every change here before it answers, so people can read the present
-- state:  SELECT * FROM lockkeeper_service.request
--
-- `..._us` is in microseconds. Deadlines are on the clock of this server (now_us), so that each
-- service reckons them from the time that is left. `..._unix_us` is the wall clock of the service
-- that wrote it, and only for people.
--
-- If a DBA makes them (psql --single-transaction), the services' user needs these rights, here the
-- user locks:
-- GRANT USAGE ON SCHEMA lockkeeper_service TO locks;
-- GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lockkeeper_service TO locks;
-- GRANT USAGE ON ALL SEQUENCES IN SCHEMA lockkeeper_service TO locks;

CREATE SCHEMA lockkeeper_service;

CREATE FUNCTION lockkeeper_service.now_us() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

-- One row: which service leads, and what there is once.
CREATE TABLE lockkeeper_service.leader (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    format     integer NOT NULL,
    epoch      bigint  NOT NULL, -- grows by one whenever a service begins to lead
    process    text    NOT NULL, -- a random name of the process that leads
    address    text    NOT NULL, -- where clients find it
    renewed_us bigint  NOT NULL, -- when it has committed last
    lease_us   bigint  NOT NULL, -- so long no other service takes over
    is_free    boolean NOT NULL, -- handed over: the next one need not wait
    draw_floor bigint  NOT NULL DEFAULT 0, -- R4: the greatest draw
    last_event bigint  NOT NULL DEFAULT 0, -- R21: the last number drawn
    watched_us bigint  NOT NULL DEFAULT 0, -- R21: events are kept until then; 0: no client follows
    events_max bigint  NOT NULL DEFAULT 0,
    live_max             bigint NOT NULL DEFAULT 0, -- R22; 0: unbounded
    live_per_owner_max   bigint NOT NULL DEFAULT 0,
    live_per_root_max    bigint NOT NULL DEFAULT 0,
    waiters_per_path_max bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
INSERT INTO lockkeeper_service.leader (format, epoch, process, address, renewed_us, lease_us, is_free)
VALUES (1, 0, '', '', 0, 0, true);

CREATE TABLE lockkeeper_service.request (
    id           bigint PRIMARY KEY,
    owner        text    NOT NULL COLLATE "C",
    note         text    NOT NULL COLLATE "C",
    state        text    NOT NULL CHECK (state IN ('waiting', 'held')),
    revoked      boolean NOT NULL, -- R12
    attended     boolean NOT NULL, -- R10
    fixed        boolean NOT NULL, -- R11: the deadline came from `until`
    graced       boolean NOT NULL DEFAULT false, -- R11: lives on since a takeover, not written since
    ticket       bigint  NOT NULL, -- R4
    token        bigint  NOT NULL, -- R4; 0 while waiting
    ttl_ms       bigint  NOT NULL,
    expires_us   bigint  NOT NULL,
    wants_value  boolean NOT NULL, -- R15
    is_claim     boolean NOT NULL, -- R16: of the item at its first path
    ask_number   bigint  NOT NULL,
    max_attempts bigint  NOT NULL,
    parts        text    NOT NULL COLLATE "C", -- R2, in the order of the ask
    bound        boolean NOT NULL  -- R18
) WITH (fillfactor = 70);

CREATE TABLE lockkeeper_service.value (
    path     text    PRIMARY KEY COLLATE "C",
    bytes    bytea   NOT NULL,
    in_doubt boolean NOT NULL -- R15
);

CREATE TABLE lockkeeper_service.item (
    queue      text    NOT NULL COLLATE "C",
    id         text    NOT NULL COLLATE "C",
    sequence   bigint  NOT NULL, -- the smaller, the older
    state      text    NOT NULL CHECK (state IN ('ready', 'delayed', 'claimed', 'parked',
                                                  'cancelled', 'again', 'done')),
    due_us     bigint  NOT NULL, -- of what is delayed, or claimed and pushed again, or done
    attempts   bigint  NOT NULL,
    was_lost   boolean NOT NULL,
    is_head   boolean NOT NULL, -- of its strict needs
    priority   bigint  NOT NULL,
    keep_ms    bigint  NOT NULL, -- for how long, once it is done; 0: not at all
    value      bytea   NOT NULL, -- of what is done: its result
    needs      text    NOT NULL COLLATE "C",
    has_exit   boolean NOT NULL, -- of the last retry that told one: the exit code, the error text
    last_exit  bigint  NOT NULL,
    last_error bytea   NOT NULL,
    progress   bytea   NOT NULL, -- of its last claim
    PRIMARY KEY (queue, id)
) WITH (fillfactor = 70);

CREATE TABLE lockkeeper_service.queue (
    path       text PRIMARY KEY COLLATE "C",
    pushed     bigint NOT NULL,
    duplicates bigint NOT NULL,
    claims     bigint NOT NULL,
    steals     bigint NOT NULL,
    done       bigint NOT NULL,
    retried    bigint NOT NULL,
    parked     bigint NOT NULL
);

-- R3: tokens that their owner has ended, for a caller that lost the answer.
CREATE TABLE lockkeeper_service.ended (
    token    bigint NOT NULL,
    owner    text   NOT NULL COLLATE "C",
    parts    text   NOT NULL COLLATE "C",
    ended_us bigint NOT NULL
);
CREATE UNIQUE INDEX ended_by_token -- the parts are too long for a key
    ON lockkeeper_service.ended (token, owner, hashtextextended(parts, 0));
CREATE INDEX ended_by_time ON lockkeeper_service.ended (ended_us);

-- R12: what administrators have broken.
CREATE TABLE lockkeeper_service.audit (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_unix_us bigint NOT NULL,
    broken_by  text   NOT NULL,
    reason     text   NOT NULL,
    path       text   NOT NULL,
    owner      text   NOT NULL,
    note       text   NOT NULL,
    ticket     bigint NOT NULL,
    token      bigint NOT NULL
);

-- R21: the latest events.
CREATE TABLE lockkeeper_service.event (
    sequence    bigint  PRIMARY KEY,
    at_unix_us  bigint  NOT NULL,
    event       text    NOT NULL,
    refusal     text    NOT NULL,
    parts       text    NOT NULL,
    owner       text    NOT NULL,
    note        text    NOT NULL,
    ticket      bigint  NOT NULL,
    token       bigint  NOT NULL,
    attempt     bigint  NOT NULL,
    is_of_item  boolean NOT NULL,
    is_deletion boolean NOT NULL,
    broken_by   text    NOT NULL,
    reason      text    NOT NULL
);

-- The first statement of every transaction of the service that leads: an error unless it still
-- does, and the tables have the format that it knows.
-- A service that takes over updates the same row, so it waits for this transaction, or this one
-- fails.
CREATE FUNCTION lockkeeper_service.renew(
    asked_epoch bigint, asked_floor bigint, asked_event bigint, asked_watch bigint,
    asked_format integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE lockkeeper_service.leader
    SET renewed_us = lockkeeper_service.now_us(), draw_floor = greatest(draw_floor, asked_floor),
        last_event = greatest(last_event, asked_event),
        watched_us = CASE WHEN asked_watch IS NULL THEN watched_us WHEN asked_watch = 0 THEN 0
            ELSE lockkeeper_service.now_us() + asked_watch END
    WHERE epoch = asked_epoch AND format = asked_format;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another service leads' USING ERRCODE = 'LK001';
    END IF;
END
$$;

-- Begins the next epoch for the process, unless another one leads. What was live at the last commit
-- of the one before lives on for a while (R11), in the same transaction: a process that dies
-- afterwards leaves nothing undone.
CREATE FUNCTION lockkeeper_service.lead(
    asked_process text, asked_address text, asked_lease bigint, asked_format integer,
    OUT leads boolean, OUT epoch bigint, OUT address text, OUT left_us bigint, OUT at_us bigint)
LANGUAGE plpgsql AS $$
DECLARE
    found_row lockkeeper_service.leader;
    locks boolean;
    grace_ms constant bigint := @LK_GRACE_MAX_MS@;
BEGIN
    FOREACH locks IN ARRAY ARRAY[false, true] LOOP -- looking must not hold up the one that leads
        IF locks THEN
            PERFORM FROM lockkeeper_service.leader FOR UPDATE;
        END IF;
        SELECT * INTO STRICT found_row FROM lockkeeper_service.leader;
        IF found_row.format <> asked_format THEN -- a later version has changed the tables
            RAISE EXCEPTION '%', found_row.format USING ERRCODE = 'LK002';
        END IF;
        leads := found_row.is_free OR found_row.process = asked_process
            OR found_row.renewed_us + found_row.lease_us <= lockkeeper_service.now_us();
        epoch := found_row.epoch;
        address := found_row.address;
        at_us := lockkeeper_service.now_us();
        left_us := found_row.renewed_us + found_row.lease_us - at_us;
        EXIT WHEN NOT leads;
    END LOOP;
    IF NOT leads THEN
        RETURN;
    END IF;
    epoch := epoch + 1;
    UPDATE lockkeeper_service.request
    SET expires_us = at_us + least(ttl_ms, grace_ms) * 1000, graced = true
    WHERE NOT fixed AND NOT graced AND expires_us > found_row.renewed_us
        AND expires_us < at_us + least(ttl_ms, grace_ms) * 1000;
    at_us := lockkeeper_service.now_us();
    UPDATE lockkeeper_service.leader AS l
    SET epoch = lead.epoch, process = asked_process, address = asked_address, renewed_us = at_us,
        lease_us = asked_lease, is_free = false;
END
$$;
