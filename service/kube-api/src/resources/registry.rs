//! The resources that are served: the built-in ones and those of CRDs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::conversion::Conversions;
use super::resource::Resource;
use super::{builtin, crd};

/// All resources that are served at a point in time.
#[derive(Debug, Default)]
pub struct Registry {
    /// By group, version and plural.
    resources: HashMap<(String, String, String), Arc<Resource>>,
    /// Versions by group, the preferred first.
    groups: BTreeMap<String, Vec<String>>,
}

impl Registry {
    /// The built-in resources and those of the given CustomResourceDefinition objects. A CRD that cannot be served is skipped; its
    /// conditions give the reason.
    pub fn new(definitions: &[Value], conversions: &Conversions) -> Self {
        let mut registry = Self::default();
        for resource in builtin::resources() {
            registry.add(resource.clone());
        }
        for definition in definitions {
            match crd::resources(definition, conversions) {
                Ok(resources) => resources
                    .into_iter()
                    .for_each(|resource| registry.add(Arc::new(resource))),
                Err(error) => {
                    tracing::warn!(crd = crate::object::name(definition), %error, "a CRD is not served");
                }
            }
        }
        for versions in registry.groups.values_mut() {
            versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        }
        registry
    }

    fn add(&mut self, resource: Arc<Resource>) {
        let versions = self.groups.entry(resource.group.clone()).or_default();
        if !versions.contains(&resource.version) {
            versions.push(resource.version.clone());
        }
        let key = (
            resource.group.clone(),
            resource.version.clone(),
            resource.plural.clone(),
        );
        // Built-in resources are not replaced.
        self.resources.entry(key).or_insert(resource);
    }

    /// The resource at a path.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources
            .get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// True when a resource is served as before: its CRD has not changed.
    pub fn serves(&self, resource: &Resource) -> bool {
        let now = self.find(&resource.group, &resource.version, &resource.plural);
        now.is_some_and(|now| now.declaration == resource.declaration)
    }

    /// The resource of a kind, as owner references name it; another version if that one is not served.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, version) = crate::object::split_api_version(api_version);
        let mut of_kind: Vec<&Arc<Resource>> = self
            .resources
            .values()
            .filter(|resource| resource.group == group && resource.kind == kind)
            .collect();
        of_kind.sort_by_key(|resource| resource.version != version);
        of_kind.first().copied()
    }

    /// The resource with a [`Resource::storage_name`], in its storage version if that is served.
    pub fn stored_as(&self, storage_name: &str) -> Option<&Arc<Resource>> {
        let mut found: Vec<&Arc<Resource>> = self
            .resources
            .values()
            .filter(|resource| &*resource.storage_name == storage_name)
            .collect();
        found.sort_by_key(|resource| {
            (
                resource.api_version() != resource.storage_api_version,
                resource.version.clone(),
            )
        });
        found.first().copied()
    }

    /// Groups with their versions, the preferred first.
    pub fn groups(&self) -> &BTreeMap<String, Vec<String>> {
        &self.groups
    }

    /// The resources of a group's version, sorted by name.
    pub fn resources(&self, group: &str, version: &str) -> Vec<&Arc<Resource>> {
        let here = |resource: &&Arc<Resource>| resource.group == group && resource.version == version;
        let mut found: Vec<&Arc<Resource>> = self.resources.values().filter(here).collect();
        found.sort_by(|one, other| one.plural.cmp(&other.plural));
        found
    }
}

/// General availability before beta before alpha, then the higher number.
fn priority(version: &str) -> (u8, u64, u64) {
    let Some(rest) = version.strip_prefix('v') else {
        return (0, 0, 0);
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let Ok(major) = rest[..digits].parse::<u64>() else {
        return (0, 0, 0);
    };
    let stage = &rest[digits..];
    if stage.is_empty() {
        return (3, major, 0);
    }
    for (rank, name) in [(2, "beta"), (1, "alpha")] {
        if let Some(minor) = stage.strip_prefix(name).and_then(|minor| minor.parse().ok()) {
            return (rank, major, minor);
        }
    }
    (0, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_before_beta_and_alpha() {
        let mut versions = ["v1alpha1", "v1beta1", "foo", "v1", "v2beta1", "v10", "v2"];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(
            versions,
            ["v10", "v2", "v1", "v2beta1", "v1beta1", "v1alpha1", "foo"]
        );
    }
}
