//! Names the objects that mirror records after the record's name, as far as Kubernetes permits such names.

use uuid::Uuid;

/// Letters that are kept: with a suffix, names of Secrets and labels made from it stay shorter than 63.
const LONGEST: usize = 40;

/// Returns the names to try, in this order: the record's own, and one that no other record has.
pub fn candidates(name: &str, id: Uuid) -> [String; 2] {
    let own = sanitised(name);
    let id = id.simple().to_string();
    let unique = format!("{own}-{}", &id[..8]);
    [own, unique]
}

fn sanitised(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        let letter = letter.to_ascii_lowercase();
        if letter.is_ascii_alphanumeric() {
            text.push(letter);
        } else if !text.is_empty() && !text.ends_with('-') {
            text.push('-');
        }
    }
    text.truncate(LONGEST);
    let text = text.trim_end_matches('-');
    if text.is_empty() { "unnamed" } else { text }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_records_become_names_of_objects() {
        let of = |name: &str| candidates(name, Uuid::from_u128(0xabcd_0123 << 96));
        assert_eq!(of("lab"), ["lab", "lab-abcd0123"]);
        assert_eq!(of("My Lab (Süd) 2!")[0], "my-lab-s-d-2");
        assert_eq!(of("  ")[1], "unnamed-abcd0123");
        let long = of(&"x.".repeat(80));
        assert!(long[1].len() < 50 && !long[0].ends_with('-'), "{long:?}");
    }
}
