#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: completion.sh COMPLETION_DIRECTORY
#
# Completion: the candidates of the program, and those of each shell: bash by a driver that does what
# readline does, zsh at a real prompt, fish by its own `complete -C`.
. "${0%/*}/../tap.sh"
: "${LK_PROGRAM:?is set by meson to the program under test}"
source=$1
socket=$work/tmux
trap 'tmux -S "$socket" kill-server 2>/dev/null; rm -rf "$work"' EXIT
LK_STORE=sqlite:$work/locks.db
HOME=$work
PATH=${LK_PROGRAM%/*}:$PATH
LC_ALL=C.UTF-8
export LK_STORE HOME PATH LC_ALL
unset LK_OWNER TMUX

same() { # EXPECTED: of stdin
    printf '%b' "$1" >"$work/expected"
    diff "$work/expected" -
}
offers() { # EXPECTED WORD...: the candidates, without what is said of them
    expected=$1
    shift
    "$LK_PROGRAM" __complete "$@" | cut -f 1 | same "$expected"
}
has_all_commands() {
    "$LK_PROGRAM" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$work/commands"
    "$LK_PROGRAM" __complete '' | cut -f 1 | diff "$work/commands" -
}
has_all_options() {
    for name in $(cat "$work/commands"); do
        "$LK_PROGRAM" help "$name" | sed -n 's/^ *\(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' >"$work/options"
        "$LK_PROGRAM" __complete "$name" -- | cut -f 1 | grep -vx -e -- | diff "$work/options" - || return 1
    done
}

ok 'no store, no paths' offers '' run ''
ok 'completion creates no store' test ! -e "$work/locks.db"
"$LK_PROGRAM" acquire db/t1 --owner ana --ttl 1h >/dev/null
"$LK_PROGRAM" acquire other --owner 'with blank' --ttl 1h >/dev/null
# shellcheck disable=SC2016 # the shell must never run it
"$LK_PROGRAM" acquire 'odd/$(touch${IFS}x)' --owner ben --ttl 1h >/dev/null 2>&1
"$LK_PROGRAM" acquire 'odd/$(x)' --owner ben --ttl 1h >/dev/null

ok 'every command' has_all_commands
ok 'every option of every command' has_all_options
ok 'a command' offers 'acquire\naudit\n' a
ok 'paths, and what is above them' offers 'db\ndb/t1\n' release d
ok 'paths of a prefix' offers 'db/t1\n' ls db/
ok 'modes behind a path' offers 'db?shared\n' run 'db?s'
ok 'choices' offers 'kill\nwarn\n' run --on-lost ''
ok 'choices joined' offers '--on-lost=warn\n' run --on-lost=w
ok 'what a command reports' offers 'done\nretry\npark\nprogress\n' report ''
ok 'one of its words' offers 'retry\n' report r
ok 'durations' offers '10s\n10m\n' run --ttl 10
ok 'owners that are one word' offers 'ana\nben\n' release --owner ''
ok 'a store that was named' offers '' -S "sqlite:$work/none.db" show ''
ok 'every kind of store' offers \
    'sqlite:\nlk://\nlks://\nlk+unix:\nredis://\nrediss://\npostgresql://\nmysql://\nshm:\nmem:\n' -S ''
mkdir -p "$work/files/[x]" && touch "$work/files/a.db" "$work/files/b c" "$work/files/[x]/in.db"
ok 'the file of a store' offers "sqlite:$work/files/a.db\n" -S "sqlite:$work/files/a"
ok 'directories end in a slash, odd names are their own' offers "sqlite:$work/files/[x]/\n" \
    -S "sqlite:$work/files/[x"
ok 'files of an option' offers "$work/files/[x]/in.db\n" release a --put-file "$work/files/[x]/"
ok 'files joined to an option' offers "--dir=$work/files/a.db\n" serve "--dir=$work/files/a"
ok 'the file of a copy' offers "$work/files/a.db\n" backup "$work/files/a"
ok 'the file of users' offers "$work/files/a.db\n" passwd "$work/files/a"
ok 'no file for its user' offers '' passwd users "$work/files/a"
ok 'the rights of a rule' offers 'lock\n' passwd users ana --allow l
ok 'another right of a rule' offers 'lock,read\n' passwd users ana --allow lock,r
# What is offered behind the words is what the refusal of a wrong one names.
# shellcheck disable=SC2086 # words are parted at blanks
has_all_of() { # WORDS WRONG WHAT-IS-BEFORE-THE-NAMES
    "$LK_PROGRAM" __complete $1 '' | cut -f 1 | tr -d = | sort >"$work/offered"
    "$LK_PROGRAM" $1 "$2" 2>&1 </dev/null | sed "s/.*$3 //; s/ and /, /; s/, /\n/g" | sort | diff "$work/offered" -
}
ok 'all rights' has_all_of 'passwd users ana --allow' none:/ 'the rights are'
ok 'all bounds' has_all_of 'serve --bound' none=1 'one of'
ok 'no right behind the colon' offers '' passwd users ana --allow lock:r
ok 'a rule joined' offers '--allow=watch\n' passwd users ana --allow=w
ok 'the bounds of a service' offers 'live=\nlive-per-owner=\nlive-per-root=\n' serve --bound li
ok 'no names with blanks' offers '' serve --dir "$work/files/b"
ok 'dialects' offers 'sqlite\npostgresql\nmysql\n' schema ''
ok 'commands for help' offers 'show\nstats\nserve\nschema\n' help s
ok 'nothing behind the dashes' offers '' run db -- l
ok 'nothing for an unknown command' offers '' nonsense --ttl ''

"$LK_PROGRAM" put conf/web on
"$LK_PROGRAM" put conf/db/main on
"$LK_PROGRAM" put 'odd/$(v)' on
"$LK_PROGRAM" put db on
for command in get put del; do
    ok "$command: paths that keep a value, held or not" offers 'conf/db/main\nconf/web\n' "$command" conf/
    ok "$command: values and what is held" offers 'db\ndb/t1\n' "$command" d
done
ok 'prefixes of values' offers 'conf\nconf/db\nconf/db/main\nconf/web\n' values c
ok 'no values that nothing holds for a command about locks' offers '' show conf
ok 'no value of what is no path' offers '' get 'a//b'
ok 'no value of a store that was named' offers '' -S "sqlite:$work/none.db" get conf
ok 'which is not made' test ! -e "$work/none.db"
many_values() { # more than are read: those that begin with the word are, wherever they are
    sqlite3 "${LK_STORE#sqlite:}" "WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 4999)
        INSERT INTO lk_value SELECT printf('many/%04d', n), 0, 'v' FROM n"
    offers 'many/4711\n' get many/4711 && offers "$(printf 'many/4%03d\\n' $(seq 0 999))" get many/4
}
ok 'of very many values those that begin so' many_values

"$LK_PROGRAM" push mails 4711
"$LK_PROGRAM" push mails 'wi{th' 2>/dev/null
"$LK_PROGRAM" push mails 48
"$LK_PROGRAM" push mails 49
"$LK_PROGRAM" push mailing/lists 1
"$LK_PROGRAM" push zz 1
"$LK_PROGRAM" claim mails --ttl 1h --owner ana --max-attempts 1 >/dev/null
"$LK_PROGRAM" claim mails --ttl 1h --owner ana --max-attempts 1 >/dev/null
"$LK_PROGRAM" retry mails 48 --owner ana
offers_queues() { # COMMAND: takes a queue
    offers 'mailing/lists\nmails\n' "$1" mail
}
for command in push claim 'done' retry progress result unpark drop cancel items stats work; do
    ok "queues of $command" offers_queues "$command"
done
ok 'queues, and what is above them' offers 'mailing\nmailing/lists\nmails\n' queues m
ok 'queues below a path' offers 'mailing/lists\n' items mailing/
ok 'claimed items' offers '4711\n' 'done' mails ''
ok 'claimed items, behind an option' offers '4711\n' retry --delay 1m mails 4
ok 'parked items' offers '48\n' unpark mails ''
ok 'items that are not claimed' offers '48\n49\n' drop mails ''
ok 'items in any state' offers '4711\n48\n49\n' cancel mails ''
ok 'another item to drop' offers '49\n' drop mails 48 49
ok 'no item of another queue' offers '' 'done' zz ''
ok 'no item of no queue' offers '' drop nothing ''
ok 'no item of what is no path' offers '' drop 'a//b' ''
ok 'no items to push: they are new' offers '' push mails 4
ok 'no path for a second argument' offers '' show db d
ok 'no path for a value' offers '' put db d
ok 'the parts that an item needs' offers 'db\ndb/t1\n' push mails 50 --needs d
ok 'what an item can need at a path' offers 'db?shared\ndb?limit=\ndb?strict\n' \
    push mails 50 --needs 'db?'
ok 'nothing from a store that cannot be read' \
    offers '' -S "sqlite:$work/files/[x]/in.db" 'done' mails ''
says_nothing() { # WORD...: on stderr
    "$LK_PROGRAM" __complete "$@" >"$work/said" 2>&1 && ! [ -s "$work/said" ]
}
ok 'nothing is said of a server that is not there' says_nothing -S redis://127.0.0.1:1 items ''
ok 'nothing is said of a URL that is none' says_nothing -S nonsense:x items ''
is_given_up() { # a server that takes connections and does not answer
    python3 - "$LK_PROGRAM" <<'END'
import socket, subprocess, sys
with socket.create_server(("127.0.0.1", 0)) as server:
    url = "redis://127.0.0.1:%d" % server.getsockname()[1]
    ended = subprocess.run([sys.argv[1], "__complete", "-S", url, "items", ""], capture_output=True)
    sys.exit((ended.returncode, ended.stdout, ended.stderr) != (0, b"", b""))
END
}
ok 'a server that does not answer is given up in silence' is_given_up

bash_offers() { # EXPECTED LINE
    bash "${0%/*}/completion.bash" "$LK_PROGRAM" "$source/lk.bash" "$2" | same "$1"
}
ok 'bash: a command' bash_offers 'acquire\naudit\n' 'lk a'
ok 'bash: a path' bash_offers 'db/t1\n' 'lk show db/'
ok 'bash: behind an option' bash_offers 'db\ndb/t1\n' 'lk run --ttl 10m d'
ok 'bash: a value joined by =' bash_offers 'kill\n' 'lk run --on-lost=k'
ok 'bash: a word with a colon' bash_offers '' 'lk -S sqlite:'
ok 'bash: the file of a store' bash_offers "$work/files/a.db\n" "lk -S sqlite:$work/files/a"
ok 'bash: a store with a colon, and then a path' bash_offers 'db\ndb/t1\n' \
    "lk -S sqlite:$work/locks.db show d"
ok 'bash: what a shell could run is quoted' bash_offers 'odd/\\$\\(x\\)\n' 'lk show odd/'
ok 'bash: a value' bash_offers 'conf/db/main\nconf/web\n' 'lk get conf/'
ok 'bash: what a shell could run is quoted there, too' bash_offers 'odd/\\$\\(v\\)\nodd/\\$\\(x\\)\n' 'lk del odd/'
ok 'bash: a queue' bash_offers 'mailing/lists\nmails\n' 'lk claim mail'
ok 'bash: an item' bash_offers '4711\n' 'lk done mails '
ok 'bash: a command behind the dashes' bash_offers 'mktemp\n' 'lk run db -- mktemp'

ok 'zsh: the syntax' zsh -f -n "$source/_lk"
zsh_shows() { # PATTERN KEYS...
    pattern=$1
    shift
    deadline=$(($(date +%s) + 60))
    tmux -S "$socket" send-keys C-u "$@"
    until tmux -S "$socket" capture-pane -p | grep -qE -- "$pattern"; do
        if [ "$(date +%s)" -ge "$deadline" ]; then
            tmux -S "$socket" capture-pane -p
            return 1
        fi
        sleep 0.05
    done
}
mkdir "$work/functions"
cp "$source/_lk" "$work/functions"
cat >"$work/.zshrc" <<'END'
fpath=(~/functions $fpath)
autoload -U compinit
compinit -D -u
PROMPT='ready> '
END
tmux -S "$socket" -f /dev/null new-session -d -x 100 -y 30 'ZDOTDIR="$HOME" zsh -d -i'
ok 'zsh: starts' zsh_shows '^ready>' ''
ok 'zsh: a command is completed' zsh_shows '^ready> lk acquire $|^ready> lk acquire$' 'lk acq' Tab
ok 'zsh: commands are listed with what they do' zsh_shows '^audit +-- list past breaks' 'lk a' Tab Tab
ok 'zsh: a path' zsh_shows '^ready> lk show db/t1' 'lk show db/' Tab
ok 'zsh: a value' zsh_shows '^ready> lk put conf/web' 'lk put conf/w' Tab
ok 'zsh: a queue' zsh_shows '^ready> lk items mailing/lists' 'lk items maili' Tab
ok 'zsh: an item' zsh_shows '^ready> lk unpark mails 48' 'lk unpark mails ' Tab
ok 'zsh: what a shell could run is quoted' zsh_shows '^ready> lk show odd/\\\$\\\(x\\\)' 'lk show odd/' Tab

fish_offers() { # EXPECTED LINE
    fish --no-config -c "source $source/lk.fish; complete -C '$2'" | cut -f 1 | same "$1"
}
ok 'fish: a command' fish_offers 'acquire\naudit\n' 'lk a'
ok 'fish: paths' fish_offers 'db\ndb/t1\n' 'lk run --ttl 10m d'
ok 'fish: values' fish_offers 'conf/db/main\nconf/web\n' 'lk del conf/'
ok 'fish: a queue' fish_offers 'mailing/lists\nmails\n' 'lk work mail'
ok 'fish: items' fish_offers '48\n49\n' 'lk drop mails '
ok 'fish: an option' fish_offers '--note\n' 'lk run --no'
ok 'fish: a value' fish_offers '--on-lost=kill\n' 'lk run --on-lost=k'
ok 'fish: a command behind the dashes' fish_offers 'mktemp\n' 'lk run db -- mktemp'

finish
