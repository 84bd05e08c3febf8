//! Makes random values that cannot be guessed.

/// Characters of a boot id: no two look alike in a URL that is typed into a BMC's form.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// The random part of boot URLs: 22 characters of 32, so 110 bits.
pub fn boot_id() -> String {
    letters::<22>()
}

/// A token of the built-in Kubernetes API, the secret of a session or link: 52 characters of 32, so 260 bits.
pub fn token() -> String {
    letters::<52>()
}

/// A suffix of replica names, the id of an operator's token or session: 8 characters of 32.
pub fn short_id() -> String {
    letters::<8>()
}

fn letters<const N: usize>() -> String {
    let mut bytes = [0u8; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    spelled(&bytes)
}

/// Encodes each byte as a character, which keeps five bits of it.
pub(crate) fn spelled(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte % 32)]))
        .collect()
}

/// Eight hex digits, for step ids.
pub fn step_suffix() -> String {
    let number = getrandom::u32().expect("the operating system gives random bytes");
    format!("{number:08x}")
}

/// A number from 0 to 1, for random pauses; 0.5 if the system provides no random bytes.
pub fn fraction() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    #[test]
    fn boot_ids_are_short_path_segments() {
        let id = super::boot_id();
        assert_eq!(id.len(), 22);
        assert!(
            id.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        );
        assert_ne!(id, super::boot_id());
    }
}
