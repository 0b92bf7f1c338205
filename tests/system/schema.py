#!/usr/bin/python3
"""Holds JSON against the schema of cctest's JSON (cli/cctest.schema.json).

usage: schema.py FOLDER

Looks at every file in FOLDER and its folders that begins with '{'. Prints what is wrong, and how many documents there were;
equal ones count once. The interpreter is the system's, for which scripts/setup installs python3-jsonschema.
"""
import json
import os
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    sys.exit("schema.py: no python3-jsonschema: run scripts/setup --tests")

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "cli/cctest.schema.json"
WRONG_MOST = 10  # sentences


def validator():
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def innermost(error):
    """Of a choice between kinds of a value, the error of the one that fits best."""
    return jsonschema.exceptions.best_match([error])


def wrong_with(check, text):
    """Sentences; none: the document is valid."""
    try:
        document = json.loads(text)
    except ValueError as error:
        return [f"no JSON: {error}"]
    found = map(innermost, check.iter_errors(document))
    return ["/".join(map(str, error.absolute_path)) + ": " + error.message[:300] for error in found]


def documents(folder):
    """{content: path} of the files that begin with '{'."""
    found = {}
    for parent, _, names in os.walk(folder):
        for path in (os.path.join(parent, name) for name in names):
            if not os.path.isfile(path) or os.path.islink(path):
                continue
            with open(path, "rb") as file:
                if file.read(1) == b"{":
                    found.setdefault(b"{" + file.read(), path)
    return found


def main():
    check, wrong = validator(), []
    found = documents(sys.argv[1])
    for content, path in found.items():
        wrong += [f"{path}: {sentence}" for sentence in wrong_with(check, content)]
    for sentence in wrong[:WRONG_MOST]:
        print(sentence, file=sys.stderr)
    print(f"{len(found)} documents")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
