# SPDX-License-Identifier: Apache-2.0
# Lockkeeper's completion of lk for fish. The program itself makes the candidates: lk __complete.

function __lk_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    if set -l at (contains -i -- -- $words)
        set -l rest $words[(math $at + 1)..-1]
        complete -C (string join ' ' -- (string escape -- $rest) $current)
        return
    end
    $words[1] __complete $words[2..-1] "$current" 2>/dev/null
end

complete -c lk -f -a '(__lk_complete)'
