#!/bin/sh
# rank.sh - runs a rank under a launcher, and writes its pid and exit status, which launchers hide, to FOLDER/RANK.pid
# and FOLDER/RANK.status.
# usage: rank.sh FOLDER COMMAND...
trap : TERM # from the launcher, when another rank has failed
at=$1/${SLURM_PROCID:-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}}
shift
env --default-signal=INT,QUIT "$@" & # a shell makes background commands ignore them
echo $! >"$at.pid"
wait $!
status=$?
while kill -0 $! 2>/dev/null; do
    wait $!
    status=$?
done
echo $status >"$at.status"
exit $status
