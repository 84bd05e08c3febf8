//! Converts text from devices for properties and file names as udev does.

/// Blanks at the ends are removed, inner runs of blanks become one `_`. Bytes after a NUL are ignored.
pub(super) fn without_blanks(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let words: Vec<String> = bytes[..end]
        .split(|byte| byte.is_ascii_whitespace() || *byte == 0x0b)
        .filter(|word| !word.is_empty())
        .map(safe)
        .collect();
    words.join("_")
}

/// Characters that udev does not allow become `_`: allowed are letters, digits, `#+-.:=@_`, UTF-8 beyond ASCII, and `\x..`.
fn safe(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        for (at, character) in valid.char_indices() {
            let escape = character == '\\' && valid.as_bytes().get(at + 1) == Some(&b'x');
            if character.is_ascii_alphanumeric()
                || "#+-.:=@_".contains(character)
                || !character.is_ascii()
                || escape
            {
                text.push(character);
            } else {
                text.push('_');
            }
        }
        text.extend(chunk.invalid().iter().map(|_| '_'));
    }
    text
}

/// As `string_escape=replace` does to a link's name: blanks and `/` become `_` too, one for one.
pub(crate) fn link_name(text: &str) -> String {
    safe(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_joined_and_odd_characters_replaced() {
        assert_eq!(without_blanks(b"  QEMU   HARDDISK \0junk"), "QEMU_HARDDISK");
        assert_eq!(without_blanks(b"a/b\xff(c)"), "a_b__c_");
        assert_eq!(without_blanks("é#1".as_bytes()), "é#1");
        assert_eq!(without_blanks(b"   "), "");
        assert_eq!(link_name("QEMU NVMe Ctrl_SER N"), "QEMU_NVMe_Ctrl_SER_N");
    }
}
