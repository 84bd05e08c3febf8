//! Edits the kernel arguments of a boot loader entry, as coreos-installer does. Does no I/O.

/// The entry with these arguments deleted, each wherever it occurs, and these appended.
pub fn edited(entry: &str, delete: &[String], append: &[String]) -> String {
    let mut edited = false;
    let mut lines: Vec<String> = entry
        .lines()
        .map(|line| {
            let Some(options) = line
                .strip_prefix("options")
                .filter(|rest| rest.starts_with([' ', '\t']))
            else {
                return line.to_owned();
            };
            // Arguments are appended to the first line of options only.
            let append = if edited { &[][..] } else { append };
            edited = true;
            let words = options
                .split_whitespace()
                .filter(|word| !delete.iter().any(|gone| gone == word))
                .chain(append.iter().map(String::as_str));
            format!("options {}", words.collect::<Vec<_>>().join(" "))
        })
        .collect();
    if !edited && !append.is_empty() {
        lines.push(format!("options {}", append.join(" ")));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_deleted_and_appended_and_the_rest_stays() {
        let entry = "title OS\nversion 1\noptions quiet $ignition_firstboot root=LABEL=root quiet\nlinux /k\ninitrd /i\n";
        let text = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
        assert_eq!(
            edited(entry, &text(&["quiet"]), &text(&["rd.md=1", "ip=52-54:dhcp"])),
            "title OS\nversion 1\noptions $ignition_firstboot root=LABEL=root rd.md=1 ip=52-54:dhcp\nlinux /k\ninitrd /i\n"
        );
        assert_eq!(edited(entry, &[], &[]), entry);
        assert_eq!(
            edited("title x\noptionsx y", &[], &text(&["a"])),
            "title x\noptionsx y\noptions a\n"
        );
    }
}
