//! Finds the BareMetalHost that has a BMC, for the code that boots machines without Metal3.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::api::ListParams;
use kube::{Client, Resource, ResourceExt};
use muster_controller::error::is_forbidden;
use muster_controller::kinds::is_served;
use muster_controller::namespaces::Namespaces;
use muster_resources::metal3::BareMetalHost;
use tokio::sync::Mutex;

use super::address::BmcAddress;
use super::bare_metal_host::seen::detached;

/// Time for which a list is used: many BMCs are looked up together.
const FRESH: Duration = Duration::from_secs(5);

/// A BareMetalHost, with the fields that concern its BMC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// `namespace/name`.
    pub name: String,
    pub detached: bool,
    address: BmcAddress,
}

/// The BareMetalHosts of an API server, as they were a moment ago.
pub struct Owners {
    client: Client,
    namespaces: Namespaces,
    known: Mutex<Option<(Instant, Arc<Vec<Owner>>)>>,
}

impl Owners {
    /// Returns the BareMetalHosts of `namespaces`, which are watched: others are not found.
    pub fn new(client: Client, namespaces: Namespaces) -> Self {
        Self {
            client,
            namespaces,
            known: Mutex::default(),
        }
    }

    /// The BareMetalHost that has the BMC at `address` (`https://HOST[:PORT]`).
    ///
    /// # Errors
    /// Fails if the API server does; one that does not have the kind has no BareMetalHosts.
    pub async fn of(&self, address: &str) -> Result<Option<Owner>, kube::Error> {
        let Some(asked) = BmcAddress::parse(address) else {
            return Ok(None);
        };
        let all = self.all().await?;
        let same = |owner: &&Owner| {
            let known = &owner.address;
            known.host == asked.host && (known.port.is_none() || known.port == asked.port)
        };
        Ok(all.iter().find(same).cloned())
    }

    async fn all(&self) -> Result<Arc<Vec<Owner>>, kube::Error> {
        let mut known = self.known.lock().await;
        if let Some((_, all)) = known.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(all.clone());
        }
        let mut all = Vec::new();
        for api in self.namespaces.apis::<BareMetalHost>(&self.client) {
            match api.list(&ListParams::default()).await {
                Ok(listed) => all.extend(listed.items.iter().filter_map(owner)),
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                // An API server checks rights before it searches the kind; without the kind no rights to it are needed.
                Err(error) if is_forbidden(&error) && !self.has_kind().await? => {}
                Err(error) => return Err(error),
            }
        }
        let all = Arc::new(all);
        *known = Some((Instant::now(), all.clone()));
        Ok(all)
    }

    async fn has_kind(&self) -> Result<bool, kube::Error> {
        let (group_version, plural) = (BareMetalHost::api_version(&()), BareMetalHost::plural(&()));
        is_served(&self.client, &group_version, &plural).await
    }
}

fn owner(host: &BareMetalHost) -> Option<Owner> {
    let address = BmcAddress::parse(&host.spec.bmc.as_ref()?.address)?;
    Some(Owner {
        name: format!("{}/{}", host.namespace().unwrap_or_default(), host.name_any()),
        detached: detached(host).is_some(),
        address,
    })
}
