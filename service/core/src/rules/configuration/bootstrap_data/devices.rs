//! Devices that a host would wait for in vain, so that its first boot never ends. Source:
//! docs/protocol/capi-day1.md (2).

use std::collections::HashSet;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::nested::{Part, Parts};
use super::refused::Refused;

const FOLDER: &str = "/dev/disk/by-partlabel/";

/// Labels of the partitions of CoreOS images, of any architecture. Source: docs/protocol/target-lab.md.
const COREOS: [&str; 6] = [
    "BIOS-BOOT",
    "EFI-SYSTEM",
    "PowerPC-PReP-boot",
    "boot",
    "reserved",
    "root",
];

/// The partition of SUSE MicroOS that the Ignition of RKE2's provider mounts.
const MICROOS: &str = "p.lxroot";

/// Returns the first filesystem, encrypted volume or array of `config`, of specification 3, with a device by the label of
/// a partition that neither the config makes nor CoreOS has. Configs in it are looked into. Parts that the host fetches
/// may make any partition but the one of SUSE MicroOS.
pub fn unreachable_devices(config: &Value) -> Option<Refused> {
    let parts = match Parts::read(config) {
        Ok(parts) => parts,
        Err(refused) => return Some(refused),
    };
    let applied: Vec<&Part> = parts.all.iter().filter(|part| !part.is_replaced).collect();
    let mut labels: HashSet<&str> = HashSet::from(COREOS);
    labels.extend(applied.iter().flat_map(|part| made(&part.config)));
    for part in &applied {
        for (path, device) in devices(&part.config) {
            let Some(label) = label(device).filter(|label| !labels.contains(label.as_str())) else {
                continue;
            };
            if label == MICROOS {
                return Some(Refused::new(path, FOR_MICROOS).held_by(&part.holder));
            }
            if !parts.has_remote {
                return Some(Refused::new(path, NOT_THERE).held_by(&part.holder));
            }
        }
    }
    None
}

const FOR_MICROOS: &str = "is a partition of SUSE MicroOS (p.lxroot), and the OS image has none of this label, so that the \
                           host would wait for it at its first boot; RKE2's provider leaves it out if \
                           agentConfig.additionalUserData.config begins with `variant: flatcar`";
const NOT_THERE: &str = "is a partition by a label that storage.disks of this config does not make and the OS image does not \
                         have, so that the host would wait for it at its first boot";

/// Labels of the partitions that `config` makes.
fn made(config: &Value) -> impl Iterator<Item = &str> {
    let partitions =
        list(config, "disks").flat_map(|disk| disk["partitions"].as_array().into_iter().flatten());
    partitions.filter_map(|partition| partition["label"].as_str())
}

/// Devices that have to be there, with the paths of the members that name them.
fn devices(config: &Value) -> Vec<(String, &str)> {
    let mut devices = Vec::new();
    for name in ["filesystems", "luks"] {
        for (index, item) in list(config, name).enumerate() {
            let path = format!("storage.{name}.{index}.device");
            devices.extend(item["device"].as_str().map(|device| (path, device)));
        }
    }
    for (index, raid) in list(config, "raid").enumerate() {
        let members = raid["devices"].as_array().into_iter().flatten();
        for (member, device) in members.enumerate() {
            let path = format!("storage.raid.{index}.devices.{member}");
            devices.extend(device.as_str().map(|device| (path, device)));
        }
    }
    devices
}

fn list<'a>(config: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    config["storage"][name].as_array().into_iter().flatten()
}

