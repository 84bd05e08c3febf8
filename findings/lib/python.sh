# For findings about packages of PyPI, to be sourced: $folder, which the end removes; `packages`, which installs those of these versions; `python`, which runs
# the program of standard input with them, and with this folder's modules.
# shellcheck shell=bash
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
lib=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

packages() { # NAME==VERSION...
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" --quiet --disable-pip-version-check install "$@"
  echo "$*"
}

python() { # ARGUMENT...
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$lib "$folder/venv/bin/python" - "$@"
}
