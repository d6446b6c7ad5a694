# SPDX-License-Identifier: Apache-2.0
# Lockkeeper's completion of lk for bash. The program itself makes the candidates: lk __complete.

_lk() {
    # bash splits words at : and = too; these are joined again as they were typed.
    local line=${COMP_LINE:0:COMP_POINT} rest word words=() i offset=0
    rest=$line
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)); then
            word=${rest#"${rest%%[![:space:]]*}"}
        fi
        if ((i > 0)) && [[ $rest != [[:space:]]* ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        [[ $word == -- && $offset -eq 0 ]] && offset=$((i + 1))
        rest=${rest#*"$word"}
    done
    local current=${words[-1]}

    COMPREPLY=()
    if ((offset > 0 && offset <= COMP_CWORD)) && declare -F _command_offset >/dev/null; then
        _command_offset "$offset"
        return
    fi
    if ((offset > 0 && offset <= COMP_CWORD)); then
        compopt -o default 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -c -- "$current" | sort -u)
        return
    fi

    # What is before the last : or = of the word stays where it is.
    local kept=''
    case $current in
    *[:=]*) [[ $COMP_WORDBREAKS == *[:=]* ]] && kept=${current%"${current##*[:=]}"} ;;
    esac
    local candidate about
    while IFS=$'\t' read -r candidate about; do
        [[ $candidate == "$kept" ]] && continue
        [[ $candidate == *[:=/] ]] && compopt -o nospace 2>/dev/null
        printf -v candidate %q "${candidate#"$kept"}"
        COMPREPLY+=("$candidate")
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
}

complete -F _lk lk
