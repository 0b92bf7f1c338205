"""hosts.py - the hosts of tests/system/hosts.sh, for Python; a shell has created them."""
import pathlib
import subprocess

SCRIPT = pathlib.Path(__file__).parent.parent / "system" / "hosts.sh"


class Hosts:
    """h1, h2 ...; `holders`: the processes that hold their namespaces."""

    def __init__(self, holders):
        self.holders = holders

    @staticmethod
    def address(number):
        return f"10.77.0.{number}"

    def on(self, number, *words):
        """The command that runs `words` on host `number`."""
        return ["nsenter", "--target", str(self.holders[number - 1]), "--net", "--uts", "--ipc", "--mount", "--wd=.",
                "--", *words]

    def __call__(self, *words, check=True):
        """Calls a function of the script: hosts("host_cut", 3)"""
        known = " ".join(f"[{number + 1}]={holder}" for number, holder in enumerate(self.holders))
        ipv6 = "yes" if pathlib.Path("/proc/sys/net/ipv6").exists() else ""
        lines = f'. "$0"; host_holder=({known}) hosts_ipv6={ipv6}; "$@"'
        subprocess.run(["bash", "-c", lines, str(SCRIPT), *map(str, words)], check=check, capture_output=True)

    def repair(self, number, other):
        """Undoes whatever was done to a host's network, or to its link with another (0: none)."""
        if other:
            for way in ((number, other), (other, number)):
                self("link_route", "del", *way, check=False)
        for undo in ("host_heal", "host_plug", "host_unrate"):
            self(undo, number, check=False)
