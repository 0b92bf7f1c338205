#!/usr/bin/env python3
"""Prints each rule of Open MPI's file of dynamic rules, read as Open MPI reads it: collective ranks bytes algorithm.

usage: rules.py FILE"""
import re
import sys

numbers = iter([int(word) for word in re.sub(r"#[^\n]*", "", open(sys.argv[1]).read()).split()])
for _ in range(next(numbers)):
    collective = next(numbers)
    for _ in range(next(numbers)):
        ranks, last = next(numbers), None
        for _ in range(next(numbers)):
            size, algorithm, _, _ = (next(numbers) for _ in range(4))
            assert size > last if last is not None else size == 0, "the sizes of a rule begin at 0, and ascend"
            print(collective, ranks, size, algorithm)
            last = size
assert next(numbers, None) is None, "there is more in the file"
