//! Groups the hosts for which an action is refused by their reasons.

use std::collections::HashMap;

use muster_api::jobs::{JobHost, JobRefusal};

/// Most hosts that are named for a reason.
const EXAMPLES: usize = 20;

/// Most reasons; hosts with others are counted together.
const REASONS: usize = 100;

/// The reason of the hosts that are counted together.
const OTHERS: &str = "other reasons";

/// Refusals by their reasons.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    groups: HashMap<String, Group>,
}

#[derive(Debug)]
struct Group {
    count: u64,
    examples: Vec<JobHost>,
    /// It is about the host's new name.
    is_of_name: bool,
}

impl Refusals {
    pub(super) fn add(&mut self, reason: &str, is_of_name: bool, host: JobHost) {
        let group = self.groups.entry(reason.to_owned()).or_insert(Group {
            count: 0,
            examples: Vec::new(),
            is_of_name,
        });
        group.count += 1;
        if group.examples.len() < EXAMPLES {
            group.examples.push(host);
        }
    }

    /// Those about names first, then the most frequent ones.
    pub(super) fn listed(self) -> Vec<JobRefusal> {
        let mut groups: Vec<(String, Group)> = self.groups.into_iter().collect();
        groups.sort_by(|(a_reason, a), (b_reason, b)| {
            let by_kind = b.is_of_name.cmp(&a.is_of_name);
            let by_count = by_kind.then_with(|| b.count.cmp(&a.count));
            by_count.then_with(|| a_reason.cmp(b_reason))
        });
        let rest = groups.split_off(groups.len().min(REASONS));
        let mut listed: Vec<JobRefusal> = groups
            .into_iter()
            .map(|(reason, group)| JobRefusal {
                reason,
                count: group.count,
                examples: group.examples,
            })
            .collect();
        if !rest.is_empty() {
            let count = rest.iter().map(|(_, group)| group.count).sum();
            let examples = rest.into_iter().flat_map(|(_, group)| group.examples);
            listed.push(JobRefusal {
                reason: OTHERS.to_owned(),
                count,
                examples: examples.take(EXAMPLES).collect(),
            });
        }
        listed
    }
}

#[cfg(test)]
mod tests {
    use muster_api::ids::{HostId, InfraEnvId};

    use super::*;

    fn host(name: &str) -> JobHost {
        JobHost {
            id: HostId::random(),
            infra_env_id: InfraEnvId::random(),
            pool: "lab".into(),
            name: name.into(),
        }
    }

    #[test]
    fn names_come_first_then_frequent_reasons_and_the_rest_is_counted() {
        let mut refusals = Refusals::default();
        for number in 0..25 {
            refusals.add("is off", false, host(&format!("a-{number}")));
        }
        for number in 0..99 {
            refusals.add(&format!("reason {number:02}"), false, host("b"));
        }
        refusals.add("the name x is taken", true, host("c"));
        let listed = refusals.listed();
        assert_eq!(listed[0].reason, "the name x is taken");
        let counts: Vec<u64> = listed.iter().map(|group| group.count).collect();
        assert_eq!((counts[1], listed[1].examples.len()), (25, EXAMPLES));
        assert_eq!(listed.len(), REASONS + 1);
        assert_eq!((&*listed[REASONS].reason, counts[REASONS]), (OTHERS, 1));
        assert_eq!(counts.iter().sum::<u64>(), 125);
    }
}
