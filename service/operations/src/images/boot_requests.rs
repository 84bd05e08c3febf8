//! Records which files machines download to boot, to distinguish a machine that does not come up from one that was
//! never switched on.
//!
//! A request costs an entry in memory; several requests are written at once (`jobs::boot_requests`). Nothing waits for
//! the write: machines also boot while the database is unavailable.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::TimeDelta;
use muster_api::boot::{BootFile, BootFileRequests, BootingMachine, PATIENCE};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::{Timestamp, millis};
use muster_core::record::Host;
use muster_core::rules::stages::boots_from_disk;
use muster_ipxe::MacAddress;
use muster_store::{BootRequests, HostForm, NEW_BOOT, Store, StoreError};

/// Machines and files with unwritten requests. More are not recorded: any number of network cards can be named with
/// knowledge of a boot URL.
const MOST: usize = 16_384;

/// Characters of a client's name that are kept.
const USER_AGENT_LIMIT: usize = 64;

/// Age of boots that are listed.
pub const LISTED: TimeDelta = TimeDelta::days(1);

/// Hosts with inventories in memory at once.
const HOSTS_AT_ONCE: usize = 100;

/// Programs with which users, but no machines, download an ISO: browsers and our own command line. (BMCs use the name
/// `curl`.)
const OF_PEOPLE: [&str; 2] = ["Mozilla/", "muster/"];

/// Identifies a machine and the file that it requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BootRequest {
    pub infra_env_id: InfraEnvId,
    /// As its iPXE reported it.
    pub mac: Option<MacAddress>,
    /// Of the client; `None`: not known.
    pub address: Option<IpAddr>,
    pub file: BootFile,
}

/// The response to a request.
#[derive(Debug, Clone, Copy)]
pub struct BootAnswer<'a> {
    /// The name in the client's request.
    pub user_agent: &'a str,
    /// Bytes that are sent, unless the client aborts.
    pub bytes: u64,
    /// The reason why the file was refused; empty: it was not.
    pub refusal: &'a str,
}

/// The requests that are not written yet.
#[derive(Debug, Default)]
pub struct BootNotes(Mutex<HashMap<BootRequest, BootRequests>>);

impl BootNotes {
    fn unwritten(&self) -> MutexGuard<'_, HashMap<BootRequest, BootRequests>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records one request.
    pub fn note(&self, request: BootRequest, answer: BootAnswer<'_>, now: Timestamp) {
        let mut unwritten = self.unwritten();
        if unwritten.len() >= MOST && !unwritten.contains_key(&request) {
            metrics::counter!("muster_boot_requests_not_noted_total").increment(1);
            return;
        }
        let noted = unwritten.entry(request).or_insert_with(|| BootRequests {
            infra_env_id: request.infra_env_id,
            mac: request.mac.map(|mac| mac.to_string()).unwrap_or_default(),
            address: request
                .address
                .map(|address| address.to_canonical().to_string())
                .unwrap_or_default(),
            file: request.file,
            user_agent: String::new(),
            first_at: now,
            last_at: now,
            requests: 0,
            bytes: 0,
            refusal: String::new(),
        });
        noted.last_at = noted.last_at.max(now);
        noted.requests += 1;
        noted.bytes = noted
            .bytes
            .saturating_add(i64::try_from(answer.bytes).unwrap_or(i64::MAX));
        if noted.refusal != answer.refusal {
            answer.refusal.clone_into(&mut noted.refusal);
        }
        if noted.user_agent.is_empty() {
            let readable = answer
                .user_agent
                .chars()
                .filter(|letter| matches!(letter, ' '..='~'));
            noted.user_agent = readable.take(USER_AGENT_LIMIT).collect();
        }
    }

