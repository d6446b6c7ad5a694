# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# As root the server has to be somebody else.
as_nobody_special() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid postgres --regid postgres --clear-groups --inh-caps=-all "$@"
    else
        "$@"
    fi
}
