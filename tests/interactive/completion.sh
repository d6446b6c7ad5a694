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
ok 'durations' offers '10s\n10m\n' run --ttl 10
ok 'owners that are one word' offers 'ana\nben\n' release --owner ''
ok 'a store that was named' offers '' -S "sqlite:$work/none.db" show ''
ok 'commands for help' offers 'show\nstats\nserve\nschema\n' help s
ok 'nothing behind the dashes' offers '' run db -- l
ok 'nothing for an unknown command' offers '' nonsense --ttl ''

bash_offers() { # EXPECTED LINE
    bash "${0%/*}/completion.bash" "$LK_PROGRAM" "$source/lk.bash" "$2" | same "$1"
}
ok 'bash: a command' bash_offers 'acquire\naudit\n' 'lk a'
ok 'bash: a path' bash_offers 'db/t1\n' 'lk show db/'
ok 'bash: behind an option' bash_offers 'db\ndb/t1\n' 'lk run --ttl 10m d'
ok 'bash: a value joined by =' bash_offers 'kill\n' 'lk run --on-lost=k'
ok 'bash: a word with a colon' bash_offers '' 'lk -S sqlite:'
ok 'bash: a store with a colon, and then a path' bash_offers 'db\ndb/t1\n' \
    "lk -S sqlite:$work/locks.db show d"
ok 'bash: what a shell could run is quoted' bash_offers 'odd/\\$\\(x\\)\n' 'lk show odd/'
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
ok 'zsh: what a shell could run is quoted' zsh_shows '^ready> lk show odd/\\\$\\\(x\\\)' 'lk show odd/' Tab

fish_offers() { # EXPECTED LINE
    fish --no-config -c "source $source/lk.fish; complete -C '$2'" | cut -f 1 | same "$1"
}
ok 'fish: a command' fish_offers 'acquire\naudit\n' 'lk a'
ok 'fish: paths' fish_offers 'db\ndb/t1\n' 'lk run --ttl 10m d'
ok 'fish: an option' fish_offers '--note\n' 'lk run --no'
ok 'fish: a value' fish_offers '--on-lost=kill\n' 'lk run --on-lost=k'
ok 'fish: a command behind the dashes' fish_offers 'mktemp\n' 'lk run db -- mktemp'

finish
