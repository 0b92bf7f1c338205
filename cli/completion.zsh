#compdef cctest
# completion.zsh - completes the words of cctest for zsh. `cctest complete WORD...` prints the candidates; ":files" means
# that file names fit, too.
local -a candidates whole open
local candidate files=
candidates=(${(f)"$(${~words[1]} complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
for candidate in $candidates; do
    case $candidate in
    :files) files=1 ;;
    *[=:.]) open+=($candidate) ;; # it continues: no space
    *) whole+=($candidate) ;;
    esac
done
(( ! $#open )) || compadd -S '' -a open
(( ! $#whole )) || compadd -a whole
[[ -z $files ]] || _files
