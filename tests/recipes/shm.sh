#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands of docs/shm.md, played, and its lines of C, compiled and run.
. "${0%/*}/harness.sh"
page=$docs/shm.md
# shellcheck disable=SC2016 # the heading has them
first_section='Limits at memory speed: `shm:` and `lockkeeper/canal.h`'
region=lk-test-page-$$

recipe 'from the command line'
block 'From the command line' sh | sed "s|shm:pool|shm:$region|" >"$here/lines"
program render
play sh -e "$here/lines"
rm -f "/dev/shm/canal.$region"
expect_code 0
ran 2 'render  render token'

recipe 'from C'
{
    block "$first_section" c | sed -n '/^#include/p'
    echo 'int main(void) { lk_canal *canal; lk_canal_holder *holder; lk_canal_permit permit; const int backends = 2;'
    sed '/^#include/d; s/"router"/"'"$region"'"/' "$work/block"
    echo 'lk_canal_figures figures; return lk_canal_measure(canal, &figures) == LK_CANAL_OK ? 0 : 1; }'
} >"$here/page.c"
# shellcheck disable=SC2046 # no word, or one
play cc -Wall -Wextra $("$docs/../tools/tried" -Werror cc) -I"$docs/../include" page.c "$LK_CANAL_LIBRARY" -o page
expect_code 0
play env LD_LIBRARY_PATH="${LK_CANAL_LIBRARY%/*}" ./page
rm -f "/dev/shm/canal.$region"
expect_code 0
finish_page
