//! `mounts`, as units. Source: systemd.mount(5), systemd-fstab-generator(8).

use serde_json::Value;

use super::super::items::MAX_PATH;
use super::super::refused::Refused;
use super::device;
use super::made::Made;
use super::node::Node;
use super::unit_name::escaped;

/// cloud-init's options of a mount without any.
const OPTIONS: &str = "defaults,nofail,_netdev";

/// Links of CoreOS, with what they lead to: no unit mounts through a link.
const LINKS: [(&str, &str); 8] = [
    ("/home", "/var/home"),
    ("/mnt", "/var/mnt"),
    ("/opt", "/var/opt"),
    ("/root", "/var/roothome"),
    ("/srv", "/var/srv"),
    ("/usr/local", "/var/usrlocal"),
    ("/media", "/run/media"),
    ("/var/run", "/run"),
];

/// Adds the mounts, and with them `filesystems`: Ignition mounts those that it makes, before it writes files.
pub(super) fn translate(
    list: &Node<'_>,
    mut filesystems: Vec<Value>,
    made: &mut Made,
) -> Result<(), Refused> {
    for item in list.items()? {
        let fields = item.items()?;
        let [source, place, rest @ ..] = fields.as_slice() else {
            return Err(item.refuse("needs a device and a place to mount it"));
        };
        if rest.len() > 4 {
            return Err(item.refuse("has more than six fields"));
        }
        let mount = Mount {
            what: device::source(source, source.line()?)?,
            place: place_of(place)?,
            kind: field(rest.first(), "auto")?,
            options: field(rest.get(1), OPTIONS)?,
            is_checked: field(rest.get(3), "2")? != "0",
        };
        if mount.kind == "swap" {
            return Err(item.refuse("is swap space; write a .swap unit by write_files"));
        }
        for filesystem in &mut filesystems {
            let label = filesystem["label"].as_str().map(|label| format!("LABEL={label}"));
            let by_label = label.is_some() && label.as_deref() == source.value().as_str();
            if by_label || filesystem["device"] == mount.what.as_str() {
                filesystem["path"] = mount.place.as_str().into();
            }
        }
        let name = format!("{}.mount", escaped(&mount.place));
        made.unit(&name, mount.is_mounted_at_boot(), &mount.unit());
    }
    made.filesystems = filesystems;
    Ok(())
}

