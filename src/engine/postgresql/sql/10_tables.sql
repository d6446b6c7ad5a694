-- SPDX-License-Identifier: Apache-2.0
-- The tables of a Lockkeeper store in PostgreSQL, format 1.
--
-- Other programs can use it, too:  SELECT * FROM lockkeeper.acquire('foo', shared_limit => 20)  (92_public_locks
-- and the next files: functions with a comment, which stay; all others are internal, and change), and
-- read it:  SELECT * FROM lockkeeper.lk_locks  (lk_items, lk_events)
-- Only functions write here: every row is the outcome of a rule (docs/rules.md), and a change by hand
-- breaks a promise that a client relies on.
--
-- If a DBA creates the store, a role needs these rights to use it (here the role app):
-- GRANT USAGE ON SCHEMA lockkeeper TO app;
-- GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lockkeeper TO app;
--
-- Running all of this creates a store, or brings one of an earlier format to this one (12_steps), if
-- nothing is in use. With the present format it only replaces the functions. It is one transaction.
--
-- All times `..._us` are microseconds of Unix time on the database's clock (clock_timestamp()).
-- There are no foreign keys: each would cost a trigger at every ask, and only the functions here
-- write, each request together with its parts.

BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL search_path = pg_catalog, pg_temp; -- whatever the role has in its own

DO $do$ BEGIN
PERFORM pg_catalog.pg_advisory_xact_lock(7161685046); -- one at a time
-- The owner of a schema can replace all that is in it, which would then run with the rights of its
-- callers: no other role's schema is filled, but for a superuser's.
IF EXISTS (SELECT FROM pg_catalog.pg_namespace AS n
           JOIN pg_catalog.pg_database AS b ON b.datname = pg_catalog.current_database()
           JOIN pg_catalog.pg_roles AS r -- 6171: pg_database_owner
                ON r.oid = CASE n.nspowner WHEN 6171 THEN b.datdba ELSE n.nspowner END
           WHERE n.nspname = 'lockkeeper' AND r.rolname <> current_user AND NOT r.rolsuper) THEN
    RAISE EXCEPTION USING ERRCODE = 'LK077', MESSAGE = (
        SELECT pg_catalog.format('the schema lockkeeper belongs to %s, and this role is %s',
                                 pg_catalog.pg_get_userbyid(n.nspowner), current_user)
        FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'lockkeeper'),
        HINT = 'Run this as its owner (SET ROLE), or make it your own: ALTER SCHEMA lockkeeper '
               'OWNER TO, or DROP SCHEMA.';
END IF;
IF pg_catalog.to_regclass('lockkeeper.meta') IS NOT NULL THEN
    RETURN; -- it exists
END IF;

IF pg_catalog.to_regnamespace('lockkeeper') IS NULL THEN
    CREATE SCHEMA lockkeeper;
END IF;

-- One row about the store itself.
CREATE TABLE lockkeeper.meta (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    format         integer NOT NULL, -- of these tables and functions
    live_max             bigint NOT NULL DEFAULT 0, -- R22; 0: unbounded
    live_per_owner_max   bigint NOT NULL DEFAULT 0,
    live_per_root_max    bigint NOT NULL DEFAULT 0,
    waiters_per_path_max bigint NOT NULL DEFAULT 0,
    is_bounded boolean NOT NULL GENERATED ALWAYS AS
        (live_max + live_per_owner_max + live_per_root_max + waiters_per_path_max > 0) STORED,
    events_max       bigint NOT NULL DEFAULT 0, -- R21: kept at all times; 0: only while watched
    watched_until_us bigint NOT NULL DEFAULT 0, -- R21: a client watches, until then
    last_event       bigint NOT NULL DEFAULT 0  -- R21: the last number drawn
) WITH (fillfactor = 10);

-- R11: the server start that the store knows. The table is UNLOGGED, so a crash empties it, which
-- pg_postmaster_start_time() does not show if the server recovers by itself. So does the promotion
-- of a standby. An orderly restart leaves the row of the former start.
CREATE UNLOGGED TABLE lockkeeper.awake (
    server_start timestamptz PRIMARY KEY
);

-- R4: the last number drawn for a ticket or token, kept at the clock. Roles without USAGE on the
-- schema cannot reach it.
CREATE SEQUENCE lockkeeper.draws;
GRANT SELECT, USAGE, UPDATE ON SEQUENCE lockkeeper.draws TO public;

-- A root is the first segment of paths. A row says what holds for all requests below it. Decisions
-- about one root follow each other (20_transactions); different roots never wait for each other.
CREATE TABLE lockkeeper.roots (
    root        text COLLATE "C" PRIMARY KEY,
    due_us      bigint  NOT NULL, -- no deadline of a request here is earlier
    has_waiting boolean NOT NULL DEFAULT false, -- false: no request waits below it
    awaited_us  bigint  NOT NULL DEFAULT 0, -- until then a worker may be waiting for work here, or
    awaited_by  text[] COLLATE "C" NOT NULL DEFAULT '{}', -- in these roots, whose items need it
    contended_us bigint NOT NULL DEFAULT 0 -- until then its lock is likely to be contended
) WITH (fillfactor = 50);
CREATE INDEX roots_by_due ON lockkeeper.roots (due_us);

