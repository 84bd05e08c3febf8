//! Writes `/etc/resolv.conf` from all leases and router advertisements.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::hash::Hash;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::configuration::Configuration;

/// More servers or domains make resolving slower, not better.
const MOST_SERVERS: usize = 6;
const MOST_DOMAINS: usize = 6;

/// The name servers of all configurations, in their order, each once.
pub fn name_servers<'a>(all: impl Iterator<Item = &'a Configuration>) -> Vec<IpAddr> {
    first(all.flat_map(|one| one.name_servers.iter().copied()), MOST_SERVERS)
}

pub fn text(servers: &[IpAddr], search: &[String]) -> String {
    let mut text = String::from("# Written by muster-agent from DHCP leases and router advertisements.\n");
    if !search.is_empty() {
        let _ = writeln!(text, "search {}", search.join(" "));
    }
    for server in servers {
        let _ = writeln!(text, "nameserver {server}");
    }
    text
}

/// The search domains of all configurations, in their order, each once.
pub fn search<'a>(all: impl Iterator<Item = &'a Configuration>) -> Vec<String> {
    first(all.flat_map(|one| one.search.iter().cloned()), MOST_DOMAINS)
}

/// The file with the name servers of one card only.
pub fn of_card(folder: &Path, card: &str) -> PathBuf {
    folder.join(format!("{card}.conf"))
}

/// Replaces the file atomically.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let new = path.with_extension("new");
    std::fs::write(&new, text)?;
    std::fs::rename(new, path)
}

fn first<T: Clone + Eq + Hash>(all: impl Iterator<Item = T>, most: usize) -> Vec<T> {
    let mut seen = HashSet::new();
    all.filter(|one| seen.insert(one.clone())).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(servers: &[&str], search: &[&str]) -> Configuration {
        Configuration {
            name_servers: servers.iter().map(|server| server.parse().unwrap()).collect(),
            search: search.iter().map(|name| (*name).to_owned()).collect(),
            ..Configuration::default()
        }
    }

    #[test]
    fn all_leases_are_in_it_once_and_in_order() {
        let all = [
            says(&["10.0.2.3", "fd00::3"], &["a.example"]),
            says(&["10.0.3.3", "10.0.2.3"], &["b.example", "a.example"]),
        ];
        let text = text(&name_servers(all.iter()), &search(all.iter()));
        let expected = "# Written by muster-agent from DHCP leases and router advertisements.\n\
            search a.example b.example\nnameserver 10.0.2.3\nnameserver fd00::3\nnameserver 10.0.3.3\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn it_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("etc/resolv.conf");
        write(&path, "one\n").unwrap();
        write(&path, "two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
