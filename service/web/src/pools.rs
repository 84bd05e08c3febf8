//! InfraEnvs: the sets of machines that boot the same image, and how to boot one.

use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::boot::BootingMachine;
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::{InfraEnv, PresignedUrl};
use muster_api::search::FoundHosts;
use muster_api::session::Session;
use muster_api::time::{millis, now};
use serde_json::json;
use url::form_urlencoded;

use crate::hosts;
use crate::html::{Frame, HOSTS, answer};
use crate::rest::{Form, Refusal, Visitor};
use crate::sign_in::{frame_of, session};
use crate::words;

#[derive(Template)]
#[template(path = "pools.html")]
struct PoolsPage {
    frame: Frame,
    pools: Vec<Row>,
    /// False for a visitor who sees one InfraEnv alone.
    may_add: bool,
    problem: Option<String>,
    /// What was typed.
    name: String,
}

/// An InfraEnv as a row.
struct Row {
    address: String,
    name: String,
    architecture: String,
    image: String,
    hosts: String,
}

#[derive(Template)]
#[template(path = "pool.html")]
struct PoolPage {
    frame: Frame,
    name: String,
    id: InfraEnvId,
    /// The list of its hosts.
    hosts_address: String,
    hosts: String,
    lines: Vec<BootLine>,
    /// True if machines elsewhere cannot reach these addresses.
    is_loopback: bool,
    expires: Option<String>,
    booting: Vec<Booting>,
    revision: String,
    at: String,
}

/// A command that boots a machine, or prepares that.
struct BootLine {
    what: &'static str,
    command: String,
}

/// A machine that fetched files to boot from.
struct Booting {
    who: String,
    file: String,
    when: String,
    at: String,
    refusal: String,
    host: Option<String>,
}

/// The address of an InfraEnv's page.
pub fn address(id: InfraEnvId) -> String {
    format!("/ui/pools/{id}")
}

/// The address of the list of an InfraEnv's hosts.
fn hosts_of(id: InfraEnvId) -> String {
    format!("{HOSTS}?q=pool:{id}")
}

pub async fn list(visitor: Visitor) -> Result<Response, Refusal> {
    page(&visitor, None, String::new())
        .await
        .map(|page| answer(&page))
}

async fn page(visitor: &Visitor, problem: Option<String>, name: String) -> Result<PoolsPage, Refusal> {
    let session = session(visitor).await?;
    let pools: Vec<InfraEnv> = match session.infra_env_id {
        // A token for one InfraEnv lists none.
        Some(id) => vec![visitor.get(&format!("/infra-envs/{id}")).await?],
        None => visitor.get("/infra-envs").await?,
    };
    let counted: FoundHosts = visitor
        .get(&format!("{MUSTER_PATH}/hosts?limit=1&facets=pool"))
        .await?;
    let count = |name: &str| {
        let facets = counted.facets.iter().flat_map(|facet| &facet.values);
        let found = facets.filter(|counted| counted.value.eq_ignore_ascii_case(name));
        found.map(|counted| counted.hosts).sum()
    };
    let rows = pools.iter().map(|pool| Row {
        address: address(pool.id),
        name: pool.name.clone(),
        architecture: pool.cpu_architecture.to_string(),
        image: pool.image_type.to_string(),
        hosts: words::count(count(&pool.name), "host"),
    });
    Ok(PoolsPage {
        pools: rows.collect(),
        may_add: session.infra_env_id.is_none() && !session.read_only,
        frame: frame_of(session),
        problem,
        name,
    })
}

pub async fn add(visitor: Visitor, form: Form) -> Result<Response, Refusal> {
    let (name, pull_secret) = (form.field("name"), form.field("pull_secret"));
    let wanted = json!({"name": name, "pull_secret": pull_secret});
    match visitor.create::<InfraEnv>("/infra-envs", &wanted).await {
        Ok(made) => Ok(Redirect::to(&address(made.id)).into_response()),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => Err(refusal),
        Err(refusal) => {
            let page = page(&visitor, Some(refusal.reason), name).await?;
            Ok((refusal.status, answer(&page)).into_response())
        }
    }
}

