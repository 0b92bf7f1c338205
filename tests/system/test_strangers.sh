#!/usr/bin/env bash
# tier: deep; load: wait
# Connections from outside to the sockets of a job, while its ranks join, while they connect to each other, and while
# they run: they are dropped and counted, use a limited number of descriptors, learn nothing, and cannot give orders.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
hosts_up 4 || skip "$hosts_missing"
export CCTEST_SECRET='open sesame, said nobody'
port=7000

# rank RANK WORLD HOST OPTION...: starts a rank of a job that meets at host 1.
rank() {
    host_as "$3"
    start "$1" "${as[@]}" "$CCTEST" "${@:4}" --timeout 20 --rendezvous "h1:$port" --rank "$1" --world "$2" \
        --json "$scratch/strangers.json"
}

# strangers ADDRESS PORT COUNT SECONDS: runs strangers.py on host 4 in the background, as $attacker.
strangers() {
    host_as 4
    : >"$scratch/there" # here, because a background command truncates it at any time
    "${as[@]}" python3 "$repository/tests/system/strangers.py" "$@" >"$scratch/there" &
    attacker=$!
}

# most_sockets PID: sets $most to the largest number of sockets of the process until all strangers have connected.
most_sockets() {
    most=0
    check "the strangers are there" await 60 look_at_sockets "$1"
}
# shellcheck disable=SC2317 # for await
look_at_sockets() {
    local now all=yes
    grep -qs there "$scratch/there" || all=
    now=$(find "/proc/$1/fd" -lname 'socket:*' | wc -l)
    most=$((now > most ? now : most))
    [ -n "$all" ]
}

# The process of rank $1, and the ports at which host $1 listens.
process() { pgrep -f -- "--rank $1 --world" | while read -r pid; do
    [ "$(cat "/proc/$pid/comm")" != cctest ] || echo "$pid"; done | head -n 1; }
ports() { host_network "$1" ss -Hltn | awk '{ sub(/.*:/, "", $4); print $4 }' | sort -un; }
# shellcheck disable=SC2317 # for await
listens() { [ -n "$(ports "$1")" ]; }
# shellcheck disable=SC2317 # for await
listens_at() { [ "$(ports "$1")" = "$2" ]; }

# Captures all frames of the first network, each after its size, for the checks below.
cat >"$scratch/capture.py" <<'PYTHON'
import socket, struct, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind((sys.argv[1], 0))
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26) # SO_RCVBUFFORCE
print("there", flush=True)
with open(sys.argv[2], "wb") as out:
    while True:
        frame = s.recv(1 << 17)
        out.write(struct.pack("<I", len(frame)) + frame)
        out.flush()
PYTHON
captures=()
for host in 1 2 3; do
    python3 "$scratch/capture.py" lan0-$host "$scratch/capture.$host" >"$scratch/capturing.$host" &
    captures+=($!)
    await 60 grep -qs there "$scratch/capturing.$host"
done

# ---- a job without strangers ----

small=(alltoall -b 64K -e 64K -n 3 -w 1 -c 2 -x tcp)
# A rank that connects before the others expect it is no stranger.
for _ in 1 2 3 4 5; do
    for rank in 0 1 2; do rank $rank 3 $((1 + rank)) "${small[@]}" -vv; done
    for rank in 0 1 2; do ended $rank 0; done
    check_json "$scratch/strangers.json" 'd["rejected_connections"] == 0'
    for rank in 0 1 2; do check_silent dropped "$scratch/$rank.err"; done
done

# ---- while ranks join: at the port of rank 0 ----

