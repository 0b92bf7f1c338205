#!/usr/bin/env bash
# tier: deep; load: wait
# The Indexed Job of scripts/kubernetes is one that the API of Kubernetes takes, also with the lines for RDMA and GPUs, and its
# command runs with the environment that the kubelet gives each pod. The name of pod 0 appears only then.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck disable=SC2154 # lib.sh's
[ -n "$private" ] || skip "this user may make no namespaces, and so no names of hosts"
manifest=$repository/scripts/kubernetes/indexed-job.yaml
cd "$scratch" || exit 1

# taken SED-SCRIPT: the manifest with this change is one that Kubernetes takes. refused SED-SCRIPT REGEX.
changed() {
    sed -E "$1" "$manifest" >changed.yaml
    check "$1 changes nothing" test "$(cmp -s "$manifest" changed.yaml; echo $?)" = 1
    run "$repository/tests/system/manifest.py" changed.yaml
}
taken() {
    changed "$1"
    check_status 0
}
refused() {
    changed "$1"
    check_status 1
    check_says "$2"
}
refused 's/completionMode/completionMood/' '^manifest.py: Job.spec has no completionMood$'
refused 's/backoffLimit: 0/backoffLimit: none/' "Job.spec.backoffLimit is 'none', not of type int"
refused '/image:/d; s/- name: cctest$/- image: cctest/' 'Job.spec.template.spec.containers\[0\]: .*`name`'
refused 's/completions: 4/completions: 5/' 'pods run at once'
refused 's/subdomain: cctest/subdomain: other/' 'no headless Service'
taken 's/# (securityContext|resources):/\1:/'
check "two such lines" test "$(diff "$manifest" changed.yaml | grep -c '^>')" = 2
taken '/# ranks/s/4/3/' # as a user sets the number
command=() variables=() ranks=0 secret='' pod0=''
eval "$(cat "$out")"
check "not $ranks ranks everywhere" test "$ranks ${variables[*]}" = "3 CCTEST_WORLD=3"
read -r variable name key <<<"$secret"
check "another secret than the head says" grep -q "kubectl create secret generic $name --from-literal=$key=" "$manifest"
check "$variable is no secret" test "$variable" = CCTEST_SECRET

# A file stands for the name server, which does not know pod 0 until it runs.
check "the pods meet elsewhere than at $pod0" grep -q " $pod0:" <<<" ${command[*]}"
echo 127.0.0.1 localhost >hosts
echo hosts: files >nsswitch
check "no names of its own" mount --bind hosts /etc/hosts
check "no name server of its own" mount --bind nsswitch /etc/nsswitch.conf
ln -s "$CCTEST" cctest
pod() { start "$1" env PATH="$PWD:$PATH" "${variables[@]}" CCTEST_SECRET="$long_secret" JOB_COMPLETION_INDEX="$1" "${command[@]}" \
    -b 1000 -e 1000 -n 3 "${@:2}"; }
pod 1
pod 2 --json "$scratch/2.json"
sleep 0.7
check "a rank has not waited for the name" kill -0 "${pids[1]}" "${pids[2]}"
pod 0 --json "$scratch/0.json"
echo "127.0.0.1 $pod0" >>hosts
for rank in 0 1 2; do ended $rank 0; done
check_says '^# 3 ranks on .* \(tcp\)' "$scratch/0.out"
check_json "$scratch/0.json" 'd["status"] == "ok"' 'len({r["pid"] for r in d["ranks"]}) == 3' 'd["results"][0]["wrong"] == 0'

# The index is the rank unless --rank names another; it must be below the number of ranks.
indexed() { JOB_COMPLETION_INDEX=$1 cctest "${@:2}"; }
indexed 2 info --rendezvous 127.0.0.1:7777 --world 3
check_status 0
check_says '^ranks +tcp: --rendezvous was given, and an Indexed Job started this as rank 2 of 3 \(3 ranks\)' "$out"
indexed 2 info --rendezvous 127.0.0.1:7777 --world 3 --rank 1
check_says '^ranks +tcp: --rendezvous, --rank and --world were given' "$out"
indexed 3 allreduce --rendezvous 127.0.0.1:7777 --world 3
check_status 2
check_says '^cctest: --rendezvous needs --rank and --world: .*; JOB_COMPLETION_INDEX is .3., which is not a rank below --world$'
indexed 1 allreduce --rendezvous 127.0.0.1:7777
check_status 2
check_says '^cctest: --rendezvous needs --rank and --world: .*; JOB_COMPLETION_INDEX is 1, but the number of ranks is not known$'
indexed 1 allreduce
check_status 2
check_says '^cctest: JOB_COMPLETION_INDEX is 1, but the number of ranks is not known: this seems to be one of several ranks'
indexed 1 allreduce --np 2 -b 8 -e 8 -n 1
check_status 0
indexed 1 allreduce --rendezvous nowhere.cctest:7777 --world 3 --timeout 1
check_status 1
check_says "^cctest: .*the rendezvous host 'nowhere.cctest' is unknown on this host"

finish
