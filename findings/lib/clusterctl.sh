# For findings about clusterctl, to be sourced: $folder, which the end removes, for Go too; `program`, which compiles standard input as a main.go that
# uses clusterctl's own packages, of Cluster API $version, into $program.
# shellcheck shell=bash
set -euo pipefail
readonly version=v1.14.2
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
export GOPATH=$folder/go GOFLAGS=-mod=mod
program=$folder/source/finding

program() {
  mkdir "$folder/source"
  cat > "$folder/source/main.go"
  cat > "$folder/source/go.mod" <<GO
module finding

go 1.26

require sigs.k8s.io/cluster-api $version

replace sigs.k8s.io/cluster-api/api => sigs.k8s.io/cluster-api/api $version
GO
  go build -C "$folder/source" -o "$program" . 2> "$folder/log" || { cat "$folder/log" >&2; exit 2; }
}
