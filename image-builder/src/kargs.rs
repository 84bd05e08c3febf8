//! Writes the kernel-argument areas of a discovery image (`docs/live-image.md`, `kargs`).
//!
//! A boot loader reads an area as the end of a line of its configuration. GRUB's is a script, so characters with a meaning there are
//! escaped; others pass the line on as it is.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::iso9660::{Extent, Iso, IsoError};
use crate::overlay::{Piece, Plan};
use crate::read_at::ReadAt;

/// An area beyond this exceeds x86's kernel command line (2048 bytes) without use.
/// Source: docs/protocol/image-service.md#8.
const LARGEST_AREA: usize = 2048;

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
    /// Overrides the layout's; in CoreOS's images each file has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Like `end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pad: Option<String>,
}

/// The areas of an image as they were found and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KargsAreas {
    default: String,
    size: usize,
    areas: Vec<Area>,
}

/// One place where the arguments are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// First byte, from the start of the image.
    pub offset: u64,
    pub end: u8,
    pub pad: u8,
    pub reader: Reader,
}

/// The program that reads an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// GRUB, in a script.
    Grub,
    /// Another, which takes the line as it is.
    Plain,
}

impl Reader {
    fn of(path: &str) -> Self {
        if path.ends_with(".cfg") && path.to_ascii_lowercase().contains("grub") {
            Self::Grub
        } else {
            Self::Plain
        }
    }
}

/// The image lacks areas that it describes.
#[derive(Debug, thiserror::Error)]
pub enum AreaError {
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// A file that holds an area is missing.
    #[error("it lacks /{path}, which holds an area for kernel arguments")]
    Missing { path: String },
    /// Its parts disagree.
    #[error("{0}")]
    Inconsistent(String),
}

fn newline() -> String {
    "\n".into()
}

fn hash() -> String {
    "#".into()
}

/// Arguments cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
    /// Finds the areas in an image, and checks that each holds the default: writing at a wrong place would break the boot menu.
    pub fn locate<R: ReadAt + ?Sized>(&self, source: &R, iso: &Iso<'_, R>) -> Result<KargsAreas, AreaError> {
        check_size(self.size)?;
        let byte = |text: &str| match text.as_bytes() {
            &[byte] => Ok(byte),
            _ => Err(AreaError::Inconsistent(
                "`end` and `pad` of the kernel arguments must be one byte each".into(),
            )),
        };
        let mut areas = Vec::new();
        for file in &self.files {
            let path = &file.path;
            let extent = iso
                .find(path)?
                .ok_or_else(|| AreaError::Missing { path: path.clone() })?;
            let area = file.offset.checked_add(self.size as u64);
            if area.is_none_or(|end| end > extent.length) {
                return Err(AreaError::Inconsistent(format!(
                    "the kernel-argument area of {} bytes at {} is not within /{path} of {} bytes",
                    self.size, file.offset, extent.length
                )));
            }
            areas.push(Area {
                offset: extent.offset + file.offset,
                end: byte(file.end.as_ref().unwrap_or(&self.end))?,
                pad: byte(file.pad.as_ref().unwrap_or(&self.pad))?,
                reader: Reader::of(path),
            });
        }
        KargsAreas::checked(source, self.default.clone(), self.size, areas)
    }
}

impl KargsAreas {
    /// Areas that hold `default` in `source`.
    pub(crate) fn checked<R: ReadAt + ?Sized>(
        source: &R,
        default: String,
        size: usize,
        areas: Vec<Area>,
    ) -> Result<Self, AreaError> {
        check_size(size)?;
        let inconsistent = |what: String| Err(AreaError::Inconsistent(what));
        if areas.is_empty() {
            return inconsistent("no file has a kernel-argument area".into());
        }
        let found = Self { default, size, areas };
        for (area, wanted) in found.areas.iter().zip(found.images_own()?) {
            let mut present = vec![0; size];
            source
                .read_exact_at(&mut present, area.offset)
                .map_err(IsoError::Read)?;
            if present != wanted.1 {
                return inconsistent(format!(
                    "it does not hold the default kernel arguments at byte {}, or somebody has changed them",
                    area.offset
                ));
            }
        }
        Ok(found)
    }

    /// The arguments of an image without additions, separated by spaces.
    pub fn default_arguments(&self) -> &str {
        &self.default
    }