/// The label of a partition by its device; udev writes characters that a file's name should not have as `\x20`.
fn label(device: &str) -> Option<String> {
    let name = device.strip_prefix(FOLDER)?;
    let name = name.replace('%', "%25").replace("\\x", "%");
    Some(percent_decode_str(&name).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use serde_json::json;

    use super::*;

    fn config(device: &str) -> Value {
        json!({"ignition": {"version": "3.3.0"}, "storage": {"filesystems": [{
            "device": device, "format": "btrfs", "path": "/opt", "mountOptions": ["subvol=@/opt"],
        }]}})
    }

    fn member(config: &Value) -> Option<String> {
        unreachable_devices(config).map(|refused| refused.member)
    }

    #[test]
    fn partitions_of_coreos_and_those_that_the_config_makes_are_there() {
        for there in ["/dev/vdb1", "/dev/disk/by-partlabel/root", "/dev/disk/by-label/x"] {
            assert_eq!(unreachable_devices(&config(there)), None, "{there}");
        }
        let mut own = config("/dev/disk/by-partlabel/my\\x20data");
        let refused = unreachable_devices(&own).unwrap();
        assert_eq!(refused.member, "storage.filesystems.0.device");
        assert!(!refused.to_string().contains("data"), "{refused}");
        own["storage"]["disks"] = json!([{"device": "/dev/vdb", "partitions": [{"label": "my data"}]}]);
        assert_eq!(unreachable_devices(&own), None);
        own["storage"]["raid"] =
            json!([{"name": "r", "level": "raid1", "devices": ["/dev/vdb1", "/dev/disk/by-partlabel/b"]}]);
        assert_eq!(member(&own).as_deref(), Some("storage.raid.0.devices.1"));
    }

    #[test]
    fn the_mount_of_rke2_is_refused_with_the_way_out_wherever_it_is() {
        let rke2 = config("/dev/disk/by-partlabel/p.lxroot");
        let why = unreachable_devices(&rke2).unwrap().to_string();
        assert!(why.starts_with("`storage.filesystems.0.device`: "), "{why}");
        assert!(
            why.contains("SUSE MicroOS") && why.contains("`variant: flatcar`"),
            "{why}"
        );

        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(rke2.to_string().as_bytes()).unwrap();
        let packed = STANDARD.encode(gzip.finish().unwrap());
        let replace = json!({"ignition": {"version": "3.3.0", "config": {"replace": {
            "source": format!("data:;base64,{packed}"), "compression": "gzip",
        }}}});
        let inside = "ignition.config.replace.source -> storage.filesystems.0.device";
        assert_eq!(member(&replace).as_deref(), Some(inside));
        // A remote part may make partitions, but not this one.
        let plain = STANDARD.encode(rke2.to_string());
        let merge = json!({"ignition": {"version": "3.4.0", "config": {"merge": [
            {"source": "https://config.example/a"}, {"source": format!("data:application/json;base64,{plain}")},
        ]}}});
        let inside = "ignition.config.merge.1.source -> storage.filesystems.0.device";
        assert_eq!(member(&merge).as_deref(), Some(inside));
        let mut other = config("/dev/disk/by-partlabel/data");
        assert!(member(&other).is_some());
        other["ignition"]["config"] = json!({"merge": [{"source": "https://config.example/a"}]});
        assert_eq!(member(&other), None);
        // Nothing of a config that is replaced is applied.
        let mut replaced = config("/dev/disk/by-partlabel/p.lxroot");
        let empty = STANDARD.encode(r#"{"ignition":{"version":"3.3.0"}}"#);
        replaced["ignition"]["config"] = json!({"replace": {"source": format!("data:;base64,{empty}")}});
        assert_eq!(member(&replaced), None);
    }

    #[test]
    fn configs_in_configs_have_a_limit_of_levels_and_of_bytes() {
        let mut nested = config("/dev/vdb1");
        for _ in 0..5 {
            let inner = STANDARD.encode(nested.to_string());
            nested = json!({"ignition": {"version": "3.3.0", "config": {"merge": [
                {"source": format!("data:;base64,{inner}")},
            ]}}});
        }
        let why = unreachable_devices(&nested).unwrap().to_string();
        assert!(why.contains("more than 4 levels deep"), "{why}");

        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&vec![b' '; (8 << 20) + 1]).unwrap();
        let packed = STANDARD.encode(gzip.finish().unwrap());
        let large = json!({"ignition": {"version": "3.3.0", "config": {"merge": [
            {"source": format!("data:;base64,{packed}"), "compression": "gzip"},
        ]}}});
        let why = unreachable_devices(&large).unwrap().to_string();
        assert!(why.contains("larger than 8388608 bytes"), "{why}");
    }
}
