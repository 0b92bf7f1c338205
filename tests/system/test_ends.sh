#!/usr/bin/env bash
# tier: deep; load: wait
# How a job ends: one status in the table, in JSON and as the exit status, whatever happens near the end; no status without
# a sentence; readers that pause or go; files that hold earlier results.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@" # its ports are its own

# A reader that pauses for longer than the deadline; beside the next checks.
paused() {
    timeout 60 "$CCTEST" allreduce -b 8 -e 16K -i 8 -n 2 -w 0 -c 0 --np 2 --timeout 5 2>"$scratch/paused.err" |
        (sleep 8; timeout 60 cat) >"$scratch/paused.out"
    return "${PIPESTATUS[0]}"
}
paused &
pids[paused]=$!

# More output than may wait in memory: rank 0 waits, too.
paused_long() {
    timeout 90 "$CCTEST" allreduce -b 8 -e 8 -n 1500000 -w 0 -c 0 --np 2 --timeout 5 --samples - 2>"$scratch/long.err" |
        (sleep 15; timeout 60 wc -l) >"$scratch/long.out"
    return "${PIPESTATUS[0]}"
}
paused_long &
pids[long]=$!

# Wrong data, and a reader that pauses below the lines, for longer than a rank may need to end.
cat >"$scratch/foot.py" <<'PYTHON'
import fcntl, os, re, subprocess, sys, time
mine, theirs = os.pipe()
fcntl.fcntl(theirs, 1031, 4096) # F_SETPIPE_SZ: it does not hold the rest
job = subprocess.Popen(sys.argv[1:], stdout=theirs)
os.close(theirs)
said = b""
while not re.search(rb"^# busbw in GB/s and place", said, re.M):
    part = os.read(mine, 64)
    if not part:
        sys.exit(f"ends with {said}")
    said += part
time.sleep(20)
while more := os.read(mine, 65536):
    said += more
print(said.decode().splitlines()[-1])
sys.exit(job.wait())
PYTHON
RUN_LIMIT=100 start wrong python3 "$scratch/foot.py" "$CCTEST" allreduce -a all -b 8 -e 32K -f 2 -n 2 -w 0 -c 1 --np 4 \
    --inject corrupt:rank=1:iteration=0

# A terminal that nobody reads for longer than the deadline, with output that is larger than what it holds.
cat >"$scratch/unread.py" <<'PYTHON'
import os, pty, subprocess, sys, time
master, slave = pty.openpty()
job = subprocess.Popen(sys.argv[1:], stdout=slave)
os.close(slave)
time.sleep(12)
lines = 0
try:
    while more := os.read(master, 65536):
        lines += more.count(b"\n")
except OSError: # the last one has closed it
    pass
print(lines, "lines")
sys.exit(job.wait())
PYTHON
RUN_LIMIT=120 start unread python3 "$scratch/unread.py" "$CCTEST" allreduce -b 8 -e 16K -i 8 -n 1 -w 0 -c 0 --np 2 --timeout 5

# HANG=affinity: a rank hangs in its set-up (of threads the first one). munmap: a rank hangs when all is written; munmap1: of
# threads, rank 1. close: the CSV's data is lost as it is closed. signal: none hangs, but SIGTERM comes with the first JSON
# document. slow: the last one takes a while, as on a busy file system.
cat >"$scratch/hang.c" <<'CODE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int *calls; /* of rename(), by all processes of the job */

__attribute__((constructor)) static void begin(void)
{
    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static int hangs(const char *where)
{
    const char *at = getenv("HANG");
    return at && strcmp(at, where) == 0;
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    static int calls;
    int (*next)(pid_t, size_t, cpu_set_t *);
    *(void **)&next = dlsym(RTLD_NEXT, "sched_getaffinity");
    if (hangs("affinity") && __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) == (getpid() == gettid() ? 8 : 5))
        sleep(60);
    return next(pid, size, set);
}

