//! What was probably meant by a query that REST refused.

/// The query with its first wrong key or value replaced by the nearest right one, where the refusal names one:
/// `q: at byte 0: "modle" is no key; is it model?`.
pub fn corrected(query: &str, refusal: &str) -> Option<String> {
    refusal
        .split("at byte ")
        .skip(1)
        .find_map(|fault| replaced(query, fault))
}

fn replaced(query: &str, fault: &str) -> Option<String> {
    let (at, fault) = fault.split_once(": \"")?;
    let (wrong, fault) = fault.split_once("\" is no ")?;
    let (_, fault) = fault.split_once("; is it ")?;
    let (nearest, _) = fault.split_once('?')?;
    let (before, from) = query.split_at_checked(at.parse().ok()?)?;
    // In quotation marks, or shortened in the refusal, it is not written so.
    let after = from.strip_prefix(wrong)?;
    (!nearest.contains(' ')).then(|| format!("{before}{nearest}{after}"))
}

#[cfg(test)]
mod tests {
    use super::corrected;

    #[test]
    fn the_first_fault_with_a_nearest_word_is_replaced() {
        for (query, refusal, expected) in [
            (
                "modle:x",
                "q: at byte 0: \"modle\" is no key; is it model?; to search for it as text, put it in quotation marks",
                Some("model:x"),
            ),
            (
                "é colour:x -state:knwon,error",
                "q: at byte 3: \"colour\" is no key; to search for it ; at byte 19: \"knwon\" is no state; is it known?",
                Some("é colour:x -state:known,error"),
            ),
            (
                "state:\"knwon\"",
                "q: at byte 6: \"knwon\" is no state; is it known?",
                None,
            ),
            (
                "cpu:x",
                "q: at byte 4: \"x\" is no number for cpu; write 8, >=32",
                None,
            ),
            ("x", "sort: \"cup\" is no order of hosts; is it cpu?", None),
            ("a", "q: at byte 99: \"modle\" is no key; is it model?", None),
        ] {
            assert_eq!(corrected(query, refusal).as_deref(), expected, "{query}");
        }
    }
}
