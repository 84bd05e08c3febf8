#!/usr/bin/env bash
# kubeadm's bootstrap provider pastes the fields of a KubeadmConfig into YAML without quotes: some of them come out as others, some cost the whole node.
#
# Expected: a field of the KubeadmConfig that the API server took is in the cloud-config as it was; contents of files byte by byte; an inactive user is one.
# Seen: `sudo: "ALL=(ALL) NOPASSWD: ALL"`, sudoers' usual form with a blank, is no YAML any more, so is a file whose first line is indented more than a
# later one, and cloud-init then drops all of the node's configuration. A file that is indented as a whole loses the indentation; a missing
# newline at the end is added, more than one and CRLF are taken away (a token gets a newline). From a `#` on a comment of an SSH key or gecos is lost, and
# numbers are YAML's. `inactive: true` is written as it is, and cloud-init passes only a text on to useradd: the user is as active as any.
# `encoding: base64` keeps a file whole; commands are quoted.
# Needs Go; builds the provider's own package of templates, Cluster API 1.14.2 (the first time some minutes).
. "$(dirname "$0")/lib/cloud-init.sh"
readonly version=v1.14.2
export GOPATH=$folder/go GOFLAGS=-mod=mod
mkdir "$folder/render"
cat > "$folder/render/go.mod" <<GO
module render

go 1.26

require sigs.k8s.io/cluster-api $version

replace sigs.k8s.io/cluster-api/api => sigs.k8s.io/cluster-api/api $version
GO
cat > "$folder/render/main.go" <<'GO'
package main

import (
	"encoding/json"
	"os"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
)

// Reads the spec of a KubeadmConfig, and writes the cloud-config of a worker.
func main() {
	var spec bootstrapv1.KubeadmConfigSpec
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		panic(err)
	}
	made, err := cloudinit.NewNode(&cloudinit.NodeInput{
		BaseUserData: cloudinit.BaseUserData{
			AdditionalFiles:    spec.Files,
			PreKubeadmCommands: spec.PreKubeadmCommands,
			Users:              spec.Users,
		},
		JoinConfiguration: "kind: JoinConfiguration\n",
	})
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(made)
}
GO
(cd "$folder/render" && go build -o render .) 2> "$folder/log" || { cat "$folder/log" >&2; exit 2; }
echo "Cluster API $version"

python "$folder/render/render" <<'PYTHON'
import json
import logging
import subprocess
import sys
from unittest import mock

from cloudinit import distros, helpers, subp, util

logging.disable(logging.CRITICAL)
changed = False


def check(what, seen, before):
    global changed
    print(f"  {what} -> {seen!r}")
    if seen != before:
        print(f"    this has changed; before: {before!r}")
        changed = True


def read(spec):
    """The cloud-config as cloud-init has it; None: it is dropped."""
    made = subprocess.run([sys.argv[1]], input=json.dumps(spec).encode(), stdout=subprocess.PIPE, check=True).stdout
    return util.load_yaml(made)


def content(text, **more):
    config = read({"files": [{"path": "/etc/a", "content": text} | more]})
    return config and config["write_files"][0]["content"]


for text, before in [
    ("token", "token\n"),
    ("text\n\n\n", "text\n"),
    ("a\r\nb\r\n", "a\nb\n"),
    ("  all: [\n    indented]\n", "all: [\n  indented]\n"),
    ("  first\nsecond\n", None),
]:
    check(f"file {text!r}", content(text), before)
check("file 'dG9rZW4=', encoding base64", content("dG9rZW4=", encoding="base64"), "dG9rZW4=\n")


def user(**more):
    config = read({"users": [{"name": "ops"} | more]})
    return config and {key: value for key, value in config["users"][0].items() if key != "name"}


for fields, before in [
    ({"sudo": "ALL=(ALL) NOPASSWD:ALL"}, {"sudo": "ALL=(ALL) NOPASSWD:ALL"}),
    ({"sudo": "ALL=(ALL) NOPASSWD: ALL"}, None),
    ({"gecos": "Operator: night"}, None),
    ({"gecos": "Operator #2"}, {"gecos": "Operator"}),
    ({"sshAuthorizedKeys": ["ssh-ed25519 AAAA laptop #2"]}, {"ssh_authorized_keys": ["ssh-ed25519 AAAA laptop"]}),
    ({"inactive": True}, {"inactive": True}),
]:
    check(f"user {fields}", user(**fields), before)

commands = []


def run(command, *_arguments, **_options):
    commands.append(command)
    return subp.SubpResult("", "")


with mock.patch.object(subp, "subp", run), mock.patch.object(util, "is_user", lambda _name: False):
    debian = distros.fetch("debian")("debian", {}, helpers.Paths({}))
    for inactive in (True, "30"):
        commands.clear()
        debian.add_user("ops", inactive=inactive)
        (made,) = [command for command in commands if command[0] == "useradd"]
        check(f"cloud-init's command for inactive: {inactive!r}", made, ["useradd", "ops"] + (["--inactive", "30"] if inactive == "30" else []) + ["-m"])
check("command 'echo \"a: b\" # c'", read({"preKubeadmCommands": ['echo "a: b" # c']})["runcmd"][0], 'echo "a: b" # c')
sys.exit(changed)
PYTHON
