#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/guides, played as docs/recipes.md is: each block is taken from the page and carried out, with
# programs of this test in the place of the user's. That of services on a database is played in
# tests/postgresql, the manifests of Kubernetes in tests/package.
. "${0%/*}/harness.sh"

# lines_of_yaml EXPRESSION: Python's expression on the document `d`, a line each.
lines_of_yaml() {
    python3 -c "import sys, yaml; d = yaml.safe_load(sys.stdin); print('\n'.join($1))"
}

# line_of_crontab SECTION [N]: what cron runs, of a block whose job runs each five minutes.
line_of_crontab() {
    block "$1" crontab "${2:-1}" | sed -n 's/^\*\/5 \* \* \* \* //p'
}

is_silent() {
    [ ! -s "$work/out" ] && [ ! -s "$work/err" ] || complain "cron would send a mail: $(cat "$work/out" "$work/err")"
}

# ---- cron.md ----

begin_page guides/cron.md

recipe 'cron: one run at a time, silent and without failure while another one runs'
line_of_crontab 'On one host' >"$here/line"
program make-reports
play sh "$here/line"
expect_code 0
ran 1 'make-reports  reports token'
lk acquire reports --owner other
play sh "$here/line"
expect_code 0
is_silent
ran 1 'make-reports*'

recipe 'cron: the line for several users is the one of the package'
block 'On one host' conf >"$here/conf"
grep -qxF "#$(cat "$here/conf")" "$docs/../debian/lockkeeper.conf" || complain 'the package has another one'

recipe 'cron: on several hosts the line names the store, and keeps the lease'
line_of_crontab 'On several hosts' >"$here/line"
grep -q '^LK_STORE=' "$work/block" || complain 'the crontab names no store'
[ "$(sed 's/ --at-least 4m//' "$here/line")" = "$(block 'On one host' crontab | sed 's/^\*\/5 \* \* \* \* //')" ] || complain 'another line'

recipe 'cron: once in a period, whichever host is first'
line_of_crontab 'On several hosts' >"$here/line"
program make-reports
play sh "$here/line"
expect_code 0
ran 1 'make-reports  reports token'
play sh "$here/line"
expect_code 0
is_silent
ran 1 'make-reports*'
block 'On several hosts' sh >"$here/again"
play sh "$here/again"
expect_code 0
play sh "$here/line"
ran 2 'make-reports  reports token'
lk ls

recipe 'cron: the item of a day is pushed once, whichever host is first'
line_of_crontab 'Work that is due at a time' >"$here/line"
play sh "$here/line"
expect_code 0
play sh "$here/line"
expect_code 0
is_silent
lk items reports --json
expect .id "\"$(date -I)\""
lk claim reports --owner ben
lk 'done' reports "$(date -I)" --owner ben
play sh "$here/line"
is_silent
lk items reports --json
expect_out ''

recipe 'cron: the timer is valid'
block 'Work that is due at a time' ini >"$here/reports.timer"
printf '[Service]\nExecStart=/bin/true\n' >"$here/reports.service"
play systemd-analyze --man=no verify "$here/reports.timer"
expect_code 0

