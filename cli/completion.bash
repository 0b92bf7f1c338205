# shellcheck shell=bash
# completion.bash - completes the words of cctest for bash; `make install` puts it where bash-completion finds it.
# `cctest complete WORD...` prints the candidates.
_cctest() {
    local line=${COMP_LINE:0:COMP_POINT} candidate kept files=
    local -a words
    # bash also splits the line at ':' and '=', which are part of our words.
    read -ra words <<<"$line"
    [[ $line != *[[:space:]] ]] || words+=("")
    local word=${words[-1]} program=${words[0]}
    # shellcheck disable=SC2088 # the word as typed
    [[ $program != "~/"* ]] || program=$HOME/${program#"~/"}
    COMPREPLY=()
    # bash keeps the text up to the last of these characters, so candidates must not repeat it.
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
    # A candidate that ends so continues: no space.
    if [[ ${#COMPREPLY[@]} = 1 && ${COMPREPLY[0]} == *[=:.] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _cctest cctest
