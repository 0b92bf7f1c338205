#!/usr/bin/env python3
"""Reads a CSV as NCCL's example of a tuner plugin does, and asks it as NCCL does (NCCL 2.30, plugins/tuner/example/README.md and
plugin.c). The plugin takes an unknown word for ring, simple or allreduce without a word; here it is an error, as is a line of
which nothing is left in what fgets() gives it (256 bytes), a line that no size can meet, and one that an earlier line hides.

usage: nccl_tuner.py FILE COLLECTIVE:BYTES:NODES:RANKS...: prints for each the algorithm and the protocol; "-": NCCL decides"""
import collections
import sys

LINE_MOST, SIZE_MOST = 256, 2**64 - 1  # a buffer with its 0; size_t
ALGORITHMS = "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"
PROTOCOLS = "ll", "ll128", "simple"
# What NCCL runs (src/graph/tuning.cc) of what cctest has.
RUNS = {"broadcast": {"ring"}, "reduce": {"ring"}, "allgather": {"ring", "pat"}, "reducescatter": {"ring", "pat"}, "allreduce": {"tree", "ring"}}
Line = collections.namedtuple("Line", "collective least most algorithm protocol channels nodes ranks operations registered")


def wanted(text):
    """-1, any; or a number from 1."""
    assert text == "-1" or (text.isdecimal() and text[0] != "0"), f"'{text}' is neither -1 nor a number from 1"
    return int(text)


def line_read(text):
    words = text.split(",")
    assert len(words) == 10, f"{len(words)} fields"
    assert not any(word != word.strip() or not word for word in words), "a field is empty, or has blanks"
    least, most = int(words[1]), int(words[2])
    assert words[1].isdecimal() and words[2].isdecimal() and least <= most <= SIZE_MOST, "sizes"
    assert words[0] in RUNS and words[3] in ALGORITHMS and words[4] in PROTOCOLS, "an unknown word"
    assert words[3] in RUNS[words[0]], "NCCL has no such algorithm of this collective"
    assert words[9] in ("-1", "0", "1"), "regBuff"
    line = Line(words[0], least, most, words[3], words[4], *map(wanted, words[5:9]), int(words[9]))
    assert line.algorithm != "pat" or (line.protocol == "simple" and line.nodes == line.ranks), "NCCL runs no such PAT"
    return line


def read(path):
    lines = []
    for text in open(path, encoding="ascii", newline=""):
        assert len(text) < LINE_MOST and text.endswith("\n") and "\r" not in text, f"too long, or without an end: {text}"
        if text[0] in "#\n":
            continue
        line = line_read(text[:-1])
        for other in lines:
            assert (line.collective, line.nodes, line.ranks) != (other.collective, other.nodes, other.ranks) or \
                line.least > other.most or line.most < other.least, f"{line} is hidden by {other}"
        lines.append(line)
    return lines


def main():
    lines = read(sys.argv[1])
    for question in sys.argv[2:]:
        collective, size, nodes, ranks = question.split(":")
        answers = [line for line in lines if line.collective == collective and line.least <= int(size) <= line.most and
                   line.nodes in (-1, int(nodes)) and line.ranks in (-1, int(ranks))]
        print(question, *((answers[0].algorithm, answers[0].protocol) if answers else "-"))


main()
