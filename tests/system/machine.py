"""Makes the files of /sys and /proc of a host, for HWLOC_FSROOT: two sockets with a NUMA node each, 8 cores, 4 third-level caches;
behind each of 4 host bridges a switch with two GPUs and two NICs, and an interface behind a fifth. The GPUs stand where those of
tests/cuda/ do.

usage: machine.py ROOT"""
import os
import sys

root = sys.argv[1]


def put(path, text):
    os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
    with open(f"{root}/{path}", "w") as file:
        file.write(text + "\n")


def link(path, target):
    os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
    os.symlink(os.path.relpath(target, os.path.dirname(path)), f"{root}/{path}")


def device(path, node, **files):
    for name, text in {"numa_node": node, **files}.items():
        put(f"sys/devices/{path}/{name}", text)
    link(f"sys/bus/pci/devices/{os.path.basename(path)}", f"sys/devices/{path}")
    return f"sys/devices/{path}"


put("sys/devices/system/cpu/online", "0-7")
put("sys/devices/system/cpu/possible", "0-7")
put("sys/devices/system/node/online", "0-1")
for cpu in range(8):
    folder = f"sys/devices/system/cpu/cpu{cpu}"
    package = "0f" if cpu < 4 else "f0"
    put(f"{folder}/online", "1")
    for name, text in {"physical_package_id": f"{cpu // 4}", "core_id": f"{cpu % 4}", "thread_siblings": f"{1 << cpu:02x}",
                       "core_cpus": f"{1 << cpu:02x}", "core_siblings": package, "package_cpus": package}.items():
        put(f"{folder}/topology/{name}", text)
    for name, text in {"level": "3", "type": "Unified", "size": "32768K", "shared_cpu_map": f"{3 << cpu // 2 * 2:02x}"}.items():
        put(f"{folder}/cache/index0/{name}", text)
for node in range(2):
    folder = f"sys/devices/system/node/node{node}"
    put(f"{folder}/cpumap", ("0f", "f0")[node])
    put(f"{folder}/meminfo", f"Node {node} MemTotal: 268435456 kB")
    put(f"{folder}/distance", ("10 21", "21 10")[node])
for number in range(8):
    bridge, port = 0x17 + number // 2 * 8, number % 2 * 2
    node = str(number // 4)
    switch = f"pci0000:{bridge:02x}/0000:{bridge:02x}:01.0/0000:{bridge + 1:02x}:00.0"
    device(f"{switch}/0000:{bridge + 2:02x}:0{port}.0/0000:{bridge + 3 + port:02x}:00.0", node, vendor="0x10de", **{"class": "0x030200"})
    nic = device(f"{switch}/0000:{bridge + 2:02x}:0{port + 1}.0/0000:{bridge + 4 + port:02x}:00.0", node,
                 local_cpulist=("0-3", "4-7")[number // 4])
    put(f"sys/class/infiniband/mlx5_{number}/ports/1/state", "4: ACTIVE")
    link(f"sys/class/infiniband/mlx5_{number}/device", nic)
    put(f"sys/class/net/ib{number}/operstate", "up")
    link(f"sys/class/net/ib{number}/device", nic)
put("sys/class/net/eth0/operstate", "up")
link("sys/class/net/eth0/device", device("pci0000:00/0000:00:1c.0/0000:01:00.0", "0"))
