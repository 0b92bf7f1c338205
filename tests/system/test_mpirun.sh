#!/usr/bin/env bash
# tier: check; load: wait
# Ranks that Open MPI's mpirun starts, and that meet through its PMIx server; and failures of PMIx.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
# shellcheck disable=SC2154 # lib.sh's
[[ $("$openmpi" --version 2>/dev/null) =~ "Open MPI"|OpenRTE ]] || skip "Open MPI's mpirun is not here"
mkdir "$scratch/tmp"
export TMPDIR=$scratch/tmp # for files that mpirun leaves behind
many=(--allow-run-as-root --oversubscribe)
mpirun=("$openmpi" "${many[@]}")
"${mpirun[@]}" -np 1 true >"$out" 2>"$err" </dev/null || skip "mpirun does not run here: $(head -n 1 "$err")"
case $("$CCTEST" info) in
*"built without PMIx"*) skip "this cctest is built without PMIx" ;;
*"libpmix.so.2 cannot be loaded"*) skip "libpmix2 is not here" ;;
esac
small=(allreduce -b 64K -e 64K -n 3 -w 1 -c 2)
json=$scratch/json

# ---- they meet ----

for transport in $(transports); do
    for ranks in 2 4 7 13; do
        run "${mpirun[@]}" -np $ranks "$CCTEST" "${small[@]}" -x "$transport" --json "$json"
        check_status 0 "$ranks ranks over $transport"
        check_says "^# $ranks ranks on .* \(pmix\)" "$out"
        check "one table" test "$(grep -c '^# status: ok' "$out")" = 1
        check_json "$json" 'd["bootstrap"] == "pmix"' 'd["status"] == "ok"' "len(d['ranks']) == $ranks" \
            '[r["local_rank"] for r in d["ranks"]] == list(range(len(d["ranks"])))' \
            'len({r["pid"] for r in d["ranks"]}) == len(d["ranks"])' 'd["results"][0]["wrong"] == 0'
        check_silent . # neither from cctest nor from mpirun
    done
done

# Each rank runs a script with several commands.
# shellcheck disable=SC2016
run "${mpirun[@]}" -np 3 sh -c '"$0" info >/dev/null && "$0" "$@" && "$0" "$@"' "$CCTEST" "${small[@]}"
check_status 0 "twice in one job"
check "both ended well" test "$(grep -c '^# status: ok' "$out")" = 2
# The README's line, with small sizes.
read -ra words < <(sed -nE 's/^    mpirun (-np [^#]*).*/\1/p' "$repository/README.md")
run env PATH="${CCTEST%/*}:$PATH" CCTEST_MAX_BYTES=4K "${mpirun[@]}" "${words[@]}"
check_status 0 "mpirun ${words[*]}"
check_says '^# 4 ranks on .* \(pmix\)' "$out"
# Several programs in one job, with the same options.
run "${mpirun[@]}" -np 1 "$CCTEST" "${small[@]}" : -np 2 "$CCTEST" "${small[@]}"
check_status 0 "two programs"
check_says '^# 3 ranks on' "$out"

# Commands that start no ranks print the same on each; info prints the rank.
run "${mpirun[@]}" -np 3 "$CCTEST" info
check_status 0
for rank in 0 1 2; do check_says "^ranks +pmix: a PMIx server answers, and this is rank $rank of 3" "$out"; done
check_says "^pmix +[A-Za-z]* *[0-9]" "$out"
run "${mpirun[@]}" -np 2 "$CCTEST" list
check "each lists all" test "$(grep -c 'alltoallv' "$out")" = "$((2 * $("$CCTEST" list | grep -c 'alltoallv')))"
run "${mpirun[@]}" -np 2 "$CCTEST" plan alltoall -a bruck --np 6 --rank 0
check_status 0
# A job of one process: ranks are forked.
run "${mpirun[@]}" -np 1 "$CCTEST" "${small[@]}" -v
check_status 0
check_says "^# [0-9]+ ranks on .* \(local\)" "$out"
check_says "local: this process.s PMIx job has one rank"
# mpirun gives rank 0 a terminal, even if its own output goes to a file.
for ranks in 1 2; do
    run env TERM=xterm "${mpirun[@]}" -np $ranks "$CCTEST" "${small[@]}" -a ring,tree
    check_status 0
    check "$ranks ranks: the fastest is marked" grep -q '\*' "$out"
    check_silent $'\e' "$out"