for address in 10.77.0.1 ${hosts_ipv6:+fd77::1}; do
    port=$((port + 1))
    rank 0 3 1 "${small[@]}" -v
    check "rank 0 listens" await 60 listens 1
    strangers "$address" $port 500 600
    most_sockets "$(process 0)"
    check "500 strangers cost rank 0 $most sockets" test "$most" -gt 20 -a "$most" -le 140
    rank 1 3 2 "${small[@]}"
    # A rank of another job, with another secret.
    host_as 3
    start other env CCTEST_SECRET=another "${as[@]}" "$CCTEST" "${small[@]}" --rendezvous "h1:$port" --rank 2 --world 3
    ended other 1 "does not know this job's secret"
    rank 2 3 3 "${small[@]}"
    for rank in 2 1 0; do ended $rank 0; done
    check_says '^# status: ok' "$scratch/0.out"
    check_says 'rejected [0-9]+ connections that did not belong to this job' "$scratch/0.err"
    check_json "$scratch/strangers.json" '100 <= d["rejected_connections"] <= 520' 'd["status"] == "ok"'
    kill $attacker
    wait $attacker 2>/dev/null
done

# ---- while its ranks connect to each other ----

# Rank 2 cannot reach rank 1 yet, so rank 1 keeps listening.
port=$((port + 1))
for address in 10.77.0.2 10.78.0.2 ${hosts_ipv6:+fd77::2 fd78::2}; do
    host_network 3 ip route add unreachable "$address"
done
for rank in 0 1 2; do rank $rank 3 $((1 + rank)) "${small[@]}" -v; done
check "rank 1 listens" await 60 listens 2
data=$(ports 2 | head -n 1)
strangers 10.77.0.2 "$data" 500 600
most_sockets "$(process 1)"
check "500 strangers cost rank 1 $most sockets" test "$most" -gt 20 -a "$most" -le 90
for address in 10.77.0.2 10.78.0.2 ${hosts_ipv6:+fd77::2 fd78::2}; do
    host_network 3 ip route del unreachable "$address"
done
for rank in 2 1 0; do ended $rank 0; done
check_says 'rejected [0-9]+ connections that did not belong to this job' "$scratch/0.err"
check_json "$scratch/strangers.json" '100 <= d["rejected_connections"] <= 520' 'd["status"] == "ok"' 'd["results"][0]["wrong"] == 0'
kill $attacker
wait $attacker 2>/dev/null

# ---- while it runs ----

# Only rank 0 still listens, and admits only ranks of its job.
port=$((port + 1))
for rank in 0 1 2; do rank $rank 3 $((1 + rank)) "${small[@]}" -v -n 500 --inject delay:rank=1:us=20000; done
check "the job runs" await 60 grep -q 'busbw' "$scratch/0.out"
sleep 0.5
for host in 1 2 3; do
    check "host $host listens at $(ports $host | xargs)" await 60 listens_at $host "$([ $host != 1 ] || echo $port)"
done
strangers 10.77.0.1 $port 200 600
# A duplicate rank with the right secret gets a message.
host_as 4
start late "${as[@]}" "$CCTEST" "${small[@]}" --rendezvous "h1:$port" --rank 2 --world 3 -n 500 \
    --inject delay:rank=1:us=20000 --timeout 20
ended late 2 "two processes claim rank 2"
check "the strangers are there" await 60 grep -qs there "$scratch/there"
check "the job runs" kill -0 "${pids[0]}"
for rank in 0 1 2; do ended $rank 0; done
# The number of dropped connections at the end varies; a rank that was too slow in its handshake may count, too.
check_json "$scratch/strangers.json" "20 <= d['rejected_connections'] <= 10 + $(sed 's/there //' "$scratch/there")" \
    'd["status"] == "ok"' 'd["results"][0]["wrong"] == 0'
kill $attacker
wait $attacker 2>/dev/null

# ---- on the way between two ranks ----

# A relay at the address where rank 1 looks for rank 0 forwards everything to the real one, and then inserts a verdict of
# its own (status 3, wrong data). Rank 1 does not accept it.
cat >"$scratch/relay.py" <<'PYTHON'
import os, select, socket, struct, sys, time
port, go = int(sys.argv[1]), sys.argv[2]
door = socket.socket()
door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
door.bind(("", port))
door.listen()
print("there", flush=True)
rank, _ = door.accept()
root = socket.create_connection(("10.77.0.1", port))
text = b"a stranger says so"
verdict = struct.pack("<III", 3, 0, len(text)) + text
verdict = struct.pack("<IIB", len(verdict), 0, 8) + verdict + os.urandom(16)
while True:
    for end in select.select([rank, root], [], [], 0.05)[0]:
        said = end.recv(65536)
        if not said:
            sys.exit()
        (root if end is rank else rank).sendall(said)
    if verdict and os.path.exists(go):
        rank.sendall(verdict)
        verdict = b""
