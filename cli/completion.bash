# shellcheck shell=bash
# completion.bash - completes the words of cctest for bash; `make install` puts it where bash-completion finds it.
# What fits is known to the program itself: `cctest complete WORD...` prints it.
_cctest() {
    local line=${COMP_LINE:0:COMP_POINT} candidate kept files=
    local -a words
    # bash has cut the line at ':' and '=', too, which belong to our words.
    read -ra words <<<"$line"
    [[ $line != *[[:space:]] ]] || words+=("")
    local word=${words[-1]} program=${words[0]}
    # shellcheck disable=SC2088 # as the user wrote it
    [[ $program != "~/"* ]] || program=$HOME/${program#"~/"}
    COMPREPLY=()
    # What stands before the last of those is not replaced, and so not repeated.
    kept=
    [[ $COMP_WORDBREAKS != *:* || $word != *:* ]] || kept=${word%"${word##*:}"}
    [[ $COMP_WORDBREAKS != *=* || ${word#"$kept"} != *=* ]] || kept=${word%"${word##*=}"}
    while IFS= read -r candidate; do
        case $candidate in
        :files) files=1 ;;
        *) COMPREPLY+=("${candidate#"$kept"}") ;;
        esac
    done < <("$program" complete "${words[@]:1}" 2>/dev/null)
    if [ -n "$files" ]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r candidate; do
            COMPREPLY+=("$candidate")
        done < <(compgen -f -- "${word#"$kept"}")
    fi
    # More is to follow what ends so.
    if [[ ${#COMPREPLY[@]} = 1 && ${COMPREPLY[0]} == *[=:.] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _cctest cctest
