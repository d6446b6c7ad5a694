#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: configure.sh SOURCE_ROOT
#
# tools/configure with a Meson that only says what it was asked: a build is made again where there is
# something else to be found than before, and left alone where there is not.
. "${0%/*}/../tap.sh"
mkdir "$work/bin" "$work/tools"
cp "$1/tools/configure" "$work/tools"
PATH=$work/bin:$PATH

program() { # PATH LINE...
    file=$1
    shift
    printf '%s\n' '#!/bin/sh' "$@" >"$file"
    chmod 755 "$file"
}

# shellcheck disable=SC2016 # expanded there
program "$work/bin/meson" 'echo "$@" >>asked' '[ "$1 $2" != "setup dir" ] || mkdir -p dir' ': >dir/build.ninja'
program "$work/tools/install-deps" 'cat there'

asks() { # OPTIONS LINE...: what tools/configure asks of Meson
    options=$1
    shift
    : >asked
    # shellcheck disable=SC2086 # options
    tools/configure dir $options && printf '%s' "${1:+$(printf '%s\n' "$@")
}" | cmp - asked
}

cd "$work" || exit 1
echo 'gcc' >there
ok "a new folder is set up" asks '' 'setup dir'
ok "nothing has to be done again" asks ''
ok "an option is set" asks -Dtests=enabled 'configure dir -Dtests=enabled'
ok "and is known then" asks -Dtests=enabled
echo 'libnode-dev' >>there
ok "what is installed since is looked for, whatever was remembered" asks -Dtests=enabled \
    'configure dir --clearcache' 'setup --reconfigure dir -Dtests=enabled'
ok "once" asks -Dtests=enabled
rm dir/lockkeeper-present
ok "a folder of which that is not known is looked at again" asks '' \
    'configure dir --clearcache' 'setup --reconfigure dir'
finish
