#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lk` under real shells on a pseudo-terminal: scripts that are interrupted, pipelines whose members
share the terminal, jobs that are stopped and go on. What a script does is compared with what it
does under env(1), which is no process of its own and so all that a shell can expect.

usage: shells.py LK          prints TAP"""
import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

LK = sys.argv[1]
STRETCH = int(os.environ.get("LK_TEST_STRETCH", "1"))
BOUND_S = 60 * STRETCH  # of every wait; far more than any takes
INTERRUPT, QUIT, STOP = b"\x03", b"\x1c", b"\x1a"
WORK = tempfile.mkdtemp(prefix="lk-shells-", dir=os.environ.get("TMPDIR", "/tmp"))
ENVIRONMENT = {
    "PATH": os.environ["PATH"], "HOME": WORK, "TERM": "dumb", "LC_ALL": "C", "PS1": "PROMPT> ",
    "LK": LK, "LK_STORE": f"sqlite:{WORK}/locks.db"}
ENVIRONMENT.update({name: value for name, value in os.environ.items() if "SAN_OPTIONS" in name})

# A command that says when it has begun: the line that is typed has another text.
READY = 'echo REA""DY; '
SLEEP = f"sh -c '{READY}exec sleep 600'"
# It reads the terminal as a pager or a question for a password does, not its standard input.
ASK = "sh -c '%sread k </dev/tty; echo \"KEY=<$k>\"'" % READY
ASK_AND_COPY = "sh -c '%sread k </dev/tty; echo \"KEY=<$k>\"; cat'" % READY
# The pager asks while the command runs, and the command runs until the pager has its answer: it opens
# the pipe. It starts nothing meanwhile: a shell that is stopped within vfork() is not seen to stop.
SEND = "sh -c '>~/begun; read k <~/key; echo data'"
PAGE = ("sh -c 'until [ -e ~/begun ]; do sleep 0.02; done; %sread k </dev/tty; >~/key; "
        "echo \"KEY=<$k>\"; cat'" % READY)


def lk(*words):
    return subprocess.run([LK, *words], env=ENVIRONMENT, capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL)


def wait_until(condition, what):
    end = time.monotonic() + BOUND_S
    while not condition():
        assert time.monotonic() < end, f"not within the bound: {what}"
        time.sleep(0.01)


def process(pid):
    """Its state and its session; X: it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            fields = file.read().rsplit(")", 1)[1].split()
            return fields[0], int(fields[3])
    except (FileNotFoundError, ProcessLookupError):
        return "X", 0


def is_dead(pid):
    return process(pid)[0] in "ZX"


class Terminal:
    """A program on a terminal of its own, of which it is the session leader."""

    def __init__(self, *words):
        self.shown, self.seen, self.status = "", 0, None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], words, ENVIRONMENT)

    def read(self, patience_s):
        if not select.select([self.master], [], [], patience_s)[0]:
            return True
        try:
            text = os.read(self.master, 65536)
        except OSError:
            text = b""  # the last process has closed it
        self.shown += text.decode(errors="replace")
        return text != b""

    def expect(self, pattern):
        """Waits for a text behind the one that was found last."""
        end = time.monotonic() + BOUND_S
        while not (found := re.search(pattern, self.shown[self.seen:])):
            assert self.read(0.1) or re.search(pattern, self.shown[self.seen:]), \
                f"ended without {pattern!r}:\n{self.shown}"
            assert time.monotonic() < end, f"no {pattern!r} within the bound:\n{self.shown}"
        self.seen += found.end()
        return found

    def type(self, keys):
        os.write(self.master, keys if isinstance(keys, bytes) else keys.encode())

    def line(self, text):
        self.type(text + "\n")

    def is_asleep(self):
        """Whether every process of the session sleeps: a shell waits for what it has started."""
        states = [process(pid) for pid in os.listdir("/proc") if pid.isdigit()]
        return all(state in "SZX" for state, session in states if session == self.pid)

    def signal(self, key):
        """A shell that is still at starting a command obeys a signal as if there were none."""
        wait_until(self.is_asleep, "all processes wait")
        self.type(key)

    def is_in_front(self):
        """Whether a job has the terminal, and nothing here is stopped."""
        states = [process(pid) for pid in os.listdir("/proc") if pid.isdigit()]
        return (os.tcgetpgrp(self.master) != self.pid
                and not any(state == "T" and session == self.pid for state, session in states))

    def end(self):
        """Waits for the end of the program. Its exit code, or the negative number of a signal."""
        end = time.monotonic() + BOUND_S
        while self.status is None:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self.status = os.waitstatus_to_exitcode(status)
            assert time.monotonic() < end, f"no end within the bound:\n{self.shown}"
        while select.select([self.master], [], [], 0)[0] and self.read(0):
            pass
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)


