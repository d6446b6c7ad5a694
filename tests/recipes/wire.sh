#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first commands of docs/wire.md, played: the same request by each protocol.
. "${0%/*}/harness.sh"
page=$docs/wire.md

recipe 'by redis-cli'
serve --listen 127.0.0.1:0 --http none --ephemeral
block 'The protocols of the service' '' | sed 's/^\$ //' >"$here/lines"
sed -n "/^redis-cli/s/7420/$(sed 's/.*://' "$work/served")/p" "$here/lines" >"$here/first"
play sh -e "$here/first"
expect_code 0
grep -qx 'status granted' "$work/out" || complain 'no grant'
stop

recipe 'by curl'
serve --listen none --http 127.0.0.1:0 --ephemeral
block 'The protocols of the service' '' | sed 's/^\$ //' >"$here/lines"
sed "/^redis-cli/d; s|localhost:7421|$(cat "$work/served")|" "$here/lines" >"$here/second"
play sh -e "$here/second"
expect_code 0
expect '[.status, .owner]' '["granted","b17"]'
stop
end_recipe
finish
