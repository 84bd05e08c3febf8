//! Files, directories and links.

use serde_json::{Map, Value, json};

use super::disks::Filesystems;
use super::object::Holds::{Flag, Number, Text};
use super::object::{Object, put_object};
use super::resources::contents;
use crate::rules::bootstrap_data::refused::Refused;
use crate::rules::ignition_spec::clean;

/// The first specification in which a mode that is absent is 0644, or 0755 of directories; before it was 0.
const HAS_DEFAULT_MODE: u8 = 2;

/// Returns the files, one for each path: a later one replaces those before, or is appended if `append` is set.
pub(super) fn files(
    from: Vec<Object>,
    filesystems: &Filesystems,
    minor: u8,
) -> Result<Vec<Map<String, Value>>, Refused> {
    let mut made = Vec::new();
    for one in from {
        let at = one.at("path");
        if !add(&mut made, file(one, filesystems, minor)?) {
            let why = "is there already, and this one is not to overwrite it; remove one of the two";
            return Err(Refused::new(at, why));
        }
    }
    Ok(made)
}

fn file(mut from: Object, filesystems: &Filesystems, minor: u8) -> Result<Map<String, Value>, Refused> {
    let mut to = node(&mut from, filesystems)?;
    mode(&mut from, &mut to, minor)?;
    let is_appended = from.is_set("append")?;
    let contents = contents(from.object("contents")?)?;
    if is_appended {
        if to.remove("overwrite") == Some(Value::Bool(true)) {
            return Err(from.refused("overwrite", "cannot be true with append"));
        }
        to.insert("append".into(), json!([contents]));
    } else {
        // The default of specification 2; that of 3 is false.
        to.entry("overwrite").or_insert(Value::Bool(true));
        put_object(&mut to, "contents", contents);
    }
    from.end()?;
    Ok(to)
}

/// Adds a file in the form of specification 3. Returns false if there is one with its path that it may not overwrite.
pub(super) fn add(made: &mut Vec<Map<String, Value>>, mut file: Map<String, Value>) -> bool {
    let Some(before) = made.iter_mut().find(|one| one.get("path") == file.get("path")) else {
        made.push(file);
        return true;
    };
    if let Some(Value::Array(more)) = file.remove("append") {
        let appended = before.entry("append").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(appended) = appended {
            appended.extend(more);
        }
        // The last owner and mode count.
        before.append(&mut file);
        return true;
    }
    let overwrites = file.get("overwrite") == Some(&Value::Bool(true));
    if overwrites {
        *before = file;
    }
    overwrites
}

pub(super) fn directories(
    from: Vec<Object>,
    filesystems: &Filesystems,
    minor: u8,
) -> Result<Vec<Map<String, Value>>, Refused> {
    let directory = |mut from: Object| -> Result<Map<String, Value>, Refused> {
        let mut to = node(&mut from, filesystems)?;
        mode(&mut from, &mut to, minor)?;
        from.end()?;
        Ok(to)
    };
    from.into_iter().map(directory).collect()
}

pub(super) fn links(
    from: Vec<Object>,
    filesystems: &Filesystems,
) -> Result<Vec<Map<String, Value>>, Refused> {
    let link = |mut from: Object| -> Result<Map<String, Value>, Refused> {
        let mut to = node(&mut from, filesystems)?;
        from.moved(&[("hard", Flag), ("target", Text)], &mut to)?;
        from.end()?;
        Ok(to)
    };
    from.into_iter().map(link).collect()
}

fn mode(from: &mut Object, to: &mut Map<String, Value>, minor: u8) -> Result<(), Refused> {
    from.moved(&[("mode", Number)], to)?;
    if minor < HAS_DEFAULT_MODE {
        to.entry("mode").or_insert_with(|| 0.into());
    }
    Ok(())
}

/// The members that all three have.
fn node(from: &mut Object, filesystems: &Filesystems) -> Result<Map<String, Value>, Refused> {
    let mut to = Map::new();
    let filesystem = from.text("filesystem")?.unwrap_or_else(|| "root".into());
    let folder = filesystems
        .folder(&filesystem)
        .map_err(|why| from.refused("filesystem", why))?;
    let path = from.text("path")?.unwrap_or_default();
    if !path.starts_with('/') {
        return Err(from.refused("path", "must be absolute"));
    }
    to.insert("path".into(), clean(&format!("{folder}{path}")).into());
    from.moved(&[("overwrite", Flag)], &mut to)?;
    for name in ["user", "group"] {
        if let Some(mut owner) = from.object(name)? {
            let mut owned = Map::new();
            owner.moved(&[("id", Number), ("name", Text)], &mut owned)?;
            owner.end()?;
            put_object(&mut to, name, owned);
        }
    }
    Ok(to)
}
