# For findings about cloud-init, to be sourced: $folder, which the end removes; `python`, which runs the program of standard input with cloud-init's
# modules of Debian 13 (and with their Python libraries from PyPI, of fixed versions).
# shellcheck shell=bash
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
readonly cloud_init=25.1.4-1+deb13u1
curl -sSf -o "$folder/deb" "http://deb.debian.org/debian/pool/main/c/cloud-init/cloud-init_${cloud_init}_all.deb"
echo "1b120a44110e7234c9cf9ccde78fb5d5ea1292c94ef0ca70d09a580f72980df3  $folder/deb" | sha256sum --quiet -c
dpkg-deb -x "$folder/deb" "$folder/cloud-init"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install configobj==5.0.9 jinja2==3.1.6 jsonpatch==1.33 jsonschema==4.23.0 PyYAML==6.0.2 requests==2.32.3
echo "cloud-init $cloud_init, PyYAML 6.0.2"

python() { # ARGUMENT...
  PYTHONPATH=$folder/cloud-init/usr/lib/python3/dist-packages "$folder/venv/bin/python" - "$@"
}
