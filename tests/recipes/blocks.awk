# SPDX-License-Identifier: Apache-2.0
#
# usage: awk -v section=TITLE -v language=NAME [-v number=N] -f blocks.awk PAGE.md
#
# The Nth (first) fenced block in a language of the section with that title; that of the page: before its
# first section.
!is_open && /^##? / { title = $0; sub(/^##? /, "", title); is_in_section = title == section }
/^```/ && is_open { is_open = is_wanted = 0; next }
/^```/ { is_open = 1; is_wanted = is_in_section && $0 == "```" language && ++seen == (number ? number : 1); next }
is_wanted