done
# --np wins over the launcher.
run "${mpirun[@]}" -np 2 "$CCTEST" "${small[@]}" --np 3
check "two jobs of three ranks" test "$(grep -c '^# 3 ranks on .*(local)' "$out")" = 2
check_says "^cctest: mpirun started 2 processes, and --np 3 makes each of them a job of its own: leave out --np"
check "that is said once" test "$(wc -l <"$err")" = 1
run "${mpirun[@]}" -np 1 "$CCTEST" "${small[@]}" --np 3
check_status 0 "--np, once"
check_silent .
run "${mpirun[@]}" -np 2 "$CCTEST" "${small[@]}" --ranks-as threads
check_status 2
check_says "--ranks-as threads works only for ranks that are started here"
# A second after a rank has failed mpirun kills the others, if it is not told to wait: their report may take longer.
run "${mpirun[@]}" --mca odls_base_sigkill_timeout 5 -np 2 "$CCTEST" "${small[@]}" --interface no-such-device --json "$json"
check_status 2
check_says "no network device or address 'no-such-device'"
check_silent "rank 0 failed before"
check_json "$json" 'd["status"] == "usage"'
# torchrun under mpirun: ranks have the variables of both.
run "${mpirun[@]}" -np 2 env RANK=1 WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 "$CCTEST" info
check_says "^ranks +tcp: torchrun started this as rank 1 of 4" "$out"

# Nodes are found by host names; a note is printed if mpirun groups ranks differently.
# shellcheck disable=SC2016
if [ -n "$private" ]; then
    run "${mpirun[@]}" -np 2 unshare --uts sh -c 'hostname "h$OMPI_COMM_WORLD_RANK"; exec "$@"' - "$CCTEST" "${small[@]}"
    check_status 0
    check_says "^# 2 ranks on 2 hosts, h0 to h1 \(pmix\)" "$out"
    check_says "rank 1: the launcher counts this rank as number 1 of 2 on its node, but .* host h1 it is number 0 of 1"
fi

# ---- they end ----

# shellcheck disable=SC2317 # await calls it
all_gone() { ps -e -o stat=,comm= | awk '$1 !~ /^Z/ && $2 == "cctest" { there = 1 } END { exit there }'; }

# begin RANKS ARGUMENT...: starts a job in the background and waits until it runs. Output, and with $watched pids and
# statuses, go to a folder of its own.
watched=yes grace=()
begin() {
    local ranks=$1 before=()
    shift
    folder=$(mktemp -d "$scratch/run.XXXX")
    out=$folder/out err=$folder/err
    [ -z "$watched" ] || before=("$repository/tests/system/rank.sh" "$folder")
    ran=("${mpirun[@]}" -np "$ranks" "$CCTEST" "$@")
    "${mpirun[@]}" "${grace[@]}" -np "$ranks" "${before[@]}" "$CCTEST" "$@" >"$out" 2>"$err" </dev/null &
    job=$!
    check "it runs" await 60 grep -q busbw "$out"
}
statuses() { # statuses STATUS RANK...: these ranks ended by themselves with STATUS
    local rank
    for rank in "${@:2}"; do
        check "rank $rank ended with $(cat "$folder/$rank.status"), expected $1" test "$(cat "$folder/$rank.status")" = "$1"
    done
}
# shellcheck disable=SC2317 # await calls it
has_ended() { ! kill -0 "$job" 2>/dev/null; }
await_end() {
    if ! await 60 has_ended; then
        failed "mpirun does not end"
        kill -KILL "$job"
    fi
    wait $job
    status=$?
}
endless=(allreduce -a ring -b 64K -e 64K -n 4000000 -w 1 -c 1 --timeout 5 --json "$json")