    /// Writes the recorded requests. Those that could not be written are kept for the next time.
    ///
    /// # Errors
    /// If the database fails.
    pub(crate) async fn write(&self, store: &Store) -> Result<(), StoreError> {
        let taken = std::mem::take(&mut *self.unwritten());
        if taken.is_empty() {
            return Ok(());
        }
        let rows: Vec<BootRequests> = taken.values().cloned().collect();
        let written = store.add_boot_requests(&rows).await;
        if written.is_err() {
            let mut unwritten = self.unwritten();
            for (request, earlier) in taken {
                if let Some(later) = unwritten.get_mut(&request) {
                    later.first_at = earlier.first_at;
                    later.requests += earlier.requests;
                    later.bytes = later.bytes.saturating_add(earlier.bytes);
                } else if unwritten.len() < MOST {
                    unwritten.insert(request, earlier);
                }
            }
        }
        written
    }
}

/// The machines of an InfraEnv that downloaded boot files within a day, the newest first. Installed hosts boot from
/// their disks and are left out, though they request a script first.
///
/// # Errors
/// If the database fails.
pub async fn booting_machines(
    store: &Store,
    infra_env_id: InfraEnvId,
    now: Timestamp,
) -> Result<Vec<BootingMachine>, StoreError> {
    let requests = store.list_boot_requests(infra_env_id, now - LISTED).await?;
    let mut boots = boots_of(requests);
    if boots.is_empty() {
        return Ok(Vec::new());
    }
    let keys = store.list_host_keys(infra_env_id).await?;
    find_hosts(store, &mut boots, &keys).await?;
    Ok(listed(boots))
}

/// Boots of an InfraEnv's machines that may need somebody, before their hosts are known.
pub struct DoubtfulBoots(Vec<Boot>);

impl DoubtfulBoots {
    /// Those within a day that have no time left, or were refused a file.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn of(store: &Store, infra_env_id: InfraEnvId, now: Timestamp) -> Result<Self, StoreError> {
        let requests = store.list_boot_requests(infra_env_id, now - LISTED).await?;
        let mut boots = boots_of(requests);
        boots.retain(|boot| boot.may_be_stuck(now));
        Ok(Self(boots))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The network cards, in lower case, and the addresses of the machines.
    pub fn known_by(&self) -> HashSet<String> {
        let known = self
            .0
            .iter()
            .flat_map(|boot| boot.addresses.iter().chain([&boot.mac]));
        // A machine that read an ISO names no card.
        known
            .filter(|text| !text.is_empty())
            .map(|text| text.to_ascii_lowercase())
            .collect()
    }

    /// The machines that will not register by themselves. `hosts`: those that may be one of them.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn stuck(
        mut self,
        store: &Store,
        hosts: &[(InfraEnvId, HostId)],
        now: Timestamp,
    ) -> Result<Vec<BootingMachine>, StoreError> {
        find_hosts(store, &mut self.0, hosts).await?;
        let mut machines = listed(self.0);
        machines.retain(|machine| machine.is_stuck(now));
        Ok(machines)
    }
}

/// Finds the hosts of boots among these.
async fn find_hosts(
    store: &Store,
    boots: &mut [Boot],
    keys: &[(InfraEnvId, HostId)],
) -> Result<(), StoreError> {
    for chunk in keys.chunks(HOSTS_AT_ONCE) {
        for host in &store.read_hosts(chunk, HostForm::Whole).await? {
            for boot in boots.iter_mut().filter(|boot| boot.is_of(host)) {
                // Of several hosts the one that registered last is the present one.
                let registered_at = host.data.registered_at;
                if boot.host.is_none_or(|known| known.registered_at < registered_at) {
                    boot.host = Some(Known {
                        id: host.id,
                        registered_at,
                        heard_at: registered_at.max(host.checked_in_at),
                        installed: boots_from_disk(&host.state, &host.data),
                    });
                }
            }
        }
    }
    Ok(())
}

/// Boots but for those of installed hosts.
fn listed(boots: Vec<Boot>) -> Vec<BootingMachine> {
    let booting = boots
        .into_iter()
        .filter(|boot| boot.host.is_none_or(|known| !known.installed));
    booting.map(Boot::told).collect()
}

