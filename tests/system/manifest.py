#!/usr/bin/python3
"""Holds a manifest against the API of Kubernetes, as Debian's client library of it has it, and says how its pods start.

usage: manifest.py MANIFEST: each field must be one of its object, with a value of the field's type, and none that the API
requires may be missing. Prints shell assignments: ranks, secret (its name and key), variables ("NAME=VALUE" ...), command, and
the name of pod 0, which is that of an Indexed Job in the domain of its service.

The interpreter is the system's, for which scripts/setup installs python3-kubernetes and python3-yaml.
"""
import re
import shlex
import sys

import yaml
from kubernetes.client import models

PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float)}


class Wrong(Exception):
    pass


def check(kind, value, where):
    """kind: as the library writes it: str, V1Job, list[V1Container], dict(str, str)."""
    if kind in PLAIN:
        if not isinstance(value, PLAIN[kind]) or (kind != "bool" and isinstance(value, bool)):
            raise Wrong(f"{where} is {value!r}, not of type {kind}")
        return value
    inner = re.fullmatch(r"list\[(.*)\]", kind)
    if inner:
        return [check(inner[1], item, f"{where}[{i}]") for i, item in enumerate(check_is(value, list, where))]
    inner = re.fullmatch(r"dict\(str, (.*)\)", kind)
    if inner:
        return {key: check(inner[1], item, f"{where}.{key}") for key, item in check_is(value, dict, where).items()}
    model = getattr(models, kind)
    fields = {field: name for name, field in model.attribute_map.items()}
    unknown = check_is(value, dict, where).keys() - fields.keys()
    if unknown:
        raise Wrong(f"{where} has no {', '.join(sorted(unknown))}")
    known = {fields[key]: check(model.openapi_types[fields[key]], item, f"{where}.{key}") for key, item in value.items()}
    try:
        return model(**known)
    except ValueError as error:  # a field that is required
        raise Wrong(f"{where}: {error}") from error


def check_is(value, kind, where):
    if not isinstance(value, kind):
        raise Wrong(f"{where} is {value!r}, not a {kind.__name__}")
    return value


def checked(document):
    kind, version = document.get("kind"), document.get("apiVersion")
    if (kind, version) not in (("Job", "batch/v1"), ("Service", "v1")):
        raise Wrong(f"there is no {kind} in {version}")
    return check("V1" + kind, document, kind)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = {document["kind"]: checked(document) for document in yaml.safe_load_all(file)}
    job, service = found["Job"], found["Service"]
    spec, pod = job.spec, job.spec.template.spec
    container = pod.containers[0]
    if (spec.completion_mode, spec.completions) != ("Indexed", spec.parallelism):
        raise Wrong("it is no Indexed Job whose pods run at once")
    if (service.spec.cluster_ip, service.metadata.name) != ("None", pod.subdomain):
        raise Wrong("the subdomain of the pods is no headless Service")
    if service.spec.selector != {"job-name": job.metadata.name}:
        raise Wrong("the Service does not select the pods of the Job")
    plain = {item.name: item.value for item in container.env if item.value is not None}
    secrets = [(item.name, item.value_from.secret_key_ref) for item in container.env if item.value_from]
    print("ranks=" + str(spec.completions))
    print("secret=" + shlex.quote(" ".join(f"{name} {key.name} {key.key}" for name, key in secrets)))
    print(f"variables=({shlex.join(f'{name}={value}' for name, value in plain.items())})")
    print(f"command=({shlex.join(container.command + (container.args or []))})")
    print(f"pod0={job.metadata.name}-0.{pod.subdomain}")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"manifest.py: {wrong}")
