use std::collections::HashSet;

/// The items of a comma list that are not empty, each once.
pub fn comma_list(text: &str) -> impl Iterator<Item = &str> {
    let mut seen = HashSet::new();
    text.split(',')
        .map(str::trim)
        .filter(move |item| !item.is_empty() && seen.insert(*item))
}
