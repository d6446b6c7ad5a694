-- SPDX-License-Identifier: Apache-2.0
-- Public functions for values (R15, docs/sql.md), as 92_public_locks.

-- Not STABLE: in a statement that has taken the lock it reads what the former holder has committed.
CREATE OR REPLACE FUNCTION lockkeeper.get(path text)
RETURNS TABLE (value bytea, in_doubt boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT v.bytes, v.in_doubt
    FROM lockkeeper.lk_value(lockkeeper.path_of(get.path)) AS v WHERE v.bytes IS NOT NULL;
END $$;
COMMENT ON FUNCTION lockkeeper.get(text) IS 'The value of a path: a row, or none.';

-- `value` NULL: deletes it.
CREATE OR REPLACE FUNCTION lockkeeper.put_or_delete(
    path text, value bytea, owner text, token bigint, or_fail boolean) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    the_path text := lockkeeper.path_of(path);
    above text[] := lockkeeper.path_and_above(the_path);
    the_owner text := '';
    answer lockkeeper.answer;
BEGIN
    PERFORM lockkeeper.check_value(value);
    IF owner IS NOT NULL OR token IS NOT NULL THEN
        the_owner := lockkeeper.owner_or_found(owner, above, token, lockkeeper.now_us());
    END IF;
    answer := lockkeeper.put_value(the_path, above, split_part(the_path, '/', 1), the_owner,
                                   coalesce(token, 0), value);
    IF or_fail AND answer.outcome <> 'ok' THEN
        PERFORM lockkeeper.refuse(answer.outcome, answer.sentence);
    END IF;
    RETURN answer.outcome;
END $$;

CREATE OR REPLACE FUNCTION lockkeeper.put(
    path text, value bytea, owner text DEFAULT NULL, token bigint DEFAULT NULL,
    or_fail boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF value IS NULL THEN
        PERFORM lockkeeper.refuse('invalid', 'R15: a value is not NULL; del() deletes one');
    END IF;
    RETURN lockkeeper.put_or_delete(path, value, owner, token, or_fail);
END $$;
COMMENT ON FUNCTION lockkeeper.put(text, bytea, text, bigint, boolean)
    IS 'Writes the value of a path; answers ok, busy or lost.';

CREATE OR REPLACE FUNCTION lockkeeper.put(
    path text, value text, owner text DEFAULT NULL, token bigint DEFAULT NULL,
    or_fail boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN lockkeeper.put(path, pg_catalog.convert_to(value, 'UTF8'), owner, token, or_fail);
END $$;
COMMENT ON FUNCTION lockkeeper.put(text, text, text, bigint, boolean)
    IS 'Writes the value of a path; answers ok, busy or lost.';

CREATE OR REPLACE FUNCTION lockkeeper.del(
    path text, owner text DEFAULT NULL, token bigint DEFAULT NULL, or_fail boolean DEFAULT true)
RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN lockkeeper.put_or_delete(path, NULL, owner, token, or_fail);
END $$;
COMMENT ON FUNCTION lockkeeper.del(text, text, bigint, boolean)
    IS 'Deletes the value of a path; answers ok, busy or lost.';
