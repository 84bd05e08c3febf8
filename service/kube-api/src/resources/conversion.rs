//! Converts objects between the versions of their kind, by code of the program around the API.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use serde_json::Value;

use crate::schema::Schema;

/// Converts the objects of one kind between its versions, in the place of a conversion webhook.
pub trait Conversion: Debug + Send + Sync {
    /// Returns `object` in the version `to` of its group (`v1beta1`, not `GROUP/v1beta1`).
    ///
    /// `apiVersion` holds the version that the object has; the caller sets the new one afterwards. Content for which the other version has
    /// no member belongs into an annotation, so that nothing is lost in a round trip. The object can be a part of one, as an applied
    /// configuration is.
    fn convert(&self, object: Value, to: &str) -> Value;
}

/// The conversions that a program has, by group and kind.
#[derive(Debug, Clone, Default)]
pub struct Conversions(HashMap<(String, String), Arc<dyn Conversion>>);

impl Conversions {
    /// With the conversion of a kind. Kinds without one have the same content in each version.
    #[must_use]
    pub fn with(mut self, group: &str, kind: &str, conversion: Arc<dyn Conversion>) -> Self {
        self.0.insert((group.to_owned(), kind.to_owned()), conversion);
        self
    }

    /// The conversion of a kind, for a resource with these versions: names (`GROUP/VERSION`) and schemas.
    pub(crate) fn find(
        &self,
        group: &str,
        kind: &str,
        versions: &[(String, Arc<Schema>)],
    ) -> Option<Converter> {
        let conversion = self.0.get(&(group.to_owned(), kind.to_owned()))?;
        Some(Converter {
            conversion: conversion.clone(),
            versions: versions.to_vec(),
        })
    }
}

/// The conversion of a resource, with the schemas of its versions.
#[derive(Debug, Clone)]
pub struct Converter {
    conversion: Arc<dyn Conversion>,
    /// By `GROUP/VERSION`.
    versions: Vec<(String, Arc<Schema>)>,
}

impl Converter {
    /// Returns `object` in the version that `api_version` (`GROUP/VERSION`) names.
    pub fn converted(&self, object: Value, api_version: &str) -> Value {
        if object["apiVersion"] == api_version {
            return object;
        }
        let (_, version) = crate::object::split_api_version(api_version);
        let mut converted = self.conversion.convert(object, version);
        crate::object::set_member(&mut converted, "apiVersion", Some(api_version.into()));
        converted
    }

    /// The schema of a version, if it is served.
    pub fn schema(&self, api_version: &str) -> Option<&Schema> {
        let found = self.versions.iter().find(|(name, _)| name == api_version);
        found.map(|(_, schema)| &**schema)
    }
}
