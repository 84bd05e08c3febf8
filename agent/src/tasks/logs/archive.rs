//! Writes the archive, piece by piece.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::{Redactor, network, ring, storage, usage};
use crate::config::PROGRAM_VERSION;
use crate::inventory::trouble::{kernel, last_panic};
use crate::inventory::{self, Options};
use crate::root::{ProbeError, Root};

/// Bytes of a file that are sent, the last ones. Nine such files are far below a service's limit (250 MiB).
const LARGEST_FILE: usize = 8 << 20;

/// Writes `logs_host_<host id>/...` as a gzipped tar archive.
///
/// # Errors
/// Fails if `to` does. Files that cannot be collected are listed in the archive's `report.logs`.
pub fn write(to: impl Write, host_id: &str, redactor: &Redactor, now: u64) -> io::Result<()> {
    let mut archive = Builder::new(GzEncoder::new(to, Compression::default()));
    let mut report = String::new();
    let root = Root::live();
    let folder = format!("logs_host_{host_id}");
    let mut put = |name: &str, content: Result<String, ProbeError>| match content {
        Ok(text) => add(
            &mut archive,
            &format!("{folder}/{name}"),
            &redactor.clean(last(&text)),
            now,
        ),
        Err(error) => {
            report.push_str(&format!("{name}: {error}\n"));
            Ok(())
        }
    };
    // The inventory before the kernel's and the agent's log: it queries the hardware, and errors of that are logged.
    put("machine.logs", Ok(machine(&root)))?;
    put("network.logs", Ok(network::state(&root)))?;
    put("mount.logs", Ok(storage::state(&root)))?;
    put("inventory.json", inventory(&root))?;
    put("dmesg.logs", kernel::log())?;
    put("agent.logs", Ok(ring::text()))?;
    if let Some(text) = last_panic::text() {
        put("last-panic.logs", Ok(text))?;
    }
    if report.is_empty() {
        report.push_str("everything was collected\n");
    }
    add(
        &mut archive,
        &format!("{folder}/report.logs"),
        &redactor.clean(&report),
        now,
    )?;
    archive.into_inner()?.finish()?.flush()
}

fn add<W: Write>(archive: &mut Builder<W>, path: &str, text: &str, now: u64) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(now);
    archive.append_data(&mut header, path, text.as_bytes())
}

/// The end of a text that is too long.
fn last(text: &str) -> &str {
    let mut from = text.len().saturating_sub(LARGEST_FILE);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

fn machine(root: &Root) -> String {
    let file = |path: &str| root.text(path).unwrap_or_default();
    format!(
        "agent {PROGRAM_VERSION}\n{}\n{}\n{}\ncommand line: {}\n\n{}\n",
        file("/proc/version"),
        usage::text().unwrap_or_else(|error| format!("load and memory are unknown: {error}")),
        crate::host::machine(),
        file("/proc/cmdline"),
        file("/proc/meminfo"),
    )
}

fn inventory(root: &Root) -> Result<String, ProbeError> {
    let collected = inventory::collect(root, Options::default());
    let mut text = serde_json::to_string_pretty(&collected.inventory)
        .map_err(|error| ProbeError::value(error.to_string()))?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read;

    use super::*;

    #[test]
    fn an_archive_holds_what_was_promised() {
        let mut bytes = Vec::new();
        tracing::info!("not captured here");
        write(&mut bytes, "some-id", &Redactor::default(), 1_700_000_000).unwrap();
        let mut files = BTreeMap::new();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            files.insert(path.strip_prefix("logs_host_some-id/").unwrap().to_owned(), text);
        }
        for (name, word) in [
            ("machine.logs", "Linux version"),
            ("network.logs", "routes:"),
            ("mount.logs", "/proc/self/mountinfo"),
            ("inventory.json", "\"hostname\""),
            ("agent.logs", ""),
            ("report.logs", ""),
        ] {
            let text = files
                .get(name)
                .unwrap_or_else(|| panic!("no {name} in {:?}", files.keys()));
            assert!(text.contains(word), "{name}: {text}");
        }
        // If the kernel's log may not be read, the report mentions it.
        assert_ne!(
            files.contains_key("dmesg.logs"),
            files["report.logs"].contains("dmesg.logs")
        );
    }

    #[test]
    fn the_end_of_a_long_text_is_kept_at_a_character() {
        let text = "ü".repeat(LARGEST_FILE);
        let kept = last(&text);
        assert!(kept.len() <= LARGEST_FILE && kept.len() > LARGEST_FILE - 4);
        assert_eq!(last("short"), "short");
    }
}
