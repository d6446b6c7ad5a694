-- SPDX-License-Identifier: Apache-2.0
-- A script for psql that does something alone, or not at all:
--
--     psql -v ON_ERROR_STOP=1 -f deploy.sql shop
--
-- With autocommit, each statement takes effect at once. `or_fail` makes an error of a lock that
-- is not to be had, and the script ends with exit code 3. \gset keeps the token.
SELECT token FROM lockkeeper.acquire('deploy', ttl => '10 min', note => 'release 2.0', or_fail => true) \gset

CREATE TABLE IF NOT EXISTS releases (version text PRIMARY KEY, at timestamptz DEFAULT now());

-- What must happen only while the lease is held is one transaction with its end. If the lease is
-- lost, release() fails, and nothing of the transaction remains.
BEGIN;
INSERT INTO releases (version) VALUES ('2.0');
SELECT lockkeeper.release('deploy', token => :token);
COMMIT;