for transport in $(transports); do
    begin 4 "${endless[@]}" -x "$transport"
    kill -9 "$(cat "$folder/2.pid")"
    await_end
    check "mpirun fails" test $status != 0
    statuses 5 0 1 3
    check_says "^cctest: rank 2 \(host .*, pid $(cat "$folder/2.pid")\) is gone"
    check_json "$json" 'd["status"] == "timeout"' 'd["errors"][0]["rank"] == 2' 'd["bootstrap"] == "pmix"'
done
# mpirun's own status, as the manual page has it.
run "${mpirun[@]}" -np 3 "$CCTEST" "${small[@]}" --inject kill:rank=1:iteration=2
check_status 137 "a rank was killed"
# Rank 0 is killed.
begin 3 "${endless[@]}"
kill -9 "$(cat "$folder/0.pid")"
await_end
check "mpirun fails" test $status != 0
statuses 5 1 2
check_says "rank 1: rank 0 .* cannot be reached any more"
# mpirun gets a signal. It waits a second before it kills its ranks, or as long as it is told to: they report in that time.
watched= grace=(--mca odls_base_sigkill_timeout 5)
begin 3 "${endless[@]}"
kill -TERM $job
await_end
check "mpirun fails" test $status != 0
check_says "^cctest: rank [0-2] .* was interrupted by SIGTERM"
check_json "$json" 'd["status"] == "interrupted"' 'd["bootstrap"] == "pmix"'
grace=()
# mpirun is killed.
begin 3 "${endless[@]}"
kill -KILL $job
await_end 2>/dev/null
[ -z "$private" ] || check "no rank lives longer than mpirun" await 60 all_gone
out=$scratch/out err=$scratch/err

# Other options, another secret, a rank that cannot start, one that does not join.
run "${mpirun[@]}" -np 1 "$CCTEST" "${small[@]}" -a ring : -np 1 "$CCTEST" "${small[@]}" -a mesh
check_status 2
check_says "rank 1 .* other options than rank 0: .*mesh.*ring"
run "${mpirun[@]}" -np 2 "$CCTEST" "${small[@]}" : -np 1 env CCTEST_SECRET=another "$CCTEST" "${small[@]}" --timeout 2
check "mpirun fails" test $status != 0
check_says "rank 2: .* is not rank 0 of this job.* CCTEST_SECRET"
run "${mpirun[@]}" -np 2 env CCTEST_SECRET=same "$CCTEST" "${small[@]}"
check_status 0
run "${mpirun[@]}" -np 1 "$CCTEST" "${small[@]}" -a no-such : -np 2 "$CCTEST" "${small[@]}"
check_status 2
check_says "'no-such' is not an algorithm"
run "${mpirun[@]}" -np 1 "$CCTEST" "${small[@]}" --timeout 1 : -np 1 sleep 20 : -np 2 "$CCTEST" "${small[@]}" --timeout 1
check_status 5
check_says "1 of 4 ranks did not join within 1 s: rank 1;"
check "it is said once" test "$(grep -c '^cctest: ' "$err")" = 1
run "${mpirun[@]}" -np 1 sleep 20 : -np 2 "$CCTEST" "${small[@]}" --timeout 1
check_status 5
check_says "rank 0 could not be reached by rank [12] within 1 s through PMIx: check that rank 0 was started"
# The deadline is for each missing rank, not for all ranks together.
# shellcheck disable=SC2016
run "${mpirun[@]}" -np 3 sh -c 'sleep $((2 * OMPI_COMM_WORLD_RANK)) && exec "$@"' - "$CCTEST" "${small[@]}" --timeout 3
check_status 0 "ranks that come one behind the other"
# Older servers, without a repeatable lookup, are used through a fence.
# shellcheck disable=SC2016
run "${mpirun[@]}" -np 3 env PMIX_VERSION=3.2.3 sh -c '"$0" "$@" && "$0" "$@"' "$CCTEST" "${small[@]}"
check_status 0 "twice, with an older server"
check "both ended well" test "$(grep -c '^# status: ok' "$out")" = 2
run "${mpirun[@]}" -np 1 sleep 20 : -np 2 env PMIX_VERSION=3.2.3 "$CCTEST" "${small[@]}" --timeout 1
check_status 5
check_says "rank [12] waited 1 s for all 3 ranks to meet through PMIx"

