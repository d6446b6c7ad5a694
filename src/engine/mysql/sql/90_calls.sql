-- SPDX-License-Identifier: Apache-2.0
-- What the engine calls: the same procedures, arguments and columns, in the same order, as in
-- PostgreSQL (src/engine/postgresql/sql/90_calls.sql, 80_look.sql), each one decision that it commits
-- itself. An answer is exactly one result set, with one row where PostgreSQL answers INOUT
-- arguments; lk_tick and lk_sweep answer none.
--
-- Text goes in and out as UTF-8 bytes (VARBINARY), values as BLOB, booleans as 1 and 0.
--
--   A list that goes in is words with one space between, 'db/t1 pool' or '0 10'; the empty text is
--   the empty list. Paths and roots have no white space (R1).
--   A list that comes out is a flat JSON array, ["db/t1","worker","note",1700000000000000,1,250000];
--   strings with JSON's escapes, numbers and 0/1 as such.
--   Where PostgreSQL is given `above`, nothing is given here.
--
-- CALL inside a transaction is refused by the server (error 1568) and leaves that alone.
-- 1205 and 1213 (another one was in the way) undo everything: call again.

DELIMITER //

-- R3, R7-R10, R13. `sorted_paths`: in byte order; `roots` in byte order; `until_us` 0: none;
-- `note` NULL: as it is. Answers: outcome, sentence, request, ticket, token, new_ttl_ms, left_us,
-- in_use, in_the_way, created, fixed, value, in_doubt, blockers (six fields each), cycle, look_us.
CREATE PROCEDURE lk_ask(
    asker VARBINARY(128), paths VARBINARY(8207), limits VARBINARY(255), counts VARBINARY(255),
    sorted_paths VARBINARY(8207), roots VARBINARY(4095), style VARBINARY(8), ttl_ms BIGINT,
    until_us BIGINT, note VARBINARY(255), blockers_max INT, wants_value BOOLEAN)
//
-- R11. Answers: outcome, sentence, ticket, token, new_ttl_ms, left_us, fixed.
CREATE PROCEDURE lk_renew(
    asker VARBINARY(128), paths VARBINARY(8207), sorted_paths VARBINARY(8207),
    roots VARBINARY(4095), the_token BIGINT, ttl_ms BIGINT)
//
-- R12, R15. `value` NULL: none is put at `path`, the first one. Answers: outcome, sentence.
CREATE PROCEDURE lk_release(
    asker VARBINARY(128), path VARBINARY(512), sorted_paths VARBINARY(8207),
    roots VARBINARY(4095), the_token BIGINT, value MEDIUMBLOB)
//
-- R12. `asker` empty: anybody's. Answers: broken.
CREATE PROCEDURE lk_break(
    path VARBINARY(512), root VARBINARY(255), asker VARBINARY(128), at_once BOOLEAN,
    broken_by VARBINARY(255), why VARBINARY(1024))
//
-- R15. `value` NULL: deletes. Answers: outcome, sentence.
CREATE PROCEDURE lk_put(
    path VARBINARY(512), root VARBINARY(255), asker VARBINARY(128), the_token BIGINT,
    value MEDIUMBLOB)
//
-- R16. The needs as parts, and their roots. Answers: added.
CREATE PROCEDURE lk_push(
    queue VARBINARY(512), id VARBINARY(255), root VARBINARY(255), value MEDIUMBLOB,
    delay_ms BIGINT, needs VARBINARY(8207), limits VARBINARY(255), counts VARBINARY(255),
    roots VARBINARY(4095))
//
-- R16. Answers: outcome, sentence, id, token, attempt, stolen, new_ttl_ms, left_us, value, look_us,
-- has_held.
CREATE PROCEDURE lk_take(
    queue VARBINARY(512), root VARBINARY(255), asker VARBINARY(128), ttl_ms BIGINT,
    max_attempts INT UNSIGNED, ask_number BIGINT, note VARBINARY(255))
//
-- R16. `delay_ms` NULL: done; else given back. Answers: outcome, sentence.
CREATE PROCEDURE lk_finish(
    queue VARBINARY(512), id VARBINARY(255), root VARBINARY(255), asker VARBINARY(128),
    the_token BIGINT, delay_ms BIGINT)
//
-- R16. Answers: outcome, sentence.
CREATE PROCEDURE lk_unpark(queue VARBINARY(512), id VARBINARY(255), root VARBINARY(255))
//
-- R11: what is overdue below a root (NULL: anywhere) takes effect.
CREATE PROCEDURE lk_tick(the_root VARBINARY(255))
//
-- Sweeping: whoever comes by does a little of it now and then, after his own call.
CREATE PROCEDURE lk_sweep()
//
-- Readings, as in PostgreSQL's 80_look.sql: any number of rows, with its columns.
CREATE PROCEDURE lk_value(the_path VARBINARY(512))
//
CREATE PROCEDURE lk_list(prefix VARBINARY(512)) -- NULL: everything
//
CREATE PROCEDURE lk_show(the_path VARBINARY(512))
//
CREATE PROCEDURE lk_audit(prefix VARBINARY(512))
//
CREATE PROCEDURE lk_items_of(the_queue VARBINARY(512))
//
CREATE PROCEDURE lk_stats(the_queue VARBINARY(512))
//
DELIMITER ;
