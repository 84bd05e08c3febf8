//! The part of the program that is the page.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use muster_tests::artifacts::{muster_program, project_root};

use super::Figures;

/// The crate, and the compiler of its templates, as symbols have them: with the length of the name.
const CRATES: [&str; 2] = ["10muster_web", "6askama"];

/// Measures by the program's symbols, and the files that it contains.
pub(super) fn measure(figures: &mut Figures) -> Result<()> {
    let program = muster_program();
    let bytes = std::fs::metadata(&program)?.len();
    eprintln!("  {}: {:.1} MB", program.display(), kilobytes(bytes) / 1e3);
    // A stripped program has no symbols.
    let code = code(&program)?.filter(|code| *code > 0);
    let files = folder(&project_root().join("service/web/static"))?;
    let page = code.map(|code| kilobytes(code + files));
    figures.add("the page in the program: code and files, KB", page, 400.0);
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "programs are far smaller than 2^52 bytes"
)]
fn kilobytes(bytes: u64) -> f64 {
    bytes as f64 / 1e3
}

/// Bytes of the functions and constants of the page; `None`: `nm` is missing.
fn code(program: &Path) -> Result<Option<u64>> {
    let nm = Command::new("nm")
        .args(["--print-size", "--radix=d"])
        .arg(program)
        .output();
    let Ok(nm) = nm else { return Ok(None) };
    ensure!(nm.status.success(), "nm: {}", String::from_utf8_lossy(&nm.stderr));
    let text = String::from_utf8_lossy(&nm.stdout);
    // Address, size, kind, name; other lines have no size.
    let sizes = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, size, _, name] = fields[..] else {
            return None;
        };
        CRATES
            .iter()
            .any(|one| name.contains(one))
            .then(|| size.parse::<u64>().ok())?
    });
    Ok(Some(sizes.sum()))
}

fn folder(path: &Path) -> Result<u64> {
    let entries = path.read_dir().with_context(|| path.display().to_string())?;
    let mut bytes = 0;
    for entry in entries {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}
