//! The hosts of a job, and their new names.

use std::collections::BTreeMap;

use muster_api::ids::InfraEnvId;
use muster_api::jobs::{DiskRule, HostSelection, JobAction, MAX_JOB_HOSTS};
use muster_core::query::{Query, Sort};
use muster_core::rules::input::Invalid;
use muster_core::rules::naming::{Nameless, Names, Pattern, assign, listed};

use super::JobProblem;
use super::stored::check_size;
use crate::hosts::{ChosenHost, HostChoice};
use crate::{Operations, Result};

/// A host of a job before it is planned.
pub(super) struct Selected {
    pub(super) host: ChosenHost,
    /// Its new name; `Err`: why it does not get one. `None`: the action gives none.
    pub(super) name: Option<Result<String, String>>,
    /// The name that it was to get, or how it is named at another attempt; its disk in a list, or of a job before. Empty: none.
    pub(super) wanted: String,
}

impl Operations {
    /// The hosts of a selection, in order, with the names that the action gives them.
    ///
    /// # Errors
    /// The selection or the action cannot be read; no host or too many.
    pub(super) async fn select(
        &self,
        action: &JobAction,
        selection: &HostSelection,
        scope: Option<InfraEnvId>,
    ) -> Result<Vec<Selected>> {
        check_size(action)?;
        let choice = choice_of(selection, scope)?;
        let mut selected = self.select_by(names_of(action)?, choice).await?;
        if let Some(disks) = disks_of(action)? {
            for one in &mut selected {
                one.wanted = listed(disks, &one.host.host).unwrap_or_default().to_owned();
            }
        }
        Ok(selected)
    }

    /// The same for a choice that was read. `names`: of an action that gives some.
    pub(super) async fn select_by(&self, names: Option<Names>, choice: HostChoice) -> Result<Vec<Selected>> {
        let choice = HostChoice {
            limit: MAX_JOB_HOSTS,
            with_others: names.is_some(),
            ..choice
        };
        let chosen = self.host_index.choose(choice).await?;
        if let Some(id) = chosen.ambiguous {
            let why =
                format!("hosts of several InfraEnvs have the id {id}; choose one by a query with pool:");
            return Err(Invalid::new("selection.ids", why).into());
        }
        match chosen.total {
            0 => return Err(JobProblem::Empty.into()),
            hosts if hosts > MAX_JOB_HOSTS => return Err(JobProblem::TooMany { hosts }.into()),
            _ => {}
        }
        let Some(names) = names else {
            let selected = chosen.hosts.into_iter().map(|host| Selected {
                host,
                name: None,
                wanted: String::new(),
            });
            return Ok(selected.collect());
        };
        let hosts: Vec<Nameless> = chosen.hosts.iter().map(|chosen| chosen.host.clone()).collect();
        let computed = names.of(&hosts);
        let numbered = (1_u64..).zip(hosts.iter().zip(&computed));
        let wanted: Vec<String> = numbered
            .map(|(number, (host, name))| match name {
                Ok(name) => name.clone(),
                Err(_) => names.left(number, host),
            })
            .collect();
        let given = assign(&hosts, computed, chosen.others);
        let named = chosen.hosts.into_iter().zip(wanted).zip(given);
        Ok(named
            .map(|((host, wanted), name)| Selected {
                host,
                name: Some(name.map_err(|refused| refused.reason())),
                wanted,
            })
            .collect())
    }
}

fn choice_of(selection: &HostSelection, scope: Option<InfraEnvId>) -> Result<HostChoice> {
    let bad = |field: &str, why: String| Invalid::new(format!("selection.{field}"), why);
    let query = selection.query.as_deref().map(Query::parse).transpose();
    let sort = match selection.sort.as_str() {
        "" => Ok(Sort::default()),
        text => text.parse::<Sort>(),
    };
    if selection.ids.len() > MAX_JOB_HOSTS {
        let hosts = selection.ids.len();
        return Err(JobProblem::TooMany { hosts }.into());
    }
    Ok(HostChoice {
        scope,
        query: query.map_err(|errors| bad("query", errors.to_string()))?,
        sort: sort.map_err(|unknown| bad("sort", unknown.to_string()))?,
        except: selection.except.iter().copied().collect(),
        ids: selection.ids.iter().copied().collect(),
        ..HostChoice::default()
    })
}

/// The list of disks of an action; `None`: it has none.
fn disks_of(action: &JobAction) -> Result<Option<&BTreeMap<String, String>>, Invalid> {
    match action {
        JobAction::Disk {
            rule: DiskRule::List { disks },
        } if disks.is_empty() => Err(Invalid::new(
            "action.rule.disks",
            "give disks by id or serial number of the hosts".to_owned(),
        )),
        JobAction::Disk {
            rule: DiskRule::List { disks },
        } => Ok(Some(disks)),
        _ => Ok(None),
    }
}

/// The names that an action gives; `None`: it gives none.
fn names_of(action: &JobAction) -> Result<Option<Names>, Invalid> {
    let JobAction::Hostname { pattern, names } = action else {
        return Ok(None);
    };
    match (pattern, names.is_empty()) {
        (Some(pattern), true) => {
            let pattern = pattern.parse::<Pattern>();
            let pattern = pattern.map_err(|bad| Invalid::new("action.pattern", bad.to_string()))?;
            Ok(Some(Names::Pattern(pattern)))
        }
        (None, false) => Ok(Some(Names::List(names.clone()))),
        (Some(_), false) | (None, true) => Err(Invalid::new(
            "action",
            "give either a pattern of names or names by id or serial number".to_owned(),
        )),
    }
}
