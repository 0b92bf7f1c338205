"""findings.py - what a run of `cctest accept` says of its hosts, and what of it is right.

Hosts are numbers from 1, as in tests/system/hosts.sh. Of an end of a fault three things are judged, where they apply: the host (or
the link, or the switch), the direction, and the cause.
"""
import re

ASPECTS = ("host", "direction", "cause")
NETWORK = "the network" # an innocent


def hosts_of(listed):
    """The numbers of a list of hosts, such as h[1-4,6]."""
    hosts = set()
    for each in re.findall(r"\d+(?:-\d+)?", listed):
        first, _, last = each.partition("-")
        hosts |= set(range(int(first), int(last or first) + 1))
    return hosts


class Finding:
    """One finding of a document: its hosts by number, and its sentence. `order` has the host of each rank."""
    LINK_WAYS = (r"\bfrom h(\d+) to h(\d+)\b", r"\bh(\d+) sends to h(\d+)\b")
    HOST_WAYS = ((r"sends and receives |loses packets: ", {"send", "receive"}),
                 (r"sends |loses packets that it sends", {"send"}),
                 (r"receives |loses packets that are sent to it", {"receive"}))

    def __init__(self, document, finding, order):
        ranks = [host["agents"][0] for host in document["hosts"]]
        self.text, self.of_fleet = finding["message"], finding["host"] is None
        self.hosts = {order[ranks[finding[end]]] for end in ("host", "peer") if finding[end] is not None}
        self.health = finding["health"]
        self.blames = finding["health"] in ("suspect", "bad") or (self.of_fleet and finding["status"] != "ok")

    def says(self):
        """The sentence without its subject."""
        return self.text.partition(": ")[2]

    def ways(self):
        """The directions that it names: "send" and "receive" of a host, pairs of a sender and a receiver of a link."""
        says = self.says()
        if len(self.hosts) < 2:
            return next((ways for pattern, ways in self.HOST_WAYS if re.match(pattern, says)), set())
        one, two = sorted(self.hosts)
        for pattern in self.LINK_WAYS:
            if found := re.search(pattern, says):
                return {(int(found[1]), int(found[2]))}
        if found := re.search(r"h(\d+) receives wrong data from h(\d+)", says):
            return {(int(found[2]), int(found[1]))}
        return {(one, two), (two, one)} if re.search("each sends to the other|loses packets|wrong data", says) else set()


class Evidence:
    """All that a run says: its findings, the health of its hosts, and what each agent wrote."""

    def __init__(self, document, order, texts):
        self.findings = [Finding(document, finding, order) for finding in document["findings"]]
        self.healths = {order[host["agents"][0]]: host["health"] for host in document["hosts"]}
        self.texts = texts # by host
        self.order = order

    def blamed(self):
        """Hosts that are suspect or bad."""
        return {host for finding in self.findings if finding.blames for host in finding.hosts}

    def blames_fleet(self):
        return any(finding.blames and finding.of_fleet for finding in self.findings)


class Expected:
    """A host, or a link by its two ends, which findings are to name. `ways` as of a Finding, None: there is no direction;
    `cause`: a pattern, None: a run has no evidence of it. With `by_note` a note is enough, if it has the cause."""

    def __init__(self, hosts, ways=None, cause=None, by_note=False):
        self.hosts, self.ways, self.cause, self.by_note = set(hosts), ways, cause, by_note

    def is_named_by(self, finding):
        named = finding.hosts == self.hosts
        return named and (finding.blames or (self.by_note and re.search(self.cause, finding.text) is not None))

    def score(self, evidence):
        """{aspect: right, wrong, or None where it does not apply}"""
        findings = [finding for finding in evidence.findings if self.is_named_by(finding)]
        ways = set().union(*(finding.ways() for finding in findings))
        return {"host": findings != [],
                "direction": None if self.ways is None else ways == self.ways,
                "cause": None if self.cause is None else any(re.search(self.cause, each.text) for each in findings)}


def both_ways(hosts):
    """Of a host, or of a link."""
    return {"send", "receive"} if len(hosts) == 1 else {tuple(hosts), tuple(hosts[::-1])}


def all_of(scores):
    """The score of what is right where all of these are."""
    each = {aspect: [score[aspect] for score in scores if score[aspect] is not None] for aspect in ASPECTS}
    return {aspect: all(values) if values else None for aspect, values in each.items()}
