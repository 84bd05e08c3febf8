//! The values of terms.

use std::fmt;

use ipnet::IpNet;

use super::pattern::Pattern;
use super::quantity::{Age, Comparison, Quantity};

/// The word for a wait after its deadline.
pub(super) const OVERDUE: &str = "overdue";

/// One of the values of a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// A text that is searched for.
    Word {
        pattern: Pattern,
        /// Its digits if it is the spelling of a MAC address.
        mac: Option<String>,
    },
    /// The host has any value of the key.
    Any,
    /// It has none.
    None,
    Text(Pattern),
    /// A label of this key, and with this value if one is given.
    Label {
        key: Pattern,
        value: Option<Pattern>,
    },
    Number(Comparison, Quantity),
    Age(Comparison, Age),
    /// The deadline of its wait has passed.
    Overdue,
    Network(IpNet),
    /// Digits of a MAC address, with wildcards.
    Mac(Pattern),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word { pattern, .. } | Self::Text(pattern) => pattern.fmt(f),
            Self::Any => f.write_str("*"),
            Self::None => f.write_str("\"\""),
            Self::Label { key, value: None } => key.fmt(f),
            Self::Label {
                key,
                value: Some(value),
            } => write!(f, "{key}={value}"),
            Self::Number(comparison, quantity) => write!(f, "{}{quantity}", comparison.sign()),
            Self::Age(comparison, age) => write!(f, "{}{age}", comparison.sign()),
            Self::Overdue => f.write_str(OVERDUE),
            Self::Network(network) if network.prefix_len() == network.max_prefix_len() => {
                network.addr().fmt(f)
            }
            Self::Network(network) => network.fmt(f),
            Self::Mac(pattern) => pattern.fmt(f),
        }
    }
}
