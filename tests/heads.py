"""The head of a test: the line "tier: check; load: cpu1" among the first lines of its source. tests/run says what it may name."""
import re

TIERS = "check", "deep", "night"  # each runs what the ones before it leave out


def read_head(source):
    """{"tier", "load", "builds", "program"}, as far as the line has them; builds is a list. {}: there is no such line."""
    with open(source, errors="replace") as file:
        for line in [next(file, "") for _ in range(30)]:
            if re.search(r"\btier: *\w+ *;", line):
                head = dict(re.findall(r"\b(tier|load|builds|program): *([\w ,-]*\w)", line))
                head["builds"] = head.get("builds", "plain").replace(",", "-").split()
                return head
    return {}
