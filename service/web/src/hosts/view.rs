//! What the address of the list selects.

use std::borrow::Cow;

use muster_api::MUSTER_PATH;
use url::form_urlencoded::Serializer;

use super::columns::{self, Column};
use super::groups::Grouping;
use crate::html::HOSTS;
use crate::rest::Visitor;
use crate::words;

/// Views that every visitor has, each with its query.
static READY: [(&str, &str); 6] = [
    ("All", ""),
    ("Needs approval", "approved:no"),
    ("Failed checks", "check:*"),
    ("Overdue", "wait:overdue"),
    ("Free and fit", "state:known-unbound -approved:no"),
    ("No contact for a day", "seen:>24h"),
];

#[derive(Clone)]
pub struct View {
    pub query: String,
    /// Empty: by name, or by the group.
    pub sort: String,
    pub group: Option<&'static Grouping>,
    pub columns: Vec<&'static Column>,
    /// One plain table instead of windows.
    pub is_all: bool,
    pub after: String,
}

/// A link to a view.
pub struct Link {
    pub name: Cow<'static, str>,
    pub address: String,
    pub is_current: bool,
}

impl View {
    pub fn of(visitor: &Visitor) -> Self {
        let [query, sort, group, all, after] = visitor.parameters(["q", "sort", "group", "all", "after"]);
        let group = Grouping::named(&group);
        let view = Self {
            query,
            sort: String::new(),
            group,
            // A form sends each on its own.
            columns: columns::chosen(&visitor.all_parameters("columns").join(",")),
            is_all: !all.is_empty(),
            after,
        };
        view.sorted(sort)
    }

    /// In this order; a list in groups has the order of its groups, in either direction.
    fn sorted(self, sort: String) -> Self {
        let key = sort.strip_prefix('-').unwrap_or(&sort);
        match self.group {
            Some(group) if group.key != key => self,
            _ => Self { sort, ..self },
        }
    }

    /// From the beginning, in the order of a heading: groups go where they have another order.
    pub fn in_order(&self, sort: String) -> Self {
        let key = sort.strip_prefix('-').unwrap_or(&sort);
        Self {
            group: self.group.filter(|group| group.key == key),
            after: String::new(),
            sort,
            ..self.clone()
        }
    }

    /// The order for REST; empty: by name.
    pub fn order(&self) -> &str {
        match self.group {
            Some(group) if self.sort.is_empty() => group.key,
            _ => &self.sort,
        }
    }

    pub fn is_grouped_by(&self, grouping: &Grouping) -> bool {
        self.group.is_some_and(|group| group.key == grouping.key)
    }

    /// The address of the page.
    pub fn address(&self) -> String {
        let mut parameters = Serializer::new(String::new());
        let columns = columns::names(&self.columns);
        let values = [
            ("q", self.query.as_str()),
            ("sort", &self.sort),
            ("group", self.group.map_or("", |group| group.key)),
            ("columns", &columns),
            ("all", if self.is_all { "1" } else { "" }),
            ("after", &self.after),
        ];
        for (name, value) in values {
            if !value.is_empty() {
                parameters.append_pair(name, value);
            }
        }
        match parameters.finish() {
            empty if empty.is_empty() => HOSTS.to_owned(),
            parameters => format!("{HOSTS}?{parameters}"),
        }
    }

    /// From the beginning, with another query.
    pub fn with_query(&self, query: &str) -> String {
        Self {
            query: query.to_owned(),
            after: String::new(),
            ..self.clone()
        }
        .address()
    }

    /// The same in one plain table.
    pub fn all(&self) -> String {
        Self {
            is_all: true,
            after: String::new(),
            ..self.clone()
        }
        .address()
    }

    /// The same in windows.
    pub fn in_windows(&self) -> String {
        Self {
            is_all: false,
            ..self.clone()
        }
        .address()
    }

    /// The path of REST for a window of it. `facets`: keys, separated by commas.
    pub fn path(&self, after: &str, limit: usize, facets: &str) -> String {
        let mut parameters = Serializer::new(String::new());
        parameters.extend_pairs([
            ("q", self.query.as_str()),
            ("sort", self.order()),
            ("after", after),
            ("limit", &limit.to_string()),
            ("facets", facets),
        ]);
        format!("{MUSTER_PATH}/hosts?{}", parameters.finish())
    }

    /// The path of REST for all of it as a table for spreadsheets, with the columns that are shown.
    pub fn table(&self) -> String {
        let mut names = vec!["name"];
        names.extend(self.columns.iter().map(|column| column.csv));
        let mut parameters = Serializer::new(String::new());
        parameters.extend_pairs([
            ("format", "csv"),
            ("q", &self.query),
            ("sort", self.order()),
            ("columns", &names.join(",")),
        ]);
        format!("{MUSTER_PATH}/hosts?{}", parameters.finish())
    }

    /// The views that every visitor has.
    pub fn ready(&self) -> Vec<Link> {
        let links = READY.iter().map(|(name, query)| Link {
            name: Cow::Borrowed(*name),
            address: self.with_query(query),
            is_current: self.query.trim() == *query,
        });
        links.collect()
    }

    /// The command that shows the same.
    pub fn command(&self) -> String {
        let mut command = "muster hosts".to_owned();
        if !self.query.is_empty() {
            command.push_str(&format!(" --query {}", words::quoted(&self.query)));
        }
        if !self.order().is_empty() {
            command.push_str(&format!(" --sort {}", self.order()));
        }
        command
    }

    /// True if the query is one word that names no key: a name, an id, a serial number, an address.
    pub fn is_word(&self) -> bool {
        let query = self.query.trim();
        let is_address = |text: &str| {
            text.chars()
                .all(|letter| letter.is_ascii_hexdigit() || ".:-".contains(letter))
        };
        !query.is_empty()
            && !query.starts_with('-')
            && !query.contains(|letter: char| letter.is_whitespace() || "*\"".contains(letter))
            && (!query.contains(':') || is_address(query))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(query: &str) -> View {
        View {
            query: query.to_owned(),
            sort: String::new(),
            group: None,
            columns: columns::usual_columns(),
            is_all: false,
            after: String::new(),
        }
    }

    #[test]
    fn only_words_without_a_key_open_a_host() {
        for word in ["node-7", "SN123", "52:54:00:00:00:01", "198.51.100.7", "r750"] {
            assert!(view(word).is_word(), "{word}");
        }
        for other in ["", "-node", "name:node", "a b", "node*", "\"a\"", "cpu:8"] {
            assert!(!view(other).is_word(), "{other}");
        }
    }

    #[test]
    fn an_address_has_only_what_is_unusual() {
        assert_eq!(view("").address(), "/ui/hosts");
        let grouped = View {
            group: Grouping::named("model"),
            columns: columns::chosen("vlan,cpu"),
            ..view("a b")
        };
        assert_eq!(
            grouped.address(),
            "/ui/hosts?q=a+b&group=model&columns=vlan%2Ccpu"
        );
        assert_eq!(grouped.order(), "model");
        let turned = grouped.clone().sorted("-model".to_owned());
        assert_eq!(turned.order(), "-model");
        let other = grouped.sorted("cpu".to_owned());
        assert_eq!(other.order(), "model", "groups have their own order");
        assert_eq!(
            turned.in_order("cpu".to_owned()).address(),
            "/ui/hosts?q=a+b&sort=cpu&columns=vlan%2Ccpu"
        );
    }
}
