use ssh_key::authorized_keys::Entry;

use super::Invalid;

/// The keys among the lines of an `authorized_keys` file, each with the index of its line; no empty lines and no comments.
pub fn key_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .map(str::trim)
        .enumerate()
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

pub(crate) fn ssh_keys(text: &str) -> Result<(), Invalid> {
    for (index, line) in key_lines(text) {
        if line.parse::<Entry>().is_err() {
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
