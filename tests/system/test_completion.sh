#!/usr/bin/env bash
# tier: check; load: cpu1
# Completion by a real bash. Its offers equal the output of `list`, `help` and the sentences about unknown names, and the
# command line accepts them.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
script=$repository/cli/completion.bash
mkdir "$scratch/bin" "$scratch/files"
ln -s "$CCTEST" "$scratch/bin/cctest"
PATH=$scratch/bin:$PATH
cd "$scratch/files" || exit 1
touch "counts one.txt" counts2.txt

# completes LINE: writes the completions of LINE to $out, one a line, as bash-completion would ask for them.
completes() {
    ran=(complete "$1")
    status=0
    # bash splits at blanks and at $COMP_WORDBREAKS; separators other than blanks become words.
    bash --norc -c '
        . "$1"
        COMP_LINE=$2 COMP_POINT=${#2}
        mapfile -t COMP_WORDS < <(sed -E "s/[=:]/\n&\n/g; s/[[:blank:]]+/\n/g" <<<"$2" | sed "1!{/^\$/{\$!d}}")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        function_name=$(complete -p cctest | sed "s/.*-F \([^ ]*\).*/\1/")
        "$function_name" cctest "${COMP_WORDS[-1]}" ""
        printf "%s\n" "${COMPREPLY[@]}"' bash "$script" "$1" >"$out" 2>"$err" </dev/null
    check "complains: $(cat "$err")" test ! -s "$err"
}

offers() { # offers LINE WORD...: the completions are exactly these, in any order
    completes "$1"
    local got wanted
    got=$(sort -u "$out" | paste -sd' ')
    wanted=$(printf '%s\n' "${@:2}" | sort -u | paste -sd' ')
    check "'$1' offers '$got', not '$wanted'" test "$got" = "$wanted"
}

names() { # names PYTHON-EXPRESSION: its elements, from the JSON `d` of `list`, one a line
    json_of list | python3 -c "import json, sys; d = json.load(sys.stdin); print('\n'.join($1))"
}

mapfile -t collectives < <(names "[c['name'] for c in d['collectives']]")
check "there are collectives" test "${#collectives[@]}" -ge 10
offers "cctest " "${collectives[@]}" all list info plan accept fit predict report tune guidelines help
offers "cctest plan " "${collectives[@]}" all
offers "cctest help min" min min-busbw min-bytes minloc
offers "cctest help torus" torus torus2d
offers "cctest help MASTER_A" MASTER_ADDR
offers "cctest list " "${collectives[@]}"
offers "cctest info " ""
offers "cctest li" list
offers "cctest allr" allreduce
offers "cctest bca" bcast
offers "cctest allreduce,bca" allreduce,bcast
offers "cctest allreduce,alltoall -a ring-m" ring-multi
offers "cctest allreduce -d float,float8_e5" float,float8_e5m2
offers "cctest allreduce -o sum,av" sum,avg
offers "cctest allreduce -o al" all
offers "cctest xyz" ""

# Options of each command: those of --help.
for command in alltoall plan list info accept fit predict report tune guidelines help; do
    mapfile -t options < <("$CCTEST" help "$command" | sed -nE 's/^  (-., |    )(--[a-z-]+).*/\2/p')
    offers "cctest $command --" "${options[@]}"
done
offers "cctest --dat" --datatype
offers "cctest alltoall --min-b" --min-bytes --min-busbw
offers "cctest alltoall -a ring --min-by" --min-bytes

# Algorithms, of each collective, and their options.
for collective in "${collectives[@]}"; do
    mapfile -t all < <(names "[a['name'] for c in d['collectives'] if c['name'] == '$collective' for a in c['algorithms']]")
    offers "cctest $collective -a " "${all[@]}" file: all auto
    mapfile -t second < <(printf 'X,%s\n' "${all[@]}" file:)
    offers "cctest $collective -b 4 --algorithm X," "${second[@]}"
done
offers "cctest list alltoall pairwise-x" pairwise-xor
offers "cctest allreduce -a ring-m" ring-multi
offers "cctest alltoall --algorithm=pairwise-x" pairwise-xor
offers "cctest alltoall -a bruck:r" radix=
offers "cctest alltoall -a pairwise,bruck:r" radix=
offers "cctest alltoall -a bruck:radix=4,pairwise-x" 4,pairwise-xor
offers "cctest bcast -a binomial-" binomial-near
completes "cctest allreduce -a hier:"
check_says '^intra=$' "$out"
check_says '^inter=$' "$out"
completes "cctest allreduce -a hier:intra="
check_says '^ring$' "$out"
mapfile -t offered <"$out"
check_silent '^hier$' "$out"
for part in "${offered[@]}"; do
    cctest plan allreduce -a "hier:intra=$part" --np 4 --shape 2x2
    check "a part that is offered is known: $part" test "$(grep -c 'did you mean\|valid are' "$err")" = 0
done

# Fixed words of an option: those that its error message lists.
valid() { # valid OPTION: the listed words
    "$CCTEST" allreduce "$1" nonsense 2>&1 | sed -nE 's/.*valid are (.*)/\1/p' | tr -d ','
}
for option in -d -o -m --copy --bind --start --ranks-as; do
    read -ra words <<<"$(valid $option)"
    check "$option names its words" test "${#words[@]}" -ge 2
    [[ $option != -[do] ]] || words+=(all)
    offers "cctest allreduce $option " "${words[@]}"
done
read -ra words <<<"$(valid -x)"
offers "cctest allreduce -x " "${words[@]}" auto
offers "cctest allreduce -x tcp,s" tcp,shm
mapfile -t nics < <(find /sys/class/infiniband -mindepth 1 -printf '%f\n' 2>/dev/null)
offers "cctest allreduce -x verbs:nic=" "${nics[@]}"
offers "cctest allreduce -x shm,verbs:nic=a:1+b:rails=match:p" pkey= poll=
offers "cctest allreduce -x verbs:rails=own:poll=cq:p" pkey=
offers "cctest allreduce --copy=z" zcopy
read -ra words <<<"$(valid --copy)"
offers "cctest allreduce --copy=" "${words[@]}"
offers "cctest broadcast -r a" all
offers "cctest broadcast --chunk a" auto
offers "cctest broadcast --channels a" auto
offers "cctest alltoallv --counts z" zipf:
offers "cctest alltoallv --counts c" "counts one.txt" counts2.txt
offers "cctest alltoall --json c" "counts one.txt" counts2.txt
offers "cctest report counts2.txt c" "counts one.txt" counts2.txt
offers "cctest guidelines counts2.txt c" "counts one.txt" counts2.txt
offers "cctest alltoall --np " ""
offers "cctest allreduce --inject k" kill:
offers "cctest allreduce --inject kill:" rank= iteration=
offers "cctest allreduce --inject s" silent: stop:
offers "cctest allreduce --inject silent:" rank= iteration=
offers "cctest allreduce --inject delay:rank=1:" rank= us=
offers "cctest allreduce --inject delay:rank=1:us=5,d" 5,delay: 5,drop:
completes "cctest allreduce --interface l"
check_says '^lo$' "$out"
# shellcheck disable=SC2088 # as it is written
HOME=$scratch offers "~/bin/cctest li" list

# On a terminal: bash inserts completions, and continues after a ':' without a blank.
ran=(bash on a terminal)
python3 - "$script" >"$out" 2>"$err" <<'PYTHON'
import os, pty, select, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.environ["PS1"] = "$ "
    os.environ["TERM"] = "dumb"
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
def read_until(wanted, seconds=20):
    said, end = b"", time.time() + seconds
    while wanted not in said and time.time() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            said += os.read(terminal, 65536)
    return said
os.write(terminal, b"bind 'set enable-bracketed-paste off'; . " + sys.argv[1].encode() + b"; echo rea''dy\n")
read_until(b"ready")
os.write(terminal, b"cctest pl\talltoall --algo\tbruck:rad\t2 --np 2\n")
print(read_until(b"rank 1").decode(errors="replace"))
os.write(terminal, b"exit\n")
PYTHON
status=$?
check_status 0
check_says '^# alltoall bruck:radix=2, 2 ranks' "$out"
# The other shells ask the same program: fish itself, and zsh with a stand-in for its list of candidates.
if command -v fish >/dev/null; then
    # shellcheck disable=SC2016
    in_fish() { run fish -c 'source $argv[1]; complete -C $argv[2]' "$repository/cli/completion.fish" "$1"; }
    in_fish "cctest allreduce -a ring-m"
    check "fish completes an algorithm: $(cat "$out" "$err")" grep -qx 'ring-multi' "$out"
    in_fish "cctest alltoall -a bruck:ra"
    check "fish completes an option of one: $(cat "$out" "$err")" grep -qx 'bruck:radix=' "$out"
    HOME=$scratch in_fish "~/bin/cctest li"
    check "fish knows the program by ~: $(cat "$out" "$err")" grep -qx 'list' "$out"
    in_fish "cctest report coun"
    check "fish completes files: $(cat "$out" "$err")" grep -q '^counts' "$out"
else
    echo "not tested: completion by fish (no fish here)"
fi
if command -v zsh >/dev/null; then
    # shellcheck disable=SC2016
    in_zsh() { # in_zsh WORD...: the words to complete
        run zsh -f -c 'compadd() { local name=$@[-1]; print -rl -- "${@[1,-2]}" "${(@P)name}"; }; _files() { print files; }
            completes() { source "$1"; }; words=("${(@)@[2,-1]}") CURRENT=$(($# - 1)); completes "$1"' zsh "$repository/cli/completion.zsh" "$@"
    }
    in_zsh cctest allreduce -a ring-m
    check "zsh completes an algorithm: $(cat "$out" "$err")" grep -qx 'ring-multi' "$out"
    in_zsh cctest alltoall -a bruck:ra
    check "zsh adds no blank behind bruck:radix=: $(cat "$out" "$err")" test "$(paste -sd' ' "$out")" = "-S  -a bruck:radix="
    HOME=$scratch in_zsh "~/bin/cctest" li
    check "zsh knows the program by ~: $(cat "$out" "$err")" grep -qx 'list' "$out"
    in_zsh cctest report ""
    check "zsh completes files: $(cat "$out" "$err")" grep -qx files "$out"
else
    echo "not tested: completion by zsh (no zsh here)"
fi
finish
