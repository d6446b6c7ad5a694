#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: stores_table.sh LK URL
#
# What the table of docs/stores.md says of the store's kind, beside what lk doctor says of that store. Prints TAP.
. "${0%/*}/../tap.sh"
lk=$1 url=$2
page=${0%/*}/../../docs/stores.md
unset LK_OWNER LK_TOKEN LK_STORE

row=$(sed -n '/^## What each can do/,/^## /p' "$page" | grep -F "| \`${url%%:*}:")
column() { # N, where 1 is the store
    printf '%s\n' "$row" | cut -d '|' -f "$(($1 + 1))" | sed 's/^ //; s/ $//'
}

# The N-th column begins with `yes` if the store has the capability, else with `no`.
says() { # N CAPABILITY
    expected=no
    ! printf '%s\n' $capabilities | grep -qx "$2" || expected=yes
    case $(column "$1") in
    "$expected"*) ;;
    *)
        echo "the page says $(column "$1"), lk doctor $expected"
        return 1
        ;;
    esac
}

survives() {
    case "$(column 3) $capabilities" in
    nothing*' persistent'*) return 1 ;;
    nothing*) ;;
    *' persistent'*) ;;
    *) return 1 ;;
    esac
}

ok 'a store is made' "$lk" -S "$url" run 'made?limit=1' -- true # one that is not there can do nothing
capabilities=$("$lk" -S "$url" doctor --json | jq -r .report.capabilities)
ok 'the page has a row for it' [ -n "$row" ]
ok 'what survives' survives
ok 'the order of arrival' says 4 queue
ok 'events' says 5 events
ok 'limits' says 6 limits
ok 'work in tables' says 7 table
finish
