#!/usr/bin/env bash
# Ignition forgets the advertisement of a Tang server when the config is of 3.4.0, the specification that brought it.
#
# Expected: a config of an older specification means the same in a newer Ignition.
# Seen: each config is translated to the newest specification before anything else, and the step from 3.4.0 to 3.5.0 copies URL and
# thumbprint of a Tang server, not its advertisement. So provisioning without the server, which 3.4.0 was made for, needs the server again;
# the same config stamped 3.5.0 keeps it. There is no warning.
# Needs Go. Ignition 2.26.0 (2.24.0 is the same; it translates since 3.5.0 is there, 2.20.0).
. "$(dirname "$0")/lib/ignition.sh"
mkdir "$folder/translate"
cd "$folder/translate"
cat > main.go <<'G'
package main

import (
	"encoding/json"
	"fmt"

	"github.com/coreos/ignition/v2/config/v3_6"
)

func main() {
	for _, version := range []string{"3.4.0", "3.5.0"} {
		text := `{"ignition":{"version":"` + version + `"},"storage":{"luks":[{"name":"v","device":"/dev/vda","clevis":{"tang":[` +
			`{"url":"http://tang.example","thumbprint":"x","advertisement":"{}"}]}}]}}`
		config, report, err := v3_6.ParseCompatibleVersion([]byte(text))
		if err != nil {
			panic(err)
		}
		tang, _ := json.Marshal(config.Storage.Luks[0].Clevis.Tang)
		fmt.Printf("%s: %s %s\n", version, tang, report.String())
	}
}
G
{ go mod init translate && go get "github.com/coreos/ignition/v2/config/v3_6@$version" && go build -o translate .; } > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 2; }
echo "Ignition $version"
./translate | tee "$folder/out"
grep -q '^3.5.0: .*"advertisement":"{}"' "$folder/out" || { echo "this has changed: 3.5.0 has none either"; exit 1; }
! grep -q '^3.4.0: .*advertisement' "$folder/out" || { echo "this has changed: 3.4.0 keeps it"; exit 1; }
