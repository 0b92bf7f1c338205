#!/usr/bin/env python3
"""Open MPI's file of dynamic rules, read as Open MPI reads it.

usage: rules.py FILE                                 prints each rule: collective ranks bytes algorithm
       rules.py FILE COLLECTIVE RANKS BYTES NUMBER   prints the file with this algorithm in the rule that holds there"""
import re
import sys


def words(path):
    """Each number, with its place in the text."""
    text = open(path).read()
    bare = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), text)
    return text, iter([(int(it[0]), it.span()) for it in re.finditer(r"\S+", bare)])


def rules(path):
    """(collective, ranks, bytes, algorithm, place of the algorithm in the text)"""
    text, numbers = words(path)
    take, found = lambda: next(numbers)[0], []
    for _ in range(take()):
        collective = take()
        for _ in range(take()):
            ranks = take()
            for i in range(take()):
                size, (algorithm, place), _, _ = take(), next(numbers), take(), take()
                assert i > 0 or size == 0, "the first size of a rule is 0"
                assert i == 0 or size > found[-1][2], "sizes ascend"
                found.append((collective, ranks, size, algorithm, place))
    assert next(numbers, None) is None, "there is more in the file"
    return text, found


def main():
    text, found = rules(sys.argv[1])
    if len(sys.argv) == 2:
        for rule in found:
            print(*rule[:4])
        return
    collective, ranks, size, algorithm = map(int, sys.argv[2:])
    nearest = max(rule[1] for rule in found if rule[0] == collective and rule[1] <= ranks)
    at = [rule for rule in found if rule[:2] == (collective, nearest) and rule[2] <= size][-1][4]
    print(text[: at[0]] + str(algorithm) + text[at[1] :], end="")


if __name__ == "__main__":
    main()
