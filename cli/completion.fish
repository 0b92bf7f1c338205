# completion.fish - completes the words of cctest for fish. `cctest complete WORD...` prints the candidates; ":files" means
# that file names fit, too.
function __cctest_candidates
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    for candidate in ($program complete $words[2..-1] $word 2>/dev/null)
        if test $candidate = :files
            __fish_complete_path $word
        else
            echo $candidate
        end
    end
end
complete -c cctest -f -a '(__cctest_candidates)'
