//! The large documents of a host as JSON text.

use super::host::Host;
use crate::json::to_json;

/// The large parts of a host, each as JSON text as the API returns it; empty: absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostTexts {
    /// Of an [`Inventory`](muster_api::inventory::Inventory).
    pub inventory: String,
    /// Of a [`ConnectivityReport`](muster_api::steps::ConnectivityReport).
    pub connectivity: String,
    /// Of a list of [`FreeNetworkAddresses`](muster_api::steps::FreeNetworkAddresses).
    pub free_addresses: String,
}

impl HostTexts {
    /// The texts of a host that was read as a whole.
    pub fn of(host: &Host) -> Self {
        let reports = &host.reports;
        Self {
            inventory: host.inventory.as_deref().map(to_json).unwrap_or_default(),
            connectivity: reports.connectivity.as_ref().map(to_json).unwrap_or_default(),
            free_addresses: match reports.free_addresses.is_empty() {
                true => String::new(),
                false => to_json(&reports.free_addresses),
            },
        }
    }
}
