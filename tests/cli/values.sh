#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk get, put and del, acquire --value, release --put and --put-file: values (R15).
. "${0%/*}/harness.sh"

scenario 'what is put is got'
lk put config/web on
expect_code 0
expect_out ''
expect_err ''
lk get config/web
expect_code 0
expect_out on
expect_err ''

scenario 'get --json names the path as it is normalised'
lk put config/web on --json
expect_keys status
expect .status '"ok"'
lk get /config/web/ --json
expect_code 0
expect_err ''
expect_keys 'status path value in_doubt'
expect '[.status, .path, .value, .in_doubt]' '["ok","config/web","on",false]'

scenario 'where there is no value'
lk get config
failure 1 'lk: NONE: *'
lk get -q config
failure 1 ''
lk get config --json
expect_code 1
expect_err ''
expect_keys 'status error'
expect .status '"none"'

scenario 'a deleted value is gone, and deleting it again is no failure'
lk put config on
lk del config --json
expect_code 0
expect_keys status
expect .status '"ok"'
lk get config
expect_code 1
lk del config
expect_code 0
expect_out ''
expect_err ''

scenario 'an empty value is a value'
lk put config ''
expect_code 0
lk get config --json
expect_code 0
expect .value '""'

scenario 'a value that looks like an option'
lk put config -- -5
expect_code 0
lk get config
expect_out -5

scenario 'from stdin, byte by byte'
input 'a\0b\n'
lk put config -
expect_code 0
lk get config
printf 'a\0b\n' | cmp -s - "$work/out" || complain 'other bytes'
lk get config --json
expect .value '"a\u0000b\n"'

scenario 'what is not UTF-8 comes as base64, and as it is to people'
input '\377\000'
lk put config -
lk get config --json
expect_keys 'status path value_base64 in_doubt'
expect .value_base64 '"/wA="'
lk get config
printf '\377\000' | cmp -s - "$work/out" || complain 'other bytes'

scenario '64 KiB and not a byte more'
input '%065536d' 7
lk put config -
expect_code 0
lk get config
[ "$(tr -d '\n' <"$work/out" | wc -c)" -eq 65536 ] || complain 'another size'
input '%065537d' 7
lk put config -
failure 64 'lk: INVALID: *65536*(R15)'
lk get config --json
expect '.value | length' 65536

scenario 'a lease of another owner that covers the path refuses put and del, never get'
lk put db/t1 old
lk acquire db --owner ana
lk put db/t1 new
failure 75 'lk: BUSY: *'
lk put db/t1 new --json
expect_code 75
expect_err ''
expect .status '"busy"'
lk del db/t1 -E 9
expect_code 9
lk get db/t1
expect_out old
lk put db/t1 new --owner ana
expect_code 0

scenario 'a shared lease, or one below, refuses nothing'
lk acquire db/t1 --owner ana
lk acquire other?shared --owner ana
lk put db x
expect_code 0
lk put other x
expect_code 0

scenario 'with a token only while that lease covers the path'
lk acquire db --owner ana --json
token=$(field .token)
lk put db/t1 a --owner ana --token "$token"
expect_code 0
lk put db/t1 b --owner ana --token $((token + 1))
failure 78 'lk: LOST: *'
lk put db/t1 b --owner ben --token "$token" --json
expect_code 78
expect .status '"lost"'
lk put db2 b --owner ana --token "$token"
expect_code 78
lk release db --owner ana
lk del db/t1 --owner ana --token "$token"
expect_code 78
lk get db/t1
expect_out a

scenario 'the owner is the shell that holds the lease'
lk acquire db
lk put db x
expect_code 0
LK_OWNER=other
export LK_OWNER
lk put db y
expect_code 75

scenario 'the value comes with the grant'
lk put job one
lk acquire job --value
expect_code 0
expect_err ''
[ "$(sed -n 2p "$work/out")" = one ] || complain 'the second line is not the value'
[ "$(wc -l <"$work/out")" -eq 2 ] || complain 'expected two lines'
lk acquire job --value --json
expect '[.status, .value, .in_doubt]' '["granted","one",false]'
lk acquire job --json
expect 'has("value") or has("in_doubt")' false
lk acquire none --value
[ "$(sed -n 2p "$work/out")" = '' ] && [ "$(wc -l <"$work/out")" -eq 2 ] \
    || complain 'expected an empty second line'
lk acquire none --value --json
expect 'has("value") or has("in_doubt")' false