/// The last boot of a machine.
struct Boot {
    mac: String,
    addresses: Vec<String>,
    /// Newest first.
    requests: Vec<BootRequests>,
    host: Option<Known>,
}

/// The host of a machine.
#[derive(Debug, Clone, Copy)]
struct Known {
    id: HostId,
    registered_at: Timestamp,
    /// Its last stored poll.
    heard_at: Timestamp,
    /// It boots from its disk.
    installed: bool,
}

/// Groups rows by machine: those that name a card, with those of their address that name none; of the rest each
/// address. Requests of earlier boots are left out, and those of users' programs.
fn boots_of(mut newest_first: Vec<BootRequests>) -> Vec<Boot> {
    let of_people = |one: &BootRequests| OF_PEOPLE.iter().any(|name| one.user_agent.starts_with(name));
    newest_first.retain(|one| one.file != BootFile::Iso || !of_people(one));
    let mut card_of_address: HashMap<String, String> = HashMap::new();
    for named in newest_first.iter().filter(|one| !one.mac.is_empty()) {
        card_of_address
            .entry(named.address.clone())
            .or_insert_with(|| named.mac.clone());
    }
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let mut boots: Vec<Boot> = Vec::new();
    for one in newest_first {
        let mac = match one.mac.as_str() {
            "" => card_of_address.get(&one.address).cloned().unwrap_or_default(),
            mac => mac.to_owned(),
        };
        let address = if mac.is_empty() {
            one.address.clone()
        } else {
            String::new()
        };
        let place = *places.entry((mac.clone(), address)).or_insert_with(|| {
            boots.push(Boot {
                mac,
                addresses: Vec::new(),
                requests: Vec::new(),
                host: None,
            });
            boots.len() - 1
        });
        let boot = &mut boots[place];
        let begun = boot.requests.iter().map(|request| request.first_at).min();
        if begun.is_some_and(|begun| one.last_at + NEW_BOOT < begun) {
            continue;
        }
        if !boot.addresses.contains(&one.address) {
            boot.addresses.push(one.address.clone());
        }
        boot.requests.push(one);
    }
    boots
}

impl Boot {
    /// False for one that has time yet.
    fn may_be_stuck(&self, now: Timestamp) -> bool {
        // Answers have milliseconds.
        let is_quiet = |one: &BootRequests| now - one.last_at >= PATIENCE - TimeDelta::seconds(1);
        let is_refused = |one: &BootRequests| !one.refusal.is_empty();
        self.requests.first().is_some_and(is_quiet) || self.requests.iter().any(is_refused)
    }

    fn is_of(&self, host: &Host) -> bool {
        let inventory = host.inventory.as_ref();
        if !self.mac.is_empty() {
            // A host without an inventory has registered just now, or is moving into a cluster.
            let fingerprint = host.data.fingerprint.as_ref();
            let told = fingerprint.into_iter().flat_map(|fingerprint| &fingerprint.macs);
            let interfaces = inventory.into_iter().flat_map(|inventory| &inventory.interfaces);
            let mut macs = interfaces.map(|one| &one.mac_address).chain(told);
            return macs.any(|mac| mac.eq_ignore_ascii_case(&self.mac));
        }
        let Some(inventory) = inventory else {
            return false;
        };
        let interfaces = inventory.interfaces.iter();
        let addresses = interfaces.flat_map(|one| one.ipv4_addresses.iter().chain(&one.ipv6_addresses));
        let own = addresses.map(|address| address.split('/').next().unwrap_or_default());
        let bmc = [inventory.bmc_address.as_str(), inventory.bmc_v6address.as_str()];
        own.chain(bmc)
            .any(|known| self.addresses.iter().any(|address| address == known))
    }

