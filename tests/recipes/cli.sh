#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands of docs/cli.md, played.
. "${0%/*}/harness.sh"
page=$docs/cli.md

recipe 'an owner that is named, and a token that is enough'
block Options sh >"$here/lines"
play sh -e "$here/lines"
expect_code 0
lk ls
expect_out ''

recipe 'a bound request'
serve --listen 127.0.0.1:0 --http none --ephemeral
block 'Bound requests' sh | sed "s|lk://locks.example|$(cat "$work/served")|" >"$here/lines"
program deploy
play sh -e "$here/lines"
expect_code 0
ran 1 'deploy  deploy token'
stop

recipe 'many items of JSON'
# shellcheck disable=SC2016 # the heading has them
block '`lk push QUEUE -`' sh >"$here/lines"
play sh -e "$here/lines"
expect_code 0
lk items mails --json
expect '[.id, .value, .state]' '["4711","to: ana","ready"]
["4712",null,"delayed"]'

recipe 'lk hold: the rest of the script is under the lease'
# shellcheck disable=SC2016 # the heading has them
block '`lk hold`' sh >"$here/lines"
program deploy 'lk ls --json | jq -r ".path + \" \" + .state"'
echo './deploy' >>"$here/lines"
play sh -e "$here/lines"
expect_code 0
expect_out 'deploy held'
until_true sh -c '[ -z "$(lk ls)" ]'
lk acquire deploy --owner other
sed -i "s/-w 30/-w 50ms/" "$here/lines"
play sh -e "$here/lines"
expect_code 75
ran 1 '*'

recipe 'every capability that lk doctor names is on the page'
serve --listen 127.0.0.1:0 --http none --ephemeral
for url in "$LK_STORE?share=yes" "$(cat "$work/served")" mem: "shm:lk-test-doctor-$$"; do
    lk -S "$url" run 'made?limit=1' -- true
    expect_code 0
    for word in $("$LK_PROGRAM" -S "$url" doctor --json | jq -r .report.capabilities); do
        # shellcheck disable=SC2016 # the heading has them
        sed -n '/^## `lk doctor`/,/^## `lk work`/p' "$page" | grep -q "^| .*\`$word\`.* | " || complain "$url: $word"
    done
done
rm -f "/dev/shm/canal.lk-test-doctor-$$"
stop

recipe 'every command and every option is on the page; those of serve on that of the service'
"$LK_PROGRAM" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$work/commands"
[ -s "$work/commands" ] || complain 'there are no commands'
while read -r name; do
    of=$page
    [ "$name" != serve ] || of="$page $docs/service.md $docs/operations.md"
    grep -q "\`lk $name\b" "$page" || complain "lk $name is not on the page"
    # An option is there by its name, or by its letter.
    "$LK_PROGRAM" help "$name" | sed -n 's/^ *\(-.\), \(--[a-z-]*\).*/\2 `\1/p; t; s/^ *\(--[a-z-]*\).*/\1 \1/p' |
        while read -r option letter; do
            # shellcheck disable=SC2086 # names of files
            grep -q -e "$option\b" -e "$letter\b" $of || echo "lk $name $option"
        done
done <"$work/commands" >"$work/missing"
[ ! -s "$work/missing" ] || complain "not on the page: $(cat "$work/missing")"
finish_page
