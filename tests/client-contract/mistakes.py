#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: mistakes.py: the opponent finds each mistake of naive.py by the script that is for it."""

import concurrent.futures
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import cases  # noqa: E402 pylint: disable=wrong-import-position

MISTAKES = {
    "new-owner": "owners",
    "renews-late": "renewal",
    "counts-from-answer": "promise",
    "revives": "late",
    "deaf": "renewal-lost",
    "follows-for-ever": "moved-circle",
    "forgets-token": "grant",
    "trusts": "no-token",
}


def played(mistake, script):
    return subprocess.run(
        [HERE / "opponent", "--driver", f"{HERE / 'naive.py'} {mistake}",
         HERE / "scripts" / f"{script}.script"], stdout=subprocess.PIPE, text=True, check=False)


def case_of(mistake, script, with_it, without):
    def case():
        found, passed = with_it.result(), without.result()
        assert found.returncode == 1 and "not ok" in found.stdout, found.stdout
        assert passed.returncode == 0, passed.stdout
    case.__doc__ = f"{mistake} is found by {script}, which passes without it"
    return case


def main():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # most of their time is sleep
        return cases.run([case_of(mistake, script, pool.submit(played, mistake, script),
                                  pool.submit(played, "none", script))
                          for mistake, script in MISTAKES.items()])


if __name__ == "__main__":
    sys.exit(main())
