#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: compile.sh JNA STAMP SOURCES...
#
# Compiles the binding and its tests into the folder `classes` beside STAMP. Any warning is an error,
# if the compiler is one that has been tried: each JDK has more kinds of them.
set -e
jna=$1
stamp=$2
shift 2
classes=$(dirname "$stamp")/classes
rm -rf "$classes"
mkdir -p "$classes"
# shellcheck disable=SC2046 # no word, or one
javac --release 17 -Xlint:all,-try $("${0%/*}/../../../tools/tried" -Werror javac) -cp "$jna" -d "$classes" "$@"
touch "$stamp"
