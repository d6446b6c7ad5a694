#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: docs.py README LK: each Python example of the binding's page, run as it is printed.

What it prints is listed here: an example that is not is a failure.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import support

README, LK = sys.argv[1:3]
TRIED = pathlib.Path(__file__).resolve().parents[3] / "tools" / "tried"

# For each example in the page's order: what it prints, as a pattern.
PRINTED = [
    r"token \d+\n",
    r"backs up\nnot granted within the time given: mydatabase/mytest is held by test.* \['test'\]\n",
    r"makes reports\n",
    r"leads with token \d+\ndone\nnow leads None\n",
    r"",
    r"b'18'\n",
    r"sends 4711 b'to: ana'\n",
    r"False True ready\n",
    r"",
    r"b'7'\n",
    r"has sent 4713 b'to: bob'\n",
    r"granted released\n",
    r"token \d+\nsends 4712\n",
    r"mydatabase/mytest ana holds\n(.+: .*\n)+\n",
]

EXAMPLES = re.findall(r"^```python\n(.*?)^```$", pathlib.Path(README).read_text(encoding="utf-8"),
                      re.MULTILINE | re.DOTALL)


class Page(unittest.TestCase):
    def run_example(self, source, environment):
        return subprocess.run([sys.executable, "-W", "error", "-c", source], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=support.PATIENCE_S)

    def test_each_example(self):
        self.assertEqual(len(EXAMPLES), len(PRINTED))
        with tempfile.TemporaryDirectory() as place:
            environment = dict(os.environ, LK_STORE=f"sqlite:{place}/locks.db")
            for number, (source, printed) in enumerate(zip(EXAMPLES, PRINTED)):
                # A test is in the way of the reset.
                held = "mydatabase/mytest" if "host/reset" in source else None
                with self.subTest(f"example {number + 1}"):
                    if held:
                        subprocess.run([LK, "acquire", held, "--owner", "test"], env=environment,
                                       check=True, stdout=subprocess.DEVNULL)
                    done = self.run_example(source, environment)
                    if held:
                        subprocess.run([LK, "release", held, "--owner", "test"], env=environment,
                                       check=True)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertRegex(done.stdout, r"\A" + printed + r"\Z")

    def test_types_of_the_examples(self):
        with tempfile.TemporaryDirectory() as place:
            for number, source in enumerate(EXAMPLES):
                pathlib.Path(place, f"example_{number}.py").write_text(source, encoding="utf-8")
            if subprocess.run([TRIED, "mypy"], stdout=subprocess.DEVNULL).returncode != 0:
                print("# the types of the examples: not asked, another version of mypy", flush=True)
                return
            checked = subprocess.run(
                ["mypy", "--strict", "--no-incremental", "--cache-dir=/dev/null", place],
                env=dict(os.environ, MYPYPATH=os.environ["PYTHONPATH"], LD_PRELOAD=""),
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout)


support.main()
