use ssh_key::authorized_keys::Entry;

use super::Invalid;

/// Lines as in `authorized_keys`; empty ones and comments are left alone.
pub(crate) fn ssh_keys(text: &str) -> Result<(), Invalid> {
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
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
