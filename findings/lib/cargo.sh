# For findings about crates, to be sourced: $folder, which the end removes; `dependencies`, which begins a crate of these lines of TOML there;
# `program`, which compiles it with standard input as its main.rs, into $program. CARGO_TARGET_DIR keeps what is compiled.
# shellcheck shell=bash
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$folder/target}
program=$CARGO_TARGET_DIR/debug/finding

dependencies() {
  mkdir "$folder/src"
  printf '[package]\nname = "finding"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n%s\n' "$1" > "$folder/Cargo.toml"
}

program() {
  cat > "$folder/src/main.rs"
  cargo build --quiet --manifest-path "$folder/Cargo.toml"
}
