//! Machines boot what the service gives them, and become known. One file a subject; `pool` is their common ground.

#![expect(
    clippy::unwrap_used,
    reason = "a scenario that gets no answer has failed, and its machine and service show why"
)]

mod pool;

mod boot_by_ipxe;
mod boot_by_pxe;
mod boot_by_uefi_http;
mod boot_from_cd;
mod boot_from_usb_stick;
mod findings;
mod hosts_table;
mod power_on_to_inventory;
mod reference_machine;
mod service_restarts;
