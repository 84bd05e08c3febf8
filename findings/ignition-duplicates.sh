#!/usr/bin/env bash
# One SSH key that stands twice makes a whole Ignition config invalid, and so does a name that is twice in noProxy.
#
# Expected: sshd and proxies take a list with repetitions; so would a config, or the second one is ignored.
# Seen: "duplicate entry defined", and the machine does not boot. It is the text that counts: the same key with another comment passes,
# and so does the same header in other letters, which is then sent twice. Options of filesystems and parts of files may repeat.
# Needs Go. Ignition 2.26.0 (2.24.0 is the same).
. "$(dirname "$0")/lib/ignition.sh"
validator

expect() { # VERDICT WHAT MEMBERS
  echo "{\"ignition\":{\"version\":\"3.4.0\"$3" > "$folder/config.ign"
  local verdict=accepted
  "$folder/bin/validate" "$folder/config.ign" > "$folder/out" 2>&1 || verdict=refused
  echo "$2: $verdict $(grep -o 'duplicate entry defined' "$folder/out" | head -1)"
  [ "$verdict" = "$1" ] || { echo "this has changed"; cat "$folder/out"; exit 1; }
}
readonly key='ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO2gtPj7Qm1hmwRMZ0KfbOHXLVWKKBXwDtoq8FtLYS2O'
user() { echo "},\"passwd\":{\"users\":[{\"name\":\"core\",\"sshAuthorizedKeys\":[$1]}]}}"; }
headers() { echo "},\"storage\":{\"files\":[{\"path\":\"/a\",\"contents\":{\"source\":\"http://a.example/\",\"httpHeaders\":[$1]}}]}}"; }
expect refused  'the same key twice' "$(user "\"$key me\",\"$key me\"")"
expect accepted 'the same key with another comment' "$(user "\"$key me\",\"$key you\"")"
expect refused  'a name twice in noProxy' ',"proxy":{"httpProxy":"http://p.example:3128","noProxy":["a.example","a.example"]}}}'
expect refused  'a header twice' "$(headers '{"name":"Accept","value":"a"},{"name":"Accept","value":"b"}')"
expect accepted 'a header twice in other letters' "$(headers '{"name":"Accept","value":"a"},{"name":"accept","value":"b"}')"
expect accepted 'an option twice' '},"storage":{"filesystems":[{"device":"/dev/vda","format":"xfs","options":["-f","-f"]}]}}'