    fn told(self) -> BootingMachine {
        let begun = self.requests.iter().map(|one| one.first_at).min();
        // A host that polls has an agent, even if it continues to read its medium after a pause.
        let heard_at = self.host.map(|known| known.heard_at);
        let registered = heard_at.zip(begun).is_some_and(|(at, begun)| at >= begun);
        let newest = self.requests.first();
        let (ip_address, user_agent) = newest
            .map(|one| (one.address.clone(), one.user_agent.clone()))
            .unwrap_or_default();
        let mut files: BTreeMap<BootFile, BootFileRequests> = BTreeMap::new();
        // From several addresses, or with and without the card: the newest is first.
        for one in self.requests {
            let (first_at, last_at) = (millis(Some(one.first_at)), millis(Some(one.last_at)));
            match files.get_mut(&one.file) {
                Some(known) => {
                    known.requests += one.requests;
                    known.bytes = known.bytes.saturating_add(one.bytes);
                    known.first_at = std::mem::take(&mut known.first_at).min(first_at);
                }
                None => {
                    let told = BootFileRequests {
                        file: one.file,
                        first_at,
                        last_at,
                        requests: one.requests,
                        bytes: one.bytes,
                        refusal: one.refusal,
                    };
                    files.insert(one.file, told);
                }
            }
        }
        BootingMachine {
            mac_address: self.mac,
            ip_address,
            user_agent,
            host_id: self.host.map(|known| known.id),
            registered,
            files: files.into_values().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_api::fingerprint::Fingerprint;
    use muster_core::record::HostState;
    use serde_json::json;

    use super::*;
    use crate::testing::world::{MINUTE, World};

    fn request(world: InfraEnvId, mac: &str, address: &str, file: BootFile) -> BootRequest {
        BootRequest {
            infra_env_id: world,
            mac: mac.parse().ok(),
            address: address.parse().ok(),
            file,
        }
    }

    const SERVED: BootAnswer<'static> = BootAnswer {
        user_agent: "iPXE/1.21.1\u{7}",
        bytes: 10,
        refusal: "",
    };

    const CARD: &str = "52:54:00:aa:bb:cc";
    const SECOND_CARD: &str = "52:54:00:aa:bb:cd";

    #[tokio::test]
    async fn requests_of_one_machine_are_told_as_one_boot() {
        let world = World::new().await;
        let (pooled, _) = world.hosts().await;
        let infra_env_id = pooled.infra_env_id;
        let notes = BootNotes::default();
        let begun = world.operations.now();
        let asks = |mac, address, file| request(infra_env_id, mac, address, file);
        // A boot of yesterday, which is not reported.
        notes.note(
            asks(CARD, "192.0.2.7", BootFile::Rootfs),
            SERVED,
            begun - MINUTE * 100,
        );
        notes.note(asks(CARD, "192.0.2.7", BootFile::Script), SERVED, begun);
        notes.note(asks(CARD, "192.0.2.7", BootFile::Kernel), SERVED, begun + MINUTE);
        let refused = BootAnswer {
            refusal: "no",
            ..SERVED
        };
        notes.note(
            asks("", "::ffff:192.0.2.7", BootFile::Initrd),
            refused,
            begun + MINUTE * 2,
        );
        notes.note(asks("", "192.0.2.8", BootFile::Iso), SERVED, begun + MINUTE * 3);
        notes.note(asks("", "192.0.2.8", BootFile::Iso), SERVED, begun + MINUTE * 4);
        let store = &world.operations.store;
        notes.write(store).await.unwrap();
        notes.write(store).await.unwrap();
        let told = booting_machines(store, infra_env_id, begun + MINUTE * 5)
            .await
            .unwrap();
        let brief: Vec<_> = told
            .iter()
            .map(|one| {
                let files: Vec<_> = one
                    .files
                    .iter()
                    .map(|file| (file.file, file.requests, file.bytes))
                    .collect();
                (one.mac_address.as_str(), one.ip_address.as_str(), files)
            })
            .collect();
        let of_card = vec![
            (BootFile::Script, 1, 10),
            (BootFile::Kernel, 1, 10),
            (BootFile::Initrd, 1, 10),
        ];
        let wanted = [
            ("", "192.0.2.8", vec![(BootFile::Iso, 2, 20)]),
            (CARD, "192.0.2.7", of_card),
        ];
        assert_eq!(brief, wanted);
        assert_eq!(
            (told[1].files[2].refusal.as_str(), told[1].user_agent.as_str()),
            ("no", "iPXE/1.21.1")
        );
        assert!(told.iter().all(|one| one.host_id.is_none() && !one.registered));
        let later = booting_machines(store, infra_env_id, begun + TimeDelta::days(2))
            .await
            .unwrap();
        assert_eq!(later, []);

        // One was refused a file; the other one has time yet.
        world.clocks.pass(MINUTE * 5);
        let troubles = world.operations.troubles(None).await.unwrap();
        let stuck: Vec<&str> = troubles
            .machines
            .iter()
            .map(|stuck| stuck.machine.ip_address.as_str())
            .collect();
        assert_eq!((stuck, troubles.machines_total), (vec!["192.0.2.7"], 1));
        assert_eq!(troubles.machines[0].infra_env_id, infra_env_id);
        world.clocks.pass(MINUTE * 10);
        let troubles = world.operations.troubles(Some(infra_env_id)).await.unwrap();
        assert_eq!(troubles.machines_total, 2);
        let other = world.operations.troubles(Some(InfraEnvId::random())).await;
        assert_eq!(other.unwrap().machines_total, 0);
    }

    #[tokio::test]
    async fn a_machine_is_its_host_until_that_is_installed() {
        let world = World::new().await;
        let (pooled, _) = world.hosts().await;
        let infra_env_id = pooled.infra_env_id;
        let store = &world.operations.store;
        let begun = world.operations.now();
        let notes = BootNotes::default();
        let asked = [
            (CARD, "192.0.2.7"),
            ("", "192.0.2.8"),
            ("", "192.0.2.9"),
            ("", "192.0.2.10"),
            (SECOND_CARD, "192.0.2.11"),
        ];
        for (mac, address) in asked {
            notes.note(
                request(infra_env_id, mac, address, BootFile::Script),
                SERVED,
                begun,
            );
        }
        notes.write(store).await.unwrap();
        let with = |mac: &str, address: &str, bmc: &str, state: HostState, registered_at: Timestamp| {
            let interface = json!({"mac_address": mac, "ipv4_addresses": [format!("{address}/24")]});
            let inventory = json!({"interfaces": [interface], "bmc_address": bmc});
            let mut host = Host {
                id: HostId::random(),
                state,
                inventory: Some(Arc::new(serde_json::from_value(inventory).unwrap())),
                ..pooled.clone()
            };
            host.data.registered_at = registered_at;
            host.checked_in_at = registered_at;
            host
        };
        let (new, old) = (begun + MINUTE, begun - MINUTE);
        let upper = CARD.to_uppercase();
        let mut by_card = with(&upper, "198.51.100.1", "", HostState::KnownUnbound, new);
        let mut by_bmc = with("", "198.51.100.2", "192.0.2.8", HostState::KnownUnbound, old);
        let mut installed = with("", "192.0.2.9", "", HostState::AddedToExistingCluster, old);
        // It keeps reading its medium, and polls.
        let mut reading = with("", "192.0.2.10", "", HostState::KnownUnbound, old);
        reading.checked_in_at = new;
        // The move has cleared its inventory.
        let mut binding = with("", "", "", HostState::Binding, new);
        binding.inventory = None;
        binding.data.fingerprint = Some(Fingerprint {
            macs: vec![SECOND_CARD.into()],
            ..Fingerprint::default()
        });
        for host in [
            &mut by_card,
            &mut by_bmc,
            &mut installed,
            &mut reading,
            &mut binding,
        ] {
            world.insert(host).await;
        }
        let told = booting_machines(store, infra_env_id, new).await.unwrap();
        let told: HashMap<_, _> = told.iter().map(|one| (one.host_id, one.registered)).collect();
        let wanted = [
            (Some(by_bmc.id), false),
            (Some(by_card.id), true),
            (Some(reading.id), true),
            (Some(binding.id), true),
        ];
        assert_eq!(told, wanted.into());
    }

    #[tokio::test]
    async fn a_host_whose_bmc_reads_the_medium_by_its_other_address_is_not_stuck() {
        let world = World::new().await;
        let (pooled, _) = world.hosts().await;
        let infra_env_id = pooled.infra_env_id;
        let begun = world.operations.now();
        let notes = BootNotes::default();
        for address in ["2001:db8::7", "2001:db8::8"] {
            let asked = request(infra_env_id, "", address, BootFile::Iso);
            notes.note(asked, SERVED, begun);
        }
        notes.write(&world.operations.store).await.unwrap();
        let inventory = json!({"bmc_address": "192.0.2.99", "bmc_v6address": "2001:db8::7"});
        let mut host = Host {
            id: HostId::random(),
            state: HostState::KnownUnbound,
            inventory: Some(Arc::new(serde_json::from_value(inventory).unwrap())),
            ..pooled.clone()
        };
        (host.data.registered_at, host.checked_in_at) = (begun + MINUTE, begun + MINUTE);
        world.insert(&mut host).await;
        world.clocks.pass(MINUTE * 15);
        let troubles = world.operations.troubles(None).await.unwrap();
        let stuck = troubles.machines.iter();
        let stuck: Vec<&str> = stuck.map(|one| one.machine.ip_address.as_str()).collect();
        assert_eq!(stuck, ["2001:db8::8"]);
    }

    #[tokio::test]
    async fn what_people_download_is_no_machine() {
        let world = World::new().await;
        let (pooled, _) = world.hosts().await;
        let (store, begun) = (&world.operations.store, world.operations.now());
        let notes = BootNotes::default();
        for (address, user_agent, file) in [
            ("192.0.2.1", "Mozilla/5.0 (X11; Linux x86_64)", BootFile::Iso),
            ("192.0.2.2", "muster/0.1.0", BootFile::Iso),
            ("192.0.2.3", "curl/8.5.0", BootFile::Iso),
            ("192.0.2.4", "Mozilla/5.0 (a BMC's)", BootFile::Kernel),
        ] {
            let answer = BootAnswer { user_agent, ..SERVED };
            notes.note(request(pooled.infra_env_id, "", address, file), answer, begun);
        }
        notes.write(store).await.unwrap();
        let told = booting_machines(store, pooled.infra_env_id, begun).await.unwrap();
        let mut told: Vec<&str> = told.iter().map(|one| one.ip_address.as_str()).collect();
        told.sort_unstable();
        assert_eq!(told, ["192.0.2.3", "192.0.2.4"]);
    }

    #[tokio::test]
    async fn what_cannot_be_written_is_kept_and_has_an_end() {
        let world = World::new().await;
        let (pooled, _) = world.hosts().await;
        let notes = BootNotes::default();
        let now = world.operations.now();
        let of = |number: usize| {
            let mac = format!(
                "52:54:00:{:02x}:{:02x}:{:02x}",
                number >> 16,
                (number >> 8) & 255,
                number & 255
            );
            request(pooled.infra_env_id, &mac, "192.0.2.7", BootFile::Script)
        };
        for number in 0..MOST + 10 {
            notes.note(of(number), SERVED, now);
        }
        assert_eq!(notes.unwritten().len(), MOST);
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/muster.db", folder.path().display());
        let closed = Store::open(&url).await.unwrap();
        closed.close().await;
        notes.write(&closed).await.unwrap_err();
        notes.note(of(0), SERVED, now + MINUTE);
        assert_eq!(notes.unwritten().len(), MOST);
        assert_eq!(notes.unwritten()[&of(0)].requests, 2);
        notes.write(&world.operations.store).await.unwrap();
        assert!(notes.unwritten().is_empty());
        let told = booting_machines(&world.operations.store, pooled.infra_env_id, now)
            .await
            .unwrap();
        assert_eq!(told.len(), MOST);
    }
}