PYTHON
port=$((port + 1))
host_as 4
"${as[@]}" python3 "$scratch/relay.py" $port "$scratch/go" >"$scratch/relay.out" 2>&1 &
attacker=$!
check "the relay listens" await 60 grep -qs there "$scratch/relay.out"
rank 0 2 1 "${small[@]}" -v -n 3000 --inject delay:rank=1:us=20000
check "rank 0 listens" await 60 listens 1
host_as 2
start 1 "${as[@]}" "$CCTEST" "${small[@]}" -v -n 3000 --inject delay:rank=1:us=20000 --timeout 20 \
    --rendezvous "h4:$port" --rank 1 --world 2
check "the job runs" await 60 grep -q 'busbw' "$scratch/0.out"
sleep 0.5
touch "$scratch/go"
ended 1 5 'rank 0 .* cannot be reached any more: data on its connection failed authentication'
check_silent 'a stranger says so'
ended 0 5 'rank 1 .*: the data from rank 0 failed authentication'
kill $attacker 2>/dev/null
wait $attacker 2>/dev/null

# ---- the secret stays secret ----

kill "${captures[@]}"
wait "${captures[@]}" 2>/dev/null
# Neither the text nor a key derived from it was sent. The captured handshakes prove that the capture is complete.
python3 - "$CCTEST_SECRET" "$port" "$scratch"/capture.* >"$out" 2>&1 <<'PYTHON'
import ctypes, ctypes.util, struct, sys
text, last_port = sys.argv[1].encode(), int(sys.argv[2])
frames = []
for name in sys.argv[3:]:
    captured, at = open(name, "rb").read(), 0
    while at + 4 <= len(captured):
        size, = struct.unpack_from("<I", captured, at)
        frames.append(captured[at + 4:at + 4 + size])
        at += 4 + size
def among_ranks(frame):
    if frame[12:14] == b"\x08\x00":
        ends = frame[26:30], frame[30:34]
        return all(end[:3] == bytes([10, 77, 0]) and 1 <= end[3] <= 3 for end in ends)
    return False
openings = sum(b"cctest\x04\x00" in frame for frame in frames if among_ranks(frame))
print(len(frames), "frames,", openings, "openings of ranks")
assert openings >= 40
wire = b"".join(frames)
assert text not in wire
sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
assert sodium.sodium_init() >= 0
key = ctypes.create_string_buffer(32)
assert sodium.crypto_pwhash(key, ctypes.c_ulonglong(32), text, ctypes.c_ulonglong(len(text)), b"cctest secret v1",
                            ctypes.c_ulonglong(2), ctypes.c_size_t(67108864), 2) == 0
keys = [key.raw]
for port in range(7000, last_port + 1): # ports of the jobs
    place, own = b"port %d" % port, ctypes.create_string_buffer(32)
    assert sodium.crypto_generichash(own, ctypes.c_size_t(32), place, ctypes.c_ulonglong(len(place)), key,
                                     ctypes.c_size_t(32)) == 0
    keys.append(own.raw)
for key in keys:
    assert key not in wire and key[:16] not in wire
PYTHON
status=$? ran=("the secret on the wire")
check_status 0
check_silent "$CCTEST_SECRET" "$scratch/strangers.json"

# ps does not show it.
port=$((port + 1))
rank 0 2 1 "${small[@]}"
check "rank 0 listens" await 60 listens 1
ps -e -o args >"$out"
check_says "$CCTEST .*--rank 0" "$out"
check_silent "$CCTEST_SECRET" "$out"
rank 1 2 2 "${small[@]}"
for rank in 0 1; do ended $rank 0; done

finish
