#!/usr/bin/env python3
"""Makes builtin-schemas.json and protobuf-fields.json: what the shapes of the built-in kinds are, and which number each field has in
their protobuf form. Facts only (names, types, numbers), no descriptions. Needs Go for fetching the published modules:

    go mod download k8s.io/kubernetes@v1.34.4 k8s.io/api@v0.34.4 k8s.io/apimachinery@v0.34.4 k8s.io/apiextensions-apiserver@v0.34.4
    python3 extract.py
"""
import json, os, re, subprocess
from pathlib import Path

HERE = Path(__file__).parent
MODULES = Path(subprocess.check_output(["go", "env", "GOMODCACHE"], text=True).strip()) / "k8s.io"
RELEASE = "1.34.4"
SPECS = MODULES / f"kubernetes@v{RELEASE}/api/openapi-spec/v3"
PREFIX = "io.k8s.api."
KINDS = {
    "api__v1_openapi.json": ["core.v1." + k for k in "Namespace Secret ConfigMap Event Node Service".split()],
    "apis__coordination.k8s.io__v1_openapi.json": ["coordination.v1.Lease"],
    "apis__events.k8s.io__v1_openapi.json": ["events.v1.Event"],
    "apis__certificates.k8s.io__v1_openapi.json": ["certificates.v1.CertificateSigningRequest"],
    "apis__authentication.k8s.io__v1_openapi.json": ["authentication.v1.SelfSubjectReview"],
    "apis__authorization.k8s.io__v1_openapi.json": ["authorization.v1." + k for k in ["SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"]],
    "apis__apiextensions.k8s.io__v1_openapi.json": ["CRD"],
}
CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
EXTRA = [META + n for n in ["ObjectMeta", "ListMeta", "DeleteOptions", "Status", "WatchEvent", "Patch"]]
DROPPED = {"description", "x-kubernetes-group-version-kind"}


def stripped(node, under_properties=False):
    """The node without prose. `under_properties`: keys are names of fields, not of schema keywords."""
    if isinstance(node, dict):
        kept = {k: v for k, v in node.items() if under_properties or k not in DROPPED}
        out = {k: stripped(v, k == "properties" and not under_properties) for k, v in kept.items()}
        # References stand alone or as the only member of allOf, with a default beside; both become one form.
        if not under_properties and isinstance(out.get("allOf"), list) and len(out["allOf"]) == 1:
            out.update(out.pop("allOf")[0])
        return out
    if isinstance(node, list):
        return [stripped(n) for n in node]
    return node


def references(node):
    if isinstance(node, dict):
        for k, v in node.items():
            if k == "$ref" and isinstance(v, str):
                yield v.rsplit("/", 1)[1]
            else:
                yield from references(v)
    elif isinstance(node, list):
        for n in node:
            yield from references(n)


def schemas():
    kept = {}
    for file, kinds in KINDS.items():
        all_schemas = json.loads((SPECS / file).read_text())["components"]["schemas"]
        wanted = [CRD if k == "CRD" else PREFIX + k for k in kinds]
        wanted += [n for n in EXTRA if n in all_schemas]
        while wanted:
            name = wanted.pop()
            if name in kept:
                continue
            kept[name] = stripped(all_schemas[name])
            if name.endswith("JSONSchemaProps"):  # refers to itself; schemas of CRDs are checked by what compiles them
                kept[name] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            wanted += references(kept[name])
    return dict(sorted(kept.items()))


MESSAGE = re.compile(r"^\s*message (\w+) \{")
FIELD = re.compile(r"^\s*(optional|repeated)?\s*(map<\w+,\s*[\w.]+>|[\w.]+)\s+(\w+)\s*=\s*(\d+);")
PROTOS = {
    "k8s.io.api.core.v1": f"api@v0.{RELEASE[2:]}/core/v1/generated.proto",
    "k8s.io.api.coordination.v1": f"api@v0.{RELEASE[2:]}/coordination/v1/generated.proto",
    "k8s.io.api.events.v1": f"api@v0.{RELEASE[2:]}/events/v1/generated.proto",
    "k8s.io.api.authentication.v1": f"api@v0.{RELEASE[2:]}/authentication/v1/generated.proto",
    "k8s.io.api.authorization.v1": f"api@v0.{RELEASE[2:]}/authorization/v1/generated.proto",
    "k8s.io.api.certificates.v1": f"api@v0.{RELEASE[2:]}/certificates/v1/generated.proto",
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1": f"apiextensions-apiserver@v0.{RELEASE[2:]}/pkg/apis/apiextensions/v1/generated.proto",
    "k8s.io.apimachinery.pkg.apis.meta.v1": f"apimachinery@v0.{RELEASE[2:]}/pkg/apis/meta/v1/generated.proto",
    "k8s.io.apimachinery.pkg.runtime": f"apimachinery@v0.{RELEASE[2:]}/pkg/runtime/generated.proto",
    "k8s.io.apimachinery.pkg.api.resource": f"apimachinery@v0.{RELEASE[2:]}/pkg/api/resource/generated.proto",
}
def json_name(name):
    """The name in JSON of a field of a schema, where it is another one: `$ref`, `x-kubernetes-list-type`."""
    if name in ("ref", "schema"):
        return "$" + name
    if name.startswith("xKubernetes"):
        return re.sub("(?<=.)([A-Z])", lambda m: "-" + m[1].lower(), name)
    return name


SCALARS = {"string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double"}


def protobuf():
    messages = {}
    for package, file in PROTOS.items():
        message = None
        for line in (MODULES / file).read_text().splitlines():
            line = line.split("//")[0]
            if m := MESSAGE.match(line):
                message = messages.setdefault(f"{package}.{m[1]}", {})
            elif message is not None and (m := FIELD.match(line)):
                label, kind, name, number = m.groups()
                key = None
                if kind.startswith("map<"):
                    label, kind = "map", kind[4:-1].split(",")[1].strip()
                if kind not in SCALARS:
                    kind = kind.lstrip(".")
                    kind = kind if kind.startswith("k8s.io.") else f"{package}.{kind}"
                if list(messages)[-1].endswith(".JSONSchemaProps"):
                    name = json_name(name)
                message[number] = [name, kind] if label in (None, "optional") else [name, kind, label]
            elif line.startswith("}"):
                message = None
    roots = ["core.v1." + k for k in "Namespace Secret ConfigMap Event Node".split()]
    roots += ["coordination.v1.Lease", "events.v1.Event", "certificates.v1.CertificateSigningRequest"]
    roots += ["authentication.v1.SelfSubjectReview"]
    roots += ["authorization.v1." + k for k in ["SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"]]
    wanted = ["k8s.io.api." + r for r in roots] + ["k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions"]
    wanted += ["k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"]
    kept = {}
    while wanted:
        name = wanted.pop()
        if name in kept:
            continue
        kept[name] = messages[name]
        wanted += [f[1] for f in messages[name].values() if f[1] not in SCALARS]
    return dict(sorted(kept.items()))


def write(name, value):
    (HERE / name).write_text(json.dumps(value, indent=0, separators=(",", ":"), sort_keys=True) + "\n")


if __name__ == "__main__":
    write("builtin-schemas.json", schemas())
    write("protobuf-fields.json", protobuf())
