//! Disks, arrays and filesystems.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::object::Holds::{Flag, Number, Text, Texts};
use super::object::{Object, put};
use crate::rules::bootstrap_data::items::MAX_PATH;
use crate::rules::bootstrap_data::refused::Refused;

/// Sectors of 512 bytes in a MiB.
const SECTORS: i64 = 2048;
/// The folder of the installed system while Ignition runs.
const SYSROOT: &str = "/sysroot";

pub(super) fn disks(from: Vec<Object>) -> Result<Vec<Map<String, Value>>, Refused> {
    from.into_iter().map(disk).collect()
}

fn disk(mut from: Object) -> Result<Map<String, Value>, Refused> {
    let mut to = Map::new();
    from.moved(&[("device", Text), ("wipeTable", Flag)], &mut to)?;
    let partitions = from.objects("partitions")?.into_iter().map(partition);
    put(
        &mut to,
        "partitions",
        numbered(partitions.collect::<Result<_, _>>()?),
    );
    from.end()?;
    Ok(to)
}

fn partition(mut from: Object) -> Result<Map<String, Value>, Refused> {
    let mut to = Map::new();
    for (in_sectors, in_mib) in [("size", "sizeMiB"), ("start", "startMiB")] {
        from.moved(&[(in_mib, Number)], &mut to)?;
        let Some(sectors) = from.number(in_sectors)? else {
            continue;
        };
        if to.contains_key(in_mib) {
            return Err(from.refused(in_sectors, format!("is given as {in_mib}, too; keep that one")));
        }
        if sectors < 0 || sectors % SECTORS != 0 {
            let why = format!("must be a multiple of {SECTORS} sectors: Ignition 3 counts in MiB ({in_mib})");
            return Err(from.refused(in_sectors, why));
        }
        to.insert(in_mib.into(), (sectors / SECTORS).into());
    }
    from.moved(
        &[
            ("guid", Text),
            ("label", Text),
            ("number", Number),
            ("shouldExist", Flag),
            ("typeGuid", Text),
            ("wipePartitionEntry", Flag),
        ],
        &mut to,
    )?;
    from.end()?;
    // The next free number, as without one.
    if to.get("number").and_then(Value::as_i64) == Some(0) {
        to.remove("number");
    }
    Ok(to)
}

/// Numbers the partitions of a disk in their order where one has neither number nor label, which Ignition 3 refuses.
fn numbered(mut partitions: Vec<Map<String, Value>>) -> Vec<Map<String, Value>> {
    let has_nameless = partitions
        .iter()
        .any(|partition| !partition.contains_key("number") && !partition.contains_key("label"));
    if !has_nameless {
        return partitions;
    }
    let used: HashSet<i64> = partitions
        .iter()
        .filter_map(|partition| partition.get("number")?.as_i64())
        .collect();
    let mut free = (1_i64..).filter(|number| !used.contains(number));
    for partition in &mut partitions {
        if !partition.contains_key("number")
            && let Some(number) = free.next()
        {
            partition.insert("number".into(), number.into());
        }
    }
    partitions
}

pub(super) fn raid(from: Vec<Object>) -> Result<Vec<Map<String, Value>>, Refused> {
    let array = |mut from: Object| -> Result<Map<String, Value>, Refused> {
        let mut to = Map::new();
        from.moved(
            &[
                ("devices", Texts),
                ("level", Text),
                ("name", Text),
                ("options", Texts),
                ("spares", Number),
            ],
            &mut to,
        )?;
        from.end()?;
        Ok(to)
    };
    from.into_iter().map(array).collect()
}

/// The filesystems of a config.
pub(super) struct Filesystems {
    pub(super) made: Vec<Map<String, Value>>,
    /// Folders of the installed system by the names of filesystems, without a slash at the end; `None`: it is mounted
    /// nowhere.
    folders: HashMap<String, Option<String>>,
}

impl Filesystems {
    /// The folder in which the files of a filesystem lie.
    ///
    /// # Errors
    /// The reason, for the member that names the filesystem.
    pub(super) fn folder(&self, name: &str) -> Result<&str, &'static str> {
        match self.folders.get(name) {
            Some(Some(folder)) => Ok(folder),
            Some(None) => Err(
                "is a filesystem without a path: Ignition 3 writes by paths of the installed system; give its entry of storage.filesystems a path",
            ),
            None if name == "oem" => Err(OEM),
            None => Err("is no name in storage.filesystems; use root for the installed system"),
        }
    }
}

const OEM: &str = "is a filesystem of Flatcar alone, which the OS image does not have";

pub(super) fn filesystems(from: Vec<Object>) -> Result<Filesystems, Refused> {
    let mut folders = HashMap::from([("root".to_owned(), Some(String::new()))]);
    let mut made = Vec::new();
    for mut one in from {
        let name = one.text("name")?.unwrap_or_default();
        if name == "oem" {
            return Err(one.refused("name", OEM));
        }
        let path = one.text("path")?;
        // It stands before the path of each file.
        if path.as_ref().is_some_and(|path| path.len() > MAX_PATH) {
            return Err(one.refused("path", format!("is longer than {MAX_PATH} bytes")));
        }
        let folder = match one.object("mount")? {
            Some(_) if name == "root" => {
                let why = "formats the root filesystem, which the OS image brings along; remove it";
                return Err(one.refused("mount", why));
            }
            Some(mount) => {
                let mut filesystem = filesystem(mount)?;
                if let Some(path) = &path {
                    filesystem.insert("path".into(), path.clone().into());
                }
                made.push(filesystem);
                path
            }
            // It is there already, at a folder of the system in which Ignition runs.
            None => match path {
                Some(path) => Some(installed(&path).ok_or_else(|| {
                    one.refused(
                        "path",
                        "must be /sysroot or below it: the rest is gone after the first boot",
                    )
                })?),
                None => return Err(one.refused("mount", "is needed, or a path")),
            },
        };
        if !name.is_empty() {
            let folder = folder.map(|folder| folder.trim_end_matches('/').to_owned());
            folders.insert(name, folder);
        }
        one.end()?;
    }
    Ok(Filesystems { made, folders })
}

/// The folder of the installed system.
fn installed(path: &str) -> Option<String> {
    let rest = path.strip_prefix(SYSROOT)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_owned())
}

fn filesystem(mut from: Object) -> Result<Map<String, Value>, Refused> {
    let mut to = Map::new();
    from.moved(
        &[
            ("device", Text),
            ("format", Text),
            ("label", Text),
            ("options", Texts),
            ("uuid", Text),
            ("wipeFilesystem", Flag),
        ],
        &mut to,
    )?;
    for needed in ["device", "format"] {
        if !to.contains_key(needed) {
            return Err(from.refused(needed, "is needed"));
        }
    }
    if let Some(mut create) = from.object("create")? {
        if !create.is_set("force")? {
            let why = "must be true: Ignition 3 makes a filesystem where there is none, or wipes it (wipeFilesystem)";
            return Err(create.refused("force", why));
        }
        let mut created = Map::new();
        create.moved(&[("options", Texts)], &mut created)?;
        create.end()?;
        to.insert("wipeFilesystem".into(), true.into());
        if let Some(Value::Array(more)) = created.remove("options") {
            let options = to.entry("options").or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(options) = options {
                options.extend(more);
            }
        }
    }
    from.end()?;
    Ok(to)
}