pub async fn show(visitor: Visitor, Path(id): Path<InfraEnvId>) -> Result<Response, Refusal> {
    let session: Session = session(&visitor).await?;
    let path = format!("/infra-envs/{id}");
    let pool: InfraEnv = visitor.get(&path).await?;
    let iso: PresignedUrl = visitor.get(&format!("{path}/downloads/image-url")).await?;
    let script = format!("{path}/downloads/files-presigned?file_name=ipxe-script");
    let script: PresignedUrl = visitor.get(&script).await?;
    let booting: Vec<BootingMachine> = visitor.get(&format!("{path}/booting-machines")).await?;
    let query: String = form_urlencoded::byte_serialize(format!("pool:{id}").as_bytes()).collect();
    let hosts: FoundHosts = visitor
        .get(&format!("{MUSTER_PATH}/hosts?limit=1&q={query}"))
        .await?;
    let at = millis(Some(now()));
    // Without a limit it is the zero date.
    let expires = Some(&iso.expires_at).filter(|at| !at.starts_with("0001"));
    Ok(answer(&PoolPage {
        frame: frame_of(session),
        id,
        hosts_address: hosts_of(id),
        hosts: words::count(hosts.total, "host"),
        is_loopback: is_loopback(&iso.url),
        lines: boot_lines(&pool.name, &iso.url, &script.url),
        expires: expires.map(|end| words::relative(end, &at)),
        booting: booting
            .iter()
            .filter_map(|machine| Booting::of(machine, id, &at))
            .collect(),
        name: pool.name,
        revision: hosts.revision,
        at,
    }))
}

/// Commands that can be copied as they are.
fn boot_lines(name: &str, iso: &str, script: &str) -> Vec<BootLine> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let file = match name
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
    {
        true => format!("{name}.iso"),
        false => "discovery.iso".to_owned(),
    };
    let iso = quoted(iso);
    let line = |what, command| BootLine { what, command };
    vec![
        line("Fetch the ISO", format!("curl -fLo {file} {iso}")),
        line(
            "Write it to a USB stick (all on the stick is lost)",
            format!("sudo dd if={file} of=/dev/sdX bs=4M conv=fsync status=progress"),
        ),
        line(
            "Boot it in QEMU",
            format!("qemu-system-x86_64 -machine q35 -m 4096 -nographic -cdrom {file}"),
        ),
        line("Boot by iPXE, at its prompt", format!("chain {script}")),
        line(
            "Have the machine of a BMC boot it",
            format!(
                "muster bmc add https://BMC --user USER --infra-env {}",
                quoted(name)
            ),
        ),
        line(
            "Configure a DHCP server for PXE",
            format!("muster pxe-config dnsmasq --infra-env {}", quoted(name)),
        ),
    ]
}

/// True if the host of a URL is this machine itself.
fn is_loopback(url: &str) -> bool {
    let host = url::Url::parse(url).ok();
    let host = host.as_ref().and_then(url::Url::host);
    host.is_some_and(|host| match host {
        url::Host::Domain(name) => name == "localhost",
        url::Host::Ipv4(address) => address.is_loopback(),
        url::Host::Ipv6(address) => address.is_loopback(),
    })
}

impl Booting {
    fn of(machine: &BootingMachine, pool: InfraEnvId, now: &str) -> Option<Self> {
        let last = machine.last()?;
        let who = match machine.mac_address.is_empty() {
            true => machine.ip_address.clone(),
            false => format!("{} ({})", machine.mac_address, machine.ip_address),
        };
        let host = machine.host_id.filter(|_| machine.registered);
        Some(Self {
            who,
            file: last.file.to_string(),
            when: words::relative(&last.last_at, now),
            at: last.last_at.clone(),
            refusal: last.refusal.clone(),
            host: host.map(|id| hosts::address(pool, id)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_can_be_copied_whatever_the_name_is() {
        let lines = boot_lines("it's; rm", "http://192.0.2.1/a?b=c&d", "http://192.0.2.1/s");
        assert_eq!(
            lines[0].command,
            "curl -fLo discovery.iso 'http://192.0.2.1/a?b=c&d'"
        );
        assert!(lines[5].command.ends_with(r"'it'\''s; rm'"));
        assert!(
            is_loopback("http://127.0.0.1:8091/x")
                && is_loopback("http://[::1]/")
                && !is_loopback("http://192.0.2.1/")
        );
    }
}
