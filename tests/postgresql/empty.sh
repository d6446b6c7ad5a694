#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh conformance --empty empty.sh ...
#
# Leaves the store in the schema $LK_TEST_NAME as it was made.
set -eu
psql --no-psqlrc -q -h "$LK_TEST_SERVER" -U postgres postgres -v ON_ERROR_STOP=1 \
    -v "schema=$LK_TEST_NAME" >/dev/null <<'END'
SELECT format('TRUNCATE %s', string_agg(format('%I.%I', schemaname, tablename), ', '))
FROM pg_tables WHERE schemaname = :'schema' AND tablename <> 'meta'
\gexec
UPDATE :"schema".meta SET live_max = DEFAULT, live_per_owner_max = DEFAULT,
    live_per_root_max = DEFAULT, waiters_per_path_max = DEFAULT, events_max = DEFAULT,
    watched_until_us = DEFAULT;
END
