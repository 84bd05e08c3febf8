//! Finds the system, its managers and the kind of the BMC (docs/protocol/redfish.md#2.3).

use serde_json::Value;

use super::system::{Manager, System};
use crate::connection::{Connection, Link, Resource};
use crate::error::BmcError;
use crate::json;
use crate::profile::{Identity, Profile};

/// A machine behind a BMC.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub system: Link,
    pub managers: Vec<Link>,
    pub identity: Identity,
}

/// Finds the machine and sets the profile of the connection. `wanted` is the id of the system, needed where there are several.
pub(crate) async fn machine(bmc: &mut Connection, wanted: Option<&str>) -> Result<Machine, BmcError> {
    bmc.session.wire.close = false;
    let vendor = vendor(&bmc.session.root);
    let preferred = first_ids(&vendor, &bmc.session.root);
    let system = system(bmc, wanted, preferred).await?;
    let managers = managers(bmc, &system).await?;
    let first = match managers.first() {
        Some(link) => Some(bmc.get(link).await?),
        None => None,
    };
    let first = first.as_ref().map(Manager);
    let identity = Identity {
        vendor: match vendor.is_empty() {
            true => system.text("/Manufacturer").unwrap_or_default(),
            false => vendor,
        },
        product: json::text(&bmc.session.root, "/Product").unwrap_or_default(),
        manager_model: first.as_ref().map(Manager::model).unwrap_or_default(),
        firmware: first.as_ref().map(Manager::firmware).unwrap_or_default(),
        system_model: system.text("/Model").unwrap_or_default(),
        system_id: System(&system.value).id(),
        processor: system.text("/ProcessorSummary/Model").unwrap_or_default(),
    };
    bmc.profile = Profile::of(&identity);
    bmc.session.wire.close |= bmc.profile.close;
    tracing::debug!(bmc = %bmc.session.wire.address(), profile = bmc.profile.name, "found a system");
    Ok(Machine {
        system: system.link,
        managers,
        identity,
    })
}

/// `Vendor`, or the one key of `Oem`.
fn vendor(root: &Value) -> String {
    let oem = || {
        let mut keys = root.get("Oem")?.as_object()?.keys();
        let first = keys.next()?;
        keys.next().is_none().then(|| first.clone())
    };
    json::text(root, "/Vendor").or_else(oem).unwrap_or_default()
}

/// The ids that the vendor's profile prefers; the profile of a model is known only after its system is.
fn first_ids(vendor: &str, root: &Value) -> &'static [&'static str] {
    let any = |system_model: &str| {
        let identity = Identity {
            vendor: vendor.to_owned(),
            product: json::text(root, "/Product").unwrap_or_default(),
            system_model: system_model.to_owned(),
            ..Identity::default()
        };
        Profile::of(&identity).systems
    };
    match any("") {
        [] => any("DGX"),
        found => found,
    }
}

async fn system(
    bmc: &mut Connection,
    wanted: Option<&str>,
    preferred: &[&str],
) -> Result<Resource, BmcError> {
    let collection = bmc.reference(&bmc.session.root, "/Systems")?;
    let collection = collection.ok_or_else(|| {
        BmcError::NoSystem(": its service root names none. Some BMCs need a restart for that".to_owned())
    })?;
    let links = bmc.members(&collection).await?;
    let by_id = |id: &&str| links.iter().find(|link| link.last().eq_ignore_ascii_case(id));
    let ids = || -> Vec<String> { links.iter().map(|link| link.last().to_owned()).collect() };
    if let Some(id) = wanted {
        let found = by_id(&id).cloned();
        return match found {
            Some(link) => bmc.get(&link).await,
            None => Err(BmcError::NoSystem(format!(
                " {id:?}; it has: {}",
                ids().join(", ")
            ))),
        };
    }
    match &links[..] {
        [] => Err(BmcError::NoSystem(String::new())),
        [one] => bmc.get(&one.clone()).await,
        _ => {
            let mut machines = machines(bmc, &links).await?;
            match (machines.len(), preferred.iter().find_map(by_id).cloned()) {
                (1, _) => Ok(machines.remove(0)),
                (_, Some(link)) => bmc.get(&link).await,
                (_, None) => Err(BmcError::SeveralSystems(ids())),
            }
        }
    }
}

/// Of several systems, those that are whole machines.
async fn machines(bmc: &mut Connection, links: &[Link]) -> Result<Vec<Resource>, BmcError> {
    let mut found = Vec::new();
    for link in links {
        let system = bmc.get(link).await?;
        if System(&system.value).is_machine() {
            found.push(system);
        }
    }
    Ok(found)
}

/// The managers that the system names, otherwise those that name the system, otherwise the only one.
async fn managers(bmc: &mut Connection, system: &Resource) -> Result<Vec<Link>, BmcError> {
    let named = bmc.references(&system.value, "/Links/ManagedBy")?;
    if !named.is_empty() {
        return Ok(named);
    }
    let Some(collection) = bmc.reference(&bmc.session.root, "/Managers")? else {
        return Ok(Vec::new());
    };
    let all = bmc.members(&collection).await?;
    let mut managing = Vec::new();
    for link in &all {
        let manager = bmc.get(link).await?;
        let servers = bmc.references(&manager.value, "/Links/ManagerForServers")?;
        if servers.iter().any(|server| server.is(&system.link)) {
            managing.push(link.clone());
        }
    }
    match (&managing[..], &all[..]) {
        ([], [only]) => Ok(vec![only.clone()]),
        _ => Ok(managing),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_vendor_is_named_by_the_root_or_its_oem_part() {
        assert_eq!(vendor(&json!({"Vendor": "HPE", "Oem": {"Hpe": {}}})), "HPE");
        assert_eq!(
            vendor(&json!({"Vendor": null, "Oem": {"Supermicro": {}}})),
            "Supermicro"
        );
        assert_eq!(vendor(&json!({"Oem": {"A": {}, "B": {}}})), "");
        assert_eq!(vendor(&json!({})), "");
    }

    #[test]
    fn systems_of_nvidia_are_preferred_by_their_ids() {
        assert_eq!(first_ids("NVIDIA", &json!({})), ["DGX", "HGX_Baseboard_0"]);
        assert_eq!(first_ids("Dell", &json!({})), [] as [&str; 0]);
    }
}
