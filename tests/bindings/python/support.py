# SPDX-License-Identifier: Apache-2.0
"""Tests of unittest as TAP, stores for them, and other processes that use the binding."""

import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest

# How many times longer than else times are, on a machine that is busy (tests/timed).
STRETCH = int(os.environ.get("LK_TEST_STRETCH", "1"))
PATIENCE_S = 50 + 10 * STRETCH  # longer than any time that a case waits for


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.count = 0

    def report(self, test, is_good, trouble=""):
        self.count += 1
        title = test.id().split(".", 1)[-1].replace(".test_", " ").replace("_", " ")
        print(f"{'ok' if is_good else 'not ok'} {self.count} - {title}", flush=True)
        for line in trouble.splitlines():
            print(f"# {line}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.report(test, True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.report(test, False, "".join(traceback.format_exception(*err)))

    def addError(self, test, err):
        super().addError(test, err)
        self.report(test, False, "".join(traceback.format_exception(*err)))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.report(subtest, False, "".join(traceback.format_exception(*err)))


def main():
    """Runs the cases of the program. LK_TEST_ONLY: those whose names contain it."""
    only = os.environ.get("LK_TEST_ONLY", "")
    suite = unittest.TestSuite(
        test for cases in unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
        for test in cases if only in test.id())
    result = TapResult()
    suite.run(result)
    print(f"1..{result.count}", flush=True)
    sys.exit(0 if result.wasSuccessful() and result.count > 0 else 1)


def until(condition, what="it"):
    """Waits until the condition is true."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} has not happened")
        time.sleep(0.005)


# ---- stores ----------------------------------------------------------------------------------------

_fresh = itertools.count(1)


class Stores:
    """Fresh stores by the pattern of URLs that the test is given: {fresh} is a new file, {name} a new
    word. `service PROGRAM` starts a service for each; `flush` is a program that empties the only one."""

    def __init__(self, pattern, program, flush=None):
        self.pattern, self.program, self.flush = pattern, program, flush
        self.place = tempfile.mkdtemp(prefix="lk-python-")
        self.services = []

    def fresh(self):
        name = f"t{next(_fresh)}"
        if self.flush:
            subprocess.run([self.flush], check=True, stdout=subprocess.DEVNULL)
        if self.pattern != "service":
            path = os.path.join(self.place, name)
            return self.pattern.replace("{fresh}", path).replace("{name}", f"{name}p{os.getpid()}")
        path = os.path.join(self.place, name)
        self.serve(path)
        return f"lk+unix:{path}"

    def serve(self, path):
        """Starts a service. It keeps nothing."""
        service = subprocess.Popen(
            [self.program, "serve", "--unix", path, "--listen", "none", "--http", "none",
             "--ephemeral"], stdout=subprocess.PIPE, text=True)
        self.services.append(service)
        service.stdout.readline()  # its address: it is there
        return service

    def remove(self):
        for service in self.services:
            service.kill()
            service.wait()
            service.stdout.close()
        shutil.rmtree(self.place, ignore_errors=True)


STORES = None


class StoreCase(unittest.TestCase):
    """A case with a fresh store, whose URL is self.url."""

    def setUp(self):
        import lockkeeper
        self.url = STORES.fresh()
        self.store = lockkeeper.open(self.url)
        self.addCleanup(self.store.close)

    def open(self):
        import lockkeeper
        store = lockkeeper.open(self.url)
        self.addCleanup(store.close)
        return store

    def program(self, source, *arguments):
        program = Program(source, self.url, *arguments)
        self.addCleanup(program.remove)
        return program

    def waits(self, owner):
        """Whether the owner has a request in the queue."""
        return any(not entry.held and entry.owner == owner for entry in self.store.list())

    def holds(self, owner):
        return any(entry.held and entry.owner == owner for entry in self.store.list())


@contextlib.contextmanager
def stores():
    """The stores of the program's arguments: PATTERN PROGRAM [FLUSH]."""
    global STORES
    STORES = Stores(*sys.argv[1:4])
    try:
        yield
    finally:
        STORES.remove()


def main_on_stores():
    with stores():
        main()


def move(old, new):
    """The file of a store that is not to answer, or is again."""
    for part in ("", "-wal", "-shm"):
        if os.path.exists(f"{old}{part}"):
            os.rename(f"{old}{part}", f"{new}{part}")


# ---- other threads and processes -------------------------------------------------------------------


class Background:
    """A call in a thread; result() is what it returned or raised."""

    def __init__(self, call, *arguments, **options):
        self.value = self.error = None

        def run():
            try:
                self.value = call(*arguments, **options)
            except BaseException as error:  # for the test to look at
                self.error = error

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def result(self):
        self.thread.join(PATIENCE_S)
        if self.thread.is_alive():
            raise AssertionError("it does not end")
        if self.error is not None:
            raise self.error
        return self.value


class Program:
    """Another Python that runs a program of the test. say() and heard() are lines."""

    def __init__(self, source, *arguments):
        # Since 3.12 Python warns of each fork of a process that has threads, as that of a store has.
        forks = "ignore:This process (pid=:DeprecationWarning"
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-W", forks, "-c", source, *arguments], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def heard(self):
        return self.process.stdout.readline().strip()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def signal(self, number):
        self.process.send_signal(number)
        if number == signal.SIGSTOP:
            state = pathlib.Path(f"/proc/{self.process.pid}/stat")
            until(lambda: state.read_text().rsplit(")", 1)[1].split()[0] == "T", "the stop")

    def end(self):
        """The exit code, the rest of what it said, and its errors."""
        self.process.stdin.close()
        out, err = self.process.stdout.read(), self.process.stderr.read()
        return self.process.wait(PATIENCE_S), out, err

    def remove(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
