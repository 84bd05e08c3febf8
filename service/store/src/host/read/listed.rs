//! Reads hosts as lists show them: their large documents stay the texts that are stored, which is most of the work saved.

use muster_core::record::{Host, HostTexts};
use serde::Deserialize;
use serde_json::value::RawValue;
use sqlx::any::AnyRow;

use super::rows::Selection;
use crate::Result;
use crate::host::brief::HostBrief;
use crate::host::change::HostKey;
use crate::host::form::HostForm;
use crate::host::found_row::FoundRow;
use crate::host::row::{HOST_KEY, HostRow, brief_from};
use crate::row::Reading;
use crate::store::Store;
use crate::vault::Vault;

/// A host of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedHost {
    /// Without inventory, reports and bootstrap ignition.
    pub host: Host,
    /// The inventory and the reports; empty in the brief form.
    pub texts: HostTexts,
}

impl Store {
    /// [`Store::read_hosts`] for the response of a list. Inventories are not parsed, only checked to be objects.
    ///
    /// # Errors
    /// Fails if the database does.
    pub(super) async fn read_listed_hosts(
        &self,
        keys: &[HostKey],
        form: HostForm,
    ) -> Result<Vec<ListedHost>> {
        let selection = match form {
            HostForm::Whole => Selection::Listed,
            HostForm::Brief => Selection::Brief,
        };
        let _turn = self.list_turn().await?;
        let read = |found: &FoundRow| listed_from(self.vault(), &found.row, form);
        self.read_keys(keys, selection, read, |listed| {
            (listed.host.infra_env_id, listed.host.id)
        })
        .await
    }
}

fn listed_from(vault: &Vault, row: &AnyRow, form: HostForm) -> Result<ListedHost> {
    let host = brief_from(vault, row).map(HostBrief::into_host)?;
    let texts = match form {
        HostForm::Whole => texts_from(row)?,
        HostForm::Brief => HostTexts::default(),
    };
    Ok(ListedHost { host, texts })
}

fn texts_from(row: &AnyRow) -> Result<HostTexts> {
    let reading = Reading::new(row, HostRow::TABLE, HOST_KEY);
    let inventory = reading.get::<Option<String>>("inventory")?;
    let is_object = |text: &String| text.starts_with('{') && text.ends_with('}');
    if !inventory.as_ref().is_none_or(is_object) {
        return Err(reading.corrupt("inventory", "not an object of JSON".into()));
    }
    let inventory = inventory.unwrap_or_default();
    let Some(reports) = reading.get::<Option<String>>("reports")? else {
        return Ok(HostTexts {
            inventory,
            ..HostTexts::default()
        });
    };
    let reports = Reports::of(&reports).map_err(|reason| reading.corrupt("reports", reason.into()))?;
    Ok(HostTexts {
        inventory,
        connectivity: text(reports.connectivity),
        free_addresses: text(reports.free_addresses.filter(|list| list.get() != "[]")),
    })
}

/// [`HostReports`](muster_core::record::HostReports), unparsed.
#[derive(Deserialize)]
struct Reports<'a> {
    #[serde(borrow)]
    connectivity: Option<&'a RawValue>,
    #[serde(borrow)]
    free_addresses: Option<&'a RawValue>,
}

impl<'a> Reports<'a> {
    fn of(stored: &'a str) -> Result<Self, &'static str> {
        serde_json::from_str(stored).map_err(|_| "not JSON, or of another shape")
    }
}

fn text(raw: Option<&RawValue>) -> String {
    raw.map(|raw| raw.get().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_split_into_the_texts_of_which_they_are_made() {
        let stored = r#"{"connectivity":{"remote_hosts":[{"host_id":"a"}]},"free_addresses":[]}"#;
        let reports = Reports::of(stored).unwrap();
        assert_eq!(
            text(reports.connectivity),
            r#"{"remote_hosts":[{"host_id":"a"}]}"#
        );
        assert_eq!(text(reports.free_addresses), "[]");
        assert!(Reports::of("{}").unwrap().connectivity.is_none());
        assert!(Reports::of("hunter2").is_err());
    }
}
