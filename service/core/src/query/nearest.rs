//! Finds the word that a wrong one is nearest to.

/// The word that `text` is a typing error of, or the beginning of; `None`: it is like none.
pub(super) fn nearest<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let text = text.to_lowercase();
    // Two letters of a long word may be wrong, one of a short one.
    let allowed = text.chars().count().div_ceil(3).min(2);
    let distance = |word: &str| match text.len() > 1 && word.starts_with(&text) {
        true => 0,
        false => strsim::osa_distance(&text, word),
    };
    let near = words
        .map(|word| (distance(word), word))
        .filter(|(distance, _)| *distance <= allowed);
    near.min_by_key(|(distance, _)| *distance).map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn typing_errors_are_near_and_other_words_are_not() {
        let words = ["memory", "model", "mac", "nic-speed", "state"];
        for (text, found) in [
            ("memroy", Some("memory")),
            ("Memo", Some("memory")),
            ("macs", Some("mac")),
            ("status", Some("state")),
            ("nicspeed", Some("nic-speed")),
            ("m", None),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(text, words.into_iter()), found, "{text}");
        }
    }
}
