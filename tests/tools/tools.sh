#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: tools.sh SOURCE_ROOT
#
# The build's own scripts, with programs of this test in the place of the machine's: what they do on a
# machine that has nothing, in a folder that was set up before, with a page of all that it may not break.
. "${0%/*}/../tap.sh"

program() { # PATH LINE...
    file=$1
    shift
    printf '%s\n' '#!/bin/sh' "$@" >"$file"
    chmod 755 "$file"
}

# ---- tools/wrap-pages fills what is too long, and leaves the rest byte by byte ----

tool=$1/tools/wrap-pages
page=$work/page.md
line='This sentence has as many words as one line of a page has room for, and some more after these'

# What stays: the headings, tables, pictures, HTML, code, and paragraphs of short lines.
cat >"$work/kept" <<END
# $line and these

A paragraph of short lines
stays as it is.

| $line | more |
|---|---|
| x | y |

![$line](pictures/page.png)

<img src="pictures/page.png" alt="$line">

\`\`\`sh
- no item: $line
\`\`\`

    indented code: $line

[name]: https://locks.example/a/$line

END
cat "$work/kept" - >"$page" <<END
$line and these,
before
others.

- $line, in an item: \`a --short piece\` of code stays whole
  1. $line, in one below it

     $line, in its second paragraph

     \`\`\`sh
     code below an item: $line
     \`\`\`
- short

$line, before a break\\
and behind it.

 a. $line, in a part of a rule
    and its second line.

> $line, quoted
> and more.

https://locks.example/$(printf '%0100d' 0)
END
cat "$work/kept" - >"$work/wanted" <<END
$line and
these, before others.

- $line, in
  an item: \`a --short piece\` of code stays whole
  1. $line,
     in one below it

     $line,
     in its second paragraph

     \`\`\`sh
     code below an item: $line
     \`\`\`
- short

$line,
before a break\\
and behind it.

 a. $line,
    in a part of a rule and its second line.

> $line,
> quoted and more.

https://locks.example/$(printf '%0100d' 0)
END
cp "$page" "$work/first"

tells() {
    ! "$tool" --check "$page" >"$work/out" && cmp "$page" "$work/first" &&
        [ "$(sed 's/.*page.md:\([0-9]*\): .*/\1/' "$work/out" | tr '\n' ' ')" = "$1 " ]
}

fills() {
    "$tool" "$page" && diff "$work/wanted" "$page"
}

# What would fall at the beginning of a line, and begin something else there.
stays_inside() { # MARK...
    for mark in "$@"; do
        printf '%s, quite %s goes on\n' "$line" "$mark" >"$work/mark.md"
        "$tool" "$work/mark.md"
        [ "$(wc -l <"$work/mark.md")" -eq 2 ] && grep -qFx "quite $mark goes on" "$work/mark.md" || {
            cat "$work/mark.md"
            return 1
        }
    done
}

refuses() { # FILE
    ! "$tool" "$1" >"$work/out" 2>"$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] &&
        grep -qF "wrap-pages: $1: " "$work/err"
}

ok '--check tells the lines that are too long, and changes nothing' tells '22 26 27 29 36 39 42'
ok 'paragraphs and items are filled, and nothing else is changed' fills
ok 'what is filled stays as it is' fills
ok 'what is filled passes --check' "$tool" --check "$page"
ok 'no mark gets to the beginning of a line' stays_inside - + '*' 12. '3)' a. '#' '##' '>' '|' '<b>' === '```x'
ok 'a file that is not there is refused' refuses "$work/none.md"

# ---- tests/timed: on a busy machine what depends on time is repeated, with longer times ----

timed=$1/tests/timed
echo 'some avg10=0.00 avg60=0.00 avg300=0.00 total=4711' >"$work/calm"
# shellcheck disable=SC2016 # expanded there
program "$work/late" 'echo "${LK_TEST_STRETCH-}" >>"$0.runs"' 'echo 1..1' \
    '[ "${LK_TEST_STRETCH:-1}" -ge "$1" ] || { echo "not ok 1 - in time"; exit 7; }' 'echo "ok 1 - in time"'

