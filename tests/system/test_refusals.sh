#!/usr/bin/env bash
# tier: check; load: cpu1
# A transport that cannot be used here: by name the job ends with 77 and one sentence; with -x auto others serve. The
# program is linked with a libibverbs of the tests (tests/verbs/provider.h), and its ranks are threads.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
folder=$(dirname -- "$CCTEST")
[ "$folder" != "$repository" ] || folder+=/build # else that of a sanitizer's build
program=$folder/tests/verbs/cctest
[ -x "$program" ] || skip "cctest was built without libibverbs"
small=(alltoall -a pairwise -b 64 -e 64 -n 1 -w 0 -c 1 --np 4 --ranks-as threads --json "$scratch/json")

# over SETTINGS STATUS OPTION...: a run over this libibverbs.
over() {
    VERBS_STRICT=$1 run "$program" "${small[@]}" "${@:3}"
    check_status "$2"
}

# refused SETTINGS REGEX OPTION...
refused() {
    over "$1" 77 "${@:3}"
    check_says "^cctest: .*transport verbs cannot be used here: $2"
    check "one sentence: $(cat "$err")" test "$(wc -l <"$err")" = 1
    check_json "$scratch/json" 'd["status"] == "unavailable"'
}

refused devices=0 "this host has no RDMA device: load the driver of its NIC" -x verbs
refused down=0 "NIC strict0:1: state DOWN: look at its cable, " -x verbs,tcp
refused devices=2 "this host has no NIC port 'strict2' \(nic=\): did you mean strict0:1\?" -x shm,verbs:nic=strict2
refused devices=2 "NIC strict0:1 has no GID at index 9 \(gid=\).*; nor can this host's other NIC ports \(1\)" -x verbs:gid=9
refused link=ib "NIC strict0:1 has no P_Key at index 9 \(pkey=\)" -x verbs:pkey=9
refused mtu=1024 "mtu=4096 is more than the MTU of 1024 bytes" -x verbs:mtu=4096

# More memory than the limit allows, as the kernel finds when the ranks connect.
(
    ulimit -S -l 64
    VERBS_STRICT=memlock=64 run "$program" "${small[@]}" -x verbs
    echo "$status" >"$scratch/status"
)
status=$(<"$scratch/status")
check_status 77
check_says "the limit of locked memory is 64 KiB for the 4 ranks of this process together: raise it to [0-9]+ KiB or more \(ulimit -l unlimited;"

# With auto, shared memory serves all ranks of a host, so nothing is missed.
for settings in devices=0 down=0 fail=open:1+open:2; do
    over $settings 0 -x auto
    check_silent "run over" "$out"
    check_silent . "$err"
    check_json "$scratch/json" 'd["fallbacks"] == []' '[l["transport"] for l in d["links"]] == ["shm"]'
done

# -v names one that is as near as that which is taken; rails=match names all.
over devices=2,down=0 0 -x verbs
check_silent "left out"
over devices=2,down=0 0 -x verbs -v
check_says "^# NIC strict1:1 of host .*: ranks 0\.\.3$" "$out"
check_says "^cctest: rank [0-3]: NIC strict0:1: state DOWN: .*; it is left out"
check_json "$scratch/json" 'all(r["nics"] == ["strict1:1"] for r in d["ranks"])'
over devices=3,down=1 0 -x verbs:rails=match
check_says "^cctest: rank 0: NIC strict1:1: state DOWN: .*; it is left out"
check_json "$scratch/json" 'all(r["nics"] == ["strict0:1", "strict2:1"] for r in d["ranks"])'

# Slots that would not fit are refused, before the kernel kills a rank.
over devices=1 2 -x verbs --slots 4096 --slot-size 64M
check_says "4096 slots of 67108864 bytes for each lane, .* MiB on a rank \(verbs\), .*: give fewer --slots"

# A NIC without what the transport needs is passed over.
over srqs=0 0 -x auto
refused srqs=0 "NIC strict0:1 gives no shared receive queue \(Operation not supported\), which verbs needs" -x verbs

# A port that is down is left out of those that are named.
over devices=2,down=0 0 -x verbs:nic=strict0+strict1
check_says "^cctest: rank 0: NIC strict0:1: state DOWN: .*; it is left out"
check_json "$scratch/json" 'd["options"]["transport"] == ["verbs:nic=strict0+strict1"]' \
    'all(r["nics"] == ["strict1:1"] for r in d["ranks"])'
check_says "transport verbs:nic=strict0\+strict1;" "$out"

finish