scenario 'a refusal does not return the value'
lk put job secret
lk acquire job --owner ana
lk acquire -n job --owner ben --value --json
expect_code 75
expect 'has("value")' false

scenario 'put and release in one exchange'
lk acquire job --owner ana --json
token=$(field .token)
lk release job --owner ana --token "$token" --put two --json
expect_code 0
expect .status '"ok"'
lk get job
expect_out two
lk ls
expect_out ''
lk put job three
lk release job --owner ana --token "$token" --put two
expect_code 0
lk get job
expect_out three

scenario 'a batch gets the values of all its paths, in their order'
lk put a one
lk put c three
lk acquire c b a --owner ana --value --json
expect_code 0
expect '[.paths, .value, .in_doubt, .values]' \
    '[["c","b","a"],"three",false,[{"value":"three","in_doubt":false},{},{"value":"one","in_doubt":false}]]'
lk acquire c b a --owner ana --value
[ "$(sed -n 2p "$work/out")" = three ] || complain "the second line is not the first path's value"
[ "$(wc -l <"$work/out")" -eq 2 ] || complain 'expected two lines'
lk acquire c b a --owner ana --json
expect 'has("values")' false

scenario 'several values are those of the paths, in their order'
lk acquire a b c --owner ana
lk release b a c --owner ana --put 'of b' --put=-
expect_code 0
lk get a
expect_out -
lk get b
expect_out 'of b'
lk get c
expect_code 1
lk acquire a b --owner ana
printf 'of a file' >"$work/value"
input 'of stdin'
lk release a b --owner ana --put-file "$work/value" --put-file -
expect_code 0
lk get a
expect_out 'of a file'
lk get b
expect_out 'of stdin'

scenario 'several values are written all or none'
lk acquire a 'b?shared' --owner ana
lk release a b --owner ana --put 1 --put 2
failure 78 'lk: LOST: *(R15)'
lk release a b --owner ana --put 1 --put 2 --put 3
failure 64 'lk: INVALID: more values than PARTs: *(R15)'
lk release a b --owner ana --put-file - --put-file -
failure 64 'lk: INVALID: --put-file: stdin can only be one of the values'
lk get a
expect_code 1
lk release a b --owner ana --put 1
expect_code 0
lk get a
expect_out 1

scenario 'all values of a batch are in doubt when it is broken now'
lk put a one
lk put b two
lk put c three
lk acquire a 'b?shared' c --owner ana --value
lk break a --reason gone --now
lk acquire c b a --owner ben --value --json
expect '[.in_doubt, (.values[] | .in_doubt)]' '[true,true,false,true]'
lk acquire c b a --owner ben --value
expect_code 0
[ "$(grep -c '^lk: in doubt: .* put the value of [ac]$' "$work/err")" -eq 2 ] \
    || complain 'expected a line for each of the two'

scenario 'a put with the release is what it says, also a dash'
lk acquire job
lk release job --put -
lk get job
expect_out -

scenario 'put from a file, or from stdin'
printf 'of a file\n' >"$work/value"
lk acquire job
lk release job --put-file "$work/value"
expect_code 0
lk get job
expect_out 'of a file'
lk acquire job
input 'of stdin\n'
lk release job --put-file -
expect_code 0
lk get job
expect_out 'of stdin'

scenario 'a file that cannot be read ends nothing'
lk acquire job --owner ana
lk release job --owner ana --put-file "$work/none"
failure 64 'lk: INVALID: cannot open *'
lk release job --owner ana --put-file "$work"
failure 64 'lk: INVALID: cannot read *'
lk release job --owner ana --put x --put-file "$work/none"
failure 64 'lk: INVALID: --put and --put-file contradict each other'
lk ls --json
expect .owner '"ana"'

scenario 'put with a release that is LOST writes nothing and ends nothing'
lk put t old
lk acquire 't?shared' --owner ana
lk release t --owner ana --put new
failure 78 'lk: LOST: *(R15)'
lk release t --owner ben --put new
expect_code 78
lk acquire u --owner ana --json
token=$(field .token)
lk release u --owner ana --token $((token + 1)) --put new
expect_code 78
lk ls --json
expect '[.path, .owner]' '["t","ana"]
["u","ana"]'
lk get t
expect_out old
lk get u
expect_code 1

