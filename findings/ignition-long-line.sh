#!/usr/bin/env bash
# Ignition refuses a line of a unit that is too long for it only at some places of the text.
#
# Expected from the error ("line too long (max 2048 bytes)"): each unit with a line of more than 2048 bytes is refused.
# Seen: the same line of 2102 bytes is refused at the start of a unit, accepted behind 600 short lines, refused behind 1030 and accepted
# behind 1600: the length is looked at only where the reader's buffer of 4096 bytes still holds 2048 bytes of the line. So a longer comment
# above it makes a unit valid or invalid.
# Needs Go. Ignition 2.26.0 (2.24.0 is the same).
. "$(dirname "$0")/lib/ignition.sh"
validator

config() { # SHORT_LINES: a unit with so many lines before a line of 2102 bytes
  python3 - "$1" <<'P'
import json, sys
text = "[Unit]\n" + "A=b\n" * int(sys.argv[1]) + "B=" + "x" * 2100 + "\n"
print(json.dumps({"ignition": {"version": "3.4.0"}, "systemd": {"units": [{"name": "x.service", "contents": text}]}}))
P
}
seen=''
for lines in 0 600 1030 1600; do
  config "$lines" > "$folder/config.ign"
  if "$folder/bin/validate" "$folder/config.ign" > "$folder/out" 2>&1; then verdict=accepted; else verdict=refused; fi
  echo "behind $lines short lines: $verdict $(grep -o 'line too long.*' "$folder/out" || true)"
  seen+="$lines:$verdict "
done
[ "$seen" = "0:refused 600:accepted 1030:refused 1600:accepted " ] || { echo "this has changed: $seen"; exit 1; }
