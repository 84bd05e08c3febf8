//! Cloud-config as Ignition 3 for images that have Ignition and no cloud-init: a closed list of keys, everything else is
//! refused by its path. Source: docs/protocol/capi-day1.md#2.2; what differs from cloud-init: docs/bootstrap-data.md.

mod commands;
mod device;
mod disks;
mod document;
mod files;
mod made;
mod mounts;
mod names;
mod node;
mod ntp;
mod unit_name;
mod users;

use std::fmt;

use serde_json::Value;

use super::accepted::accepted;
use super::refused::Refused;
use super::subject::Subject;
use super::template::{self, FIRST_LINE};
use made::Made;
use node::Node;

/// Keys of a cloud-config that have a counterpart.
const KEYS: [&str; 12] = [
    "bootcmd",
    "disk_setup",
    "fqdn",
    "fs_setup",
    "groups",
    "hostname",
    "mounts",
    "ntp",
    "preserve_hostname",
    "runcmd",
    "users",
    "write_files",
];

/// A cloud-config that was recognised as one.
#[derive(Clone, PartialEq, Eq)]
pub struct CloudConfig {
    text: String,
    is_template: bool,
}

impl fmt::Debug for CloudConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CloudConfig(...)")
    }
}

impl CloudConfig {
    /// Recognises a cloud-config by its first line, or by the first line of what its template renders.
    ///
    /// # Errors
    /// Another form of user-data, which is named; what keeps the template from being rendered; a text that is no YAML.
    pub(super) fn read(text: &str) -> Result<Self, Refused> {
        let first = text.lines().next().unwrap_or_default().trim_end().to_lowercase();
        let is_template = first == FIRST_LINE;
        if first.starts_with("## template:") && !is_template {
            return Err(Refused::new(
                "line 1",
                format!("names another template engine; write {FIRST_LINE}"),
            ));
        }
        let config = Self {
            text: text.to_owned(),
            is_template,
        };
        config.document(&Subject::sample())?;
        Ok(config)
    }

    /// The user-data as it was given, for images with cloud-init.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Checks that the cloud-config has a translation, with the values of a sample host: for use before there is a host, where
    /// Ignition configures its image.
    ///
    /// # Errors
    /// See [`CloudConfig::ignition_for`].
    pub fn check(&self) -> Result<(), Refused> {
        self.ignition_for(&Subject::sample()).map(drop)
    }

    /// Returns Ignition 3.3.0 for the host that `subject` describes, as JSON text, which Ignition accepts. It holds the
    /// secrets of the cloud-config.
    ///
    /// # Errors
    /// The member without a counterpart, by its path; a name in the template that has no value; a text that is no YAML.
    pub fn ignition_for(&self, subject: &Subject) -> Result<String, Refused> {
        let text = translated(&self.document(subject)?, subject)?.to_string();
        accepted(&text)?;
        Ok(text)
    }

    fn document(&self, subject: &Subject) -> Result<Value, Refused> {
        let rendered = self.rendered(subject)?;
        document::check_form(&rendered)?;
        document::parse(&rendered, usize::from(self.is_template))
    }

    fn rendered(&self, subject: &Subject) -> Result<String, Refused> {
        if !self.is_template {
            return Ok(self.text.clone());
        }
        let body = self.text.split_once('\n').map_or("", |(_, body)| body);
        template::rendered(body, subject)
    }
}

fn translated(config: &Value, subject: &Subject) -> Result<Value, Refused> {
    let root = Node::root(config);
    let keys = root.members(&KEYS)?;
    let mut made = Made::default();
    names::check(&keys, subject)?;
    if let Some(list) = keys.get("write_files") {
        files::translate(&list, &mut made)?;
    }
    users::translate(&keys, &mut made)?;
    let filesystems = disks::translate(&keys, &mut made)?;
    if let Some(list) = keys.get("mounts") {
        mounts::translate(&list, filesystems, &mut made)?;
    } else {
        made.filesystems = filesystems;
    }
    if let Some(ntp) = keys.get("ntp") {
        ntp::translate(&ntp, &mut made)?;
    }
    if let Some(list) = keys.get("bootcmd") {
        commands::at_every_boot(&list, subject, &mut made)?;
    }
    if let Some(list) = keys.get("runcmd") {
        commands::once(&list, &mut made)?;
    }
    Ok(made.into_config())
}
