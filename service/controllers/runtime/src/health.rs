//! The conditions `Reconciling` and `Stalled`, by which programs that know nothing of a kind (kstatus, and with it Flux and kpt; Argo CD by
//! `deploy/argocd`) see whether an object is as its spec wants it: neither is there then. Source: docs/protocol/kstatus.md.

use muster_api::time::Timestamp;

use super::conditions::{ListedCondition, put, remove};

/// The object is on its way, by itself.
pub const RECONCILING: &str = "Reconciling";
/// The object goes no further until somebody acts.
pub const STALLED: &str = "Stalled";

/// A condition of a kind, by which an object is not as its spec wants it.
#[derive(Debug, Clone, Copy)]
pub struct Sign {
    type_: &'static str,
    status: &'static str,
    /// Empty: any.
    reasons: &'static [&'static str],
    /// Another condition, by type and status, that holds as well.
    with: Option<(&'static str, &'static str)>,
    means: &'static str,
}

impl Sign {
    /// The object is on its way. `reasons`: those of the condition; empty: any.
    pub const fn reconciling(
        type_: &'static str,
        status: &'static str,
        reasons: &'static [&'static str],
    ) -> Self {
        Self {
            type_,
            status,
            reasons,
            with: None,
            means: RECONCILING,
        }
    }

    /// Somebody has to act.
    pub const fn stalled(
        type_: &'static str,
        status: &'static str,
        reasons: &'static [&'static str],
    ) -> Self {
        Self {
            means: STALLED,
            ..Self::reconciling(type_, status, reasons)
        }
    }

    /// The same only while another condition has that status.
    #[must_use]
    pub const fn with(self, type_: &'static str, status: &'static str) -> Self {
        Self {
            with: Some((type_, status)),
            ..self
        }
    }

    /// The reasons of its condition; empty: any.
    pub const fn reasons(&self) -> &'static [&'static str] {
        self.reasons
    }

    fn found_in<'a, C: ListedCondition>(&self, list: &'a [C]) -> Option<&'a C> {
        let holds = |type_: &str, status: &str| {
            list.iter()
                .find(|one| one.type_() == type_ && one.status() == status)
        };
        if let Some((type_, status)) = self.with {
            holds(type_, status)?;
        }
        holds(self.type_, self.status)
            .filter(|one| self.reasons.is_empty() || self.reasons.contains(&one.reason()))
    }
}

/// Sets or removes both conditions by the signs of the kind: the first one that means `Stalled` counts, else the first of all. The message is
/// that of its condition; the reason has its type and status, and is none for which the kind publishes Events.
pub fn show<C: ListedCondition>(list: &mut Vec<C>, signs: &[Sign], now: Timestamp) {
    let all: &[C] = list;
    let found = |means: &str| {
        let mut signs = signs.iter().filter(|sign| sign.means == means);
        signs.find_map(|sign| Some((sign.means, sign.found_in(all)?)))
    };
    let shown = found(STALLED).or_else(|| found(RECONCILING)).map(|(means, one)| {
        let reason = format!("{}{}", one.type_(), one.status());
        let mut shown = C::new(means, "True", &reason, one.message().to_owned(), now);
        // Another one would be written once more by the next reconciliation.
        shown.keep_generation_of(one);
        shown
    });
    for type_ in [RECONCILING, STALLED] {
        if shown.as_ref().is_none_or(|shown| shown.type_() != type_) {
            remove(list, type_);
        }
    }
    if let Some(shown) = shown {
        put(list, shown);
    }
}

#[cfg(test)]
mod tests {
    use muster_resources::{Condition, StandardCondition};

    use super::*;

    const SIGNS: [Sign; 4] = [
        Sign::reconciling("Bound", "False", &["Binding"]),
        Sign::reconciling("Installed", "False", &[]).with("Bound", "True"),
        Sign::stalled("Installed", "False", &["InstallationFailed"]),
        Sign::stalled("SpecSynced", "False", &["InputError"]),
    ];

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap()
    }

    fn shown(conditions: &[(&str, &str, &str)], before: &[Condition]) -> Vec<Condition> {
        let mut list: Vec<Condition> = before
            .iter()
            .filter(|one| [RECONCILING, STALLED].contains(&one.type_.as_str()))
            .cloned()
            .collect();
        for (type_, status, reason) in conditions {
            list.push(Condition::new(
                type_,
                status,
                reason,
                format!("why {type_}"),
                at(0),
            ));
        }
        show(&mut list, &SIGNS, at(9));
        list.retain(|one| [RECONCILING, STALLED].contains(&one.type_.as_str()));
        list
    }

    #[test]
    fn a_failure_counts_more_than_what_is_on_its_way_and_nothing_when_neither_is_found() {
        let binding = ("Bound", "False", "Binding");
        let (bound, free) = (("Bound", "True", "Bound"), ("Bound", "False", "Unbound"));
        let waiting = ("Installed", "False", "InstallationNotStarted");
        let failed = ("Installed", "False", "InstallationFailed");
        let of = |conditions: &[(&str, &str, &str)]| -> Option<(String, String)> {
            let list = shown(conditions, &[]);
            assert!(list.len() <= 1, "{list:?}");
            assert!(list.iter().all(|one| one.status == "True"), "{list:?}");
            let said = list.into_iter().next()?;
            Some((said.type_, said.reason?))
        };
        let is = |type_: &str, reason: &str| Some((type_.to_owned(), reason.to_owned()));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[binding, waiting]), is(RECONCILING, "BoundFalse"));
        assert_eq!(of(&[free, waiting]), None);
        assert_eq!(of(&[bound, waiting]), is(RECONCILING, "InstalledFalse"));
        assert_eq!(of(&[bound, failed]), is(STALLED, "InstalledFalse"));
        assert_eq!(of(&[bound, ("Installed", "True", "InstallationCompleted")]), None);
        assert_eq!(
            of(&[binding, ("SpecSynced", "False", "InputError")]),
            is(STALLED, "SpecSyncedFalse")
        );
        assert_eq!(of(&[bound, ("SpecSynced", "False", "BackendError")]), None);
    }

    #[test]
    fn what_holds_on_keeps_its_time_and_what_is_over_goes() {
        let failed = [("Installed", "False", "InstallationFailed")];
        let first = shown(&failed, &[]);
        assert_eq!(first[0].message.as_deref(), Some("why Installed"));
        let time = |list: &[Condition]| list[0].last_transition_time.clone();
        assert_eq!(time(&shown(&failed, &first)), time(&first));
        assert_eq!(shown(&[("Bound", "False", "Unbound")], &first), []);
    }

    #[test]
    fn it_is_of_the_generation_of_its_condition() {
        let why = "the disk is broken".to_owned();
        let mut failed = StandardCondition::new("Installed", "False", "InstallationFailed", why, at(0));
        failed.observed_generation = Some(3);
        let mut list = vec![failed];
        show(&mut list, &SIGNS, at(0));
        let shown = (list[1].type_.as_str(), list[1].observed_generation);
        assert_eq!(shown, (STALLED, Some(3)));
    }
}
