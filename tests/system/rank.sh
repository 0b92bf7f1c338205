#!/bin/sh
# rank.sh - runs a rank under a launcher, and writes its pid and exit status, which launchers hide, to FOLDER/RANK.pid
# and FOLDER/RANK.status. A launcher kills all ranks when it sees that one has failed. So this script ends only when all ranks
# that have begun have a status or are stopped, or after a minute: each rank then ends by itself.
# usage: rank.sh FOLDER COMMAND...
trap : TERM # from the launcher, when another rank has failed
folder=$1
at=$folder/${SLURM_PROCID:-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}}
shift

# Has any of them yet to end by itself?
others_run() {
    for other in "$folder"/*.pid; do
        [ ! -s "${other%pid}status" ] || continue
        state=
        read -r pid <"$other" && read -r _ _ state _ <"/proc/$pid/stat"
        [ "$state" = T ] || return 0
    done 2>/dev/null
    return 1
}

env --default-signal=INT,QUIT "$@" & # a shell makes background commands ignore them
echo $! >"$at.pid"
wait $!
status=$?
while kill -0 $! 2>/dev/null; do
    wait $!
    status=$?
done
echo $status >"$at.status.new" && mv "$at.status.new" "$at.status"
turns=0
while [ $turns -lt 600 ] && others_run; do
    sleep 0.1
    turns=$((turns + 1))
done
exit $status
