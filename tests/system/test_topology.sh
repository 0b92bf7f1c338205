#!/usr/bin/env bash
# tier: check; load: cpu1
# `cctest predict --topology`: the load of links in the table, in JSON and as a picture, as it is by hand; what is refused,
# with status 2. order=auto: rings of a run enter each host once, and gain what they save. And `cctest info --topology`: the parts of
# a made-up host and the distances on it, and what becomes of files that are wrong.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
cd "$scratch" || exit 1

"$repository/tests/system/textbook.py" tcp same-cache,network rank 1 1 0 >model

placed() { cctest predict "$1" -a "$2" --np "$3" --topology "$4" --model model -b "$5" -e "$5" "${@:6}"; }

# ---- load ----

# A ring of 8 ranks in turn on 4 hosts: both ranks of a host send through its port at once.
placed allreduce ring 8 leaf-spine:radix=4:ranks=2 64K --place cyclic --json load.json
check_status 0
check_says '^# on leaf-spine of 8 hosts, switches of 4 ports: 4 leaves with 2 hosts and 2 links up, 2 spines; ranks placed cyclic$' "$out"
check_says '^# 8 ranks on 4 hosts' "$out"
keep_json load.json
check_says '^# congestion factor 2: 224K through the busiest link of each step, 112K through a rank.s own port$' "$out"
check_says '^  host 0 -> leaf 0 +1 +224K +16K +200%$' "$out"
check_says '^  0-13 +8K +16K +2  host 0 -> leaf 0$' "$out"
check_json load.json 'd["network"]["hosts"] == 8 and d["network"]["places"] == 16' \
    'd["results"][0]["load"]["congestion_factor"] == 2' 'len(d["results"][0]["load"]["steps"]) == 14' \
    '[l["bytes"] for l in d["results"][0]["load"]["links"] if l["link"] == "leaf 1 -> host 3"] == [14 * 16384]' \
    'all(sum(l["bytes_by_step"]) == l["bytes"] for l in d["results"][0]["load"]["links"])' \
    'd["results"][0]["load"]["links_left_out"] == 0'
# In a good order one rank of each host does.
placed allreduce ring:order=auto 8 leaf-spine:radix=4:ranks=2 64K --place cyclic
check_says '^# congestion factor 1: 112K through' "$out"

# Odd numbers, no bytes, every family; a file for each host.
for spec in fat-tree:k=4 fat-tree:radix=6:oversubscription=2:hosts=13 rail:hosts=7:rails=2 torus:3x5 mesh:13 ring:13 \
    dragonfly:a=3:h=1:p=2 leaf-spine:radix=8:routing=dmodk; do
    for size in 0 100; do
        placed alltoall,broadcast,barrier all 13 "$spec" $size --place random:5
        check_status 0 "$spec"
    done
done
printf 'SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=top Switches=s[1-2] LinkSpeed=1\n' >topology.conf
printf 'n3\nn1\nn4\nn2\n' >places
placed sendrecv ring-shift 4 topology.conf 1K --place places --svg load.svg
check_status 0
check_says '^# congestion factor 2: 2K through' "$out"
check_says '^  0 +1K +2K +2  s1 -> top$' "$out"
check "a picture" python3 - <<'PYTHON'
import xml.etree.ElementTree as tree
root = tree.parse("load.svg").getroot()
words = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
assert "s1 -> top" in words and "n1 -> s1" in words, words
assert "congestion factor 2; the 12 most loaded links" in words, words
assert titles.count("step 0: 2K bytes, factor 2") == 4, titles
PYTHON

# ---- the topology of a host ----

check "a host is made" python3 "$repository/tests/system/machine.py" host
show() { # show [FILE=TEXT...]: of the host, with these files in place of its own
    rm -rf wrong && cp -a host wrong
    for change; do
        rm -f "wrong/${change%%=*}" && echo "${change#*=}" >"wrong/${change%%=*}"
    done
    HWLOC_FSROOT=$PWD/wrong cctest info --topology --json map.json
    check_status 0 "$*"
    keep_json map.json
}
row() { sed -n "/^distances/,\$s/^  $1  *//p" "$out" | tr -s ' '; }

