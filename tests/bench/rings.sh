#!/usr/bin/env bash
# rings.sh - what order=auto gains: rings in the order of the ranks' numbers, and in that of their places, on three namespace hosts
# whose links have a set rate, by how the ranks are dealt to the hosts. Prints a table.
# usage: rings.sh [ARGUMENT OF cctest...]; the links have 400 Mbit/s, or RINGS_RATE
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
hosts_up 3 || skip "$hosts_missing"
export CCTEST_SECRET=$long_secret
for host in 1 2 3; do host_rate "$host" "${RINGS_RATE:-400mbit}"; done
echo "| ranks on hosts | collective | bytes | by number, ms | order=auto, ms | ratio |"
echo "| --- | --- | --- | --- | --- | --- |"
for dealt in "1 2 3 1 2 3" "1 2 3 1 2 3 1 2 3" "1 2 1 2 1 2 1" "1 1 2 2 3 3"; do
    meet "$dealt" allreduce,allgather,reduce_scatter -a ring,ring:order=auto -b 256K -e 4M -f 16 -n 11 -c 1 "$@"
    python3 - "$hosts_json" "$dealt" <<'PYTHON' || exit 1
import json, sys
cells = {}
for r in json.load(open(sys.argv[1]))["results"]:
    cells.setdefault((r["collective"], r["bytes"]), []).append(r["time_us"]["p50"] / 1000)
for (collective, size), (number, auto) in cells.items():
    print(f"| {sys.argv[2]} | {collective} | {size} | {number:.1f} | {auto:.1f} | {number / auto:.2f} |")
PYTHON
done
hosts_down
