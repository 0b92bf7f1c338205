#!/usr/bin/env bash
# tier: deep; load: cpu1
# The first message of a barrier to a rank is dropped, for each rank and in each of four checked iterations in turn: a result
# shows it, or the job says that none does.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"

# The second round of the double ring brings what the signal to rank 1 or 2 would have brought.
redundant() { # redundant ALGORITHM RANKS RANK
    [ "$1" = double-ring ] && { [ "$2" = 2 ] || [ "$3" = 1 ] || [ "$3" = 2 ]; }
}

for algorithm in central double-ring tree dissemination recursive-doubling; do
    for ranks in 2 3 5 7 8 13; do
        for ((rank = 0; rank < ranks; rank++)); do
            iteration=$((rank % 4))
            cctest barrier -a $algorithm --np $ranks --ranks-as threads --bind none -n 1 -w 0 -c 4 \
                --inject drop:rank=$rank:iteration=$iteration
            if redundant $algorithm $ranks $rank; then
                check_status 1
                check_says '^cctest: rank 0 .*--inject: a message was dropped, and no result is wrong: '
                check_says '^# status: error' "$out"
            else
                check_status 3
                check_says "wrong data at ranks? .*checked iteration $iteration,.*(contributions? of ranks? .*missing|never written)"
            fi
        done
    done
done

# A rank that has no message to drop says so, whatever the others have.
cctest gather -a linear -b 8 -e 8 --np 3 -n 1 -w 0 -c 2 --inject drop:rank=1:iteration=0
check_status 1
check_says 'rank 1 .*--inject: found no message to drop in checked iteration 0'
check_silent 'no result is wrong'

finish