@contextlib.contextmanager
def terminal(*words):
    opened = Terminal(*words)
    try:
        yield opened
    finally:
        opened.close()


SHELLS = {"bash": ["bash", "--norc", "--noprofile"], "dash": ["dash"],
          "zsh": ["zsh", "-f", "-o", "nozle", "-o", "nopromptsp"]}


@contextlib.contextmanager
def prompt(shell):
    """An interactive shell. What is typed before its first prompt may be discarded."""
    with terminal(*SHELLS[shell], "-i") as opened:
        opened.expect(r"[>#%$] $")
        if shell == "zsh":
            opened.line("PS1='PROMPT> '")
        opened.line("echo BE''GIN")
        opened.expect("BEGIN")
        opened.expect("PROMPT> ")
        yield opened


def is_free(path="p"):
    return lk("run", "-n", path, "--", "true").returncode == 0


def await_waiting(path):
    def is_waiting():
        lines = lk("ls", "--json", path).stdout.splitlines()
        return any(json.loads(line)["state"] == "waiting" for line in lines)
    wait_until(is_waiting, f"a request waits for {path}")


# ---- scripts ---------------------------------------------------------------------------------

RUN = f"$LK run --ttl {60 * STRETCH}s p --"
SCRIPTS = {
    "a sequence": "WRAP {command}; echo WENT-ON",
    "a loop": "for i in 1 2 3; do WRAP {command}; echo WENT-ON; done",
    "a pipeline": "WRAP {command} | cat; echo WENT-ON",
    "a list": "WRAP {command} || echo WENT-ON; echo WENT-ON",
    "a condition": "if WRAP {command}; then :; else echo WENT-ON; fi",
    "a substitution": "x=$(WRAP {command} 2>&1 >/dev/tty); echo WENT-ON",
    "the end of a pipeline": "echo x | WRAP {command}; echo WENT-ON",
    "no input": "WRAP {command} </dev/null; echo WENT-ON",
    "a function": "f() {{ WRAP {command}; }}; f; echo WENT-ON",
    "a subshell": "( WRAP {command}; echo WENT-ON ); echo WENT-ON",
}
HANDLES = "sh -c 'trap \"exit 3\" INT QUIT; %swhile :; do sleep 0.02; done'" % READY


def play_script(shell, script, wrapper, keys):
    with terminal(*SHELLS[shell], "-c", script.replace("WRAP", wrapper)) as opened:
        opened.expect("READY")
        opened.signal(keys)
        code = opened.end()
        return code, opened.shown.count("WENT-ON")


def compare_script(shell, script, keys):
    expected = play_script(shell, script, "env", keys)
    found = play_script(shell, script, RUN, keys)
    assert found == expected, f"{script}: {found} with lk, {expected} with env"
    wait_until(is_free, "the lease is released")
    return expected


def test_interrupted_scripts():
    for shell in SHELLS:
        for form in list(SCRIPTS.values())[:None if shell == "bash" else 3]:
            compare_script(shell, form.format(command=SLEEP), INTERRUPT)
    assert compare_script("bash", SCRIPTS["a sequence"].format(command=SLEEP), INTERRUPT) == (-2, 0)
    assert compare_script("bash", SCRIPTS["a loop"].format(command=SLEEP), INTERRUPT) == (-2, 0)


def test_scripts_that_quit():
    for shell in SHELLS:
        compare_script(shell, SCRIPTS["a sequence"].format(command=SLEEP), QUIT)


def test_commands_that_handle_the_signal():
    for shell in SHELLS:
        for form in ("a sequence", "no input", "a subshell"):
            compare_script(shell, SCRIPTS[form].format(command=HANDLES), INTERRUPT)
    script = SCRIPTS["a sequence"].format(command=HANDLES)
    assert compare_script("bash", script, INTERRUPT) == (0, 1)


def is_pending(pid, number):
    with open(f"/proc/{pid}/status", encoding="latin-1") as file:
        masks = re.findall(r"^S(?:hd|ig)Pnd:\t(\w+)$", file.read(), re.M)
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks)


