//! The virtual drive: QEMU's arguments for it, and its medium.

use serde_json::json;

use crate::qemu::Qmp;

/// The drive's name for QEMU.
const DRIVE: &str = "virtual-drive";

/// Places in the order of boot; the first disk is between them ([`Machine::managed`](crate::qemu::Machine::managed)).
const FIRST: u8 = 1;
const LAST: u8 = 3;

/// Arguments for an empty drive, with the processors stopped.
pub(super) fn arguments(is_first: bool) -> Vec<String> {
    let order = if is_first { FIRST } else { LAST };
    vec![
        "-device".to_owned(),
        format!("ide-cd,bus=ide.0,id={DRIVE},bootindex={order}"),
        "-S".to_owned(),
    ]
}

/// Makes the drive the last in the boot order that the next reset gives to the firmware. The order of the pending boot
/// was stored when QEMU started.
pub(super) fn set_last(qmp: &mut Qmp) -> Result<(), String> {
    let path = format!("/machine/peripheral/{DRIVE}");
    let arguments = json!({"path": path, "property": "bootindex", "value": LAST});
    qmp.command("qom-set", &arguments).map(drop)
}

/// Inserts the image at that URL into the drive; `number` distinguishes images of one process.
pub(super) fn insert(qmp: &mut Qmp, url: &str, number: usize) -> Result<String, String> {
    let protocol = if url.starts_with("https:") {
        "https"
    } else {
        "http"
    };
    let mut file = json!({"driver": protocol, "url": url, "readahead": 256 * 1024});
    if protocol == "https" {
        file["sslverify"] = "off".into();
    }
    let node = format!("image{number}");
    let image = json!({"driver": "raw", "node-name": node, "read-only": true, "file": file});
    qmp.command("blockdev-add", &image)?;
    open(qmp)?;
    qmp.command("blockdev-insert-medium", &json!({"id": DRIVE, "node-name": node}))?;
    qmp.command("blockdev-close-tray", &json!({"id": DRIVE}))?;
    Ok(node)
}

/// Ejects the image of that name from the drive.
pub(super) fn eject(qmp: &mut Qmp, node: &str) -> Result<(), String> {
    open(qmp)?;
    qmp.command("blockdev-close-tray", &json!({"id": DRIVE}))?;
    qmp.command("blockdev-del", &json!({"node-name": node})).map(drop)
}

/// Opens the drive, whether its system has locked it or not, and removes its medium.
fn open(qmp: &mut Qmp) -> Result<(), String> {
    qmp.command("blockdev-open-tray", &json!({"id": DRIVE, "force": true}))?;
    qmp.command("blockdev-remove-medium", &json!({"id": DRIVE}))
        .map(drop)
}
