#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: models.sh SOURCE_DIRECTORY
#
# Checks the protocols of src/canal in all interleavings with spin, and that a protocol which leaves
# out a step that matters is found wrong: a model that cannot fail says nothing.
. "${0%/*}/../tap.sh"
source=$1
cd "$work" || exit 70

optimise=-O2

# -E: a dead process stays blocked for ever, which is no error.
check() { # MODEL OPTION...
    model=$1
    shift
    spin "$@" -a "$model" && cc $optimise -w -DSAFETY -DCOLLAPSE -DNOFAIR -o pan pan.c &&
        ./pan -m500000 -n -E >said 2>&1
    grep 'states, stored' said | sed 's/^/#/'
    ! grep -q 'max search depth too small\|search was not completed\|out of memory' said
}

expect() { # right|wrong WHAT MODEL OPTION...
    wanted=$1
    what=$2
    shift 2
    if check "$@" && grep -q 'errors: 0$' said; then
        found=right
    elif grep -q 'assertion violated' said; then
        found=wrong
    else
        found=nothing
    fi
    echo "found $found" >>said
    [ "$found" = "$wanted" ]
    report $? "$what: $wanted"
}

without() { # NAME MODEL EXPRESSION: a model that lacks a step
    sed "$3" "$2" >"$1.pml"
    ! cmp -s "$1.pml" "$2" || echo "# $1: nothing was taken out"
}

expect right "the count, two holders, two deaths" "$source/count.pml" \
    -DROUNDS=1 -DREPAIRERS=1 -DDEATHS=2
expect right "the keys, two that enter one and one that takes a slot" "$source/keys.pml" \
    -DDEATHS=0 -DREPAIRERS=0 -DTRIES=1
expect right "the keys, two that enter one, one death" "$source/keys.pml" \
    -DNO_THIEF -DDEATHS=1 -DREPAIRERS=1

without unsettled "$source/count.pml" 's/^                settle();$/                skip;/'
expect wrong "the count, when no process settles before overwriting" unsettled.pml \
    -DROUNDS=2 -DREPAIRERS=1 -DDEATHS=1
without hasty "$source/count.pml" \
    's/:: found != stamp -> break/:: false -> break/'
expect wrong "the count, when a repairer does not look twice" hasty.pml \
    -DROUNDS=1 -DREPAIRERS=2 -DDEATHS=2
without ajar "$source/keys.pml" 's/^        settle_gate();$/        skip;/'
expect wrong "the keys, when the last that passed the gate may not be seen" ajar.pml \
    -DNO_THIEF -DDEATHS=1 -DREPAIRERS=1

# What each memory order is for, on a machine that reorders all that it may (orders.pml). The models are
# small: what takes time is compiling them.
optimise=-O0
expect right "orders: the count needs swaps with acquire and release, and no barrier" \
    "$source/orders.pml" -DCOUNT -DSWAP_FENCE=0
expect wrong "orders: the count, when the swap is no release" "$source/orders.pml" \
    -DCOUNT -DSWAP_FENCE=0 -DSWAP_RELEASE=0
expect wrong "orders: the count, when the word is read without acquire" "$source/orders.pml" \
    -DCOUNT -DSWAP_FENCE=0 -DREAD_ACQUIRE=0
expect right "orders: a key is compared while its slot is given away" "$source/orders.pml" -DKEY
expect wrong "orders: the key, when the swap is no full barrier" "$source/orders.pml" \
    -DKEY -DSWAP_FENCE=0
expect wrong "orders: the key, without the fence after comparing" "$source/orders.pml" \
    -DKEY -DKEY_FENCE=0
expect right "orders: a release and a waiter" "$source/orders.pml" -DWAIT
expect wrong "orders: the waiter, when the swap is no full barrier" "$source/orders.pml" \
    -DWAIT -DSWAP_FENCE=0
expect wrong "orders: the waiter, without its fence" "$source/orders.pml" -DWAIT -DWAIT_FENCE=0

finish