show
sed -n '/^  package1/,/^distances/p' "$out" >tree
check "a tree" diff tree - <<'TREE'
  package1
    node1  256.0 GiB, CPUs 4-7
      cache2  32.0 MiB, 2 cores, CPUs 4-5
      cache3  32.0 MiB, 2 cores, CPUs 6-7
      host bridge 0000:27
        bridge 0000:27:01.0, 0000:28:00.0
          bridge 0000:29:00.0
            GPU4  0000:2a:00.0
          bridge 0000:29:02.0
            GPU5  0000:2c:00.0
          bridge 0000:29:01.0
            NIC4  0000:2b:00.0, mlx5_4, ib4
          bridge 0000:29:03.0
            NIC5  0000:2d:00.0, mlx5_5, ib5
      host bridge 0000:2f
        bridge 0000:2f:01.0, 0000:30:00.0
          bridge 0000:31:00.0
            GPU6  0000:32:00.0
          bridge 0000:31:02.0
            GPU7  0000:34:00.0
          bridge 0000:31:01.0
            NIC6  0000:33:00.0, mlx5_6, ib6
          bridge 0000:31:03.0
            NIC7  0000:35:00.0, mlx5_7, ib7
distances, by the way between two of them
TREE
near="PIX PIX NODE NODE SYS SYS SYS SYS" far="SYS SYS SYS SYS NODE NODE X PIX"
check "the row of a GPU" test "$(row GPU6)" = "$far SYS SYS SYS SYS NODE NODE PIX PIX SYS SYS SYS NODE NODE"
check "the row of a NIC" test "$(row NIC1)" = "$near PIX X NODE NODE SYS SYS SYS SYS NODE NODE NODE SYS SYS"
check "the row of a cache" test "$(row cache0)" = "NODE NODE NODE NODE SYS SYS SYS SYS NODE NODE NODE NODE SYS SYS SYS SYS NODE X NODE SYS SYS"
check_says '^          NIC8  0000:01:00.0, eth0$' "$out"
check_json map.json 'sum(p["type"] == "core" for p in d["topology"]["parts"]) == 8' \
    'all(p["above"] is None or p["above"] < i for i, p in enumerate(d["topology"]["parts"]))' \
    'all(r[i] == "X" and r[k] == d["topology"]["distances"]["rows"][k][i] for i, r in enumerate(d["topology"]["distances"]["rows"]) for k in range(21))'

# Firmware that tells no node, or one that is not there: near is only what shares a bridge.
for node in -1 5 99999999999999999999 x ""; do
    show sys/bus/pci/devices/0000:1a:00.0/numa_node="$node"
    check "node '$node'" test "$(row GPU0)" = "X PIX SYS SYS SYS SYS SYS SYS PIX PIX SYS SYS SYS SYS SYS SYS SYS unknown unknown unknown unknown"
done
# Links that go in a circle, devices that are no more, vendors and states that are cut off, a name of no characters.
rm -rf broken && cp -a host broken
ln -sfn 0000:1a:00.0 broken/sys/bus/pci/devices/0000:1a:00.0
ln -sfn device broken/sys/class/infiniband/mlx5_0/device
rm -r broken/sys/devices/pci0000:2f
printf 0x10 >broken/sys/bus/pci/devices/0000:22:00.0/vendor
: >broken/sys/bus/pci/devices/0000:24:00.0/class
: >broken/sys/class/infiniband/mlx5_1/ports/1/state
mv broken/sys/class/net/eth0 broken/sys/class/net/$'e\377\033['
HWLOC_FSROOT=$PWD/broken cctest info --topology --json map.json
check_status 0 "broken"
check_says '^ +NIC8  0000:01:00.0, e\?\?\[$' "$out"
check_json map.json 'len(d["topology"]["parts"]) > 10' \
    'all(part["above"] is None or part["above"] < number for number, part in enumerate(d["topology"]["parts"]))'
check "GPUs and NICs that are left" test "$(sed -n '/^distances/{n;p;}' "$out" | tr -s ' ')" = \
    " GPU0 GPU1 GPU2 NIC0 NIC1 NIC2 NIC3 NIC4 NIC5 NIC6 NIC7 NIC8 NIC9 cache0 cache1 cache2 cache3"
check "the row of a NIC that is lost" test "$(row NIC0)" = "$(printf 'unknown %.0s' 1 2 3)X $(printf 'unknown %.0s' {1..12})unknown"
# Processors whose files are cut off, and none at all.
show sys/devices/system/cpu/cpu{0,3,7}/topology/core_cpus= sys/devices/system/node/node1/cpumap=zzz sys/devices/system/cpu/cpu5/cache/index0/size=-7
check_says '^  GPU0 ' "$out"
mkdir -p nothing/sys nothing/proc
HWLOC_FSROOT=$PWD/nothing cctest info --topology --json map.json
check_status 0 "nothing"
check_json map.json '[p["type"] for p in d["topology"]["parts"]].count("GPU") == 0'
cctest info --topology=fat-tree:k=4
check_status 2
check_says "--topology takes no value"

