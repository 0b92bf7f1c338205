#!/usr/bin/env bash
# tier: night; load: cpu2
# The machines themselves: output and exit status come out of them, and the RDMA tools of others work there, so that a
# failure of another test is one of cctest.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
# shellcheck source=tests/rdma/machines.sh
. "$repository/tests/rdma/machines.sh"
machines_ready || skip "$machines_missing"
started=$SECONDS
machines_up 2 1 2
booted=$((SECONDS - started))

# ---- commands ----

machine_as 1
run "${as[@]}" sh -c "printf 'a  b\n'; printf 'c' >&2; exit 3"
check_status 3
check "standard output" test "$(<"$out")" = "a  b"
check "standard error" test "$(<"$err")" = "c"
run "${as[@]}" printf '%s|' "it's" '$HOME' ''
# shellcheck disable=SC2016
check "arguments: $(<"$out")" test "$(<"$out")" = "it's|"'$HOME||'
value='two words' run "${as[@]}" sh -c 'echo "$value"'
check "the environment: $(<"$out")" test "$(<"$out")" = "two words"
RUN_LIMIT=2 run "${as[@]}" sleep 999.5
check_status 124
check "its command ends with it" await 60 sh -c '! "$@"' not "${as[@]}" pgrep -f 'sleep 999.5'
run "${as[@]}" touch "$repository/x"
check_status 1 "the host's files cannot be changed"

# ---- the tools ----

# perf NIC COMMAND...: perftest's server on machine 1, its client on machine 2.
perf() {
    local words=("${@:2}" -d "rxe$1" -x 1 -F)
    machine_as 1
    start server "${as[@]}" "${words[@]}"
    check "the server listens" await 60 machine_on 1 sh -c "ss -ltn | grep -q :18515"
    machine_as 2
    run "${as[@]}" "${words[@]}" "10.7$((7 + $1)).0.1"
    check_status 0
    ended server 0
}
for machine in 1 2; do
    machine_as "$machine"
    run "${as[@]}" ibv_devices
    check "machine $machine has two devices" test "$(grep -c 'rxe[01]' "$out")" = 2
done
for nic in 0 1; do
    perf $nic ib_write_bw -s 64K -n 100
    perf $nic ib_send_lat -s 8 -n 100
done

# ---- the control plane, and tcp ----

meet "1 2 1" allreduce -x tcp -b 8 -e 64K -f 8192 -n 2 -w 1 -c 1
check_json "$hosts_json" 'd["status"] == "ok"' '[r["host"] for r in d["ranks"]] == ["h1", "h2", "h1"]'

machines_down
# shellcheck disable=SC2016
versions=$(dpkg-query -W -f '${Package} ${Version}, ' rdma-core perftest qemu-system-x86)
echo "coverage: Linux $(<"$repository/build/rdma/version"), $versions$booted s to boot two"
finish
