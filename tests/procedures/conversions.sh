# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Waiting requests that are converted (R9) while they lie in a cycle of owners (R13) over two roots that
# no decision locks together. Of such a cycle exactly one request gives way: the one with the greatest
# ticket, converted or not. A server's script reads this after its harness, and then defines
#
#   session             a client of the server that answers each statement at once
#   rename_sql NAME     the SQL that makes the request of `other` one of a-NAME at right-NAME/x
#   hold_sql NAME       the SQL of a statement whose lock stops a withdrawal of b-NAME's request
#   blocked_sql         the SQL that counts the sessions that wait for a lock of the server
#
# and calls play_conversions.
#
# And of a grant that comes late, play_delayed_grant: a release cannot grant a batch while another transaction has
# the batch's other root locked. The batch's next ask finds it waiting and grantable: the grant comes first,
# and what that ask asks for is a conversion of a lease.

# a-NAME waits for b-NAME at right-NAME/x, with the OPTIONS; b-NAME waits at left-NAME/x for a-NAME, with
# the greater ticket. Neither ask has seen the other one: a's request joins the queue like any other.
close_unseen() { # NAME [OPTION...]
    name=$1
    shift
    says 0 '*' acquire --try --ttl 1h --owner "a-$name" "left-$name/x" &&
        says 0 '*' acquire --try --ttl 1h --owner "b-$name" "right-$name/x" &&
        says 75 '*' acquire --queue --ttl 1h --owner other "$@" "right-$name/x" &&
        says 75 '*' acquire --queue --ttl 1h --owner "b-$name" "left-$name/x" &&
        sql "$(rename_sql "$name")"
}

ask_a() { # NAME [OPTION...]
    name=$1
    shift
    "$lk" acquire --queue --ttl 1h --owner "a-$name" "$@" "right-$name/x"
}

ask_b() { # NAME
    "$lk" acquire --queue --ttl 1h --owner "b-$1" "left-$1/x"
}

ends() { # CODE COMMAND...
    expected=$1
    shift
    "$@" >"$work/out" 2>"$work/err"
    [ $? -eq "$expected" ]
}

# In another session, until end_hold: a withdrawal of b-NAME's request stops short of its commit.
begin_hold() { # NAME
    mkfifo "$work/fifo"
    session <"$work/fifo" >"$work/held" 2>&1 &
    holder=$!
    exec 9>"$work/fifo"
    echo "BEGIN; $(hold_sql "$1"); SELECT 'it holds';" >&9
    until grep -q 'it holds' "$work/held"; do
        sleep 0.02
    done
}

end_hold() {
    echo 'COMMIT;' >&9
    exec 9>&-
    wait "$holder"
    rm "$work/fifo"
}

weaker_beside_a_withdrawal() {
    close_unseen weaker-beside && begin_hold weaker-beside || return 1
    ask_b weaker-beside >"$work/said-b" 2>&1 9>&- &
    b=$!
    comes_to "$(blocked_sql)" 1
    ask_a weaker-beside --shared >"$work/said-a" 2>&1
    code_a=$?
    end_hold
    wait "$b"
    code_b=$?
    echo "a: $code_a, b: $code_b" >"$work/err"
    [ "$code_a" -eq 75 ] && [ "$code_b" -eq 76 ]
}

# b has looked before a drew its new ticket, which is the greatest. Whether it is a that still finds
# the cycle, or b, is a matter of the order in which the two are let go.
stronger_beside_a_withdrawal() {
    close_unseen stronger-beside --shared && begin_hold stronger-beside || return 1
    ask_b stronger-beside >"$work/said-b" 2>&1 9>&- &
    b=$!
    comes_to "$(blocked_sql)" 1
    {
        ask_a stronger-beside
        echo $? >"$work/code-a"
    } >"$work/said-a" 2>&1 9>&- &
    a=$!
    until [ -s "$work/code-a" ] || is "$(blocked_sql)" 2; do
        sleep 0.2 # MariaDB renews what it tells of locks only if it has not been asked for 0.1 s
    done
    end_hold
    wait "$a" "$b"
    code_b=$?
    code_a=$(cat "$work/code-a")
    echo "a: $code_a, b: $code_b" >"$work/err"
    [ $((code_a + code_b)) -eq $((75 + 76)) ]
}

play_conversions() {
    ok 'a cycle is closed by two asks that do not see each other' close_unseen weaker
    ok 'one that asks for less waits on, for it has the smaller ticket' ends 75 ask_a weaker --shared
    ok 'and the other one gives way' ends 76 ask_b weaker
    ok 'once' ends 75 ask_a weaker --shared

    ok 'in another cycle' close_unseen stronger --shared
    ok 'one that asks for more has the greatest ticket now, and gives way' ends 76 ask_a stronger
    ok 'and the other one waits on' ends 75 ask_b stronger

    ok 'one that asks for less while the other one gives way waits on' weaker_beside_a_withdrawal
    ok 'of one that asks for more and the other one, one gives way' stronger_beside_a_withdrawal
}

# ---- a delayed grant ----

# `me` waits for r/a and a place in pool/p, which `other` blocks, and could be granted
# both after this.
overlook_a_grant() {
    says 0 '*' acquire --try --ttl 1h --owner other r/a &&
        says 75 '*' acquire --queue --ttl 1h --owner me r/a 'pool/p?limit=3' &&
        keep_root pool &&
        says 0 '*' release --owner other r/a &&
        let_go &&
        is "SELECT DISTINCT 'waits' FROM $requests WHERE owner = 'me' AND NOT held" waits
}

play_delayed_grant() {
    says 0 '*' acquire --try --ttl 1h --owner reader 'pool?shared'
    report $? 'a reader holds the pool'
    overlook_a_grant
    report $? 'a release leaves a batch waiting whose other root is locked'
    says 75 '*' acquire --try --ttl 1h --owner me 'r/a?shared' pool/p
    report $? 'a try for more than can be had is BUSY, though less is granted meanwhile'
    is "SELECT DISTINCT 'holds' FROM $requests WHERE owner = 'me' AND held" holds &&
        says 75 '*' acquire --try --owner other 'r/a?shared' &&
        says 0 '*' acquire --try --owner other 'pool/p?limit=3&units=2' &&
        says 0 '*' release --owner other 'pool/p'
    report $? 'what it waited for is held, as it was asked for'
    says 0 '*' release --owner me r/a pool/p &&
        says 0 '*' release --owner reader pool
    report $? 'all of it is released'

    # A younger waiter blocks an ask behind it in the queue, but not a lease.
    overlook_a_grant && says 75 '*' acquire --queue --ttl 1h --owner younger r
    report $? 'the same again, and a younger waiter'
    says 0 '*' acquire --try --ttl 1h --owner me 'r/a?shared' pool/p
    report $? 'a try for more that can be had is granted'
    says 75 '*' acquire --try --owner other 'pool/p?limit=3'
    report $? 'and held, as it was asked for'
}
