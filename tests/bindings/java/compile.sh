#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: compile.sh JNA STAMP SOURCES...
#
# Compiles the binding and its tests into the folder `classes` beside STAMP. Any warning is an error.
set -e
jna=$1
stamp=$2
shift 2
classes=$(dirname "$stamp")/classes
rm -rf "$classes"
mkdir -p "$classes"
javac --release 17 -Xlint:all,-try -Werror -cp "$jna" -d "$classes" "$@"
touch "$stamp"
