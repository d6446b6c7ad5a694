#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: package.sh SOURCE_ROOT PYTHON LIBRARY MYPY
#
# The package as users install it: by pip, without a network, into an environment of its own. It is
# typed, also for a program that uses it from there. What mypy says differs between versions: one
# that has not been tried is not asked, and the line says so.
set -e
. "${0%/*}/../../tap.sh"
source=$1
python=$2
export LK_LIBRARY="$3"
mypy=$4
unset PYTHONPATH
cp -R "$source/bindings/python" "$work/python" # setuptools writes beside it
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1

judged() { # TITLE COMMAND...
    if version=$("$source/tools/tried" "$mypy") || [ -z "$version" ]; then
        ok "$@"
    else
        report 0 "$1: not asked, $version is not the version for it (tools/tried)"
    fi
}

judged "mypy has nothing to say of the package" sh -c \
    "cd '$work/python' && '$mypy' --strict --python-version 3.9 --cache-dir=/dev/null lockkeeper"
ok "an environment" "$python" -m venv --without-pip --system-site-packages "$work/env"
ok "pip install ." "$work/env/bin/python" -m pip install --quiet --no-index --no-build-isolation \
    --no-deps "$work/python"
metadata() { # KEY VALUE: of the distribution, whose name is not that of what is imported
    "$work/env/bin/python" -c 'import sys, importlib.metadata as m; found = m.metadata("liblockkeeper").get_all(sys.argv[1]); print(found)
assert sys.argv[2] in found' "$@"
}
ok "the distribution is liblockkeeper" metadata Name liblockkeeper
ok "its licence is named" metadata License Apache-2.0
ok "and in it" sh -c "cmp '$source/LICENSE' '$work'/env/lib/python3*/site-packages/liblockkeeper-*.dist-info/LICENSE ||
    cmp '$source/LICENSE' '$work'/env/lib/python3*/site-packages/liblockkeeper-*.dist-info/licenses/LICENSE"
cat >"$work/program.py" <<'END'
import lockkeeper

store: lockkeeper.Store = lockkeeper.open("mem:")
with store, store.lock("t") as lease:
    print(lockkeeper.__version__, lockkeeper.__file__, lease.token > 0)
END
cd "$work"
ok "a program uses it" sh -c "'$work/env/bin/python' program.py >out"
ok "it is that of the environment, and has the version of the library" grep -q \
    "^$("$source/tools/version") $work/env/lib.*/lockkeeper/__init__.py True$" "$work/out"
judged "a program that uses it is checked by its types" "$mypy" --strict --cache-dir=/dev/null \
    --python-executable "$work/env/bin/python" program.py
echo 'lockkeeper.open(1).lock("t", ttl="1m")' >>"$work/program.py"
judged "wrong types are found" sh -c "! '$mypy' --strict --cache-dir=/dev/null \
    --python-executable '$work/env/bin/python' program.py >said 2>&1 && grep -c 'arg-type' said | grep -qx 2"
ok "a library that is not there is an ImportError that says what to do" sh -c \
    "! LK_LIBRARY=/nonexistent.so '$work/env/bin/python' program.py 2>said && grep -q 'ImportError.*ldconfig.*LD_LIBRARY_PATH.*LK_LIBRARY' said"
ok "another library is refused" sh -c \
    "! LK_LIBRARY=libc.so.6 '$work/env/bin/python' program.py 2>said && grep -q 'ImportError.*not liblockkeeper' said"
finish
