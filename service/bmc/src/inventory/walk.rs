use std::time::Instant;

use super::Inventory;
use super::parts;
use crate::connection::{Connection, Link, Resource};
use crate::error::BmcError;
use crate::machine::find::Machine;
use crate::profile::SerialPlace;

/// Reads what the BMC reports, within [`crate::Limits`]; failures are noted.
pub(crate) async fn read(bmc: &mut Connection, machine: &Machine) -> Result<Inventory, BmcError> {
    let system = bmc.get(&machine.system).await?;
    bmc.budget = Some(bmc.limits().inventory_requests);
    let mut walk = Walk {
        until: Instant::now() + bmc.limits().inventory,
        bmc: &mut *bmc,
        notes: Vec::new(),
        over: false,
    };
    let mut inventory = of_system(&system, walk.bmc.profile.serial);
    inventory.bmc_version = Some(machine.identity.firmware.clone()).filter(|text| !text.is_empty());
    parts::fill(&mut walk, machine, &system, &mut inventory).await;
    inventory.notes = std::mem::take(&mut walk.notes);
    Ok(inventory)
}

/// The members of the system itself.
fn of_system(system: &Resource, place: SerialPlace) -> Inventory {
    let text = |pointer| system.text(pointer);
    let (serial, sku) = (text("/SerialNumber"), text("/SKU"));
    let (serial, other) = match (place, &sku) {
        (SerialPlace::Sku, Some(_)) => (sku.clone(), serial),
        _ => (serial, None),
    };
    Inventory {
        vendor: text("/Manufacturer"),
        model: text("/Model"),
        serial,
        sku,
        other_serials: other.into_iter().collect(),
        uuid: text("/UUID"),
        asset_tag: text("/AssetTag"),
        host_name: text("/HostName"),
        bios_version: text("/BiosVersion"),
        boot_mode: text("/Boot/BootSourceOverrideMode"),
        health: text("/Status/HealthRollup").or_else(|| text("/Status/Health")),
        power: text("/PowerState"),
        ..Inventory::default()
    }
}

/// A walk along the links of a BMC that ends after so many requests or so long.
pub(super) struct Walk<'a> {
    bmc: &'a mut Connection,
    until: Instant,
    notes: Vec<String>,
    over: bool,
}

/// Also when the walk is cancelled, later requests are not counted.
impl Drop for Walk<'_> {
    fn drop(&mut self) {
        self.bmc.budget = None;
    }
}

impl Walk<'_> {
    pub async fn get(&mut self, link: &Link) -> Option<Resource> {
        if self.over {
            return None;
        }
        let left = self.until.saturating_duration_since(Instant::now());
        match tokio::time::timeout(left, self.bmc.get(link)).await {
            Ok(read) => self.noted(read),
            Err(_) => {
                self.end("the time for it is over");
                None
            }
        }
    }

    /// The resource that `from` refers to at a pointer.
    pub async fn follow(&mut self, from: &Resource, pointer: &str) -> Option<Resource> {
        let link = self.bmc.reference(&from.value, pointer);
        let link = self.noted(link)??;
        self.get(&link).await
    }

    /// The members of the collection that `from` refers to at a pointer.
    pub async fn members(&mut self, from: &Resource, pointer: &str) -> Vec<Resource> {
        let links = self.member_links(from, pointer).await;
        self.all(links).await
    }

    pub async fn member_links(&mut self, from: &Resource, pointer: &str) -> Vec<Link> {
        let link = self.bmc.reference(&from.value, pointer);
        let Some(Some(collection)) = self.noted(link) else {
            return Vec::new();
        };
        if self.over {
            return Vec::new();
        }
        let left = self.until.saturating_duration_since(Instant::now());
        match tokio::time::timeout(left, self.bmc.members(&collection)).await {
            Ok(found) => self.noted(found).unwrap_or_default(),
            Err(_) => {
                self.end("the time for it is over");
                Vec::new()
            }
        }
    }

    /// The resources of a list of references in `from`.
    pub async fn references(&mut self, from: &Resource, pointer: &str) -> Vec<Resource> {
        let links = self.bmc.references(&from.value, pointer);
        let links = self.noted(links).unwrap_or_default();
        self.all(links).await
    }

    pub async fn all(&mut self, links: Vec<Link>) -> Vec<Resource> {
        let mut read = Vec::new();
        for link in links {
            read.extend(self.get(&link).await);
        }
        read
    }

    /// The service root's member at a pointer.
    pub async fn at_root(&mut self, pointer: &str) -> Option<Resource> {
        let link = self.bmc.reference(&self.bmc.session.root, pointer);
        let link = self.noted(link)??;
        self.get(&link).await
    }

    fn noted<T>(&mut self, read: Result<T, BmcError>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            // Some links lead to nothing.
            Err(BmcError::Refused { refusal, .. }) if matches!(refusal.status, 404 | 501) => None,
            Err(error @ BmcError::TooLarge { .. }) if self.bmc.budget == Some(0) => {
                self.end(&error.to_string());
                None
            }
            Err(error) => {
                // No further request with credentials that are refused.
                self.over |= matches!(error, BmcError::BadCredentials { .. });
                self.note(error.to_string());
                None
            }
        }
    }

    fn end(&mut self, why: &str) {
        self.over = true;
        self.note(format!("the rest is not read: {why}"));
    }

    pub fn note(&mut self, note: String) {
        if self.notes.len() < 20 && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use url::Url;

    use super::*;

    fn system(value: serde_json::Value) -> Resource {
        let base = Url::parse("https://192.0.2.1/").unwrap();
        Resource::new(Link::new(&base, "/1").unwrap(), value, None, None)
    }

    #[test]
    fn the_serial_number_stands_where_the_vendor_keeps_it() {
        let both = system(
            json!({"SerialNumber": " BOARD1 ", "SKU": "ABC1234", "UUID": null, "Status": {"Health": "OK"}}),
        );
        let dell = of_system(&both, SerialPlace::Sku);
        assert_eq!(dell.serial.unwrap(), "ABC1234");
        assert_eq!(dell.other_serials, ["BOARD1"]);
        let other = of_system(&both, SerialPlace::SerialNumber);
        assert_eq!(other.serial.unwrap(), "BOARD1");
        assert_eq!((other.uuid, other.health.unwrap()), (None, "OK".to_owned()));
        let without = system(json!({"SerialNumber": "S"}));
        assert_eq!(of_system(&without, SerialPlace::Sku).serial.unwrap(), "S");
    }
}