-- Every live request: leases and waiting ones. Past its deadline a request is dead, swept or not.
CREATE TABLE lockkeeper.requests (
    id           bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, -- of an ask: its first ticket
    identity     bytea,             -- R3: a hash of owner and paths; NULL: a claim has none
    owner        text COLLATE "C" NOT NULL,
    note         text    NOT NULL,
    held         boolean NOT NULL,  -- else it waits
    revoked      boolean NOT NULL DEFAULT false, -- R12: held to its deadline, not renewable
    attended     boolean NOT NULL,  -- R10: its client was blocked when it last asked
    fixed        boolean NOT NULL,  -- R11: the deadline came from `until`
    ticket       bigint  NOT NULL,  -- R4
    token        bigint  NOT NULL,  -- R4; 0 while waiting
    ttl_ms       bigint  NOT NULL,
    deadline_us  bigint  NOT NULL,
    wants_value  boolean NOT NULL,  -- R15: its values are in doubt when it perishes
    is_claim     boolean NOT NULL DEFAULT false, -- R16: of the item at its first path
    grace_us     bigint  NOT NULL DEFAULT 0, -- R11: the deadline that a restart has set; while it
                                             -- is the deadline still, no other restart sets one
    root         text COLLATE "C" NOT NULL, -- the first, in byte order, of
    roots        text[] COLLATE "C" NOT NULL -- all of its roots
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX requests_by_identity ON lockkeeper.requests (identity) WHERE identity IS NOT NULL;
CREATE INDEX requests_by_owner ON lockkeeper.requests (owner);
CREATE INDEX requests_by_deadline ON lockkeeper.requests (root, deadline_us);
CREATE INDEX requests_spanning ON lockkeeper.requests (deadline_us) WHERE cardinality(roots) > 1;
CREATE INDEX requests_waiting ON lockkeeper.requests (root, ticket) WHERE NOT held;
CREATE INDEX requests_waiting_by_owner ON lockkeeper.requests (owner) WHERE NOT held;

-- The paths of each request, in the order in which they were asked for.
CREATE TABLE lockkeeper.parts (
    request    bigint  NOT NULL,
    position   integer NOT NULL,
    path       text COLLATE "C" NOT NULL,
    held       boolean NOT NULL, -- as its request is
    ticket     bigint  NOT NULL, -- the same
    unit_limit integer NOT NULL, -- R2 limit; 0: none
    units      integer NOT NULL, -- R7c: what it counts; 0: it is exclusive
    PRIMARY KEY (request, position)
);
-- What is held at a path, and the head of what waits there, are found without reading the rest.
CREATE INDEX parts_by_path ON lockkeeper.parts (path, held, ticket, units, unit_limit);

-- R15: the value kept at a path.
CREATE TABLE lockkeeper."values" (
    path     text COLLATE "C" PRIMARY KEY,
    in_doubt boolean NOT NULL, -- its last holder perished; what it describes may be half done
    bytes    bytea   NOT NULL
);

-- R16: every queue that an item was ever pushed to, and its counters. Claims and their ends are
-- counted with each item first, and here after the item is gone and its last claim is forgotten
-- (`ended`): so workers do not wait for each other to count.
CREATE TABLE lockkeeper.queue_counts (
    path       text COLLATE "C" PRIMARY KEY,
    pushed     bigint NOT NULL DEFAULT 0,
    duplicates bigint NOT NULL DEFAULT 0, -- pushes of items that existed
    claims     bigint NOT NULL DEFAULT 0,
    steals     bigint NOT NULL DEFAULT 0, -- claims of items whose former claim had perished
    done       bigint NOT NULL DEFAULT 0,
    retried    bigint NOT NULL DEFAULT 0,
    parked     bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- R16: work. A claimed item has a request at queue/id.
CREATE TABLE lockkeeper.items (
    number       bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    queue        text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    sequence     bigint  NOT NULL, -- in its queue: the smaller, the older
    priority     smallint NOT NULL DEFAULT 0, -- the greater, the earlier it is claimed
    state        text    NOT NULL CHECK (state IN ('ready', 'delayed', 'claimed', 'parked',
                                                  'cancelled', 'again', 'done')),
    -- Of a delayed item, or one that was pushed again: when it is ready. Of a ready one: since when; 0:
    -- since it was pushed. Of one that is done: when it is forgotten.
    due_us       bigint  NOT NULL,
    attempts     integer NOT NULL DEFAULT 0, -- claims so far
    was_lost     boolean NOT NULL DEFAULT false, -- the last claim perished: the next is a steal
    claim        bigint  NOT NULL DEFAULT 0, -- the request that has it; 0: none
    ask_number   bigint  NOT NULL DEFAULT 0, -- R3, of that claim
    max_attempts integer NOT NULL DEFAULT 0, -- of that claim; 0: no maximum
    need_paths   text[] COLLATE "C" NOT NULL, -- further parts of a claim
    need_limits  integer[] NOT NULL,
    need_units   integer[] NOT NULL, -- as in parts; -1: exclusive and strict
    need_roots   text[] COLLATE "C" NOT NULL,
    claims       integer NOT NULL DEFAULT 0, -- counted
    steals       integer NOT NULL DEFAULT 0, -- counted
    last_exit    integer, -- of the last retry that gave a reason; NULL: it gave no code
    last_error   bytea,   -- the same: its text, of any bytes; NULL: it gave none
    need_group   bytea,   -- of those in its queue that need the same; NULL: it needs nothing
    follows      boolean NOT NULL DEFAULT false, -- while ready: another one of its group is before it
    is_head      boolean NOT NULL DEFAULT false, -- of its strict needs: see `heads`
    keep_ms      bigint  NOT NULL DEFAULT 0, -- for how long, once it is done; 0: not at all
    progress     bytea    -- of its last claim, of any bytes; NULL: it told none
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX items_by_id ON lockkeeper.items (queue, id);
CREATE INDEX items_ready ON lockkeeper.items (queue, follows, priority DESC, sequence)
    WHERE state = 'ready';
CREATE INDEX items_by_need ON lockkeeper.items (need_group, follows, priority DESC, sequence)
    WHERE state = 'ready' AND need_group IS NOT NULL;
CREATE INDEX items_delayed ON lockkeeper.items (queue, due_us) WHERE state = 'delayed';
CREATE INDEX items_parked ON lockkeeper.items (queue, sequence) WHERE state = 'parked';
CREATE INDEX items_done ON lockkeeper.items (due_us) WHERE state = 'done';

-- R16, strict order: the items that are the heads of their strict needs, and so keep others from
-- being claimed. It has a row of each need.
CREATE TABLE lockkeeper.heads (
    queue      text COLLATE "C" NOT NULL,
    path       text COLLATE "C" NOT NULL, -- of the need
    item       bigint NOT NULL,
    need_group bytea  NOT NULL, -- of the item
    PRIMARY KEY (queue, path)
);

-- The values of items that have one, and the results of those that are done; in a table of their
-- own, so that a claim does not rewrite them.
CREATE TABLE lockkeeper.item_values (
    item  bigint PRIMARY KEY,
    bytes bytea NOT NULL
);

-- R17: rows of the owner's tables that are done, and still match their queue's query.
CREATE TABLE lockkeeper.done_rows (
    queue text COLLATE "C" NOT NULL,
    id    text COLLATE "C" NOT NULL, -- as items.id
    PRIMARY KEY (queue, id)
);

-- R3: tokens that a release has ended, for a repeated call whose answer was lost; five minutes.
CREATE TABLE lockkeeper.ended (
    token    bigint NOT NULL,
    identity bytea  NOT NULL, -- of the call that named it; of another, the number of its item
    ended_us bigint NOT NULL,
    queue    text COLLATE "C", -- R16: of an item that is done, and its counters
    claims   integer,
    steals   integer,
    PRIMARY KEY (token, identity)
);
CREATE INDEX ended_by_age ON lockkeeper.ended (ended_us);

-- R12: the requests that administrators have broken, and why.
CREATE TABLE lockkeeper.audit (
    id        bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at_us     bigint NOT NULL,
    broken_by text   NOT NULL,
    reason    text   NOT NULL,
    path      text COLLATE "C" NOT NULL,
    owner     text   NOT NULL,
    note      text   NOT NULL,
    ticket    bigint NOT NULL,
    token     bigint NOT NULL -- 0: it was waiting
);

-- R21: events, while a client watches or the bounds keep some.
CREATE TABLE lockkeeper.events (
    sequence    bigint  PRIMARY KEY, -- in the order in which they were committed, without gaps
    at_us       bigint  NOT NULL,
    event       text    NOT NULL,
    refusal     text    NOT NULL, -- the outcome of a refused ask; else empty
    parts       text    NOT NULL, -- parts (R2), with a space between
    owner       text    NOT NULL, -- empty: none
    note        text    NOT NULL,
    ticket      bigint  NOT NULL,
    token       bigint  NOT NULL,
    attempt     integer NOT NULL, -- of an item
    is_of_item  boolean NOT NULL, -- the first path is QUEUE/ID
    is_deletion boolean NOT NULL, -- the value is gone
    broken_by   text    NOT NULL DEFAULT '', -- R12: of a break: by whom, and why; else empty
    reason      text    NOT NULL DEFAULT ''
);

INSERT INTO lockkeeper.meta (format) VALUES (1);
INSERT INTO lockkeeper.awake (server_start) VALUES (pg_postmaster_start_time());

END $do$;
