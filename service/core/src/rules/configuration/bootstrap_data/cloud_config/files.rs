//! `write_files`. Files of places that are empty at each boot (`/run`) are kept in `/etc` and copied by tmpfiles.d.

mod content;
mod place;

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::super::refused::Refused;
use super::made::{FOLDER, Made};
use super::node::{Members, Node};
use content::{Content, Unpacking};
use place::Place;

const MEMBERS: [&str; 7] = [
    "append",
    "content",
    "defer",
    "encoding",
    "owner",
    "path",
    "permissions",
];

/// Mode of files without `permissions`.
const MODE: u32 = 0o644;

/// The file by which systemd-tmpfiles copies others.
const COPIES: &str = "/etc/tmpfiles.d/muster-bootstrap.conf";

struct File {
    place: Place,
    mode: u32,
    user: Owner,
    group: Owner,
    contents: Option<Content>,
    /// After the contents, or after what the image has.
    appended: Vec<Content>,
}

#[derive(Clone, PartialEq, Eq)]
enum Owner {
    Id(u32),
    Name(String),
}

pub(super) fn translate(list: &Node<'_>, made: &mut Made) -> Result<(), Refused> {
    let mut files: Vec<File> = Vec::new();
    let mut known = HashMap::new();
    let mut unpacking = Unpacking::default();
    for item in list.items()? {
        let entry = item.members(&MEMBERS)?;
        let is_appended = entry.flag("append")?;
        // Users and groups are made before files in any case.
        entry.flag("defer")?;
        let file = file(&entry, is_appended, &mut unpacking)?;
        let index = *known.entry(file.place.path.clone()).or_insert(files.len());
        // As when they are written one after the other.
        match files.get_mut(index) {
            Some(known) if is_appended => {
                known.appended.extend(file.appended);
                known.mode = file.mode;
                known.user = file.user;
                known.group = file.group;
            }
            Some(known) => *known = file,
            None => files.push(file),
        }
    }
    let copies = copies(&files);
    made.files.extend(files.into_iter().map(File::into_ignition));
    if !copies.is_empty() {
        made.file(COPIES, MODE, &copies);
    }
    Ok(())
}

fn file(entry: &Members<'_>, is_appended: bool, unpacking: &mut Unpacking) -> Result<File, Refused> {
    let content = unpacking.read(entry)?;
    let (user, group) = owners(entry)?;
    let (contents, appended) = if is_appended {
        (None, vec![content])
    } else {
        (Some(content), Vec::new())
    };
    Ok(File {
        place: place::read(&entry.need("path")?)?,
        mode: mode(entry)?,
        user,
        group,
        contents,
        appended,
    })
}

/// Octal text, or a number as YAML has it.
fn mode(entry: &Members<'_>) -> Result<u32, Refused> {
    let Some(node) = entry.get("permissions") else {
        return Ok(MODE);
    };
    let mode = match node.value() {
        Value::Number(number) => number.as_u64().and_then(|mode| u32::try_from(mode).ok()),
        Value::String(text) => {
            let digits = text.trim();
            let digits = digits.strip_prefix("0o").unwrap_or(digits);
            let is_octal = digits.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
            u32::from_str_radix(digits, 8).ok().filter(|_| is_octal)
        }
        _ => None,
    };
    match mode {
        Some(mode @ ..=0o777) => Ok(mode),
        Some(0o1000..=0o7777) => {
            Err(node.refuse("has a bit for setuid, setgid or sticky, which Ignition 3.3.0 does not set"))
        }
        _ => Err(node.refuse("must be octal, from '0000' to '0777'")),
    }
}

/// `user`, `user:group` or `:group`; what is not there, is root.
fn owners(entry: &Members<'_>) -> Result<(Owner, Owner), Refused> {
    let Some(node) = entry.get("owner") else {
        return Ok((Owner::Id(0), Owner::Id(0)));
    };
    let text = node.line()?;
    let (user, group) = text.split_once(':').unwrap_or((text, ""));
    Ok((owner(&node, user)?, owner(&node, group)?))
}

fn owner(node: &Node<'_>, name: &str) -> Result<Owner, Refused> {
    let name = name.trim();
    if matches!(name, "" | "root" | "-1") || name.eq_ignore_ascii_case("none") {
        return Ok(Owner::Id(0));
    }
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        let id = name.parse();
        return id
            .map(Owner::Id)
            .map_err(|_| node.refuse("has an id that is too large"));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.chars().all(is_plain) || name.starts_with('-') {
        return Err(node.refuse("must be user:group, with letters, digits, dots, hyphens and underscores"));
    }
    Ok(Owner::Name(name.to_owned()))
}

impl Owner {
    fn into_ignition(self) -> Value {
        match self {
            Self::Id(id) => json!({"id": id}),
            Self::Name(name) => json!({"name": name}),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Id(id) => id.to_string(),
            Self::Name(name) => name.clone(),
        }
    }
}

impl File {
    /// Where Ignition writes it.
    fn written(&self) -> String {
        match self.place.is_volatile {
            true => format!("{FOLDER}{}", self.place.path),
            false => self.place.path.clone(),
        }
    }

    fn into_ignition(self) -> Value {
        let path = self.written();
        let mut file = Map::new();
        file.insert("path".into(), path.into());
        file.insert("mode".into(), self.mode.into());
        file.insert("user".into(), self.user.into_ignition());
        file.insert("group".into(), self.group.into_ignition());
        if let Some(contents) = self.contents {
            file.insert("overwrite".into(), true.into());
            file.insert("contents".into(), contents.into_ignition());
        }
        if !self.appended.is_empty() {
            let appended = self.appended.into_iter().map(Content::into_ignition);
            file.insert("append".into(), appended.collect());
        }
        Value::Object(file)
    }
}

/// Lines of tmpfiles.d(5): folders as they are, or with mode 0755 where they are missing; files copied where they are
/// missing, which at the boot they are.
fn copies(files: &[File]) -> String {
    let mut text = String::new();
    let mut folders = HashSet::new();
    for file in files.iter().filter(|file| file.place.is_volatile) {
        for folder in file.place.folders() {
            if !folders.contains(&folder) {
                // Writing to a text cannot fail.
                writeln!(text, "d {folder} - - - -").unwrap_or_default();
                folders.insert(folder);
            }
        }
        writeln!(
            text,
            "C {} {:04o} {} {} - {}",
            file.place.path,
            file.mode,
            file.user.text(),
            file.group.text(),
            file.written()
        )
        .unwrap_or_default();
    }
    text
}
