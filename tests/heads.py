"""The head of a test: the line "tier: check; load: cpu1" among the first lines of its source. tests/run says what it may name."""
import re

TIERS = "check", "deep", "night"  # each runs what the ones before it leave out
# The deep tier repeats the tests of check in these folders with sanitizers, if their heads say nothing else.
SANITIZERS = {"unit": "address,undefined", "transport": "address,undefined thread"}


def read_head(source):
    """{"tier", "load", "builds", "program", "sanitizers"}, as far as the line has them; builds is a list. {}: there is no such line."""
    with open(source, errors="replace") as file:
        for line in [next(file, "") for _ in range(30)]:
            if re.search(r"\btier: *\w+ *;", line):
                head = dict(re.findall(r"\b(tier|load|builds|program|sanitizers): *([\w ,-]*\w)", line))
                head["builds"] = head.get("builds", "plain").replace(",", "-").split()
                return head
    return {}


def builds_in(tier, name, head):
    """The builds of a test that a tier runs. The name is the test's path below tests/."""
    if head["tier"] == tier:
        return head["builds"]
    words = head.get("sanitizers", SANITIZERS.get(name.split("/")[0], ""))
    return words.replace("none", "").replace(",", "-").split() if (head["tier"], tier) == ("check", "deep") else []