def children(pid):
    with contextlib.suppress(FileNotFoundError), \
            open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()
    return []


def test_interrupted_before_the_command_is_there():
    """lk is stopped as soon as it has a child, which is the guard: CMD comes later, mostly."""
    for _ in range(8):
        with terminal("bash", "-c", f"{RUN} sh -c 'exec sleep 600'; echo WENT-ON") as opened:
            end = time.monotonic() + BOUND_S
            while not [c for run in children(opened.pid) for c in children(run)]:
                assert time.monotonic() < end, "no guard"  # without a pause: CMD is next
            run = int(children(opened.pid)[0])
            os.kill(run, signal.SIGSTOP)
            wait_until(lambda: process(run)[0] == "T", "lk is stopped")
            opened.type(INTERRUPT)
            wait_until(lambda: is_pending(run, signal.SIGINT),
                       "the signal has come")
            os.kill(run, signal.SIGCONT)
            assert (opened.end(), opened.shown.count("WENT-ON")) == (-2, 0), opened.shown
    wait_until(is_free, "the lease is released")


def test_a_signal_to_the_command_alone():
    tell = "sh -c 'echo PID=$$; exec sleep 600'"
    for script in (f"$LK run p -- {tell}; echo CODE=$?", f"exec $LK run p -- {tell}"):
        with terminal("bash", "-c", script) as opened:
            os.kill(int(opened.expect(r"PID=(\d+)").group(1)), signal.SIGINT)
            if "CODE" in script:
                opened.expect("CODE=130")
                assert opened.end() == 0
            else:
                assert opened.end() == 130


def test_a_signal_to_lk_alone():
    script = "$LK run p -- sh -c 'echo PID=$PPID; exec sleep 600'; echo CODE=$?"
    with terminal("bash", "-c", script) as opened:
        os.kill(int(opened.expect(r"PID=(\d+)").group(1)), signal.SIGINT)
        opened.expect("CODE=130")
        assert opened.end() == 0


def test_make():
    for wrapper in ("env", RUN.replace("$LK", LK)):
        with open(f"{WORK}/makefile", "w", encoding="utf-8") as file:
            file.write(f"all: a b\na:\n\t@{wrapper} {SLEEP}\nb:\n\t@echo WENT-ON\n")
        for options in (["-k"], ["-j2", "-k"]):
            targets = ["a"] if "-j2" in options else ["all"]
            with terminal("make", *options, "-s", "-f", f"{WORK}/makefile", *targets) as opened:
                opened.expect("READY")
                opened.signal(INTERRUPT)
                assert opened.end() in (-2, 2) and "WENT-ON" not in opened.shown
    assert is_free()


def test_interrupted_while_it_waits():
    assert lk("acquire", "--ttl", "10m", "--owner", "other", "w").returncode == 0
    for call in ("run w -- true", "acquire w --ttl 1m", "hold w"):
        with terminal("bash", "-c", f"$LK {call}; echo WENT-ON") as opened:
            await_waiting("w")
            opened.signal(INTERRUPT)
            assert (opened.end(), opened.shown.count("WENT-ON")) == (-2, 0), opened.shown
    with terminal("bash", "-c", "$LK watch; echo WENT-ON") as opened:
        wait_until(lambda: is_free("seen") and opened.read(0) and "seen" in opened.shown,
                   "an event is shown")
        opened.signal(INTERRUPT)
        assert (opened.end(), opened.shown.count("WENT-ON")) == (-2, 0), opened.shown
    assert lk("release", "w", "--owner", "other").returncode == 0


def test_workers_that_are_interrupted_twice():
    assert lk("push", "q", "1").returncode == 0
    with terminal("bash", "-c", f"$LK work q -- {SLEEP}; echo WENT-ON") as opened:
        opened.expect("READY")
        opened.signal(INTERRUPT)
        opened.expect("STOPPING")
        opened.signal(INTERRUPT)
        assert (opened.end(), opened.shown.count("WENT-ON")) == (-2, 0), opened.shown


def test_an_interrupted_job():
    for shell in SHELLS:
        with prompt(shell) as opened:
            opened.line(f"$LK run p -- {SLEEP}")
            opened.expect("READY")
            opened.signal(INTERRUPT)
            opened.expect("PROMPT> ")
            opened.line("echo CODE''=$?")
            opened.expect("CODE=130")
    with prompt("bash") as opened:
        opened.line(f"for i in 1 2 3; do $LK run p -- {SLEEP}; echo WENT''-ON; done")
        opened.expect("READY")
        opened.signal(INTERRUPT)
        opened.expect("PROMPT> ")
        assert "WENT-ON" not in opened.shown
    assert is_free()