    /// The default arguments without the consoles of a kind (display or serial line) for which the user's arguments have a `console=`: the
    /// kernel prints to the first serial line that is named, and would never reach the user's.
    #[must_use]
    pub fn default_arguments_before(&self, arguments: &[String]) -> String {
        let chosen: Vec<Console> = arguments
            .iter()
            .filter_map(|argument| Console::of(argument))
            .collect();
        let kept = self.default.split(' ').filter(|own| {
            let console = Console::of(own);
            console.is_none_or(|console| !chosen.contains(&console))
        });
        kept.collect::<Vec<_>>().join(" ")
    }

    /// The places of the areas in the image.
    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        self.areas.iter().map(|area| Extent {
            offset: area.offset,
            length: self.size as u64,
        })
    }

    /// The same areas with other default arguments.
    #[must_use]
    pub fn with_default(&self, default: String) -> Self {
        Self {
            default,
            ..self.clone()
        }
    }

    /// Offset and bytes of each area, for these arguments after the image's own.
    pub fn written(&self, arguments: &[String]) -> Result<Vec<(u64, Bytes)>, KargsError> {
        let area = |area: &Area| {
            let bytes = area_bytes(&self.default, arguments, self.size, *area)?;
            Ok((area.offset, Bytes::from(bytes)))
        };
        self.areas.iter().map(area).collect()
    }

    /// An image that was made with these areas, with one more argument after the existing ones; `None`: it does not fit, or an area of the
    /// image was not written. The argument must not hold characters that GRUB would interpret.
    pub(crate) fn appended(&self, plan: &Plan, argument: &str) -> Option<Plan> {
        let mut next = plan.clone();
        for area in &self.areas {
            let mut bytes = Vec::with_capacity(self.size);
            for piece in plan.range(area.offset..area.offset + self.size as u64) {
                match piece {
                    Piece::Bytes(part) => bytes.extend_from_slice(&part),
                    Piece::Base(_) | Piece::Zeros(_) => return None,
                }
            }
            let end = bytes.iter().rposition(|&byte| byte != area.pad)?;
            if bytes[end] != area.end {
                return None;
            }
            bytes.truncate(end);
            bytes.push(b' ');
            bytes.extend_from_slice(argument.as_bytes());
            bytes.push(area.end);
            if bytes.len() > self.size {
                return None;
            }
            bytes.resize(self.size, area.pad);
            next = next.overlaid(area.offset, Piece::Bytes(bytes.into())).ok()?;
        }
        Some(next)
    }

    fn images_own(&self) -> Result<Vec<(u64, Bytes)>, AreaError> {
        self.written(&[])
            .map_err(|error| AreaError::Inconsistent(error.to_string()))
    }
}

/// The kind of device that a `console=` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Console {
    Display,
    Serial,
}

impl Console {
    fn of(argument: &str) -> Option<Self> {
        let device = argument.strip_prefix("console=")?;
        let display = device
            .strip_prefix("tty")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(|first: char| first.is_ascii_digit()));
        Some(if display { Self::Display } else { Self::Serial })
    }
}

fn check_size(size: usize) -> Result<(), AreaError> {
    if size == 0 || size > LARGEST_AREA {
        return Err(AreaError::Inconsistent(format!(
            "a kernel-argument area of {size} bytes; 1 to {LARGEST_AREA} are sensible"
        )));
    }
    Ok(())
}

/// All bytes of one area of `size` bytes, for these arguments after the image's own.
pub fn area_bytes(
    default: &str,
    arguments: &[String],
    size: usize,
    area: Area,
) -> Result<Vec<u8>, KargsError> {
    let mut text = default.to_owned();
    for (index, argument) in arguments.iter().enumerate() {
        if argument.chars().any(char::is_control) {
            return Err(KargsError::ControlCharacter { number: index + 1 });
        }
        text.push(' ');
        match area.reader {
            Reader::Grub => escape(argument, &mut text),
            Reader::Plain => text.push_str(argument),
        }
    }
    let mut bytes = text.into_bytes();
    bytes.push(area.end);
    if bytes.len() > size {
        return Err(KargsError::TooLong {
            needed: bytes.len(),
            limit: size,
        });
    }
    bytes.resize(size, area.pad);
    Ok(bytes)
}

