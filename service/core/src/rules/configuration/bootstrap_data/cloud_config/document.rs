//! The YAML document of a cloud-config.

use serde_json::{Map, Value};
use serde_saphyr::options::DuplicateKeyPolicy;

use super::super::items;
use super::super::refused::Refused;

/// Most bytes of all texts, with those that anchors repeat: the longest text that a template renders.
const MAX_TEXTS: usize = 4 << 20;

/// First bytes of other forms of user-data, in lower case, with their names. The longer of two comes first.
const OTHERS: [(&str, &str); 12] = [
    ("#cloud-config-archive", "a cloud-config archive"),
    ("#cloud-config-jsonp", "a JSON patch"),
    ("#cloud-boothook", "a boot hook"),
    ("#include-once", "an #include"),
    ("#include", "an #include"),
    ("#part-handler", "a part handler"),
    ("#upstart-job", "an upstart job"),
    ("#!", "a script"),
    ("content-type:", "a MIME message"),
    ("mime-version:", "a MIME message"),
    ("from ", "a MIME message"),
    ("## template:", "a template, which must begin in the first line"),
];

/// Checks that `text` begins as a cloud-config does.
///
/// # Errors
/// Names the form that it has.
pub(super) fn check_form(text: &str) -> Result<(), Refused> {
    let start: String = text
        .trim_start()
        .chars()
        .take(64)
        .collect::<String>()
        .to_lowercase();
    if let Some((_, name)) = OTHERS.iter().find(|(first, _)| start.starts_with(first)) {
        return Err(Refused::new(
            "line 1",
            format!("is of {name}, which needs an image with cloud-init; write #cloud-config or Ignition"),
        ));
    }
    let rest = start.strip_prefix("#cloud-config");
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace)) {
        return Ok(());
    }
    Err(Refused::new(
        "line 1",
        "is neither #cloud-config nor that of Ignition (set format: ignition or format: cloud-config at the bootstrap provider)",
    ))
}

/// Parses the document as cloud-init's parser does: YAML 1.1, of two equal keys the later counts. `skipped`: lines that
/// were taken off its beginning.
///
/// # Errors
/// The line that is no YAML.
pub(super) fn parse(text: &str, skipped: usize) -> Result<Value, Refused> {
    let has_content = text
        .lines()
        .map(str::trim)
        .any(|line| !line.is_empty() && !line.starts_with('#'));
    if !has_content {
        return Ok(Value::Object(Map::new()));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_total_scalar_bytes: MAX_TEXTS },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let read = serde_saphyr::from_str_with_options::<Value>(text, options);
    let config = read.map_err(|error| {
        // The error's own text may quote the data.
        let line = error.location().map(|location| location.line());
        let why = "is not YAML of one document";
        match line.and_then(|line| usize::try_from(line).ok()) {
            Some(line) => Refused::new(format!("line {}", line + skipped), why),
            None => Refused::new("value", why),
        }
    })?;
    items::check(&config)?;
    match config {
        Value::Null => Ok(Value::Object(Map::new())),
        config => Ok(config),
    }
}
