//! Translates Ignition 2.0 to 2.4 to 3.3 by a closed table of members: each is translated, or refused by its path. Source:
//! docs/protocol/capi-day1.md (2.1); the table for users is docs/bootstrap-data.md.

mod disks;
mod networkd;
mod nodes;
mod object;
mod passwd;
mod references;
mod resources;
mod units;

use serde_json::{Map, Value};

use super::nested::{Unpacking, parsed};
use super::refused::Refused;
use object::{Object, put, put_object};

/// The newest specification of 2.x: the 4 of 2.4.0.
const NEWEST: u8 = 4;
const TARGET: &str = "3.3.0";

/// Returns `config`, of specification 2, in specification 3.3.0. Members without effect (`null`, empty texts, lists and
/// objects) are left out.
///
/// # Errors
/// The first member that 3.3.0 cannot express, that no specification 2.x has, or that Ignition 3.3 refuses after the
/// translation.
pub fn translated(config: &Value) -> Result<Value, Refused> {
    within(config, &mut Unpacking::new(), 0)
}

/// The same of a config that is `level` levels deep in another.
fn within(config: &Value, unpacking: &mut Unpacking, level: usize) -> Result<Value, Refused> {
    let mut from = Object::read(config.clone(), String::new())?;
    let mut to = Map::new();
    let mut ignition = from.section("ignition")?;
    let minor = minor(&mut ignition)?;
    let mut ignition = references::ignition(ignition, unpacking, level)?;
    ignition.insert("version".into(), TARGET.into());
    put_object(&mut to, "ignition", ignition);

    put_object(&mut to, "passwd", passwd::passwd(from.section("passwd")?)?);

    let mut networks = from.section("networkd")?;
    let units = networks.objects("units")?;
    networks.end()?;
    let networks = networkd::files(units)?;
    put_object(
        &mut to,
        "storage",
        storage(from.section("storage")?, networks, minor)?,
    );

    let mut systemd = from.section("systemd")?;
    let mut units = Map::new();
    put(&mut units, "units", units::units(systemd.objects("units")?)?);
    systemd.end()?;
    put_object(&mut to, "systemd", units);
    from.end()?;

    let to = Value::Object(to);
    parsed(&to)
        .map_err(|refused| Refused::new(refused.member, format!("{} (in Ignition {TARGET})", refused.why)))?;
    Ok(to)
}

fn minor(ignition: &mut Object) -> Result<u8, Refused> {
    let version = ignition.text("version")?.unwrap_or_default();
    (0..=NEWEST)
        .find(|minor| version == format!("2.{minor}.0"))
        .ok_or_else(|| {
            ignition.refused(
                "version",
                "must be 2.0.0 to 2.4.0, or a version of specification 3",
            )
        })
}

/// `networks`: files of networkd, which are written last.
fn storage(
    mut from: Object,
    networks: Vec<Map<String, Value>>,
    minor: u8,
) -> Result<Map<String, Value>, Refused> {
    let mut to = Map::new();
    let filesystems = disks::filesystems(from.objects("filesystems")?)?;
    let mut files = nodes::files(from.objects("files")?, &filesystems, minor)?;
    for file in networks {
        nodes::add(&mut files, file);
    }
    put(&mut to, "files", files);
    let directories = nodes::directories(from.objects("directories")?, &filesystems, minor)?;
    put(&mut to, "directories", directories);
    put(
        &mut to,
        "links",
        nodes::links(from.objects("links")?, &filesystems)?,
    );
    put(&mut to, "disks", disks::disks(from.objects("disks")?)?);
    put(&mut to, "raid", disks::raid(from.objects("raid")?)?);
    put(&mut to, "filesystems", filesystems.made);
    from.end()?;
    Ok(to)
}
