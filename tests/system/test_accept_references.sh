#!/usr/bin/env bash
# tier: deep; load: alone
# `cctest accept` compares hosts with a profile and with an earlier run: what it writes, and what it refuses.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
cd "$scratch" || exit 1

# A host meets the profile that is made of it.
stages=(--stages "inventory,self,node")
cctest accept --np 2 "${stages[@]}" --write-profile made --json earlier.json
check_status 0
check_says '^cpu\.threads >= [0-9]+$' made
check_says '^memory\.bytes >= [0-9]+M$' made
check_says '^self\.copy >= [0-9.]+ GB/s$' made
check_says '^node\.allreduce\.latency <= [0-9.e+]+ us$' made
check_silent 'not loaded|>= 0$' made
check_json earlier.json 'd["options"]["write-profile"] == "made"' 'd["options"]["profile"] is None'
# Two cores that other work shares are not always as fast again, so what is measured is asked at a tenth.
sed -E 's/(>=) [0-9.]+ (GB|million)/\1 0.1 \2/; s/<= .* us/<= 1e6 us/' made >easy
cctest accept --np 2 "${stages[@]}" --profile easy
check_status 0
check_says 'its own best and the profile' "$out"

# What a host lacks is a finding, with the profile's line.
printf 'cpu.threads >= 100000\n# a comment\n\nself.copy >= 1e6 GB/s\n' >hard
cctest accept --np 2 --stages inventory,self --profile hard --json -
check_status 4
check_json "$out" 'd["options"]["profile"] == "hard"' '[f["stage"] for f in d["findings"]] == ["inventory", "self"]' \
    '"hard:1 expects cpu.threads >= 100000" in d["findings"][0]["message"]' \
    '"threshold by the profile 1e+06); measured twice" in d["findings"][1]["message"]' \
    'd["hosts"][0]["health"] == "bad"'
cctest accept --np 2 --stages inventory --profile hard --write-profile never
check_status 4
check_says 'the profile never is not written: no host is good'
check "no profile of bad hosts" test ! -e never

# One host alone is the fleet, whose change is evidence against none of its hosts.
sed -E 's/"name": "[^"]*"/"name": "elsewhere"/' earlier.json >elsewhere.json
cctest accept --np 2 "${stages[@]}" --baseline earlier.json
check_status 0
check_says 'not compared with each other: 1 host' "$out"

# Bad input: one sentence, and no stage runs.
refused() { # refused TEXT REGEX: of a profile
    printf '%s\n' "$1" >wrong
    cctest accept --np 2 --stages start --profile wrong --json refused.json
    check_status 2 "$1"
    check_says "$2"
    check_json refused.json 'd["status"] == "usage"' 'not d["stages"]'
}
refused 'nic.colour = red' 'wrong:1: nic\.colour is no key of a profile'
refused $'\nself.copy >= 20 Gb/s' "wrong:2: self\.copy is given in GB/s, not '20 Gb/s'"
refused 'self.copy <= 20 GB/s' 'wrong:1: self\.copy is measured: write >= behind it'
refused $'self.copy >= 2 GB/s\nself.copy >= 3 GB/s' 'wrong:2: self\.copy is there twice'
refused 'pairs.latency <= 0 us' "wrong:1: pairs\.latency is above 0, not '0 us'"
refused 'memory.bytes >= 64 Gb/s' "memory\.bytes is given in bytes \(64G\), not '64 Gb/s'"
refused "nic.rate >= $(printf '%0600d' 1)" 'wrong:1: nic\.rate has a value that is too long'
refused 'nic.rate' 'wrong:1: nic\.rate has no operator'
for option in --profile --baseline; do
    cctest accept --np 2 --stages start $option nowhere
    check_status 2
    check_says 'cannot read (the earlier run )?nowhere'
done
cctest accept --np 2 --stages start --baseline elsewhere.json
check_status 2
check_says 'elsewhere.json is of other hosts than these \(.* is not among them\)'
for text in '{' '{"command": "run"}' '[]' '{"command": "accept", "hosts": 3, "pairs": [], "numbers": {}}'; do
    printf '%s\n' "$text" >other
    cctest accept --np 2 --stages start --baseline other
    check_status 2 "$text"
    check_says 'other:[0-9]+: it is no JSON, and so no earlier run|other is not the JSON of a run of cctest accept'
done
rm other

# A run's --profile is a switch, wherever the command stands.
cctest --np 2 -b 8 -e 8 --profile allreduce
check_status 0
cctest --np 2 --profile easy --stages start accept
check_status 4
cctest accept --np 2 --stages start --profile
check_status 2
check_says 'cannot read -'

if ! hosts_up 2; then
    echo "not tested: several hosts ($hosts_missing)"
    finish
fi
for host in 1 2; do host_rate "$host" 400mbit; done
pairs() { launch "1 2" accept -x tcp --quick --stages pairs,isolate "$@"; }
table() { out=$scratch/0.out err=$scratch/0.err; }

# Two hosts that are both slower than they were: no host is named, and the fleet is told.
pairs --write-profile "$scratch/fast"
for rank in 0 1; do ended "$rank" 0; done
table
check_says '^pairs\.bandwidth >= 0\.0[34][0-9]* GB/s$' fast
cp "$hosts_json" earlier.json
for host in 1 2; do host_rate "$host" 200mbit; done
pairs --profile "$scratch/fast"
for rank in 0 1; do ended "$rank" 4; done
table
check_says '^  note +all hosts: the median of their bandwidth one way \(sent\) is 0\.02.*; the threshold by the profile is 0\.0' "$out"
check_says '^# good: h\[1-2\]$' "$out"
pairs --baseline "$scratch/earlier.json"
for rank in 0 1; do ended "$rank" 4; done
table
check_says '^  note +all hosts: the median of their bandwidth one way \(sent\) is 0\.02.*; the threshold by the earlier run is 0\.0' "$out"
hosts_down
finish
