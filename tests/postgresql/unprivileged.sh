# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Runs a command as the user postgres if this is root, as which the server refuses to run.
unprivileged() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid postgres --regid postgres --clear-groups --inh-caps=-all "$@"
    else
        "$@"
    fi
}