# ---- refused ----

refused() { # refused REGEX SPEC ARGUMENT...
    placed allreduce ring 5 "$2" 1K "${@:3}"
    check_status 2 "$*"
    check_says "$1" "$err"
    check "nothing stands on standard output" test ! -s "$out"
}
refused '5 ranks do not fit torus of 2x2: 4 hosts, 16 links, which has places for 4: give fewer ranks' torus:2x2
refused "topology 'fat-tre:k=4': 'fat-tre' is no topology, and there is no such file \(did you mean fat-tree\?\)" fat-tre:k=4
refused "give an even k=" fat-tree:k=3
printf '0\n3 # the third\n' >few
refused 'few has places for 2 ranks, and these are 5' ring:9 --place few
refused "places:1: 'n3' is neither a place's number nor a host's name" ring:9 --place places
refused '^cctest: --topology says which ranks share a host: leave --shape out' ring:9 --shape 1x5
refused '--svg draws one algorithm, and these are 2' ring:9 -a ring,rhd --svg x.svg
printf 'SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n2\n' >twice.conf
refused 'twice.conf:2: host n2 is behind switch s1 already \(line 1\)' twice.conf
printf '<system>\n<cpu numaid="0">\n' >cut.xml
refused 'cut.xml:3: this is no XML' cut.xml
cctest predict allreduce --np 4 --model model --place cyclic
check_status 2
check_says '^cctest: --place says where ranks sit on a topology: give --topology, too' "$err"

printf 's1: n[1-4]\ns2: n[5-8]\n' >apart.conf
refused "apart.conf names 2 switches and none that connects them: add a line such as 'SwitchName=spine Switches=s1,s2'" apart.conf
# What is read is not written over.
printf 'SwitchName=s1 Nodes=n[1-5]\n' >one.conf
printf '4\n3\n2\n1\n0\n' >order
for option in json csv svg; do
    refused "^cctest: --$option names ./one.conf, which --topology reads" one.conf:ranks=1 "--$option" ./one.conf
    refused "^cctest: --$option names order, which --place reads" one.conf --place order "--$option" order
done
cctest predict allreduce --np x --topology one.conf:ranks=1 --place order --json one.conf
check_status 2
check "files that are read stay" test "$(cat one.conf order)" = "$(printf 'SwitchName=s1 Nodes=n[1-5]\n4\n3\n2\n1\n0')"

# ---- what auto picks, and pictures ----

cctest predict allreduce,barrier --np 4 --topology one.conf --model model -b 0 -e 64K -f 8 --json auto.json
check_status 0
check_says '^# auto picks ' "$out"
check_json auto.json '[r["bytes"] for r in d["results"] if r["collective"] == "allreduce"] == [0, 4, 32, 256, 2048, 16384]'
placed allreduce ring 5 one.conf 1K --svg -
check_status 0
check "the picture alone is on standard output" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$out"
check_says '^# congestion factor ' "$err"

# ---- the order of a run's rings ----

cctest allreduce,allgather,reduce_scatter,alltoall -a ring:order=auto,ring-bidir:order=auto --np 5 -b 100 -e 100K -f 32 -n 3 -v
check_status 0
check_says '^# rings with order=auto pass ranks 0( [1-4]){4}$' "$out"

if hosts_up 3; then
    export CCTEST_SECRET=$long_secret
    for host in 1 2 3; do host_rate "$host" 400mbit; done
    # Natural: each host sends twice as much as it has to. The ratio is 2 at best.
    meet "1 2 3 1 2 3" allreduce -a ring,ring:order=auto -b 2M -e 2M -n 5 -c 1
    check_json "$hosts_json" '[r["node"] for r in sorted(d["ranks"], key=lambda r: r["ring_place"])] == [0, 0, 1, 1, 2, 2]' \
        'd["status"] == "ok"' 'all(r["wrong"] == 0 for r in d["results"])' \
        'd["results"][0]["time_us"]["p50"] > 1.5 * d["results"][1]["time_us"]["p50"]' \
        'd["results"][0]["traffic"]["tcp"]["received"]["zcopy"] + d["results"][0]["traffic"]["tcp"]["received"]["bcopy"] > 1.9 * (d["results"][1]["traffic"]["tcp"]["received"]["zcopy"] + d["results"][1]["traffic"]["tcp"]["received"]["bcopy"])'
    hosts_down
else
    echo "order=auto between hosts is not measured: $hosts_missing"
fi
finish
