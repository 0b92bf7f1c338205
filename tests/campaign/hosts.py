"""hosts.py - hosts made of namespaces: each has its own network, name, /dev/shm and boot id, behind one bridge.

They live in the namespaces of whoever makes them (tests/system/lib.sh: private_machine) and end with it. Each is held
by a sleeping process; a command enters it by that process's id.
"""
import pathlib
import subprocess
import uuid

HOLDER = """
hostname "$1"
mount -t tmpfs none /dev/shm
mount --bind "$2" /proc/sys/kernel/random/boot_id
ip link set lo up
touch "$2.ready"
exec sleep infinity
"""


def run(*words):
    subprocess.run(words, check=True, capture_output=True)


class Hosts:
    """h1, h2 ... with the addresses 10.77.0.1, 10.77.0.2 ..."""

    def __init__(self, count, folder):
        self.holders = []
        run("ip", "link", "add", "br0", "type", "bridge")
        run("ip", "link", "set", "br0", "up")
        for number in range(1, count + 1):
            boot = pathlib.Path(folder, f"boot{number}")
            boot.write_text(f"{uuid.uuid4()}\n")
            # An address of its own for loopback too, so that it is not taken for the machine that it runs on.
            holder = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "--propagation", "private", "sh", "-ec",
                                       HOLDER, "sh", self.name(number), boot])
            self.holders.append(holder)
            while not pathlib.Path(f"{boot}.ready").exists():
                if holder.poll() is not None:
                    raise OSError(f"host {number} could not be made")
            run("ip", "link", "add", f"p{number}", "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
            run("ip", "link", "set", f"p{number}", "master", "br0", "up")
            run(*self.on(number, "ip", "addr", "add", self.address(number) + "/24", "dev", "eth0"))
            run(*self.on(number, "ip", "link", "set", "eth0", "up"))

    @staticmethod
    def name(number):
        return f"h{number}"

    @staticmethod
    def address(number):
        return f"10.77.0.{number}"

    def on(self, number, *words):
        """The command that runs `words` there."""
        pid = str(self.holders[number - 1].pid)
        return ["nsenter", "--target", pid, "--net", "--uts", "--mount", "--wd=.", "--", *words]

    def cut(self, number):
        """A black hole: the carrier stays, nothing arrives."""
        run("ip", "link", "set", f"p{number}", "nomaster")

    def unplug(self, number):
        run("ip", "link", "set", f"p{number}", "down")

    def throttle(self, number, rate):
        shape = ["tc", "qdisc", "replace", "dev", "DEVICE", "root", "tbf", "rate", rate, "burst", "64k", "latency",
                 "100ms"]
        run(*[f"p{number}" if word == "DEVICE" else word for word in shape])
        run(*self.on(number, *["eth0" if word == "DEVICE" else word for word in shape]))

    def heal(self, number):
        """Undoes all of these."""
        run("ip", "link", "set", f"p{number}", "master", "br0", "up")
        for command in (["tc", "qdisc", "del", "dev", f"p{number}", "root"],
                        self.on(number, "tc", "qdisc", "del", "dev", "eth0", "root")):
            subprocess.run(command, check=False, capture_output=True)

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()
        subprocess.run(["ip", "link", "del", "br0"], check=False, capture_output=True)
