//! Text that must fit.

/// At most `limit` bytes of `text`, cut between characters.
pub(crate) fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
        assert_eq!(cut("a", 0), "");
    }
}
