-- SPDX-License-Identifier: Apache-2.0
-- The end of what 10_tables begins.

-- Grants the tables that a step has added to the roles that may use `requests`, unless they have
-- rights of their own.
DO $do$
DECLARE
    new record;
BEGIN
    FOR new IN SELECT c.oid::regclass AS name, a.grantee, a.privilege_type
               FROM pg_catalog.pg_class AS c
               CROSS JOIN pg_catalog.pg_class AS k
               CROSS JOIN LATERAL pg_catalog.aclexplode(k.relacl) AS a
               WHERE c.relnamespace = 'lockkeeper'::regnamespace AND c.relkind IN ('r', 'v')
                 AND c.relacl IS NULL AND k.oid = 'lockkeeper.requests'::regclass
                 AND a.grantee <> k.relowner
    LOOP
        EXECUTE 'GRANT ' || new.privilege_type || ' ON ' || new.name || ' TO '
            || CASE WHEN new.grantee = 0 THEN 'public'
                    ELSE quote_ident(pg_catalog.pg_get_userbyid(new.grantee)) END;
    END LOOP;
END $do$;

COMMIT;
