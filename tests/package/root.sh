# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# A root directory for dpkg, beside tests/tap.sh: what the system has to bring is in its status as if it
# were installed, and nothing else is, so that dpkg itself says what a package lacks.
#
#   root_begin DIR PACKAGE...   makes DIR for files of packages, with what their Depends name but for
#                               Lockkeeper's own, each in the least version that is enough
#   in_root WORD...             dpkg in $root

root_begin() {
    mkdir -p "$1/var/lib/dpkg/updates" "$1/var/lib/dpkg/info" "$1/etc"
    # The only group that a user can give a file to is their own.
    [ "$(id -u)" -eq 0 ] || echo "lockkeeper:x:$(id -g):" >"$1/etc/group"
    root_database=$1/var/lib/dpkg
    shift
    for root_package in "$@"; do
        dpkg-deb --field "$root_package" Depends
    done | tr ',|' '\n\n' | grep -v lockkeeper | sed 's/[ ()]\{1,\}/ /g; s/^ //' | sort -u |
        while read -r root_name _ root_version; do
            cat <<END
Package: ${root_name%:any}
Status: install ok installed
Architecture: $(dpkg --print-architecture)
Multi-Arch: $([ "${root_name%:any}" = "$root_name" ] && echo no || echo allowed)
Version: ${root_version:-1}
Maintainer: none <none@lockkeeper.invalid>
Description: stands for the system's

END
            : >"$root_database/info/${root_name%:any}.list"
        done >"$root_database/status"
}

in_root() { # dpkg's options and arguments
    dpkg --root="$root" --force-not-root --force-script-chrootless --log="$work/dpkg.log" "$@"
}
