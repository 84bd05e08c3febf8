#!/usr/bin/env bash
# cloud-init's write_files: an owner that is not there yet costs all later files, a mode without quotes or zero sets other bits, and appending opens a file.
#
# Expected: users of the same cloud-config may own its files; a file that fails is skipped with a warning, as one with a bad mode or encoding is;
# `permissions: 600` is 0600 or refused; `append: true` without permissions leaves the mode as it is.
# Seen: write-files runs before users-groups, and an unknown owner ends the module: no file behind it is written. kubeadm's provider puts its own files
# (kubeadm's configuration) behind those of the user, and has no word for `defer: true`, which would put a file behind the users. `permissions: 600` is
# the decimal number, 01130. Appending sets the mode 0644, so a secret of mode 0600 can be read by all afterwards.
. "$(dirname "$0")/lib/cloud-init.sh"

sed -n 's/^ - //p' "$folder/cloud-init/etc/cloud/cloud.cfg" > "$folder/modules"
place() { grep -nx "$1" "$folder/modules" | cut -d: -f1; }
echo "  module $(place write-files) of cloud.cfg: write-files; module $(place users-groups): users-groups"
[ "$(place write-files)" -lt "$(place users-groups)" ] || { echo "this has changed: users come first" >&2; exit 1; }

python "$folder" <<'PYTHON'
import grp
import logging
import os
import pwd
import sys

from cloudinit.config import cc_write_files
from cloudinit.util import load_yaml

logging.disable(logging.CRITICAL)
folder = os.path.join(sys.argv[1], "files")
os.mkdir(folder)
me = f"{pwd.getpwuid(os.getuid()).pw_name}:{grp.getgrgid(os.getgid()).gr_name}"
changed = False


def write(*entries):
    files = [entry | {"path": os.path.join(folder, entry["path"])} for entry in entries]
    try:
        cc_write_files.write_files("write_files", files, me)
        return "done"
    except OSError as error:
        return f"ended by: {error}"


def check(what, seen, before):
    global changed
    print(f"  {what} -> {seen}")
    if seen != before:
        print(f"    this has changed; before: {before}")
        changed = True


def mode(name):
    return f"{os.stat(os.path.join(folder, name)).st_mode & 0o7777:05o}"


end = write(
    {"path": "before", "content": "x"},
    {"path": "etcd.conf", "content": "x", "owner": "not-there:not-there", "permissions": "0640"},
    {"path": "kubeadm.yaml", "content": "x"},
)
print("  files before, etcd.conf (owner not-there) and kubeadm.yaml:", end)
check("written", sorted(os.listdir(folder)), ["before", "etcd.conf"])

# A number is what YAML makes of 0600 (384) and of 600.
for given, before in [("'0600'", "00600"), ("0600", "00600"), ("600", "01130"), ("755", "01363"), ("'600'", "00600"), ("'u=rw,go='", "00644")]:
    write({"path": "mode", "content": "x"} | load_yaml(f"permissions: {given}"))
    check(f"permissions: {given}", mode("mode"), before)

write({"path": "secret", "content": "x", "permissions": "0600"})
write({"path": "secret", "content": "y", "append": True})
check("mode 00600, after append: true", mode("secret"), "00644")
sys.exit(changed)
PYTHON
