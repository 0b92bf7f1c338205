#!/usr/bin/python3
"""Checks JSON against the schema of cctest's JSON (`cctest help schema.json`).

usage: schema.py PROGRAM FOLDER

Looks at every file in FOLDER and its folders that begins like an object. Prints what is wrong, and how many documents there were;
equal ones count once. The validator is a quick one, of draft 7, which knows what the schema uses of draft 2020-12: test_schema.sh
compares it with one of that draft. The interpreter is the system's, for which scripts/setup installs both.
"""
import json
import os
import re
import subprocess
import sys

try:
    import fastjsonschema
except ImportError:
    sys.exit("schema.py: no python3-fastjsonschema: run scripts/setup --tests")

WRONG_MOST = 10  # sentences


def schema_of(program):
    """What the program prints; settings of the test are not for it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CCTEST_")}
    return json.loads(subprocess.check_output([program, "help", "schema.json"], env=environment))


def validator(schema):
    """A function that raises an exception for a document that is not valid."""
    return fastjsonschema.compile(schema)


def wrong_with(check, text):
    """A sentence; "": the document is valid."""
    try:
        check(json.loads(text))
    except ValueError as error:  # of either
        if getattr(error, "rule", None) == "required":
            return f"{error.name} lacks {', '.join(set(error.rule_definition) - set(error.value))}"
        return str(error)[:400]
    return ""


def documents(folder):
    """{content: path} of the files that begin like an object."""
    found = {}
    for parent, _, names in os.walk(folder):
        for path in (os.path.join(parent, name) for name in names):
            if not os.path.isfile(path) or os.path.islink(path):
                continue
            with open(path, "rb") as file:
                begin = file.read(16)
                if re.match(rb'\{\s*("|\})', begin): # and not a key of random bytes
                    found.setdefault(begin + file.read(), path)
    return found


def main():
    check, wrong = validator(schema_of(sys.argv[1])), []
    found = documents(sys.argv[2])
    for content, path in found.items():
        sentence = wrong_with(check, content)
        if sentence:
            wrong.append(f"{path}: {sentence}")
    for sentence in wrong[:WRONG_MOST]:
        print(sentence, file=sys.stderr)
    print(f"{len(found)} documents")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