# ---- PMIx that does not work: never N jobs of one rank ----

run env PMIX_NAMESPACE=none PMIX_RANK=0 "$CCTEST" "${small[@]}" --json "$json"
check_status 2 "no server"
check_says "PMIX_NAMESPACE and PMIX_RANK say .*, but no PMIx server answers .*if no launcher started it, unset that, or"
check_json "$json" 'd["status"] == "usage"'
run "${mpirun[@]}" -np 3 env -u PMIX_NAMESPACE -u OMPI_COMM_WORLD_SIZE "$CCTEST" "${small[@]}"
check_status 2 "half of it"
check_says "PMIX_RANK says that this is a rank of a job, but no PMIx server answers .*unset that, or"
check_silent . "$out"
run "${mpirun[@]}" -np 3 env -u PMIX_NAMESPACE -u PMIX_RANK -u OMPI_COMM_WORLD_SIZE "$CCTEST" "${small[@]}"
check_status 2 "OMPI_COMM_WORLD_RANK without a size"
check_says "OMPI_COMM_WORLD_RANK is [012], but OMPI_COMM_WORLD_SIZE is not set: .*--rendezvous .*--np N"
check_silent . "$out"
run env PMIX_NAMESPACE=none PMIX_RANK=0 "$CCTEST" "${small[@]}" --np 2
check_status 0 "--np"
run env PMIX_NAMESPACE=none PMIX_RANK=0 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 "$CCTEST" "${small[@]}"
check_status 0 "one rank needs no server"
slurm=(SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=1 SLURM_JOB_ID=7 SLURM_STEP_NODELIST=n1)
run env PMIX_NAMESPACE=none PMIX_RANK=1 "${slurm[@]}" "$CCTEST" info
check_status 0
check_says "^ranks +tcp: srun started this as rank 1 of 4; not pmix: no PMIx server answers" "$out"
# A server that accepts connections and never answers.
python3 -c '
import socket, sys
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
kept = [] # a closed socket would end the wait
while True:
    kept.append(s.accept())' >"$scratch/port" &
mute=$!
await 60 test -s "$scratch/port"
# shellcheck disable=SC2016
mute_run() {
    run "${mpirun[@]}" -np 2 env -u PMIX_SERVER_URI2 -u PMIX_SERVER_URI21 -u PMIX_SERVER_URI3 -u PMIX_SERVER_URI41 \
        PMIX_SERVER_URI4="1.0;tcp4://127.0.0.1:$(cat "$scratch/port")" "${mute_run_as[@]}" "$CCTEST" "$@"
}
mute_run_as=()
mute_run "${small[@]}" --timeout 1
check_status 5 "a mute server"
check_says "mpirun started this as rank [01] of 2, but the PMIx server has not answered for 1 s"
# A pending PMIx call must not continue beside another way to meet.
mute_run_as=(env -u OMPI_COMM_WORLD_RANK -u OMPI_COMM_WORLD_SIZE "${slurm[@]}")
mute_run "${small[@]}" --timeout 1
check_status 5 "a mute server, in a step"
check_says "srun started this as rank 1 of 4, but the PMIx server has not answered for 1 s"
kill $mute
wait $mute 2>/dev/null
# No library, and no PMIx in the binary.
mkdir "$scratch/broken"
echo "no library" >"$scratch/broken/libpmix.so.2"
broken=(env LD_LIBRARY_PATH="$scratch/broken" "$CCTEST")
run "${mpirun[@]}" -np 2 "${broken[@]}" "${small[@]}"
check_status 77 "no library"
check_says "mpirun started this as rank [01] of 2, but libpmix.so.2 cannot be loaded .*libpmix2.*--np N"
run "${mpirun[@]}" -np 2 "${broken[@]}" info
check_says "^pmix +not here: libpmix.so.2 cannot be loaded" "$out"
check_says "^ranks +mpirun started this as rank 1 of 2, but libpmix" "$out"
run "${mpirun[@]}" -np 1 "${broken[@]}" "${small[@]}"
check_status 0 "one rank needs no library"
run "${broken[@]}" "${small[@]}"
check_status 0 "nor do local ranks"
if build_other without PMIX=no; then
    run "${mpirun[@]}" -np 2 "$other" "${small[@]}"
    check_status 77 "built without PMIx"
    check_says "mpirun started this as rank [01] of 2, but this cctest was built without PMIx"
