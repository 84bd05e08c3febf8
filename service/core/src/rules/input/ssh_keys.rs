use std::collections::HashSet;

use ssh_key::authorized_keys::Entry;

use super::Invalid;

/// The keys among the lines of an `authorized_keys` file, each with the index of its line; without empty lines,
/// comments and duplicate lines. The same key with another comment is another line: Ignition, sshd and users
/// distinguish them.
pub fn key_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut seen = HashSet::new();
    text.lines()
        .map(str::trim)
        .enumerate()
        .filter(move |(_, line)| !line.is_empty() && !line.starts_with('#') && seen.insert(*line))
}

pub(crate) fn ssh_keys(text: &str) -> Result<(), Invalid> {
    for (index, line) in key_lines(text) {
        if !is_key(line) {
            return Err(Invalid::new(
                "ssh_authorized_key",
                format!(
                    "SSH key is not valid: line {} is no public key. Paste the contents of a .pub file, one key a line, such as: ssh-ed25519 AAAA... name",
                    index + 1
                ),
            ));
        }
    }
    Ok(())
}

/// The crate accepts options only for a key that has a comment.
fn is_key(line: &str) -> bool {
    line.parse::<Entry>().is_ok() || format!("{line} -").parse::<Entry>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::ssh_keys;

    #[test]
    fn keys_have_options_and_comments_or_not() {
        let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO2gtPj7Qm1hmwRMZ0KfbOHXLVWKKBXwDtoq8FtLYS2O";
        for options in ["", "no-pty ", "from=\"192.0.2.1\" "] {
            for comment in ["", " me", " me and you"] {
                let line = format!("{options}{key}{comment}");
                assert_eq!(ssh_keys(&line), Ok(()), "{line}");
            }
        }
        for bad in ["ssh-ed25519", "ssh-ed25519 AAAA", "no-pty", "me"] {
            assert!(ssh_keys(bad).is_err(), "{bad}");
        }
    }
}
