#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: page.sh README CLASSPATH
#
# The examples of the page (Page.java), and the package for Maven as far as there is no network: its file, and that
# its version is the library's. Prints TAP.
. "${0%/*}/../../tap.sh"
readme=$(realpath "$1")
root=${readme%/bindings/*}

mkdir "$work/place"
LK_STORE="sqlite:$work/locks.db" java -XX:TieredStopAtLevel=1 -cp "$2" Page "$readme" "$work/place" >"$work/out" 2>"$work/err"
report $? 'the examples of the page'
ok 'all of them' [ "$(grep -c '^ok' "$work/out")" -eq "$(($(grep -c '^```java' "$readme") + 2))" ]
ok 'the package has the version of the library' [ "$(sed -n 's|^  <version>\(.*\)</version>|\1|p' "${readme%/*}/pom.xml")" = \
    "$("$root/tools/version")" ]
ok 'and is of the form that Maven reads' python3 -c "
import sys, xml.etree.ElementTree as tree
space = '{http://maven.apache.org/POM/4.0.0}'
project = tree.parse(sys.argv[1]).getroot()
assert project.tag == space + 'project' and project.find(space + 'modelVersion').text == '4.0.0'
needs = [one.find(space + 'artifactId').text for one in project.iter(space + 'dependency')]
assert needs == ['jna'], needs" "${readme%/*}/pom.xml"
ok 'a library that is not there is an error that says what to do' sh -c \
    "! LK_LIBRARY=/nonexistent.so java -cp '$2' Others holds mem: 2>'$work/told' && grep -q 'ldconfig.*LD_LIBRARY_PATH.*LK_LIBRARY' '$work/told'"
ok 'another library is refused' sh -c \
    "! LK_LIBRARY=libc.so.6 java -cp '$2' Others holds mem: 2>'$work/told' && grep -q 'lk_version' '$work/told'"
finish