int rename(const char *from, const char *to)
{
    int (*next)(const char *, const char *);
    *(void **)&next = dlsym(RTLD_NEXT, "rename");
    int call = __atomic_add_fetch(calls, 1, __ATOMIC_SEQ_CST);
    if (hangs("slow") && call > 1)
        sleep(3);
    int result = next(from, to);
    if (hangs("signal") && call == 1)
        kill(getpid(), SIGTERM);
    return result;
}

static int ends_with(int fd, const char *end)
{
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    return length >= (ssize_t)strlen(end) && strcmp(path + length - strlen(end), end) == 0;
}

int close(int fd)
{
    int (*next)(int);
    *(void **)&next = dlsym(RTLD_NEXT, "close");
    int loses = hangs("close") && ends_with(fd, ".csv"), result = next(fd);
    errno = loses ? EDQUOT : errno;
    return loses ? -1 : result;
}

static pthread_t second; /* thread that the process starts: rank 1, where ranks are threads */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    static int threads;
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    int error = next(thread, attributes, start, argument);
    if (__atomic_add_fetch(&threads, 1, __ATOMIC_SEQ_CST) == 2)
        second = *thread;
    return error;
}

int munmap(void *at, size_t size)
{
    int (*next)(void *, size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "munmap");
    if (size >= 32 << 20 && (hangs("munmap") || (hangs("munmap1") && pthread_equal(pthread_self(), second))))
        sleep(60);
    return next(at, size);
}
CODE
has_hang=
"${CC:-cc}" -shared -fPIC -o "$scratch/hang.so" "$scratch/hang.c" -ldl 2>/dev/null && has_hang=1
hanging() { # hanging WHERE COMMAND...: a job of one rank, which is its launcher's
    free_port
    hanging=(env HANG="$1" LD_PRELOAD="$scratch/hang.so" CCTEST_SECRET="$long_secret" "$CCTEST" allreduce
        --rendezvous "127.0.0.1:$port" --rank 0 --world 1 "${@:2}")
}

# One verdict. Something happens to a process of the job at a random moment near its end. Several jobs run at once.
cat >"$scratch/moments.py" <<'PYTHON'
import json, os, random, re, signal, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
program, folder, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
words = {0: "ok", 1: "error", 5: "timeout", 130: "interrupted"}

def end(run):
    chance = random.Random(run)
    path = f"{folder}/{run}.json"
    stream, threads = run % 5 == 4, run % 7 == 6
    job = subprocess.Popen([program, "allreduce", "--np", "4", "-b", "8", "-e", "8", "-n", "50", "--timeout", "20",
                            "--ranks-as", "threads" if threads else "processes", "--json", "-" if stream else path],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    table = job.stderr if stream else job.stdout
    text = ""
    for line in table: # up to the line of the result: the end is near
        text += line
        if re.match(r"^ +[0-9]", line):
            break
    children = []
    if not threads:
        children = [int(pid) for pid in open(f"/proc/{job.pid}/task/{job.pid}/children").read().split()]
    target, sent = chance.choice(children + [job.pid]), signal.SIGKILL
    if target == job.pid:
        sent = signal.SIGTERM
    time.sleep(chance.choice((0, chance.uniform(0, 0.003), chance.uniform(0, 0.03))))
    try:
        os.kill(target, sent)
    except ProcessLookupError:
        pass
    out, err = job.communicate(timeout=60)
    text += err if stream else out
    if stream: # a file is checked against the schema
        open(path, "w").write(out)
    document = json.load(open(path))
    word = words.get(job.returncode, f"status {job.returncode}")
    last = re.findall(r"^# status: (\S+)$", text, re.M)
    said = [line for line in (text + err).splitlines() if line.startswith("cctest: ")]
    right = document["status"] == word and last == [word] and bool(document["errors"]) == (word != "ok") and \
        bool(said) == (word != "ok")
    return word, right or f"run {run}: exit status {job.returncode}, JSON {document['status']}, " \
        f"errors {document['errors']}, table {last}, {said}"

with ThreadPoolExecutor(6) as pool:
    ends = list(pool.map(end, range(runs)))
for word, right in ends:
    if right is not True:
        print("wrong:", right)
print("ends:", *sorted(word for word, right in ends))
PYTHON
run python3 "$scratch/moments.py" "$CCTEST" "$scratch" "${RUNS:-40}"
check_status 0
check_silent '^wrong:' "$out"
check_says '^ends:.* timeout' "$out"
check_says '^ends:.* interrupted' "$out"

# A signal as the job begins: the document that is written first does not stay.
cat >"$scratch/early.py" <<'PYTHON'
import json, os, random, signal, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
program, folder, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])