scenario 'in doubt when a holder that had asked for it perishes, until a put'
lk put job one
lk acquire job --owner ana --value --ttl 60ms
expect_code 0
lk acquire -w 30 job --owner ben --value --json
expect_code 0
expect '[.value, .in_doubt]' '["one",true]'
lk get job --json
expect .in_doubt true
lk get job
expect_code 0
expect_out one
expect_err 'lk: in doubt: *'
lk get -q job
expect_err ''
lk acquire job --owner ben --value
expect_err 'lk: in doubt: *'
lk release job --owner ben --put two
lk get job --json
expect '[.value, .in_doubt]' '["two",false]'

scenario 'in doubt when it is broken now'
lk put job one
lk acquire job --owner ana --value
lk break job --reason gone
lk get job --json
expect .in_doubt false
lk break job --reason gone --now
lk get job --json
expect .in_doubt true
lk put job one
lk get job --json
expect .in_doubt false

scenario 'no doubt where the holder had not asked, or held it shared, or released'
lk put a one
lk put b one
lk put c one
lk acquire a --owner ana --ttl 60ms
lk acquire 'b?shared' --owner ana --value --ttl 60ms
lk acquire c --owner ana --value
lk release c --owner ana
lk acquire -w 30 a b --owner ben
expect_code 0
for path in a b c; do
    lk get "$path" --json
    expect .in_doubt false
done

scenario 'paths are checked before anything else'
lk get 'a//b'
failure 64 'lk: INVALID: *(R1)'
lk put 'a?shared' x
failure 64 'lk: INVALID: *(R1)'
lk del 'a b' --json
expect_code 64
expect .status '"invalid"'
lk put a
failure 64 'lk: INVALID: put needs PATH VALUE; *'
lk get a b
failure 64 'lk: INVALID: get: "b" is one argument too many; *'

scenario 'a value in a store that cannot be reached'
damage_store
lk get damaged
expect_code 69
lk put damaged x --json
expect_code 69
expect .status '"unavailable"'

scenario 'a command under a lease may change directory'
(cd "$work" && LK_STORE=sqlite:rel.db "$LK_PROGRAM" run a b?shared -- sh -c '
    cd / && "$LK_PROGRAM" ls --json && echo "$LK_TOKENS"') >"$work/seen"
[ "$(grep -c '"state":"held"' "$work/seen")" = 2 ] || complain "$(cat "$work/seen")"
token=$(sed -n 's/.*"token":\([0-9]*\).*/\1/p' "$work/seen" | head -n 1)
[ "$(tail -n 1 "$work/seen")" = "$token $token" ] || complain "$(cat "$work/seen")"

scenario 'so may the command of a worker'
(cd "$work" && export LK_STORE=sqlite:rel2.db && "$LK_PROGRAM" push q 1 &&
    "$LK_PROGRAM" work q --drain -- sh -c '
        cd / && "$LK_PROGRAM" items q --json; echo "$LK_TOKENS" | grep -qx "$LK_TOKEN"' &&
    "$LK_PROGRAM" stats q) >"$work/seen"
grep -q '"state":"claimed"' "$work/seen" || complain "$(cat "$work/seen")"

scenario 'values: all, or those at or below a path'
lk put b 1
lk put a/b 12
lk put a-b 123
lk put a ''
lk acquire a/b --value --owner dead
lk break a/b --now --reason test
lk values
expect_code 0
expect_err ''
expect_out 'BYTES  PATH
    0  a
    3  a-b
    2  a/b  (in doubt)
    1  b'
lk values a --json
expect_code 0
expect '[.path, .size, .in_doubt]' '["a",0,false]
["a/b",2,true]'
lk values /a/b/ --json
expect_keys 'path size in_doubt'
expect .path '"a/b"'
lk values none
expect_code 0
expect_out ''
lk values a//b
failure 64 'lk: INVALID: *'
lk values a//b --json
expect_code 64
expect .status '"invalid"'
lk -S mem: values
expect_code 0
expect_out ''

scenario 'values: a long list comes in pages, with one title'
lk put few 1
sqlite3 "${LK_STORE#sqlite:}" "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2500)
    INSERT INTO lk_value SELECT printf('many/%04d', n), 0, 'v' FROM n"
lk values many
expect_code 0
[ "$(wc -l <"$work/out")" -eq 2501 ] || complain 'expected 2500 lines below a title'
[ "$(grep -c PATH "$work/out")" -eq 1 ] || complain 'expected one title'
sed 1d "$work/out" | sort -c || complain 'the order'
lk values many --json
expect_code 0
[ "$(jq -r .path "$work/out" | sort -u | wc -l)" -eq 2500 ] || complain 'expected 2500 paths'

finish
