//! Properties of a disk under udev's names.

use std::collections::BTreeMap;

use muster_api::placeholder::named;

/// `ID_PATH`, `ID_SERIAL`, ... Empty values are not kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Properties(BTreeMap<String, String>);

impl Properties {
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The value of the first key with one that names something.
    pub(super) fn first(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().filter_map(|key| self.get(key)).find_map(named)
    }

    pub(super) fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.0.insert(key.to_owned(), value);
        }
    }

    pub(super) fn parse(text: &str) -> Self {
        let mut properties = Self::default();
        for (key, value) in text
            .lines()
            .filter_map(|line| line.strip_prefix("E:")?.split_once('='))
        {
            properties.set(key, value);
        }
        properties
    }
}
