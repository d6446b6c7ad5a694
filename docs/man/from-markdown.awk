# SPDX-License-Identifier: Apache-2.0
#
# usage: awk -v page='NAME(SECTION)' -v summary=TEXT [-v first=FILE.scd] -f from-markdown.awk FILE.md
#
# A document of docs/ as the source of a manual page for scdoc: headings, paragraphs, lists, code,
# and tables as lists. FILE.scd stands before it. Sections that lead into the sources are left out.

BEGIN {
    print page " \"Lockkeeper\" \"Lockkeeper\"\n\n# NAME\n\n" substr(page, 1, index(page, "(") - 1) \
        " - " summary "\n"
    while (first != "" && (getline line < first) > 0) {
        print line
    }
    print "\n# DESCRIPTION\n"
}

# Text with marks of Markdown as text with marks of scdoc.
function inline(text,    out, at, char, span) {
    gsub(/\]\([^)]*\)/, "", text)
    gsub(/(^|[ (])\[/, "&\001", text)
    gsub(/\[\001/, "", text)
    out = ""
    while (length(text) > 0) {
        char = substr(text, 1, 1)
        if (char == "`" && (at = index(substr(text, 2), "`")) > 0) {
            span = substr(text, 2, at - 1)
            gsub(/[\\*_`]/, "\\\\&", span)
            out = out "*" span "*"
            text = substr(text, at + 2)
        } else if (substr(text, 1, 2) == "**" && (at = index(substr(text, 3), "**")) > 0) {
            out = out "*" substr(text, 3, at - 1) "*"
            text = substr(text, at + 4)
        } else if (char == "*" && (at = index(substr(text, 2), "*")) > 0) {
            out = out "_" substr(text, 2, at - 1) "_"
            text = substr(text, at + 2)
        } else {
            out = out ((char == "_" || char == "*" || char == "\\") ? "\\" char : char)
            text = substr(text, 2)
        }
    }
    return out
}

function flush() {
    if (paragraph != "") {
        print inline(paragraph) "\n"
    }
    paragraph = ""
}

function row(line,    count, cells, i, text) {
    gsub(/^\| *| *\|$/, "", line)
    count = split(line, cells, / *\| */)
    text = inline(cells[1])
    for (i = 2; i <= count; i++) {
        text = text ((i == 2 || cells[1] == "") ? ": " : "; ") inline(cells[i])
    }
    print "- " text
}

/^```/ {
    flush()
    print "```"
    is_code = !is_code
    if (!is_code) {
        print ""
    }
    next
}
is_code { print; next }
/^##+ / { flush(); is_left_out = /^## (Where |How it decides)/ }
is_left_out { next }
/^# / { next }
/^##+ / {
    flush()
    sub(/^#+ /, "")
    print "# " toupper($0) "\n"
    next
}
/^\|[-| ]*$/ { next }
/^\|/ {
    flush()
    if (was_table) {
        row($0)
    }
    was_table = 1
    next
}
was_table { was_table = 0; print "" }
/^ *$/ { flush(); next }
/^ *([-*]|[a-z0-9]\.) / {
    flush()
    sub(/^ *[-*] /, "")
    sub(/^ +/, "")
    paragraph = "- " $0
    next
}
{
    sub(/^ +/, "")
    paragraph = paragraph == "" ? $0 : paragraph " " $0
}
END { flush() }
