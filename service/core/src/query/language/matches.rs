//! Decides which hosts pass a filter.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_api::time::Timestamp;

use super::key::Key;
use super::mac;
use super::pattern::Pattern;
use super::term::{Query, Term};
use super::value::Value;
use super::values::{age, each_alias, each_number, each_value, is_known, with_id};
use crate::query::facts::{Facts, Field};

impl Query {
    /// True if `host` passes all terms at the time `now`.
    pub fn matches<'a>(&self, host: impl Facts<'a>, now: Timestamp) -> bool {
        self.terms.iter().all(|term| term.matches(host, now))
    }
}

impl Term {
    /// True if `host` passes this term at the time `now`.
    pub fn matches<'a>(&self, host: impl Facts<'a>, now: Timestamp) -> bool {
        let fits = |value: &Value| match self.key {
            Some(key) => has(key, value, host, now),
            None => has_word(value, host),
        };
        self.values.iter().any(fits) != self.is_negated
    }
}

fn has<'a>(key: Key, value: &Value, host: impl Facts<'a>, now: Timestamp) -> bool {
    match value {
        Value::Any => is_known(key, host),
        Value::None => !is_known(key, host),
        Value::Text(pattern) => has_text(key, host, &|text| pattern.is_all_of(text)),
        Value::Label { key, value } => has_label(host, key, value.as_ref()),
        Value::Number(comparison, quantity) => {
            let mut is_met = false;
            each_number(key, quantity.unit, host, &mut |number| {
                is_met = is_met || quantity.is_met(*comparison, number);
            });
            is_met
        }
        Value::Age(comparison, wanted) => {
            age(key, host, now).is_some_and(|age| wanted.is_met(*comparison, age))
        }
        Value::Overdue => {
            let end = host.wait().and_then(|(_, until)| until);
            end.is_some_and(|end| end < now)
        }
        Value::Network(network) => has_text(key, host, &|text| is_inside(text, network)),
        Value::Mac(pattern) => has_text(key, host, &|text| pattern.is_all_of(&mac::digits(text))),
        Value::Word { .. } => false,
    }
}

fn has_text<'a>(key: Key, host: impl Facts<'a>, fits: &dyn Fn(&str) -> bool) -> bool {
    let mut found = false;
    let mut visit = |text: &str| found = found || fits(text);
    each_value(key, host, &mut visit);
    each_alias(key, host, &mut visit);
    found
}

fn has_label<'a>(host: impl Facts<'a>, key: &Pattern, value: Option<&Pattern>) -> bool {
    let mut found = false;
    host.each_label(&mut |own_key, own_value| {
        found = found || (key.is_all_of(own_key) && value.is_none_or(|value| value.is_all_of(own_value)));
    });
    found
}

fn is_inside(address: &str, network: &IpNet) -> bool {
    address
        .parse::<IpAddr>()
        .is_ok_and(|address| network.contains(&address))
}

fn has_word<'a>(value: &Value, host: impl Facts<'a>) -> bool {
    let Value::Word { pattern, mac } = value else {
        return false;
    };
    let has_id = || {
        let mut found = false;
        with_id(host.id().0, &mut |id| found = pattern.is_in(id));
        found
    };
    let has_mac = |digits: &String| {
        let mut found = false;
        host.each_text(Field::Mac, &mut |own| {
            found = found || mac::has_digits(own, digits)
        });
        found
    };
    host.has_searched(&|text| pattern.is_in(text)) || has_id() || mac.as_ref().is_some_and(has_mac)
}
