#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh conformance --empty empty.sh ...
#
# Leaves the store in the database $LK_TEST_NAME as it was made.
set -eu
mariadb --no-defaults -S "$LK_TEST_SERVER/socket" -u root "$LK_TEST_NAME" <<'END'
DELETE FROM lk_roots;
DELETE FROM lk_requests;
DELETE FROM lk_values;
DELETE FROM lk_queues;
DELETE FROM lk_items;
DELETE FROM lk_groups;
DELETE FROM lk_heads;
DELETE FROM lk_item_values;
DELETE FROM lk_kept;
DELETE FROM lk_done_rows;
DELETE FROM lk_ended;
DELETE FROM lk_audits;
DELETE FROM lk_happenings;
UPDATE lk_meta SET live_max = DEFAULT, live_per_owner_max = DEFAULT, live_per_root_max = DEFAULT,
    waiters_per_path_max = DEFAULT, events_max = DEFAULT, watched_until_us = DEFAULT;
END