# ---- pipelines -------------------------------------------------------------------------------

PIPELINES = {
    "a reader of the terminal at the end":
        f"$LK run p -- {SEND} | {PAGE}",
    "the same behind no input":
        f"$LK run p -- {SEND} </dev/null | {PAGE}",
    "the same behind two pipes":
        f"$LK run p -- {SEND} 2>&1 | cat | {PAGE}",
    "the command at the end": f"echo data | $LK run p -- {ASK_AND_COPY}",
    "the command in the middle": f"echo data | $LK run p -- {ASK_AND_COPY} | cat",
    "the command in front": f"$LK run p -- {ASK} | cat",
    "the command without input": f"$LK run p -- {ASK} </dev/null",
    "the command alone": f"$LK run p -- {ASK}",
    "a substitution": "x=$($LK run p -- %s); echo \"$x\"" % ASK.replace(
        READY, READY.replace(";", " >/dev/tty;")),
    "a subshell": f"( $LK run p -- {ASK} )",
    "under env": f"env $LK run p -- {ASK} | cat",
    "under another run": f"$LK run o -- $LK run p -- {ASK} | cat",
}


def forget():
    for name in ("begun", "key"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{WORK}/{name}")
    os.mkfifo(f"{WORK}/key")


def test_pipelines_share_the_terminal():
    for shell in SHELLS:
        with prompt(shell) as opened:
            for name, text in PIPELINES.items():
                forget()
                opened.line(text)
                opened.expect("READY")
                opened.type("hello\n")
                opened.expect("KEY=<hello>")
                if "data" in text:
                    opened.expect("data")
                opened.expect("PROMPT> ")
                assert not re.search("[Ss]topped|suspended", opened.shown), (name, opened.shown)
            opened.line("echo CODE''=$?")
            opened.expect("CODE=0")


def test_stopped_and_continued():
    stopped = "[Ss]topped|[Ss]uspended"
    for shell in SHELLS:
        for text in (f"{RUN} {ASK} | cat", f"{RUN} {ASK}", f"echo x | {RUN} {ASK}",
                     f"{RUN} {SEND} | {PAGE}"):
            forget()
            with prompt(shell) as opened:
                opened.line(text)
                opened.expect("READY")
                for _ in range(3):
                    opened.signal(STOP)
                    opened.expect(stopped)
                    opened.expect("PROMPT> ")
                    assert not is_free(), "the lease is lost"
                    opened.line("fg")
                    wait_until(opened.is_in_front, "the job is in the foreground")
                opened.type("hello\n")
                opened.expect("KEY=<hello>")
                opened.expect("PROMPT> ")


def test_a_pipeline_in_the_background():
    with prompt("bash") as opened:
        opened.line(f"$LK run p -- {ASK} | cat & # it must not read the keys of the shell")
        opened.expect("PROMPT> ")
        end = time.monotonic() + BOUND_S
        while "Stopped" not in opened.shown:  # bash says so at the next prompt
            opened.line("jobs")
            opened.expect("PROMPT> ")
            assert time.monotonic() < end, opened.shown
        opened.line("fg")
        opened.type("hello\n")
        opened.expect("KEY=<hello>")
        opened.expect("PROMPT> ")


def test_a_pipeline_that_is_stopped_beyond_its_lease():
    with prompt("bash") as opened:
        opened.line("set -o pipefail")
        opened.line(f"$LK run --ttl {4 * STRETCH}s p -- sh -c 'echo PID=$$; exec sleep 600' | cat")
        command = int(opened.expect(r"PID=(\d+)").group(1))
        opened.signal(STOP)
        opened.expect("Stopped")
        wait_until(lambda: is_dead(command), "the guard has ended the command")
        wait_until(is_free, "the lease is over")
        opened.line("fg")
        opened.expect("LOST")
        opened.expect("PROMPT> ")
        opened.line("echo CODE''=$?")
        opened.expect("CODE=78")


def test_a_signal_to_the_job_comes_once():
    """A second one has many programs end at once, without their clean-up."""
    count = ("sh -c 'trap \"echo GOT\" TERM; trap \"echo PASSED; exit\" USR1; echo PID=$PPID; "
             "while :; do sleep 0.02; done'")
    for own in ("</dev/null &", "&"):  # in the group of lk, and in one of its own
        with prompt("bash") as opened:
            opened.line(f"$LK run p -- {count} {own}")
            run = int(opened.expect(r"PID=(\d+)").group(1))
            opened.line("kill -TERM %1")
            opened.expect("GOT")
            os.kill(run, signal.SIGUSR1)  # through lk, behind what else it passes on
            opened.expect("PASSED")
            assert opened.shown.count("GOT") == 1, opened.shown


def test_two_signals_to_the_job_come_once_each():
    """lk reads them one behind the other, and CMD has had both by then."""
    count = ("sh -c 'trap \"echo GOT-HUP\" HUP; trap \"echo GOT-INT\" INT; "
             "trap \"echo PASSED; exit\" USR1; echo PID=$PPID; while :; do sleep 0.02; done'")
    with prompt("bash") as opened:
        opened.line(f"$LK run p -- {count} </dev/null &")
        run = int(opened.expect(r"PID=(\d+)").group(1))
        os.kill(run, signal.SIGSTOP)
        wait_until(lambda: process(run)[0] == "T", "lk is stopped")
        for number, word in ((signal.SIGHUP, "GOT-HUP"), (signal.SIGINT, "GOT-INT")):
            os.killpg(os.getpgid(run), number)
            opened.expect(word)
        os.kill(run, signal.SIGCONT)
        os.kill(run, signal.SIGUSR1)  # which has a higher number: lk reads it last
        opened.expect("PASSED")
        assert opened.shown.count("GOT") == 2, opened.shown


# ---- the whole tree --------------------------------------------------------------------------

TREE = "sh -c 'sleep 600 & echo PID=$!=$$=$PPID; wait'"


def test_the_tree_is_ended():
    for line in (f"$LK run t1 --max-time $TIME -- {TREE} | cat", f"echo | $LK run t2 -- {TREE}",
                 f"$LK run t3 -- {TREE} </dev/null"):
        with prompt("bash") as opened:
            found, time_s = None, STRETCH
            while found is None or found.group(1) is None:  # on a busy machine the time is over before
                opened.line(f"TIME={time_s}s; {line}")
                found, time_s = opened.expect(r"PID=(\d+)=(\d+)=(\d+)|PROMPT> "), time_s * 2
            child, command, run = (int(found.group(i)) for i in (1, 2, 3))
            if "max-time" not in line:
                os.kill(run, signal.SIGKILL)
            opened.expect("PROMPT> ")
            wait_until(lambda: is_dead(child) and is_dead(command), "the tree is dead")


# ---- other terminals, and none ---------------------------------------------------------------


def test_script_and_setsid():
    with prompt("bash") as opened:
        opened.line(f"script -qec \"$LK run p -- {ASK}\" /dev/null".replace('"KEY=<$k>"', "KEY=$k")
                    .replace("$k", "\\$k"))
        opened.expect("READY")
        opened.type("hello\n")
        opened.expect("KEY=hello")
        opened.expect("PROMPT> ")
        opened.line("setsid -w $LK run p -- sh -c 'echo OUT=$((1 + 1)) | cat' | cat")
        opened.expect("OUT=2")
        opened.expect("PROMPT> ")


def test_no_terminal():
    for script in ("$LK run p -- sh -c 'echo data' | cat", "x=$($LK run p -- echo data); echo $x",
                   "echo data | $LK run p -- cat", "$LK run p -- echo data </dev/null & wait"):
        for shell, words in SHELLS.items():
            ended = subprocess.run([*words, "-c", script], env=ENVIRONMENT, text=True, check=False,
                                   capture_output=True, start_new_session=True)
            assert (ended.stdout, ended.returncode) == ("data\n", 0), (shell, script, ended)


def main():
    tests = [item for name, item in globals().items() if name.startswith("test_")]
    print(f"1..{len(tests)}")
    failed = 0
    for number, test in enumerate(tests, 1):
        word, trouble = "ok", ""
        try:
            test()
        except Exception:  # pylint: disable=broad-except
            word, trouble = "not ok", traceback.format_exc()
            failed += 1
        print(f"{word} {number} - {test.__name__[5:].replace('_', ' ')}", flush=True)
        for line in trouble.splitlines():
            print("#", line, flush=True)
    shutil.rmtree(WORK, ignore_errors=True)
    return failed != 0


sys.exit(main())