cp "$work/late" "$work/history"

plays() { # CODE STRETCHES NEEDED [VARIABLE=VALUE...]: a program that succeeds from the stretch NEEDED on
    code=$1 stretches=$2 needed=$3
    shift 3
    rm -f "$work/late.runs"
    got=0
    env -u LK_TEST_TIMED -u LK_TEST_EMULATED "$@" "$timed" "$work/late" "$needed" >"$work/out" || got=$?
    [ "$got" -eq "$code" ] && [ "$(tr '\n' ' ' <"$work/late.runs")" = "$stretches" ]
}

results() { # LINE: the cases that are counted
    [ "$(grep -E '^(not )?ok' "$work/out")" = "$1" ] && [ "$(grep -c '^1\.\.' "$work/out")" -eq 1 ]
}

judges_once() {
    got=0
    env -u LK_TEST_TIMED $slow "$timed" "$work/history" 2 >"$work/out.random" || got=$?
    [ "$got" -eq 7 ] && [ "$(wc -l <"$work/history.runs")" -eq 1 ]
}
slow='LK_TEST_EMULATED=1' # by this it is always busy
ok "what has no times of its own runs as it is, twice more" plays 7 '   ' 2 $slow
ok "and once where nothing waited" plays 7 ' ' 2 LK_TEST_PRESSURE="$work/calm"
ok "nor is a failure repeated where nothing waited" plays 7 '1 ' 2 LK_TEST_TIMED=1 LK_TEST_PRESSURE="$work/calm"
ok "its result is printed" results 'not ok 1 - in time'
ok "on a busy machine it is, until it succeeds" plays 0 '1 2 4 ' 4 LK_TEST_TIMED=1 $slow
ok "only the last result counts" results 'ok 1 - in time'
ok "but what failed before is said" grep -qx '# | not ok 1 - in time' "$work/out"
ok "what fails with sixteenfold times fails" plays 7 '1 2 4 8 16 ' 17 LK_TEST_TIMED=1 $slow
ok "once" results 'not ok 1 - in time'
ok "what plays at random is not repeated" judges_once
python3 -c 'import json, sys; print(json.dumps({"name": "x", "result": "ERROR", "stdout": sys.stdin.read()}))' \
    <"$work/out" >"$work/testlog.json"
"$1/tools/test-summary" "$work/testlog.json" >"$work/summary"
ok "the summary names it" grep -q ': x: repeated with its times 16-fold' "$work/summary"
ok "and counts it once" test "$(tail -n 1 "$work/summary")" = '0 passed, 1 failed'

# ---- tools/install-deps: another apt is waited for; an unknown package keeps no other from being installed ----

tool=$1/tools/install-deps
bin=$work/bin
mkdir "$bin"
for name in cat chmod cmp date dirname env grep head mktemp rm sed sh; do
    ln -s "$(command -v "$name")" "$bin/$name"
done

for name in cc meson ninja pkg-config; do program "$bin/$name"; done # all is there but scdoc and sqlite3
program "$bin/id" 'echo 0'
# shellcheck disable=SC2016 # expanded there
program "$bin/sleep" 'echo "sleep $1" >>"$HERE/calls"'

# apt_has LINE...: what apt-get does, which has its words without the options.
apt_has() {
    # shellcheck disable=SC2016 # expanded there
    program "$bin/apt-get" 'words=' 'while [ $# -gt 0 ]; do case $1 in -o) shift ;; -*) ;; *) words="$words $1" ;; esac; shift; done' \
        'echo "$words" >>"$HERE/calls"' \
        'locked() { echo "E: Could not get lock $1. It is held by process 4711 (unattended-upgr)" >&2; exit 100; }' \
        'first() { [ ! -e "$HERE/$1" ] && : >"$HERE/$1"; }' \
        'put() { printf "#!/bin/sh\n" >"$HERE/bin/$1"; chmod 755 "$HERE/bin/$1"; }' "$@"
    rm -f "$work/calls" "$work"/first.*
}

