//! Computes the id under which a host registers. Source of the rules: docs/protocol/agent-inventory.md#14.

use md5::{Digest, Md5};
use muster_api::ids::HostId;
use muster_api::inventory::Interface;
use uuid::Uuid;

use crate::root::Root;

/// The id of a machine without identifiers of its own (rule 4).
pub(super) const NOTHING: Uuid = Uuid::from_u128(0xdeaddead_dead_dead_dead_deaddeaddead);

/// Board serials that vendors leave in, compared in lower case.
const FORBIDDEN_SERIALS: [&str; 10] = [
    "unknown",
    "none",
    "(none)",
    "-",
    "unspecified base board serial number",
    "unspecified system serial number",
    "default string",
    "not specified",
    "pca_number.acc",
    "",
];

/// System UUIDs that vendors leave in.
const FORBIDDEN_UUIDS: [Uuid; 2] = [
    Uuid::nil(),
    Uuid::from_u128(0x03000200_0400_0500_0006_000700080009),
];

/// MD5 of the board's serial, else the system's UUID, else MD5 of the smallest MAC address of `interfaces`
/// (from the inventory), else [`NOTHING`].
pub fn compute(root: &Root, interfaces: &[Interface]) -> HostId {
    let id = root
        .text("/sys/class/dmi/id/board_serial")
        .ok()
        .and_then(|serial| from_board_serial(&serial))
        .or_else(|| {
            root.text("/sys/class/dmi/id/product_uuid")
                .ok()
                .and_then(|text| from_system_uuid(&text))
        })
        .or_else(|| from_mac(interfaces))
        .unwrap_or(NOTHING);
    HostId(id)
}

fn from_board_serial(serial: &str) -> Option<Uuid> {
    let lower = serial.to_lowercase();
    (!FORBIDDEN_SERIALS.contains(&lower.as_str())).then(|| md5_id(serial))
}

fn from_system_uuid(text: &str) -> Option<Uuid> {
    // Hyphenated form only: the protocol does not recognise the other forms that the parser takes.
    let uuid = Uuid::try_parse(text).ok().filter(|_| text.len() == 36)?;
    (!FORBIDDEN_UUIDS.contains(&uuid)).then_some(uuid)
}

fn from_mac(interfaces: &[Interface]) -> Option<Uuid> {
    let macs = interfaces
        .iter()
        .map(|interface| interface.mac_address.to_lowercase());
    macs.filter(|mac| !mac.is_empty()).min().map(|mac| md5_id(&mac))
}

/// The digest's bytes unchanged: no version and no variant bits.
fn md5_id(text: &str) -> Uuid {
    Uuid::from_bytes(Md5::digest(text.as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    fn machine(board_serial: &str, product_uuid: &str) -> Machine {
        Machine::of(&[
            ("sys/class/dmi/id/board_serial", board_serial),
            ("sys/class/dmi/id/product_uuid", product_uuid),
        ])
    }

    fn nic(mac: &str) -> Interface {
        Interface {
            mac_address: mac.into(),
            ..Interface::default()
        }
    }

    #[test]
    fn the_board_serial_beats_the_system_uuid_and_keeps_its_case() {
        let machine = machine("ABC123\n", "11111111-2222-4333-8444-555555555555\n");
        assert_eq!(
            compute(&machine.root(), &[]).to_string(),
            "bbf2dead-3746-54cb-b32a-917afd236656"
        );
    }

    #[test]
    fn a_serial_that_vendors_leave_in_falls_back_to_the_uuid_in_lower_case() {
        for serial in FORBIDDEN_SERIALS {
            let board = format!("{}\n", serial.to_uppercase());
            let machine = machine(&board, "AAAAAAAA-2222-4333-8444-555555555555\n");
            assert_eq!(
                compute(&machine.root(), &[]).to_string(),
                "aaaaaaaa-2222-4333-8444-555555555555",
                "{serial:?}"
            );
        }
    }

    #[test]
    fn without_usable_dmi_the_smallest_mac_counts() {
        let nics = [nic(""), nic("52:54:00:00:00:01"), nic("02:fc:00:00:00:01")];
        for uuid in [
            "00000000-0000-0000-0000-000000000000",
            "03000200-0400-0500-0006-000700080009",
            "unknown",
            "x",
        ] {
            let machine = machine("\n", uuid);
            assert_eq!(
                compute(&machine.root(), &nics).to_string(),
                "b1f5c5b7-caf8-66bd-addd-439b331f2640",
                "{uuid}"
            );
        }
    }

    #[test]
    fn a_machine_with_nothing_has_the_constant_id() {
        let machine = Machine::new();
        assert_eq!(
            compute(&machine.root(), &[]).to_string(),
            "deaddead-dead-dead-dead-deaddeaddead"
        );
    }
}
