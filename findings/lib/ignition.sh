# For findings about Ignition, to be sourced: $folder, which the end removes, for Go too; `validator`, which makes $folder/bin/validate.
# shellcheck shell=bash
set -euo pipefail
readonly version=v2.26.0
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
export GOPATH=$folder/go GOFLAGS=-buildvcs=false

validator() {
  GOBIN=$folder/bin go install "github.com/coreos/ignition/v2/validate@$version" 2> "$folder/log" || { cat "$folder/log" >&2; exit 2; }
  echo "ignition-validate $version"
}