run() { # CODE
    wanted=$1
    got=0
    env -i PATH="$bin" HERE="$work" TMPDIR="$work" INSTALL="${install-}" "$tool" demo >"$work/out" 2>"$work/err" || got=$?
    [ "$got" -eq "$wanted" ]
}

calls() { printf '%s\n' "$@" | diff - "$work/calls"; }

apt_has 'exit 0'
install=no
ok "INSTALL=no installs nothing, and that is an error" run 69
ok "which says what is missing" grep -qx "install-deps: still needed (Debian's names): scdoc sqlite3" "$work/err"
ok "and what to type" grep -q 'INSTALL=no.*: apt-get install scdoc sqlite3$' "$work/err"
ok "no package manager is called" test ! -e "$work/calls"
install=

waits=$(printf '%s' 'install-deps: another apt is at work (process 4711 (unattended-upgr)): ' \
    'waiting for it, 10 minutes at most')

# shellcheck disable=SC2016 # expanded there
apt_has 'case $words in' \
    '" update") first first.lists && locked /var/lib/apt/lists/lock ;;' \
    '*) first first.dpkg && locked /var/lib/dpkg/lock-frontend; first first.archives && locked /var/cache/apt/archives/lock; put scdoc; put sqlite3 ;;' \
    'esac; exit 0'
ok "another apt is waited for, whichever of the locks it has" run 0
ok "it has been said what for, once for each step" test "$(grep -cxF "$waits" "$work/out")" -eq 2
ok "what is going to be installed was said before" grep -q "^install-deps: to be installed .*INSTALL=no.*: scdoc sqlite3$" "$work/out"
ok "and every step was done" calls ' update' 'sleep 1' ' update' ' install scdoc sqlite3' 'sleep 1' \
    ' install scdoc sqlite3' 'sleep 1' ' install scdoc sqlite3'

rm "$bin/scdoc" "$bin/sqlite3"
# shellcheck disable=SC2016 # expanded there
apt_has 'case $words in *scdoc*) echo "E: Unable to locate package scdoc" >&2; exit 100 ;; *sqlite3) put sqlite3 ;; esac'
ok "a package that is unknown here is an error" run 69
ok "which names it alone" grep -qx "install-deps: still needed (Debian's names): scdoc" "$work/err"
ok "and the others are installed" test -x "$bin/sqlite3"
ok "one after the other" calls ' update' ' install scdoc sqlite3' ' install scdoc' ' install sqlite3'

# ---- tools/configure makes a build again where there is something else to be found than before ----

# Meson only says what it was asked.

mkdir "$work/meson" "$work/tools"
cp "$1/tools/configure" "$work/tools"
PATH=$work/meson:$PATH

# shellcheck disable=SC2016 # expanded there
program "$work/meson/meson" 'echo "$@" >>asked' '[ "$1 $2" != "setup dir" ] || mkdir -p dir' ': >dir/build.ninja'
program "$work/tools/install-deps" 'cat there'

asks() { # OPTIONS LINE...: what tools/configure asks of Meson
    options=$1
    shift
    : >asked
    # shellcheck disable=SC2086 # options
    tools/configure dir $options && printf '%s' "${1:+$(printf '%s\n' "$@")
}" | cmp - asked
}

cd "$work" || exit 1
echo 'gcc' >there
ok "a new folder is set up" asks '' 'setup dir'
ok "nothing has to be done again" asks ''
ok "an option is set" asks -Dtests=enabled 'configure dir -Dtests=enabled'
ok "and is known then" asks -Dtests=enabled
echo 'libnode-dev' >>there
ok "what is installed since is looked for, whatever was remembered" asks -Dtests=enabled \
    'configure dir --clearcache' 'setup --reconfigure dir -Dtests=enabled'
ok "once" asks -Dtests=enabled
rm dir/lockkeeper-present
ok "a folder of which that is not known is looked at again" asks '' \
    'configure dir --clearcache' 'setup --reconfigure dir'
finish
