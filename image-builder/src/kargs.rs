//! Writes the kernel-argument area of a live image (`docs/live-image.md`, `kargs`).
//!
//! GRUB reads the area as the end of a `linux` line of its script, so what has a meaning there is escaped.

use serde::{Deserialize, Serialize};

/// Place and form of the reserved areas: the shape of CoreOS's `coreos/kargs.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KargsLayout {
    /// The arguments of an image without additions.
    pub default: String,
    /// Bytes of each area.
    pub size: usize,
    /// The character that ends the arguments.
    #[serde(default = "newline")]
    pub end: String,
    /// The character that fills the rest.
    #[serde(default = "hash")]
    pub pad: String,
    /// The areas; all hold the same.
    pub files: Vec<KargsFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KargsFile {
    /// Path in the ISO.
    pub path: String,
    /// Offset of the area in that file.
    pub offset: u64,
}

fn newline() -> String {
    "\n".into()
}

fn hash() -> String {
    "#".into()
}

/// Arguments cannot be written.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KargsError {
    #[error(
        "kernel arguments need {needed} bytes with those of the image, the image reserves {limit}: shorten them by {} bytes",
        needed - limit
    )]
    TooLong {
        /// Bytes of all arguments, escaped, with the end mark.
        needed: usize,
        limit: usize,
    },
    /// A line break or another control character would end the boot entry.
    #[error("kernel argument number {number} holds a control character")]
    ControlCharacter {
        /// Its place in the list, from 1.
        number: usize,
    },
}

impl KargsLayout {
    /// All bytes of one area, for these arguments behind the image's own.
    pub fn area(&self, arguments: &[String]) -> Result<Vec<u8>, KargsError> {
        let mut text = self.default.clone();
        for (index, argument) in arguments.iter().enumerate() {
            if argument.chars().any(char::is_control) {
                return Err(KargsError::ControlCharacter { number: index + 1 });
            }
            text.push(' ');
            escape(argument, &mut text);
        }
        text.push_str(&self.end);
        let mut area = text.into_bytes();
        if area.len() > self.size {
            return Err(KargsError::TooLong {
                needed: area.len(),
                limit: self.size,
            });
        }
        let pad = self.pad.as_bytes().first().copied().unwrap_or(b'#');
        area.resize(self.size, pad);
        Ok(area)
    }
}

/// Escapes for GRUB's script lexer. Within double quotes only `\` and `$` have a meaning, and a backslash
/// before anything else would stay (GRUB manual, "Quoting"); a `#` begins a comment where a word begins.
fn escape(argument: &str, out: &mut String) {
    let mut quoted = false;
    for (index, character) in argument.chars().enumerate() {
        let special = match character {
            '"' => {
                quoted = !quoted;
                false
            }
            '\\' | '$' => true,
            ';' | '&' | '|' | '<' | '>' | '{' | '}' | '\'' => !quoted,
            '#' => index == 0,
            _ => false,
        };
        if special {
            out.push('\\');
        }
        out.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize) -> KargsLayout {
        KargsLayout {
            default: "quiet".into(),
            size,
            end: newline(),
            pad: hash(),
            files: vec![],
        }
    }

    fn area(arguments: &[&str]) -> String {
        let arguments: Vec<String> = arguments.iter().map(|text| text.to_string()).collect();
        String::from_utf8(layout(40).area(&arguments).unwrap()).unwrap()
    }

    #[test]
    fn an_area_without_arguments_is_the_default_and_padding() {
        assert_eq!(area(&[]), format!("quiet\n{}", "#".repeat(34)));
    }

    #[test]
    fn arguments_follow_the_default() {
        assert_eq!(area(&["a=1", "b"]), format!("quiet a=1 b\n{}", "#".repeat(28)));
    }

    #[test]
    fn what_grub_would_interpret_is_escaped() {
        assert_eq!(
            area(&[r"a=\$;&|<>{}'"]).lines().next().unwrap(),
            r"quiet a=\\\$\;\&\|\<\>\{\}\'"
        );
        assert_eq!(area(&["#x", "y#z"]).lines().next().unwrap(), r"quiet \#x y#z");
    }

    #[test]
    fn inside_double_quotes_only_backslash_and_dollar_are_escaped() {
        assert_eq!(
            area(&[r#"a="b; $c""#]).lines().next().unwrap(),
            r#"quiet a="b; \$c""#
        );
    }

    #[test]
    fn an_exact_fit_is_taken_and_one_byte_more_names_the_numbers() {
        let exact = "x".repeat(33);
        assert_eq!(layout(40).area(std::slice::from_ref(&exact)).unwrap().len(), 40);
        let error = layout(40).area(&[exact + "x"]).unwrap_err();
        assert_eq!(
            error,
            KargsError::TooLong {
                needed: 41,
                limit: 40
            }
        );
        assert!(error.to_string().contains("shorten them by 1 bytes"));
    }

    #[test]
    fn a_line_break_is_refused() {
        let error = layout(40)
            .area(&["ok".into(), "a\nmenuentry".into()])
            .unwrap_err();
        assert_eq!(error, KargsError::ControlCharacter { number: 2 });
    }
}
