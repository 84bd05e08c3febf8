use serde_json::Value;

use super::link::Link;
use crate::json;

/// A resource as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    pub link: Link,
    pub value: Value,
    /// From the header, otherwise from `@odata.etag`.
    pub etag: Option<String>,
    /// The methods that the `Allow` header names; empty without such a header.
    pub allow: String,
}

impl Resource {
    pub fn new(link: Link, value: Value, etag: Option<&str>, allow: Option<&str>) -> Self {
        let usable = |etag: &&str| !etag.is_empty() && *etag != "\"\"";
        let etag = etag
            .filter(usable)
            .or_else(|| json::raw(&value, "/@odata.etag").filter(usable));
        let etag = etag.map(str::to_owned);
        let allow = allow.unwrap_or_default().to_owned();
        Self {
            link,
            value,
            etag,
            allow,
        }
    }

    pub fn text(&self, pointer: &str) -> Option<String> {
        json::text(&self.value, pointer)
    }
}