def end(run):
    chance = random.Random(run)
    path = f"{folder}/early{run}.json"
    job = subprocess.Popen([program, "allreduce", "--np", "2", "-b", "8", "-e", "8", "-n", "1", "--json", path],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if chance.random() < 0.5: # as the document appears
        while not os.path.exists(path) and job.poll() is None:
            pass
        time.sleep(chance.uniform(0, 0.002))
    else:
        time.sleep(chance.uniform(0, 0.06))
    job.send_signal(chance.choice((signal.SIGINT, signal.SIGTERM)))
    status = job.wait(60)
    word = json.load(open(path))["status"] if os.path.exists(path) else "none"
    right = {0: ("ok",), 130: ("interrupted",)}.get(status, ("none",) if status < 0 else ())
    return word, word in right or f"run {run}: exit status {status}, JSON {word}"

with ThreadPoolExecutor(4) as pool:
    ends = list(pool.map(end, range(runs)))
for word, right in ends:
    if right is not True:
        print("wrong:", right)
print("ends:", *sorted(word for word, right in ends))
PYTHON
run python3 "$scratch/early.py" "$CCTEST" "$scratch" "${RUNS:-40}"
check_status 0
check_silent '^wrong:' "$out"
check_says '^ends:.* interrupted' "$out"
early() {
    check_status 130 "SIGTERM comes with the first document"
    check_json "$scratch/early.json" 'd["status"] == "interrupted"' 'len(d["errors"]) == 1'
}
if [ "$has_hang" ]; then
    hanging signal -b 8 -e 8 -n 1 --json "$scratch/early.json"
    run "${hanging[@]}"
    early
    run env HANG=signal LD_PRELOAD="$scratch/hang.so" "$CCTEST" allreduce --np 2 -b 8 -e 8 -n 1 --json "$scratch/early.json"
    early
fi

# A parent that ignores SIGCHLD.
RUN_LIMIT=100 run bash -c 'trap "" CHLD; exec "$0" allreduce -b 1K -e 1K --np 2' "$CCTEST"
check_status 0 "SIGCHLD is ignored"
check_says '^# status: ok$' "$out"

# A reader that has gone ends the job with one sentence, unless a file takes the results.
long=(allreduce -b 8 -e 256K -i 8 -n 50 --np 2)
gone() { # gone WHAT REGEX
    check_status 1 "$1"
    check_says "^cctest: rank 0 \\(.*: $2\$"
    check "it is said again" test "$(grep -vc 'the table will have' "$err")" = 1
}
ran=("$CCTEST" "${long[@]}" "| head -n 12")
timeout 100 "$CCTEST" "${long[@]}" 2>"$err" | head -n 12 >"$out"
status=${PIPESTATUS[0]}
gone "a reader that has gone" 'cannot write the table: Broken pipe'
timeout 100 "$CCTEST" "${long[@]}" --json - 2>"$scratch/gone.err" | true # nothing is written there before the end
status=${PIPESTATUS[0]}
grep '^cctest' "$scratch/gone.err" >"$err" # the table is there, too
gone "a reader of JSON that has gone" 'cannot write standard output: no process reads it'
for file in json csv; do
    timeout 60 "$CCTEST" allreduce -b 8 -e 8K -i 8 -n 1 -w 0 -c 0 --np 2 --$file "$scratch/all.$file" 2>"$err" | head -n 12 >"$out"
    status=${PIPESTATUS[0]}
    check_status 1 "a reader that has gone, --$file"
    check_says '^cctest: rank 0: cannot write the table: Broken pipe$'
done
check_json "$scratch/all.json" 'd["status"] == "error"' 'len(d["results"]) == 1024' 'len(d["errors"]) == 1' \
    '"cannot write the table" in d["errors"][0]["message"]'
check "the CSV is whole: $(wc -l <"$scratch/all.csv")" test "$(wc -l <"$scratch/all.csv")" = 1025

# So does a standard output that takes nothing.
RUN_LIMIT=100 run bash -c 'exec "$@" >/dev/full' - "$CCTEST" "${long[@]}"
gone "a full disk" 'cannot write the table: No space left on device'
RUN_LIMIT=100 run bash -c 'exec "$@" >&-' - "$CCTEST" "${long[@]}"
gone "a closed standard output" 'cannot write the table: Bad file descriptor'

# The reader of the table goes at the very end, when JSON is in a FIFO and cannot be replaced any more: its status counts.
cat >"$scratch/gone.py" <<'PYTHON'
import fcntl, json, os, subprocess, sys
os.mkfifo(sys.argv[1])
document = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
fcntl.fcntl(document, 1031, 4096) # F_SETPIPE_SZ: it does not hold the document: the job waits behind the table's last but one line
job = subprocess.Popen(sys.argv[2:] + ["--json", sys.argv[1]], stdout=subprocess.PIPE, text=True)
for line in job.stdout:
    if line.startswith("# bytes received"):
        break
job.stdout.close()
os.set_blocking(document, True)
word = json.loads(b"".join(iter(lambda: os.read(document, 4096), b"")))["status"]
print("JSON:", word, "exit status:", job.wait())
PYTHON
RUN_LIMIT=100 run python3 "$scratch/gone.py" "$scratch/fifo" "$CCTEST" allreduce -b 8 -e 1K -f 2 -n 2 -w 0 -c 0 --np 4 -v
check_status 0
check_says '^JSON: ok exit status: 0$' "$out"
check_says '^cctest: cannot write the table: Broken pipe$'

# A file server may refuse the data of a CSV when it is closed.
if [ "$has_hang" ]; then
    run env HANG=close LD_PRELOAD="$scratch/hang.so" "$CCTEST" allreduce -b 8 -e 8 -n 1 --np 2 --csv "$scratch/close.csv" \
        --json "$scratch/close.json"
    check_status 1 "the CSV is lost as it is closed"
    check_says "^cctest: rank 0: cannot write $scratch/close.csv: Disk quota exceeded$"
    check_says '^# status: error$' "$out"
    check_json "$scratch/close.json" 'd["status"] == "error"' '"Disk quota" in d["errors"][0]["message"]'
fi

# Standard output belongs to the shell: what it holds stays.
small=(allreduce -b 1K -e 1K -n 2 -w 0 -c 0 --np 2)
echo old >"$scratch/appended"
timeout 60 "$CCTEST" "${small[@]}" --csv - >>"$scratch/appended" 2>"$err"
check "what was there stays" test "$(head -n 1 "$scratch/appended")" = old
check "two lines follow" test "$(wc -l <"$scratch/appended")" = 3
for _ in 1 2; do timeout 60 "$CCTEST" "${small[@]}" --csv -; done >"$scratch/looped" 2>"$err"
check "both runs are there, and nothing else" test "$(grep -c '^allreduce' "$scratch/looped"):$(wc -l <"$scratch/looped")" = 2:4

# A line that takes long is seen on a terminal, and gone when it is done; elsewhere nothing shows it.
late=(allreduce -b 8 -e 8 -n 5 -w 0 -c 0 --np 2 --inject delay:rank=1:us=500000)
if command -v script >/dev/null; then
    TERM=xterm run script -qec "'$CCTEST' ${late[*]}" /dev/null
    check_says 'running for [0-9]+ s: time, allreduce oneshot, 8, iteration [1-5] of 5' "$out"
    check_says 'iteration [1-4] of 5, about [0-9]+ s more' "$out"
    last=$(tr '\r' '\n' <"$out" | grep -A2 'running for' | tail -n 1)
    check "the line is not erased: $last" test "${last:0:3}" = $'\e[K'
    # It counts what the line of the table runs, and says which it is.
    TERM=xterm run script -qec "'$CCTEST' ${late[*]} -c all -d float,int8" /dev/null
    check_says ': time, allreduce oneshot float sum, 8, iteration [1-5] of 5\b' "$out"
    TERM=xterm run script -qec "'$CCTEST' broadcast -r all ${late[*]:1} --np 3 -c 1 -n 2 -w 1" /dev/null
    check_says ': (warmup|check|time), broadcast [a-z]+, 8, iteration [1-6] of 6\b' "$out"
    TERM=xterm run script -qec "'$CCTEST' ${late[*]} -n auto --budget 3" /dev/null
    check_says ': time, allreduce oneshot, 8, iteration [0-9]+, timed for 3 s at most' "$out"
else
    echo "not tested: a terminal (script is not installed)"
fi

# Ctrl-S stops the terminal, with that line on it: the job does not wait, and its ranks are not taken for lost.
cat >"$scratch/stopped.py" <<'PYTHON'
import os, pty, select, subprocess, sys
terminal, end = pty.openpty()
job = subprocess.Popen(sys.argv[1:], env=dict(os.environ, TERM="xterm"), stdin=end, stderr=end)
shown = b""
while b"running for" not in shown and select.select([terminal], [], [], 20)[0]:
    shown += os.read(terminal, 1000)
os.write(terminal, b"\x13")
try:
    job.wait(30)
except subprocess.TimeoutExpired:
    sys.exit("the job waits")
finally:
    os.write(terminal, b"\x11") # Ctrl-Q
sys.exit("there was no such line" if b"running for" not in shown else job.wait(20))
PYTHON
run python3 "$scratch/stopped.py" "$CCTEST" "${late[@]}" -n 14 --timeout 3
check_status 0 "the terminal is stopped"
check_says '^# status: ok$' "$out"

# A byte that is flipped on the way, once, while a rank joins: it calls again. One status on all ranks in any case.
cat >"$scratch/flips.py" <<'PYTHON'
import os, random, select, socket, subprocess, sys, threading
from concurrent.futures import ThreadPoolExecutor
program = sys.argv[1]

# Flips the byte at `place` of the first connection's way (0: to rank 0), or one once `begun` is set (place None).
def forward(listener, port, way, place, begun):
    first = True
    while True:
        near, _ = listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError: # rank 0 is not there yet
            near.close()
            continue
        ends, passed, spoil = [near, far], [0, 0], first
        first = False
        def run(ends=ends, passed=passed, spoil=spoil):
            while True:
                for end in select.select(ends, [], [])[0]:
                    i = ends.index(end)
                    try:
                        data = bytearray(end.recv(65536))
                    except ConnectionResetError:
                        data = b""
                    if not data:
                        for end in ends:
                            end.close()
                        return
                    due = passed[i] if place is None and begun.is_set() else place
                    if spoil and i == way and due is not None and passed[i] <= due < passed[i] + len(data):
                        data[due - passed[i]] ^= 4
                        spoil = place is not None
                    passed[i] += len(data)
                    ends[1 - i].sendall(data)
        threading.Thread(target=run, daemon=True).start()

# Not those that the kernel gives to connections. Without namespaces the test may run twice at a time on one network.
first = 20000 if os.environ.get("TEST_PRIVATE") else random.randrange(20000, 30000)
ports = iter(range(first, first + 1000))

def listen(): # the port is part of the secret, and rank 0 needs the same one at another address
    while True:
        port = next(ports)
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return socket.create_server(("127.0.0.2", port)), port
        except OSError:
            pass

def join(flip):
    way, place = flip
    listener, port = listen()
    begun = threading.Event()
    threading.Thread(target=forward, args=(listener, port, way, place, begun), daemon=True).start()
    iterations = "2" if place is not None else "4000000"
    ranks = [subprocess.Popen([program, "allreduce", "-b", "8", "-e", "8", "-n", iterations, "--rendezvous", f"127.0.0.{2 if rank == 2 else 1}:{port}",
                               "--rank", str(rank), "--world", "3", "--timeout", "12"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) for rank in range(3)]
    for line in ranks[0].stdout if place is None else ():
        if line.split()[:2] == ["#", "bytes"]: # the head of the table is whole
            break
    begun.set()
    said = [rank.communicate(timeout=60)[1] for rank in ranks]
    return flip, [rank.returncode for rank in ranks], "".join(said)

flips = [(0, place) for place in (0, 7, 20, 40, 41, 60, 250)] + [(1, place) for place in (0, 7, 20, 40, 42, 60, 150)]
for jobs_at_once, some in (5, flips), (1, [(0, None), (1, None)]):
    with ThreadPoolExecutor(jobs_at_once) as pool:
        for flip, statuses, said in pool.map(join, some):
            print(flip, "ends with", *statuses)
            if statuses != [0, 0, 0]:
                print(said)
PYTHON
CCTEST_SECRET=$long_secret run python3 "$scratch/flips.py" "$CCTEST"
check_status 0
check "each of 14 jobs goes through" test "$(grep -c 'ends with 0 0 0$' "$out")" = 14
# Once the ranks have joined, the byte ends the job. Rank 2 lives, and the first line says what was seen.
check "a flipped byte in a job ends it otherwise" test "$(grep -c 'None) ends with 5 5 5$' "$out")" = 2
check_says "^cctest: .*rank 2 .* is lost: its control connection carried data that failed authentication" "$out"
check_says "^cctest: .*rank 2 .*: the data from rank 0 failed authentication" "$out"
check_silent "rank 2 .* is gone" "$out"

# A main thread that hangs where nothing ticks: the helper ends the process, and writes the status if none is written yet.
hung() { # hung STATUS WORD: all three say the same
    check_status "$1"
    check "the table says another status" test "$(grep -v "^# status: $2$" "$out" | grep -c '^# status')" = 0
    check_says 'ending this process'
    check_json "$scratch/hang.json" "d['status'] == '$2'" "bool(d['errors']) == ('$2' != 'ok')"
}
if [ "$has_hang" ]; then
    run env HANG=affinity LD_PRELOAD="$scratch/hang.so" "$CCTEST" allreduce --np 2 --ranks-as threads --timeout 3 -b 8 -e 8 -n 1 \
        -v --json "$scratch/hang.json"
    hung 5 timeout
    hanging affinity --timeout 3 -b 8 -e 8 -n 1 --json "$scratch/hang.json"
    run "${hanging[@]}"
    hung 5 timeout
    hanging munmap -b 64M -e 64M -n 1 --json "$scratch/hang.json" # FREE_SECONDS later
    run "${hanging[@]}"
    hung 0 ok
    run env HANG=slow LD_PRELOAD="$scratch/hang.so" "$CCTEST" allreduce --np 2 -b 8 -e 8 --inject kill:rank=1:iteration=2 -v \
        --json "$scratch/hang.json"
    check_status 5
    check_silent 'ending this process|before it'
    check_json "$scratch/hang.json" "d['status'] == 'timeout'" "'rank 1' in d['errors'][0]['message']"
    # While lines are measured nobody waits for that file system: each document takes longer than the deadline.
    run env HANG=slow LD_PRELOAD="$scratch/hang.so" "$CCTEST" allreduce --np 2 -b 8 -e 16 -f 2 -n 1 --timeout 2 \
        --json "$scratch/hang.json"
    check_status 0
    check_json "$scratch/hang.json" "d['status'] == 'ok'" "len(d['results']) == 2"
    check "files are left: $(ls "$scratch"/hang.json*)" test "$(ls "$scratch"/hang.json*)" = "$scratch/hang.json"
    run env HANG=munmap1 LD_PRELOAD="$scratch/hang.so" "$CCTEST" allreduce --np 2 --ranks-as threads -b 64M -e 64M -n 1 -v \
        --json "$scratch/hang.json"
    hung 0 ok
    check_says '^cctest: rank 1: ending this process'
fi

# The name of a descriptor, and a link whose target is not there yet, stay what they are.
run bash -c '"$0" allreduce --np 2 -b 8 -e 8 --json /dev/fd/3 3>"$1"' "$CCTEST" "$scratch/third.json"
check_status 0
check_json "$scratch/third.json" "d['status'] == 'ok'" "len(d['results']) == 1"
run bash -c '"$0" allreduce --np 2 -b 8 -e 8 --json /dev/fd/3 --samples "$1" 3>&-' "$CCTEST" "$scratch/third.csv"
check_status 2
check_says "^cctest: --json '/dev/fd/3' is not open: open it in the shell"
ln -s target.json "$scratch/link.json"
cctest allreduce --np 2 -b 8 -e 8 --json "$scratch/link.json"
check_status 0
check "the link is one no more" test -L "$scratch/link.json"
check_json "$scratch/target.json" "d['status'] == 'ok'"

# A file that is replaced keeps its mode, and one that may not be written stays.
echo old >"$scratch/private.json"
chmod 600 "$scratch/private.json"
cctest "${small[@]}" --json "$scratch/private.json"
check "its mode is $(stat -c %a "$scratch/private.json")" test "$(stat -c %a "$scratch/private.json")" = 600
check_json "$scratch/private.json" "d['status'] == 'ok'"
another_user
if [ "$(id -u)" = 0 ] && "${stranger[@]}" true 2>/dev/null; then
    chmod 755 "$scratch"
    cp "$CCTEST" "$scratch/cctest"
    install -d -m 777 "$scratch/open"
    echo kept >"$scratch/open/kept.json"
    chown "$stranger_id:$stranger_id" "$scratch/open/kept.json"
    chmod 444 "$scratch/open/kept.json"
    run "${stranger[@]}" "$scratch/cctest" "${small[@]}" --json "$scratch/open/kept.json"
    check_status 2
    check_says "^cctest: cannot write $scratch/open/kept.json: Permission denied; choose another file$"
    check "it was replaced" grep -qx kept "$scratch/open/kept.json"
    # So does one whose folder takes no new file.
    install -d -m 755 "$scratch/closed"
    echo kept >"$scratch/closed/kept.json"
    chmod 666 "$scratch/closed/kept.json"
    run "${stranger[@]}" "$scratch/cctest" "${small[@]}" --json "$scratch/closed/kept.json"
    check_status 2
    check_says "^cctest: cannot write $scratch/closed/kept.json: Permission denied; choose another file$"
    check "it was replaced" grep -qx kept "$scratch/closed/kept.json"
else
    echo "not tested: a file that may not be written (no other user here)"
fi

# A rank that dies before the first line of the table.
cctest allreduce --np 3 -e 4K --inject kill:rank=1:iteration=2
check_status 5
check "the last line is not the status: $(tail -n 1 "$out")" test "$(tail -n 1 "$out")" = "# status: timeout"

# The terminal that was not read.
ended unread 0
check_says '^[0-9]{3,} lines$' "$out"
check_silent 'progressed|take'

# The reader that paused.
ended paused 0
check "all lines come: $(wc -l <"$out")" test "$(wc -l <"$out")" -gt 2040
check_silent 'progressed|lost|gone'

ended long 0 '^# status: ok$'
check "all samples come: $(<"$out")" test "$(<"$out")" = 3000001
check_silent 'progressed|lost|gone'

ended wrong 3
check_says '^# status: wrong-data, [0-9]+ elements? wrong$' "$out"
check_silent 'progressed|lost|gone|killed'

finish
