//! The hosts that a form selects.

use std::collections::HashSet;

use muster_api::ids::HostId;
use muster_api::jobs::HostSelection;

use crate::html::{HOSTS, hosts_with};
use crate::rest::Form;
use crate::words;

/// Hosts that are ticked, or those that fit a filter but the ticked ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// `None`: `hosts` alone.
    query: Option<String>,
    /// Of the list, so that numbers in names follow it; empty: by name.
    sort: String,
    /// Those of a selection without a query, else exceptions; each once.
    hosts: Vec<HostId>,
}

impl Selection {
    /// Reads `which` (`ticked`, `all`, `but`), `q`, `sort`, and ids: `host` once for each, or `hosts` separated by commas.
    ///
    /// # Errors
    /// With the reason, where no host is selected or an id is none: an exception that is not understood would be acted on.
    pub fn of(form: &Form) -> Result<Self, String> {
        let which = form.field("which");
        let texts = form.all("host").chain(form.all("hosts"));
        let texts = texts.flat_map(|text| text.split(','));
        let texts = texts.map(str::trim).filter(|text| !text.is_empty());
        let mut seen: HashSet<HostId> = HashSet::new();
        let mut hosts: Vec<HostId> = Vec::new();
        for text in texts {
            let id: HostId = text
                .parse()
                .map_err(|_| format!("{text:?} is no id of a host: choose the hosts again"))?;
            if seen.insert(id) {
                hosts.push(id);
            }
        }
        let query = match which.as_str() {
            "all" => {
                hosts.clear();
                Some(form.field("q"))
            }
            "but" => Some(form.field("q")),
            _ if hosts.is_empty() => {
                return Err("no host is chosen: tick some in the list of hosts".to_owned());
            }
            _ => None,
        };
        Ok(Self {
            query,
            sort: form.field("sort"),
            hosts,
        })
    }

    /// For REST.
    pub fn request(&self) -> HostSelection {
        let (except, ids) = match self.query {
            Some(_) => (self.hosts.clone(), Vec::new()),
            None => (Vec::new(), self.hosts.clone()),
        };
        HostSelection {
            query: self.query.clone(),
            sort: self.sort.clone(),
            except,
            ids,
        }
    }

    /// The fields of a form by which it is selected again.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let ids: Vec<String> = self.hosts.iter().map(ToString::to_string).collect();
        let which = match (&self.query, ids.is_empty()) {
            (None, _) => "ticked",
            (Some(_), true) => "all",
            (Some(_), false) => "but",
        };
        let mut fields = vec![
            ("which", which.to_owned()),
            ("sort", self.sort.clone()),
            ("hosts", ids.join(",")),
        ];
        fields.extend(self.query.clone().map(|query| ("q", query)));
        fields
    }

    /// In words, without the query: `all hosts that fit, but 3`.
    pub fn words(&self) -> String {
        match (&self.query, self.hosts.len()) {
            (None, number) => words::count(number, "chosen host"),
            (Some(query), 0) if query.is_empty() => "all hosts".to_owned(),
            (Some(query), number) if query.is_empty() => format!("all hosts, but {number}"),
            (Some(_), 0) => "all hosts that fit".to_owned(),
            (Some(_), number) => format!("all hosts that fit, but {number}"),
        }
    }

    /// The filter; empty: there is none.
    pub fn filter(&self) -> &str {
        self.query.as_deref().unwrap_or_default()
    }

    /// The list that it is of.
    pub fn list(&self) -> String {
        match self.filter() {
            "" => HOSTS.to_owned(),
            query => hosts_with(query),
        }
    }

    /// One query for all of it; `None`: it has more than `most` ids.
    pub fn as_query(&self, most: usize) -> Option<String> {
        if self.hosts.len() > most {
            return None;
        }
        let ids: Vec<String> = self.hosts.iter().map(ToString::to_string).collect();
        let ids = ids.join(",");
        Some(match &self.query {
            None => format!("id:{ids}"),
            Some(query) if ids.is_empty() => query.clone(),
            Some(query) => format!("{query} -id:{ids}").trim().to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "00000000-0000-0000-0000-000000000001";
    const TWO: &str = "00000000-0000-0000-0000-000000000002";

    fn selection(form: &str) -> Result<Selection, String> {
        Selection::of(&Form::of(form.as_bytes()))
    }

    #[test]
    fn ticks_are_the_hosts_or_the_exceptions() {
        let ids: Vec<HostId> = [ONE, TWO].iter().map(|id| id.parse().unwrap()).collect();
        let ticked = selection(&format!("q=cpu:8&host={ONE}&host={TWO}&host={ONE}")).unwrap();
        assert_eq!(ticked.request().ids, ids);
        assert_eq!(
            (ticked.request().query, ticked.request().except),
            (None, Vec::new())
        );
        assert_eq!(ticked.as_query(2).unwrap(), format!("id:{ONE},{TWO}"));
        assert_eq!(ticked.as_query(1), None);
        let but = selection(&format!("which=but&q=cpu:8&sort=-cpu&hosts={ONE},{TWO}")).unwrap();
        assert_eq!(but.request().except, ids);
        assert_eq!(but.request().query.as_deref(), Some("cpu:8"));
        assert_eq!(but.request().sort, "-cpu");
        assert_eq!(but.as_query(2).unwrap(), format!("cpu:8 -id:{ONE},{TWO}"));
        let all = selection(&format!("which=all&q=&host={ONE}")).unwrap();
        assert_eq!(all.request().query.as_deref(), Some(""));
        assert!(all.request().except.is_empty() && all.request().ids.is_empty());
        assert_eq!(all.words(), "all hosts");
    }

    #[test]
    fn a_form_of_its_fields_selects_the_same() {
        for form in [
            format!("which=ticked&host={ONE}"),
            format!("which=but&q=a+b&sort=cpu&host={TWO}"),
            "which=all&q=".to_owned(),
        ] {
            let before = selection(&form).unwrap();
            let mut again = url::form_urlencoded::Serializer::new(String::new());
            again.extend_pairs(before.fields());
            assert_eq!(selection(&again.finish()).unwrap(), before, "{form}");
        }
    }

    #[test]
    fn nothing_is_never_taken_for_everything() {
        for form in ["", "which=ticked&q=cpu:8", "which=other", "hosts=,"] {
            assert!(
                selection(form).unwrap_err().contains("no host is chosen"),
                "{form}"
            );
        }
        let wrong = selection("which=but&q=&hosts=x").unwrap_err();
        assert!(wrong.contains("\"x\" is no id"), "{wrong}");
    }
}
