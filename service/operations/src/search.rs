//! Finds records of all kinds by one text.

use std::collections::HashMap;
use std::sync::Arc;

use muster_api::ids::InfraEnvId;
use muster_api::search::{FoundKind, FoundRecord, FoundRecords};
use muster_core::query::{Fit, HostSummary, Words, natural_order};
use muster_core::record::{Cluster, InfraEnv};
use muster_store::bmc::BmcName;

use crate::{Operations, Result};

/// Most records in an answer.
const MOST: usize = 20;

impl Operations {
    /// The records that fit words, the best first; with `scope` the InfraEnv of that id with its hosts and BMCs, and no cluster.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn search(&self, scope: Option<InfraEnvId>, words: &Words) -> Result<FoundRecords> {
        if words.is_empty() {
            return Ok(FoundRecords::default());
        }
        let hosts = self.host_index.best(scope, words.clone(), MOST).await?;
        let infra_envs = self.infra_envs_in(scope).await?;
        let clusters = match scope {
            Some(_) => Vec::new(),
            None => self.clusters.list(false).await?,
        };
        let names: HashMap<InfraEnvId, &str> = infra_envs.iter().map(|one| (one.id, &*one.name)).collect();
        let bmcs = self.bmcs.names(scope).await?;
        let others = infra_envs.iter().filter_map(|one| of_infra_env(words, one));
        let others = others.chain(
            clusters
                .iter()
                .filter_map(|stored| of_cluster(words, &stored.cluster)),
        );
        // A BMC of a deleted InfraEnv stays until its medium is taken out.
        let others = others.chain(bmcs.iter().filter_map(|bmc| {
            let infra_env = names.get(&bmc.infra_env_id)?;
            of_bmc(words, bmc, infra_env)
        }));
        let mut found: Vec<(Fit, FoundRecord)> = others.collect();
        let total = hosts.total + found.len();
        found.extend(hosts.hosts.iter().map(|(fit, host)| (*fit, of_host(host))));
        found.sort_by(|(a_fit, a), (b_fit, b)| {
            let by_kind = (a_fit, a.kind).cmp(&(b_fit, b.kind));
            by_kind.then_with(|| natural_order(&a.name, &b.name))
        });
        found.truncate(MOST);
        Ok(FoundRecords {
            records: found.into_iter().map(|(_, record)| record).collect(),
            total,
        })
    }

    /// All InfraEnvs; with `scope` that one alone.
    pub(crate) async fn infra_envs_in(&self, scope: Option<InfraEnvId>) -> Result<Vec<Arc<InfraEnv>>> {
        Ok(match scope {
            Some(id) => self.infra_envs.find(id).await?.into_iter().collect(),
            None => {
                let all = self.infra_envs.list(None).await?;
                all.into_iter().map(Arc::new).collect()
            }
        })
    }
}

fn of_host(host: &HostSummary) -> FoundRecord {
    let hardware = host.hardware.as_ref();
    let of_hardware = hardware.map(|hardware| [&hardware.vendor, &hardware.model, &hardware.serial]);
    let [vendor, model, serial] = of_hardware.map_or([""; 3], |texts| texts.map(String::as_str));
    let machine = format!("{vendor} {model}");
    FoundRecord {
        kind: FoundKind::Host,
        id: host.id.to_string(),
        infra_env_id: Some(host.infra_env_id),
        name: host.name.clone(),
        detail: detail(&[
            host.status.name(),
            &host.pool,
            &host.cluster,
            machine.trim(),
            serial,
        ]),
    }
}

fn of_infra_env(words: &Words, infra_env: &InfraEnv) -> Option<(Fit, FoundRecord)> {
    let id = infra_env.id.to_string();
    let fit = words.fit(&[&infra_env.name, &id])?;
    let settings = &infra_env.settings;
    let record = FoundRecord {
        kind: FoundKind::InfraEnv,
        id,
        infra_env_id: None,
        name: infra_env.name.clone(),
        detail: detail(&[settings.cpu_architecture.name(), &settings.openshift_version]),
    };
    Some((fit, record))
}

fn of_cluster(words: &Words, cluster: &Cluster) -> Option<(Fit, FoundRecord)> {
    let (id, data) = (cluster.id.to_string(), &cluster.data);
    let known = [&data.name, &id, &data.openshift_cluster_id, &data.api_vip_dnsname];
    let fit = words.fit(&known.map(String::as_str))?;
    let record = FoundRecord {
        kind: FoundKind::Cluster,
        name: data.name.clone(),
        detail: detail(&[&data.openshift_version, &data.api_vip_dnsname]),
        infra_env_id: None,
        id,
    };
    Some((fit, record))
}

fn of_bmc(words: &Words, bmc: &BmcName, infra_env: &str) -> Option<(Fit, FoundRecord)> {
    let id = bmc.id.to_string();
    let fit = words.fit(&[&bmc.name, &id, &bmc.address])?;
    let record = FoundRecord {
        kind: FoundKind::Bmc,
        id,
        infra_env_id: Some(bmc.infra_env_id),
        name: bmc.name.clone(),
        detail: detail(&[&bmc.phase.to_string(), infra_env, &bmc.address]),
    };
    Some((fit, record))
}

/// The parts that are known, as one text.
fn detail(parts: &[&str]) -> String {
    let known: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    known.join(" · ")
}