recipe 'cron: the days that were missed are pushed'
block 'Work that is due at a time' sh >"$here/lines"
play sh "$here/lines"
expect_code 0
lk put push/reports "$(date -I -d '3 days ago')"
play sh "$here/lines"
expect_code 0
lk items reports --json
expect '[.id, .state]' "[\"$(date -I)\",\"ready\"]
[\"$(date -I -d '2 days ago')\",\"ready\"]
[\"$(date -I -d yesterday)\",\"ready\"]"
lk get push/reports
expect_out "$(date -I)"
end_page

# ---- ci.md ----

begin_page guides/ci.md

recipe 'GitHub Actions: a step under a lease, and a lock over several steps'
block 'GitHub Actions' yaml >"$here/workflow.yaml"
program migrate
program deploy "lk show staging --json | jq -e '.owner == \"app/17/deploy\"' >/dev/null"
lines_of_yaml "s['run'] for s in d['jobs']['migrate']['steps']" <"$here/workflow.yaml" >"$here/migrate.sh"
lines_of_yaml "s['run'] for s in d['jobs']['deploy']['steps']" <"$here/workflow.yaml" >"$here/deploy.sh"
grep -q 'LK_OWNER: ' "$here/workflow.yaml" || complain 'the owner is not named'
play sh -e "$here/migrate.sh"
expect_code 0
ran 1 'migrate  staging/database token'
[ "$(wc -l <"$here/deploy.sh")" -eq 3 ] || complain 'three steps are expected'
while read -r step; do
    play env LK_OWNER=app/17/deploy bash -e -c "$step" # each step is a shell of its own
    expect_code 0
done <"$here/deploy.sh"
ran 2 'deploy*'
lk ls
expect_out ''

recipe 'GitLab CI'
block 'GitLab CI' yaml | lines_of_yaml "d['deploy']['script']" >"$here/script"
program deploy 'lk show review-7 --json | jq -r .note'
play env CI_JOB_URL=https://ci.example/jobs/4711 CI_ENVIRONMENT_SLUG=review-7 sh -e "$here/script"
expect_code 0
expect_out https://ci.example/jobs/4711
ran 1 'deploy  review-7 token'

recipe 'Jenkins'
block Jenkins groovy | sed -n "s/^ *sh '\(.*\)'\$/\1/p" >"$here/script"
program run-tests
play env BUILD_TAG=build-7 sh -e "$here/script"
expect_code 0
ran 1 'run-tests  database token'

recipe 'CI: a lock of a dead job is ended, and a job that waited goes on; its log says what it waited for'
program deploy
lk acquire staging --owner dead --ttl 1h
block 'GitLab CI' yaml | lines_of_yaml "d['deploy']['script']" >"$here/script"
(cd "$here" && CI_JOB_URL=https://ci.example/2 CI_ENVIRONMENT_SLUG=staging exec sh -e script) >"$here/log" 2>&1 </dev/null &
until_true grep -q '^lk: WAITING: staging is held by dead, .* left unless renewed' "$here/log"
block 'When a job hangs on a lock' sh >"$here/lines"
play sh -e "$here/lines"
expect_code 0
wait $! || complain "the job: $(cat "$here/log")"
ran 1 'deploy  staging token'
for name in ci.md terraform-ansible.md; do # a job that may wait says so
    ! grep -E 'lk (run|acquire) .*--wait' "$docs/guides/$name" | grep -v -e ' -v ' || complain "$name: a job without -v"
done
end_page

# ---- terraform-ansible.md ----

begin_page guides/terraform-ansible.md

recipe 'Terraform: plans share, an apply is alone'
block Terraform sh | sed '/^export LK_STORE/d' >"$here/lines"
mkdir "$here/bin"
program bin/terraform 'lk ls --json | jq -r .mode'
play env PATH="$here/bin:$PATH" sh -e "$here/lines"
expect_code 0
expect_out 'shared
exclusive'
ran 2 '*terraform apply -lock=false * tf/prod token'

recipe 'Ansible: a whole playbook'
block 'Ansible: a whole playbook' sh >"$here/lines"
mkdir "$here/bin"
program bin/ansible-playbook
play env PATH="$here/bin:$PATH" sh -e "$here/lines"
expect_code 0
ran 1 '*ansible-playbook site.yml ansible/web token'

recipe 'Ansible: two places, and each host gives its own back'
block 'Ansible: some tasks' yaml >"$here/playbook.yaml"
lines_of_yaml "d[0]['tasks'][0][part][0]['ansible.builtin.command'] for part in ('block', 'always')" \
    <"$here/playbook.yaml" >"$here/lines"
grep -q 'LK_OWNER: ' "$here/playbook.yaml" || complain 'the owner is not named'
take() { play env LK_OWNER="ansible/$1" sh -c "$(sed -n 1p "$here/lines" | sed 's/--wait 1h/--wait 0/')"; }
for host in web1 web2; do
    take "$host"
    expect_code 0
done
take web3
expect_code 75
play env LK_OWNER=ansible/web1 sh -c "$(sed -n 2p "$here/lines")"
expect_code 0
take web3
expect_code 0
end_page

# ---- two-hosts.md ----

begin_page guides/two-hosts.md

recipe 'two hosts: the drop-in is the one that is installed, and systemd takes it'
block 'The host with the service' ini >"$here/page.conf"
sed '/^#/d; s|@BINDIR@/@NAME@|/usr/bin/lk|' "$docs/../systemd/network.conf.in" | diff - "$here/page.conf" >"$here/differs" ||
    complain "$(cat "$here/differs")"
mkdir "$here/lockkeeper.service.d"
sed "s|@BINDIR@/@NAME@|$LK_PROGRAM|" "$docs/../systemd/lockkeeper.service.in" >"$here/lockkeeper.service"
sed "s|/usr/bin/lk|$LK_PROGRAM|" "$here/page.conf" >"$here/lockkeeper.service.d/network.conf"
play systemd-analyze --man=no verify "$here/lockkeeper.service"
expect_code 0
[ ! -s "$work/err" ] || complain "systemd: $(cat "$work/err")"

# What needs root is left out, and the host is this one.
recipe 'two hosts: what the commands make lets the other host in, and no other client'
block 'The host with the service' sh | sed -n '/^lk passwd/,/service\.crt$/p' |
    sed "s|/etc/lockkeeper|.|g; s/locks\.example/localhost/g" >"$here/lines"
play sh -e "$here/lines"
expect_code 0
options=$(sed -n '/^ExecStart=./,$p' "$docs/../systemd/network.conf.in" | tr -d '\\\n' |
    sed "s|ExecStart=[^ ]* serve||; s|\${[A-Z_]*DIRECTORY}|$here|g; s/0.0.0.0:7420/127.0.0.1:0/")
# shellcheck disable=SC2086 # words
serve $options
url=$(block 'The other host' sh | sed -n 's/^echo "store = \(.*\)" >.*/\1/p' |
    sed "s|locks.example:7420|localhost:$(sed 's/.*://' "$work/served")|; s|/etc/lockkeeper|$here|g")
play env LK_STORE="$url" sh -ec "$(block 'The other host' sh | sed -n '/^lk /p')"
expect_code 0
expect_out 'under a lease of the other host'
play lk -S "$(printf '%s\n' "$url" | sed 's/.password-file=.*//')" ls
expect_code 77
stop
end_page

# ---- python-web.md ----

begin_page guides/python-web.md

# In the place of Django: what commits at once, and calls what was to be called then.
in_the_place_of_django() {
    mkdir -p "$here/django"
    : >"$here/django/__init__.py"
    cat >"$here/django/db.py" <<'END'
import contextlib


class transaction:
    calls = []

    @staticmethod
    @contextlib.contextmanager
    def atomic():
        yield
        while transaction.calls:
            transaction.calls.pop(0)()

    on_commit = calls.append
END
    echo 'JsonResponse = lambda data, status=200: (status, data)' >"$here/django/http.py"
    cat >"$here/ledger.py" <<'END'
def book_the_rest(month, token):
    with open("booked", encoding="ascii") as file:
        count = int(file.read())
    with open("booked", "w", encoding="ascii") as file:
        file.write(str(count + 1))
END
}

recipe 'Python: four workers that were forked after the store was opened book one after the other'
in_the_place_of_django
echo 0 >"$here/booked"
block 'One store for each process' python >"$here/locks.py"
block 'A view under a lock' python >"$here/views.py"
cat >"$here/server.py" <<'END'
import os
import types

import locks

locks.store()  # as with --preload
workers = []
for _ in range(4):
    worker = os.fork()
    if worker == 0:
        import views
        status, data = views.close_month(types.SimpleNamespace(path="/close"), "2030-01")
        os._exit(0 if status == 200 else 1)
    workers.append(worker)
assert all(os.waitpid(worker, 0)[1] == 0 for worker in workers)

import views
with locks.store().lock("accounting/2030-01", owner="ana", note="audit"):
    views.store = lambda: types.SimpleNamespace(
        lock=lambda *parts, **options: locks.store().lock(*parts, **{**options, "wait": 0.1}))
    status, data = views.close_month(types.SimpleNamespace(path="/close"), "2030-01")
    print(status, "not granted" in data["error"] or data["error"])
END
play env PYTHONPATH="$docs/../bindings/python" PYTHONDONTWRITEBYTECODE=1 python3 -W ignore server.py
expect_code 0
[ "$(cat "$here/booked")" = 4 ] || complain "booked: $(cat "$here/booked"), $(cat "$work/err")"
grep -q '^409 ' "$work/out" || complain "no 409: $(cat "$work/out" "$work/err")"

program manage.py
block 'Work after the commit' sh | sed 's/--workers/--drain --workers/' >"$here/lines"
play sh -e "$here/lines"
expect_code 0
ran 1 'manage.py send_mail closed-2030-01 mails/closed-2030-01 token'
end_page

# ---- c.md ----

begin_page guides/c.md
page_title='A program in C'

recipe 'C: the program compiles, and says what is in its way'
block "$page_title" c >"$here/job.c"
# shellcheck disable=SC2046 # no word, or one
block "$page_title" sh | sed "s|\$(pkg-config .*|-Wall -Wextra $("$docs/../tools/tried" -Werror cc) -I'$docs/../include' '$LK_LIBRARY'|" >"$here/lines"
play env LD_LIBRARY_PATH="${LK_LIBRARY%/*}" sh -e "$here/lines"
expect_code 0
[ "$(grep -cE '^page [123] with token [0-9]+$' "$work/out")" -eq 3 ] || complain "$(cat "$work/out" "$work/err")"
lk acquire reports --owner ana --note 'by hand'
sed 's/wait_ms = 10000/wait_ms = 50/' "$here/job.c" >"$here/impatient.c"
mv "$here/impatient.c" "$here/job.c"
play env LD_LIBRARY_PATH="${LK_LIBRARY%/*}" sh -e "$here/lines"
expect_code 1
grep -q 'ana' "$work/err" || complain "the holder is not named: $(cat "$work/err")"
finish_page
