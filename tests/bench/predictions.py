"""Time and memory of `cctest predict` as ranks grow, with and without a topology: a part of scale.py.

The model's numbers are round ones, since the time to predict depends little on them: a host for each rank, and a port for
each host. Seconds are those of the CPU, so that a busy machine changes them little.
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import programs

PREDICT_S, PREDICT_BYTES = 10, 8 << 30  # for O(log p) messages a rank, at 65,536 ranks and without a topology
MANY = 65536
CASES = (("allreduce", "recursive-doubling", True), ("barrier", "dissemination", True),
         ("broadcast", "binomial", True), ("reduce", "knomial", True), ("allreduce", "tree", True),
         ("allreduce", "ring", False), ("alltoall", "pairwise", False))
RADIX = {1024: 16, 4096: 26, 16384: 42, 65536: 64}  # of the smallest fat tree of three levels with so many hosts


def model_write(path):
    textbook = pathlib.Path(__file__).parents[1] / "system" / "textbook.py"
    with open(path, "w") as file: # 5 us a message, 0.1 ns a byte on the wire and to combine
        subprocess.run([textbook, "tcp", "network", "node", "5", "0.1", "0.1"], stdout=file, check=True)


def predict(options, model, collective, algorithm, ranks, topology):
    where = ["--np", str(ranks), "--topology", "fat-tree:k=%d" % RADIX[ranks]] if topology else [
        "--shape", "%dx1" % ranks]
    results = model + ".json"
    command = [options.cctest, "predict", collective, "-a", algorithm, "-b", "1M", "-e", "1M", "--model", model,
               "--json", results] + where
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(options.predict_limit), int(options.predict_limit) + 1))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=limit,
                               env=programs.clean_environment("/tmp", None))
    said = process.stderr.read().strip()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    line = {"collective": collective, "algorithm": algorithm, "ranks": ranks, "topology": topology,
            "seconds": usage.ru_utime + usage.ru_stime, "bytes": usage.ru_maxrss << 10, "simulated_ranks": None}
    if process.returncode == 0:
        with open(results) as file:
            line["simulated_ranks"] = json.load(file)["results"][0]["simulated_ranks"]
    elif process.returncode < 0:
        line["left_out"] = "more than %g s" % options.predict_limit
    elif "fewer ranks" in said:
        line["left_out"] = said.partition("cctest: ")[2]
    else:
        sys.exit("scale: %s: %s" % (" ".join(command), said))
    return line


def measure_predict(options, verdict):
    print("# cctest predict, 1 MiB, a host for each rank; target: %d s of CPU time and %d GiB for O(log p) messages a rank "
          "at %d ranks" % (PREDICT_S, PREDICT_BYTES >> 30, MANY))
    print("%-12s%-20s%8s  %-10s%10s%10s%12s" % ("collective", "algorithm", "ranks", "topology", "s", "MiB", "simulated"))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model")
        model_write(model)
        for collective, algorithm, logarithmic in CASES:
            for topology in False, True:
                for ranks in sorted(RADIX):
                    line = predict(options, model, collective, algorithm, ranks, topology)
                    line["target"] = logarithmic and ranks == MANY and not topology
                    line["met"] = "left_out" not in line and line["seconds"] <= PREDICT_S and line["bytes"] <= PREDICT_BYTES
                    lines.append(line)
                    about = "%-12s%-20s%8d  %-10s" % (collective, algorithm, ranks, "fat tree" if topology else "-")
                    if "left_out" in line:
                        print(about + "  left out: " + line["left_out"], flush=True)
                    else:
                        print(about + "%10.2f%10.1f%12d%s" % (
                            line["seconds"], line["bytes"] / (1 << 20), line["simulated_ranks"],
                            "  " + verdict(line["met"]) if line["target"] else ""), flush=True)
    print(flush=True)
    return lines