fi

# ---- the secret ----

# It appears in no arguments or variables of a rank, and travels only between mpirun and its ranks, not between
# ranks. The test reads it from the messages of rank 0 to mpirun.
cat >"$scratch/sniff.py" <<'PYTHON'
import re, socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26) # SO_RCVBUFFORCE
s.bind(("lo", 0))
s.settimeout(0.2)
print("ready", flush=True)
streams = {}
import os
while os.path.exists(sys.argv[1]):
    try:
        packet, address = s.recvfrom(1 << 17)
    except TimeoutError:
        continue
    if address[2] == socket.PACKET_OUTGOING: # lo shows each packet twice
        continue
    ip = packet[14:]
    if ip[0] >> 4 == 4 and ip[9] == 6:
        tcp = ip[(ip[0] & 15) * 4:]
    elif ip[0] >> 4 == 6 and ip[6] == 6:
        tcp = ip[40:]
    else:
        continue
    streams.setdefault(tuple(sorted((tcp[:2], tcp[2:4]))), bytearray()).extend(tcp[(tcp[12] >> 4) * 4:])
said = [m for m in (re.search(rb"cctest\.rank0.*?([0-9a-f]{100,})", bytes(b), re.S) for b in streams.values()) if m]
assert said, "rank 0 was not heard"
blob = bytes.fromhex(said[0][1].decode())
host = int.from_bytes(blob[:4], "little")
secret = blob[4 + host:36 + host]
print("secret", secret.hex())
ours = [bytes(b) for b in streams.values() if b"cctest\4" in b or len(b) > 1000]
talk = [b for b in ours if b"cctest.rank0" not in b]
print("conversations", len(talk))
for b in streams.values():
    assert secret not in b, "the secret is on the wire"
for b in talk:
    assert secret.hex().encode() not in b, "the secret is on the wire, as text"
assert b"open-sesame" not in b"".join(streams.values()), "what the user gave is on the wire"
print("fine")
PYTHON
sniffed() { # sniffed COMMAND...
    local sniffer
    touch "$scratch/sniffing"
    python3 "$scratch/sniff.py" "$scratch/sniffing" >"$scratch/sniffed" 2>&1 &
    sniffer=$!
    await 60 grep -q ready "$scratch/sniffed"
    run "$@"
    check_status 0
    rm "$scratch/sniffing"
    wait $sniffer
    check_says "^fine" "$scratch/sniffed"
    check_says "^conversations [1-9]" "$scratch/sniffed"
}
little=(allreduce -b 1K -e 1K -n 3 -w 1 -c 2 -x tcp)
if [ -n "$private" ]; then
    # The user's own secret is mixed with it.
    for given in "" CCTEST_SECRET=open-sesame; do
        sniffed env ${given:+"$given"} "${mpirun[@]}" -np 3 "$CCTEST" "${little[@]}"
        mv "$scratch/sniffed" "$scratch/sniffed.first"
        sniffed env ${given:+"$given"} "${mpirun[@]}" -np 3 "$CCTEST" "${little[@]}"
        check "each job has a secret of its own" \
            test "$(grep ^secret "$scratch/sniffed")" != "$(grep ^secret "$scratch/sniffed.first")"
    done
    # Without it, no connection is admitted at any port of the job.
    begin 2 "${endless[@]}" -x tcp
    for port in $(ss -Hltn | sed -n 's/.*[:]\([0-9]*\) .*/\1/p' | sort -u); do
        run "$CCTEST" "${small[@]}" --rendezvous "localhost:$port" --rank 1 --world 2 --timeout 0.5
        check "port $port takes no stranger" test $status != 0
    done
    check "the job goes on" kill -0 $job
    kill -TERM $job
    await_end 2>/dev/null
    out=$scratch/out err=$scratch/err
