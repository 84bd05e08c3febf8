//! Compares what a command printed with a file in `golden/`. `MUSTER_BLESS=1` writes the files.

use std::fs;
use std::path::PathBuf;

/// Compares `text` with `golden/<name>.txt`; returns the difference, if there is one.
pub fn differs(name: &str, text: &str) -> Option<String> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/command_line/golden")
        .join(format!("{name}.txt"));
    if std::env::var_os("MUSTER_BLESS").is_some() {
        fs::write(&file, text).unwrap();
        return None;
    }
    let wanted = fs::read_to_string(&file).unwrap_or_default();
    (wanted != text).then(|| format!("{name}: is\n{text}\nand was\n{wanted}"))
}

/// Fails with all differences at once.
#[track_caller]
pub fn all_agree(differences: Vec<String>) {
    assert!(
        differences.is_empty(),
        "{}\nIf that is meant: MUSTER_BLESS=1 cargo test -p muster --test command_line",
        differences.join("\n")
    );
}
