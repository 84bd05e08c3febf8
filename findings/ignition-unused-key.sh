#!/usr/bin/env bash
# ignition-validate calls a member "unused key" whose name is in other letters, and Ignition applies it all the same.
#
# Expected from the warning: {"Storage": ...} is ignored, as a misspelt member is.
# Seen: the warning, and the rules of files are applied to what is in it: Go's decoder takes names of members in any case of letters, the
# check for unused ones only the exact name. So a member that was "switched off" by its name is not off.
# Needs Go. Ignition 2.26.0 (2.24.0 is the same).
. "$(dirname "$0")/lib/ignition.sh"
validator

validate() { # CONFIG
  echo "$1" > "$folder/config.ign"
  local verdict=accepted
  "$folder/bin/validate" "$folder/config.ign" > "$folder/out" 2>&1 || verdict=refused
  echo "$1"
  sed 's/^/  /' "$folder/out"
  echo "  $verdict"
}
validate '{"ignition":{"version":"3.4.0"},"Storage":{"FILES":[{"Path":"/a","mode":420}]}}'
grep -q 'unused key Storage' "$folder/out" || { echo "this has changed: no warning"; exit 1; }
validate '{"ignition":{"version":"3.4.0"},"Storage":{"FILES":[{"Path":"/a","mode":9999}]}}'
grep -q 'illegal file mode' "$folder/out" || { echo "this has changed: the member is ignored"; exit 1; }
validate '{"ignition":{"version":"3.4.0"},"storages":{"files":[{"path":"/a","mode":9999}]}}'
! grep -q 'illegal file mode' "$folder/out" || { echo "this has changed: a misspelt member is applied"; exit 1; }