fi

# ---- several hosts ----

if hosts_up 3; then
    {
        echo '#!/bin/sh'
        # shellcheck disable=SC2016
        echo 'while case $1 in -*) true ;; *) false ;; esac; do shift; done'
        # shellcheck disable=SC2016
        echo 'host=$1; shift; case $host in'
        for host in 1 2 3; do
            host_as $host
            # shellcheck disable=SC2154
            echo "h$host|10.77.0.$host) set -- \"\$*\"; exec ${as[*]} sh -c \"\$1\" ;;"
        done
        echo 'esac'
    } >"$scratch/rsh"
    chmod +x "$scratch/rsh"
    host_as 1
    spread=("${as[@]}" "$openmpi" "${many[@]}" --mca plm_rsh_agent "$scratch/rsh" --mca oob_tcp_if_include eth0)
    spread+=(--mca plm_rsh_no_tree_spawn 1)
    run "${spread[@]}" --host h1:2,h2:1,h3:2 -np 5 "$CCTEST" "${small[@]}" -a ahc --json "$json"
    check_status 0 "three hosts"
    check_json "$json" 'd["bootstrap"] == "pmix"' '[r["host"] for r in d["ranks"]] == ["h1", "h1", "h2", "h3", "h3"]' \
        '[r["local_rank"] for r in d["ranks"]] == [0, 1, 0, 0, 1]' 'd["results"][0]["wrong"] == 0' \
        'all(sum(d["results"][0]["traffic"][x]["received"].values()) > 0 for x in ("shm", "tcp"))'
    read -ra words < <(sed -nE 's/^    mpirun (--host [^#]*).*/\1/p' "$repository/README.md")
    PATH="${CCTEST%/*}:$PATH" CCTEST_MAX_BYTES=4K run "${spread[@]}" "${words[@]//node/h}"
    check_status 0 "mpirun ${words[*]}"
    check_says '^# 8 ranks on 2 hosts, h1 to h2 \(pmix\)' "$out"
    # shellcheck disable=SC2016
    run "${spread[@]}" --host h1:1,h2:1,h3:1 -np 3 sh -c '"$0" "$@" && "$0" "$@"' "$CCTEST" "${small[@]}"
    check_status 0 "twice in one job, on three hosts"
    check "both ended well" test "$(grep -c '^# status: ok' "$out")" = 2
    run "${spread[@]}" --host h1:1,h3:1 -np 2 "$CCTEST" "${small[@]}" --interface eth1
    check_status 0 "another network"
    run "${spread[@]}" --host h1:1,h2:1 -np 2 "$CCTEST" "${small[@]}" --inject kill:rank=1:iteration=2
    check "mpirun fails" test $status != 0
    check_says "^cctest: rank 1 \(host h2, pid [0-9]+\) is gone"
    hosts_down
else
    echo "not tested: several hosts ($hosts_missing)"
fi

[ -z "$private" ] || check "no process is left" all_gone
[ -z "$private" ] || check "files are left in /dev/shm" test -z "$(ls /dev/shm)"
finish
