//! Decides which hosts pass a filter.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_api::time::Timestamp;

use super::key::Key;
use super::mac;
use super::pattern::Pattern;
use super::term::{Query, Term};
use super::value::Value;
use super::values::{age, each_alias, each_searched, each_value, is_known, numbers};
use crate::query::summary::HostSummary;

impl Query {
    /// True if `host` passes all terms at the time `now`.
    pub fn matches(&self, host: &HostSummary, now: Timestamp) -> bool {
        self.terms.iter().all(|term| term.matches(host, now))
    }
}

impl Term {
    /// True if `host` passes this term at the time `now`.
    pub fn matches(&self, host: &HostSummary, now: Timestamp) -> bool {
        let fits = |value: &Value| match self.key {
            Some(key) => has(key, value, host, now),
            None => has_word(value, host),
        };
        self.values.iter().any(fits) != self.is_negated
    }
}

fn has(key: Key, value: &Value, host: &HostSummary, now: Timestamp) -> bool {
    match value {
        Value::Any => is_known(key, host),
        Value::None => !is_known(key, host),
        Value::Text(pattern) => has_text(key, host, &|text| pattern.is_all_of(text)),
        Value::Label { key, value } => has_label(host, key, value.as_ref()),
        Value::Number(comparison, quantity) => {
            let numbers = numbers(key, quantity.unit, host);
            numbers
                .into_iter()
                .any(|number| quantity.is_met(*comparison, number))
        }
        Value::Age(comparison, wanted) => {
            age(key, host, now).is_some_and(|age| wanted.is_met(*comparison, age))
        }
        Value::Overdue => {
            let end = host.wait.as_ref().and_then(|wait| wait.until);
            end.is_some_and(|end| end < now)
        }
        Value::Network(network) => has_text(key, host, &|text| is_inside(text, network)),
        Value::Mac(pattern) => has_text(key, host, &|text| pattern.is_all_of(&mac::digits(text))),
        Value::Word { .. } => false,
    }
}

fn has_text(key: Key, host: &HostSummary, fits: &dyn Fn(&str) -> bool) -> bool {
    let mut found = false;
    let mut visit = |text: &str| found = found || fits(text);
    each_value(key, host, &mut visit);
    each_alias(key, host, &mut visit);
    found
}

fn has_label(host: &HostSummary, key: &Pattern, value: Option<&Pattern>) -> bool {
    host.labels.iter().any(|(own_key, own_value)| {
        key.is_all_of(own_key) && value.is_none_or(|value| value.is_all_of(own_value))
    })
}

fn is_inside(address: &str, network: &IpNet) -> bool {
    address
        .parse::<IpAddr>()
        .is_ok_and(|address| network.contains(&address))
}

fn has_word(value: &Value, host: &HostSummary) -> bool {
    let Value::Word { pattern, mac } = value else {
        return false;
    };
    let mut found = false;
    each_searched(host, &mut |text| found = found || pattern.is_in(text));
    let has_mac = |digits: &String| {
        let hardware = host.hardware.as_ref();
        hardware.is_some_and(|hardware| hardware.macs.iter().any(|own| mac::has_digits(own, digits)))
    };
    found || mac.as_ref().is_some_and(has_mac)
}
