#!/usr/bin/env bash
# tier: night; load: cpu2
# Machines on which verbs cannot be used, each for a reason that only a kernel has: by name the job ends with 77 and says
# what to do; with -x auto it runs over tcp, and the table says why.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
# shellcheck source=tests/rdma/machines.sh
. "$repository/tests/rdma/machines.sh"
machines_ready || skip "$machines_missing"
machines_up 2 1 2
small=(allreduce -b 8 -e 4K -f 512 -n 1 -w 0 -c 1)
export RUN_LIMIT=120
hosts_patience=60

# refused REGEX WORD...: `cctest WORD...` there is refused, with this sentence.
refused() {
    machine_run 2 "${wrapper[@]}" "$CCTEST" "${small[@]}" --np 2 --timeout 60 "${@:2}"
    check_status 77
    check_says "$1"
    check "one sentence: $(cat "$err")" test "$(grep -c 'cctest: ' "$err")" = 1
}

# on_root COMMAND...: prepares machine 2.
on_root() {
    machine_run 2 "$@"
    check_status 0 "$*"
}

# ---- names and tables ----

wrapper=()
refused "has no NIC port 'rxe7' .*it has rxe0:1, rxe1:1" -x verbs:nic=rxe7
refused "no NIC port 'rxr0:1' .*did you mean rxe0:1\?" -x verbs:nic=rxr0:1
refused "NIC rxe0:1 has no GID at index 250 \(gid=\)" -x verbs:nic=rxe0:gid=250
refused "NIC rxe0:1 has no P_Key at index 600 \(pkey=\)" -x verbs:nic=rxe0:pkey=600

# ---- locked memory: root has no limit while it keeps this capability ----

for wrapper in "setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock" "setpriv --reuid 1 --regid 1 --clear-groups"; do
    read -ra wrapper <<<"$wrapper"
    wrapper=(sh -c 'ulimit -l 64; exec "$@"' limited "${wrapper[@]}")
    refused "the limit of locked memory is 64 KiB: raise it to [0-9]+ KiB or more \(ulimit -l .*limits.conf" -x verbs:nic=rxe0
done
wrapper=(sh -c 'ulimit -l 64; exec "$@"' limited)
machine_run 2 "${wrapper[@]}" "$CCTEST" "${small[@]}" --np 2 -x verbs:nic=rxe0
check_status 0 "root has no limit"

# ---- a library, and its provider ----

library=$(ldconfig -p | awk '/libibverbs\.so\.1 / { print $NF; exit }')
wrapper=(unshare -m sh -c "mount --bind /dev/null '$(readlink -f "$library")' && exec \"\$@\"" without)
refused "libibverbs.so.1 cannot be loaded \(.*\): install it \(Debian: libibverbs1 and ibverbs-providers; RHEL: libibverbs\)" \
    -x verbs
# A NIC whose library is missing is a fault, so it is told without -v.
host_as() { machine_as "$1" && [ "$1" = 1 ] || as+=("${wrapper[@]}"); }
meet "1 2" "${small[@]}" -a ring
check_says "^# ranks 0 \(h1\) and 1 \(h2\) run over tcp, because verbs cannot be used on rank 1: libibverbs.so.1 cannot be loaded" \
    "$scratch/0.out"
host_as() { machine_as "$1"; }
library=$(ldconfig -p | awk '/librdmacm\.so\.1 / { print $NF; exit }')
wrapper=(unshare -m sh -c "mount --bind /dev/null '$(readlink -f "$library")' && exec \"\$@\"" without)
refused "connect=rdmacm needs another library: librdmacm.so.1 cannot be loaded \(.*\): install it \(Debian: librdmacm1; RHEL: librdmacm\)" \
    -x verbs:nic=rxe0:connect=rdmacm
wrapper=(unshare -m sh -c 'mount -t tmpfs none /etc/libibverbs.d && exec "$@"' without)
refused "libibverbs has no provider for NIC rxe0:1: install it \(Debian: ibverbs-providers;" -x verbs

# ---- devices that a container does not have, or that a user may not open ----

wrapper=(setpriv --reuid 1 --regid 1 --clear-groups)
on_root chmod 0 /dev/infiniband/rdma_cm
refused "\(connect=rdmacm\): .*; load rdma_ucm, and give this user or container access to /dev/infiniband/rdma_cm" \
    -x verbs:nic=rxe0:connect=rdmacm
on_root chmod 0 /dev/infiniband/uverbs0 /dev/infiniband/uverbs1
refused "NIC rxe0:1: no permission for /dev/infiniband/uverbs0: let this user read and write it" -x verbs:nic=rxe0
refused "no permission for /dev/infiniband/uverbs.*nor can this host's other NIC ports \(1\)" -x verbs
wrapper=()
on_root mv /dev/infiniband /dev/away
refused "NIC rxe0:1: /dev/infiniband/uverbs0 is missing: give the container this device \(--device=/dev/infiniband\)" -x verbs

# The others pass it over. Ranks of one host do not miss it.
meet "1 2 1 2" "${small[@]}" -a mesh
table=$scratch/0.out
check_says '^# 4 pairs of ranks run over tcp, such as ranks 0 \(h1\) and 1 \(h2\), because verbs cannot be used on rank 1 and others: NIC rxe0:1: /dev/infiniband/uverbs0 is missing' "$table"
check_json "$hosts_json" 'd["status"] == "ok"' '[f["pairs"] for f in d["fallbacks"]] == [4]' \
    '(d["fallbacks"][0]["preferred"], d["fallbacks"][0]["taken"], d["fallbacks"][0]["cause"]) == ("verbs", "tcp", "refused")' \
    '{l["transport"] for l in d["links"]} == {"shm", "tcp"}'
machine_run 2 "$CCTEST" "${small[@]}" --np 2
check_status 0
check_silent "run over" "$out"
on_root mv /dev/away /dev/infiniband

# ---- ports ----

on_root ip link set eth1 mtu 1500
meet "1 2" "${small[@]}" -x verbs:nic=rxe1,tcp
check_says '^# ranks 0 \(h1\) and 1 \(h2\) run over tcp, because verbs does not connect them: NIC rxe1:1 of this rank has MTU 4096, and NIC rxe1:1 of the other, on h2, has MTU 1024: ' "$scratch/0.out"
on_root sh -c 'ip link set eth1 mtu 4200; ip addr flush dev eth1'
check "GID 1 goes" await 60 gid_gone 2 rxe1
refused "NIC rxe1:1.* no GID of RoCE v2" -x verbs:nic=rxe1
on_root ip link set eth1 down
refused "NIC rxe1:1: state DOWN, .*ip link set eth1 up" -x verbs:nic=rxe1
machine_run 2 "$CCTEST" "${small[@]}" --np 2 -x verbs:nic=rxe1+rxe0 --timeout 60
check_status 0 "the other NIC works"
check_says "rank 0: NIC rxe1:1: state DOWN, .*; it is left out"

# ---- no device ----

on_root sh -c 'rdma link delete rxe0; rdma link delete rxe1'
refused "this host has no RDMA device: load the driver of its NIC" -x verbs
meet "1 2" "${small[@]}" -a ring
check_silent "run over" "$scratch/0.out"
check_json "$hosts_json" '[f["cause"] for f in d["fallbacks"]] == ["absent"]'
meet "1 2" "${small[@]}" -a ring -v
check_says "^# ranks 0 \(h1\) and 1 \(h2\) run over tcp, because verbs cannot be used on rank 1: this host has no RDMA device" "$scratch/0.out"

machines_down
finish