/// Escapes for GRUB's script lexer. Within double quotes only `\` and `$` have a meaning, and a backslash before any other character would
/// stay (GRUB manual, "Quoting"); a `#` begins a comment where a word begins.
///
/// GRUB's loader writes words with spaces as `"name=value with spaces"`, wherever the quotes were, and puts a backslash before `'` and `\`;
/// nothing avoids that (seen with GRUB 2.06).
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

    #[test]
    fn an_argument_is_appended_where_there_is_room_and_nothing_else_changes() {
        let areas = KargsAreas {
            default: "quiet".into(),
            size: 24,
            areas: vec![Area { offset: 10, ..GRUB }],
        };
        let base = Plan::of_base(Extent {
            offset: 0,
            length: 99,
        });
        assert_eq!(
            areas.appended(&base, "a.b=1"),
            None,
            "nobody has written the area"
        );
        let written = areas.written(&["x=1".into()]).unwrap().remove(0).1;
        let made = base.overlaid(10, Piece::Bytes(written)).unwrap();
        let next = areas.appended(&made, "a.b=1").unwrap();
        let expected = areas
            .written(&["x=1".into(), "a.b=1".into()])
            .unwrap()
            .remove(0)
            .1;
        assert_eq!(next, base.overlaid(10, Piece::Bytes(expected)).unwrap());
        assert!(areas.appended(&next, "c=45678").is_some(), "to the last byte");
        assert_eq!(areas.appended(&next, "c=456789"), None);
    }

    const GRUB: Area = Area {
        offset: 0,
        end: b'\n',
        pad: b'#',
        reader: Reader::Grub,
    };

    fn area_of(arguments: &[&str], area: Area) -> Result<String, KargsError> {
        let arguments: Vec<String> = arguments.iter().map(|text| text.to_string()).collect();
        area_bytes("quiet", &arguments, 48, area).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    fn area(arguments: &[&str]) -> String {
        area_of(arguments, GRUB).unwrap()
    }

    #[test]
    fn an_area_without_arguments_is_the_default_and_padding() {
        assert_eq!(area(&[]), format!("quiet\n{}", "#".repeat(42)));
    }

    #[test]
    fn arguments_follow_the_default() {
        assert_eq!(area(&["a=1", "b"]), format!("quiet a=1 b\n{}", "#".repeat(36)));
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
    fn loaders_that_read_no_script_get_the_argument_as_it_is() {
        let plain = Area {
            reader: Reader::Plain,
            ..GRUB
        };
        let area = area_of(&[r#"a="b; $c" d&e"#], plain).unwrap();
        assert_eq!(area.lines().next().unwrap(), r#"quiet a="b; $c" d&e"#);
    }

    #[test]
    fn an_exact_fit_is_taken_and_one_byte_more_names_the_numbers() {
        let exact = "x".repeat(41);
        assert_eq!(area(&[&exact]).len(), 48);
        let error = area_of(&[&(exact + "x")], GRUB).unwrap_err();
        assert_eq!(
            error,
            KargsError::TooLong {
                needed: 49,
                limit: 48
            }
        );
        assert!(error.to_string().contains("shorten them by 1 bytes"));
    }

    #[test]
    fn a_console_of_the_user_replaces_those_of_its_kind() {
        let areas = KargsAreas {
            default: "quiet console=tty0 console=ttyS0,115200n8 console=ttyS1,115200n8 panic=60".to_owned(),
            size: 100,
            areas: Vec::new(),
        };
        let before = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|text| text.to_string()).collect();
            areas.default_arguments_before(&arguments)
        };
        assert_eq!(before(&["a=console=ttyS5"]), areas.default);
        assert_eq!(before(&["console=ttyS1,57600"]), "quiet console=tty0 panic=60");
        assert_eq!(
            before(&["console=tty1"]),
            "quiet console=ttyS0,115200n8 console=ttyS1,115200n8 panic=60"
        );
        assert_eq!(before(&["console=tty0", "console=ttyAMA0"]), "quiet panic=60");
    }

    #[test]
    fn a_line_break_is_refused() {
        let error = area_of(&["ok", "a\nmenuentry"], GRUB).unwrap_err();
        assert_eq!(error, KargsError::ControlCharacter { number: 2 });
    }
}
