#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: wrap_pages.sh SOURCE_ROOT
#
# tools/wrap-pages with a page of all that it may not break: it fills what is too long, and leaves the
# rest byte by byte.
. "${0%/*}/../tap.sh"
tool=$1/tools/wrap-pages
page=$work/page.md
line='This sentence has as many words as one line of a page has room for, and some more after these'

# What stays: the headings, tables, pictures, HTML, code, and paragraphs of short lines.
cat >"$work/kept" <<END
# $line and these

A paragraph of short lines
stays as it is.

| $line | more |
|---|---|
| x | y |

![$line](pictures/page.png)

<img src="pictures/page.png" alt="$line">

\`\`\`sh
- no item: $line
\`\`\`

    indented code: $line

[name]: https://locks.example/a/$line

END
cat "$work/kept" - >"$page" <<END
$line and these,
before
others.

- $line, in an item: \`a --short piece\` of code stays whole
  1. $line, in one below it

     $line, in its second paragraph

     \`\`\`sh
     code below an item: $line
     \`\`\`
- short

$line, before a break\\
and behind it.

 a. $line, in a part of a rule
    and its second line.

> $line, quoted
> and more.

https://locks.example/$(printf '%0100d' 0)
END
cat "$work/kept" - >"$work/wanted" <<END
$line and
these, before others.

- $line, in
  an item: \`a --short piece\` of code stays whole
  1. $line,
     in one below it

     $line,
     in its second paragraph

     \`\`\`sh
     code below an item: $line
     \`\`\`
- short

$line,
before a break\\
and behind it.

 a. $line,
    in a part of a rule and its second line.

> $line,
> quoted and more.

https://locks.example/$(printf '%0100d' 0)
END
cp "$page" "$work/first"

tells() {
    ! "$tool" --check "$page" >"$work/out" && cmp "$page" "$work/first" &&
        [ "$(sed 's/.*page.md:\([0-9]*\): .*/\1/' "$work/out" | tr '\n' ' ')" = "$1 " ]
}

fills() {
    "$tool" "$page" && diff "$work/wanted" "$page"
}

# What would fall at the beginning of a line, and begin something else there.
stays_inside() { # MARK...
    for mark in "$@"; do
        printf '%s, quite %s goes on\n' "$line" "$mark" >"$work/mark.md"
        "$tool" "$work/mark.md"
        [ "$(wc -l <"$work/mark.md")" -eq 2 ] && grep -qFx "quite $mark goes on" "$work/mark.md" || {
            cat "$work/mark.md"
            return 1
        }
    done
}

refuses() { # FILE
    ! "$tool" "$1" >"$work/out" 2>"$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] &&
        grep -qF "wrap-pages: $1: " "$work/err"
}

ok '--check tells the lines that are too long, and changes nothing' tells '22 26 27 29 36 39 42'
ok 'paragraphs and items are filled, and nothing else is changed' fills
ok 'what is filled stays as it is' fills
ok 'what is filled passes --check' "$tool" --check "$page"
ok 'no mark gets to the beginning of a line' stays_inside - + '*' 12. '3)' a. '#' '##' '>' '|' '<b>' === '```x'
ok 'a file that is not there is refused' refuses "$work/none.md"
finish