/// A field of fstab(5): a word without spaces, or a number.
fn field(node: Option<&Node<'_>>, default: &str) -> Result<String, Refused> {
    let Some(node) = node.filter(|node| !node.value().is_null()) else {
        return Ok(default.to_owned());
    };
    let text = match node.value() {
        Value::Number(number) => number.to_string(),
        _ => node.text()?.to_owned(),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=,._-+:/@".contains(c);
    if text.is_empty() || !text.chars().all(is_plain) {
        return Err(node.refuse("may have letters, digits and =,._-+:/@ only"));
    }
    Ok(text)
}

fn place_of(node: &Node<'_>) -> Result<String, Refused> {
    let text = node.line()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:=".contains(c);
    if !text.starts_with('/') || text.len() > MAX_PATH || !text.chars().all(is_plain) {
        return Err(node.refuse("must be an absolute path of letters, digits and /._-+@:="));
    }
    let parts: Vec<&str> = text
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    if parts.contains(&"..") || parts.is_empty() {
        return Err(node.refuse("must be a folder below /, not through .."));
    }
    let path = format!("/{}", parts.join("/"));
    let leads_through = |link: &str| {
        path.strip_prefix(link)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match LINKS.iter().find(|(link, _)| leads_through(link)) {
        Some((link, target)) => {
            Err(node.refuse(format!("leads through {link}, a link on CoreOS; write {target}")))
        }
        None => Ok(path),
    }
}

struct Mount {
    what: String,
    place: String,
    kind: String,
    options: String,
    is_checked: bool,
}

impl Mount {
    fn has(&self, option: &str) -> bool {
        self.options.split(',').any(|one| one == option)
    }

    fn is_mounted_at_boot(&self) -> bool {
        !self.has("noauto")
    }

    fn unit(&self) -> String {
        let mut unit = "[Unit]\nDescription=Mount of the bootstrap data\n".to_owned();
        if self.is_checked {
            let check = format!("systemd-fsck@{}.service", escaped(&self.what));
            unit += &format!("Requires={check}\nAfter={check}\n");
        }
        unit += &format!("\n[Mount]\nWhat={}\nWhere={}\n", self.what, self.place);
        if self.kind != "auto" {
            unit += &format!("Type={}\n", self.kind);
        }
        // The others are for programs that read fstab.
        let is_own = |option: &&str| {
            !matches!(
                *option,
                "" | "defaults" | "nofail" | "auto" | "noauto" | "_netdev"
            ) && !option.starts_with("x-systemd.")
        };
        let options: Vec<&str> = self.options.split(',').filter(is_own).collect();
        if !options.is_empty() {
            unit += &format!("Options={}\n", options.join(","));
        }
        let tie = if self.has("nofail") {
            "WantedBy"
        } else {
            "RequiredBy"
        };
        unit + &format!("\n[Install]\n{tie}=local-fs.target\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(mounts: &Value, filesystems: Vec<Value>) -> Result<Made, Refused> {
        let mut made = Made::default();
        translate(&Node::root(mounts), filesystems, &mut made)?;
        Ok(made)
    }

    #[test]
    fn a_mount_is_a_unit_of_an_escaped_name() {
        let mounts = json!([
            ["LABEL=etcd_disk", "/var/lib/etcd"],
            [
                "/dev/vdc1",
                "/var/lib/my-data/",
                "ext4",
                "defaults,noatime",
                "0",
                "0"
            ],
            ["vdd", "/var/x", null, "noauto,ro", 0, 2],
        ]);
        let filesystems = vec![
            json!({"device": "/dev/vdb1", "label": "etcd_disk"}),
            json!({"device": "/dev/vde"}),
        ];
        let made = of(&mounts, filesystems).unwrap();
        assert_eq!(made.filesystems[0]["path"], "/var/lib/etcd");
        assert_eq!(made.filesystems[1].get("path"), None);
        assert_eq!(
            made.units[0],
            json!({"name": "var-lib-etcd.mount", "enabled": true, "contents":
                "[Unit]\nDescription=Mount of the bootstrap data\n\
                 Requires=systemd-fsck@dev-disk-by\\x2dlabel-etcd_disk.service\n\
                 After=systemd-fsck@dev-disk-by\\x2dlabel-etcd_disk.service\n\n\
                 [Mount]\nWhat=/dev/disk/by-label/etcd_disk\nWhere=/var/lib/etcd\n\n\
                 [Install]\nWantedBy=local-fs.target\n"})
        );
        assert_eq!(
            made.units[1],
            json!({"name": "var-lib-my\\x2ddata.mount", "enabled": true, "contents":
                "[Unit]\nDescription=Mount of the bootstrap data\n\n\
                 [Mount]\nWhat=/dev/vdc1\nWhere=/var/lib/my-data\nType=ext4\nOptions=noatime\n\n\
                 [Install]\nRequiredBy=local-fs.target\n"})
        );
        assert_eq!(made.units[2]["enabled"], false);
        assert!(
            made.units[2]["contents"]
                .as_str()
                .unwrap()
                .contains("\nOptions=ro\n")
        );
    }

    #[test]
    fn other_mounts_are_refused_by_their_path() {
        for (entry, member) in [
            (json!(["vdb"]), "0"),
            (json!(["vdb", "none", "swap"]), "0.1"),
            (json!(["vdb", "/var/x", "swap"]), "0"),
            (json!(["vdb", "data"]), "0.1"),
            (json!(["vdb", null]), "0.1"),
            (json!(["vdb", "/"]), "0.1"),
            (json!(["vdb", "/var/../x"]), "0.1"),
            (json!(["vdb", "/home/x"]), "0.1"),
            (json!(["vdb", "/var/a b"]), "0.1"),
            (json!(["server:/export", "/var/x", "nfs"]), "0.0"),
            (json!(["vdb", "/var/x", "ext4", "a\nb"]), "0.3"),
            (json!(["vdb", "/var/x", "a", "b", 0, 0, 0]), "0"),
        ] {
            let refused = of(&json!([entry]), Vec::new()).err().unwrap();
            assert_eq!(refused.member, member, "{entry}");
        }
    }
}
