#!/bin/sh
# rank.sh - a rank that a launcher starts, and whose number, pid and exit status are kept, since the launcher tells
# nobody: FOLDER/RANK.pid and FOLDER/RANK.status.
# usage: rank.sh FOLDER COMMAND...
trap : TERM # the launcher's, for what it left behind
at=$1/${SLURM_PROCID:-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}}
shift
env --default-signal=INT,QUIT "$@" & # which a shell has ignored by what it starts so
echo $! >"$at.pid"
wait $!
status=$?
while kill -0 $! 2>/dev/null; do
    wait $!
    status=$?
done
echo $status >"$at.status"
exit $status
