//! One InfraEnv: its hosts and BMCs, how to boot a machine, its settings, and what can be done with it.

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};
use muster_api::boot::{BootingMachine, PATIENCE};
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::{CleaningDepth, InfraEnv, PresignedUrl};
use muster_api::time::{millis, now};

use super::boot::{BootLine, Medium, add_bmc, is_loopback, lines, media};
use super::booting::Booting;
use super::networks::{Networks, networks};
use super::settings::{Field, Typed, body, command, fields, names};
use super::{address, hosts_of, query_of};
use crate::bmcs::{self, Bmcs};
use crate::html::{Frame, POOLS, answer};
use crate::notice::{DELETE, Notice};
use crate::pictures::funnel::Funnel;
use crate::pictures::{LINKS, matrix_of};
use crate::rest::{Form, Path, Refusal, Visitor};
use crate::sign_in::{frame_of, session};
use crate::words;

#[derive(Template)]
#[template(path = "pool.html")]
struct PoolPage {
    frame: Frame,
    /// The path of the page.
    address: String,
    name: String,
    id: InfraEnvId,
    /// Names and values that cannot be changed.
    facts: Vec<(&'static str, String)>,
    /// The list of its hosts.
    hosts_address: String,
    hosts: String,
    has_hosts: bool,
    booting: Vec<Booting>,
    /// How far the booting machines came.
    funnel: Option<Funnel>,
    /// The address of the matrix of its hosts.
    matrix: String,
    /// The address of switches and their ports.
    links: &'static str,
    /// True if a machine should have registered by now.
    is_late: bool,
    /// `None`: the visitor may see none.
    bmcs: Option<Bmcs>,
    add_bmc: String,
    media: Vec<Medium>,
    lines: Vec<BootLine>,
    /// True if machines elsewhere cannot reach these addresses.
    is_loopback: bool,
    networks: Networks,
    fields: Vec<Field>,
    has_pull_secret: bool,
    /// The time of the change that the form shows.
    seen: String,
    /// The refusal of what was to be done.
    problem: Option<String>,
    /// The action that led to the page.
    done: Option<Done>,
    /// The place in the stream of changes.
    revision: String,
    at: String,
}

/// Something that was done, and what does the same.
struct Done {
    what: &'static str,
    command: Option<String>,
    /// Settings that no command has.
    others: Vec<&'static str>,
}

/// The parts of a page that follow a form.
#[derive(Default)]
struct Extra {
    notice: Option<Notice>,
    problem: Option<String>,
    typed: Typed,
}

pub async fn show(visitor: Visitor, Path(id): Path<InfraEnvId>) -> Result<Response, Refusal> {
    let own = address(id);
    let extra = Extra {
        notice: visitor.notice(&own).cloned(),
        ..Extra::default()
    };
    let page = page(&visitor, id, extra).await?;
    Ok(visitor.shown(&own, answer(&page)))
}

async fn page(visitor: &Visitor, id: InfraEnvId, extra: Extra) -> Result<PoolPage, Refusal> {
    let session = session(visitor).await?;
    let path = format!("/infra-envs/{id}");
    let pool: InfraEnv = visitor.get(&path).await?;
    let iso: PresignedUrl = visitor.get(&format!("{path}/downloads/image-url")).await?;
    let script = format!("{path}/downloads/files-presigned?file_name=ipxe-script");
    let script: PresignedUrl = visitor.get(&script).await?;
    let machines: Vec<BootingMachine> = visitor.get(&format!("{path}/booting-machines")).await?;
    let hosts = visitor.hosts(&query_of(id), 1, "").await?;
    let at = millis(Some(now()));
    let booting: Vec<Booting> = machines
        .iter()
        .filter_map(|machine| Booting::of(machine, id, &at))
        .collect();
    let has_hosts = hosts.total > 0;
    let is_late = booting.iter().any(|machine| machine.advice.is_some())
        || (!has_hosts
            && booting.is_empty()
            && words::is_older(&pool.created_at, PATIENCE.num_minutes(), &at));
    Ok(PoolPage {
        address: address(id),
        id,
        facts: facts(&pool),
        hosts_address: hosts_of(id),
        hosts: words::count(hosts.total, "host"),
        has_hosts,
        is_late,
        booting,
        funnel: Funnel::of(visitor, id, &machines).await?,
        matrix: matrix_of(id),
        links: LINKS,
        bmcs: bmcs::of_pool(visitor, id).await?,
        add_bmc: add_bmc(id),
        media: media(&pool, &iso, &script, &at),
        lines: lines(&pool, &iso.url),
        is_loopback: is_loopback(&iso.url),
        networks: networks(visitor, &pool).await,
        fields: fields(&pool, &extra.typed),
        has_pull_secret: pool.pull_secret_set,
        frame: frame_of(session),
        done: extra.notice.and_then(|notice| Done::of(&notice, &pool)),
        problem: extra.problem,
        name: pool.name,
        seen: pool.updated_at,
        revision: hosts.revision,
        at,
    })
}

/// Nothing that is unknown.
fn facts(pool: &InfraEnv) -> Vec<(&'static str, String)> {
    let keys = match pool.require_host_keys {
        true => "required of hosts".to_owned(),
        false => String::new(),
    };
    let all = [
        ("Architecture", pool.cpu_architecture.to_string()),
        (
            "Cluster",
            pool.cluster_id.map(|id| id.to_string()).unwrap_or_default(),
        ),
        ("Time sources in place of those of DHCP", pool.ntp_sources.clone()),
        ("Keys of their own", keys),
        ("Disks of hosts that leave a cluster", erasure(pool)),
        ("Offered to the resource", pool.offered_to.clone()),
        ("Hosts sleep after", pool.idle_after.clone()),
        (
            "Warm spares",
            pool.warm_spares
                .map(|spares| spares.to_string())
                .unwrap_or_default(),
        ),
        ("Quiet hours (UTC)", pool.quiet_hours.clone()),
        ("Id", pool.id.to_string()),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// The erasure of disks, in words.
fn erasure(pool: &InfraEnv) -> String {
    let given = &pool.cleaning;
    let depth = match given.depth {
        CleaningDepth::Metadata => "metadata is erased",
        CleaningDepth::Full => "all sectors are erased",
        CleaningDepth::None => "nothing is erased",
    };
    let overwrite = if given.overwrite { ", by overwriting" } else { "" };
    let all = if given.all_disks { ", on all disks" } else { "" };
    format!("{depth}{overwrite}{all}")
}

impl Done {
    /// `None` for an unknown action. Its detail: the names of the settings that were changed.
    fn of(notice: &Notice, pool: &InfraEnv) -> Option<Self> {
        let id = pool.id;
        let (what, command, others) = match notice.action.as_str() {
            "settings" => {
                let names = notice.details.first().map(String::as_str);
                let (command, others) = command(pool, names.unwrap_or_default());
                (
                    "The settings are changed: machines that boot from now on have them.",
                    command,
                    others,
                )
            }
            "nothing" => (
                "Nothing was changed: the settings are these already.",
                None,
                Vec::new(),
            ),
            "addresses" => (
                "The pool has new addresses; those from before are refused.",
                Some(format!("muster token revoke --infra-env {id}")),
                Vec::new(),
            ),
            "tokens" => (
                "Images and addresses from before are refused.",
                Some(format!("muster token rotate --infra-env {id}")),
                Vec::new(),
            ),
            _ => return None,
        };
        Some(Self {
            what,
            command,
            others,
        })
    }
}

/// Does what a form of the page is for.
pub async fn act(
    visitor: Visitor,
    Path((id, action)): Path<(InfraEnvId, String)>,
    form: Form,
) -> Result<Response, Refusal> {
    let own = address(id);
    let visitor = visitor.at(&own);
    let path = format!("/infra-envs/{id}");
    let (method, path) = match action.as_str() {
        "settings" => return change(&visitor, id, &form).await,
        "addresses" => (Method::POST, format!("{path}/regenerate-signing-key")),
        "tokens" => (Method::POST, format!("{path}/regenerate-agent-token")),
        DELETE if form.field("sure") == "yes" => (Method::DELETE, path),
        DELETE => {
            let refusal = visitor.refusal(
                StatusCode::BAD_REQUEST,
                "the pool was not deleted: tick that you are sure".to_owned(),
            );
            return refused(&visitor, id, refusal, Typed::default()).await;
        }
        _ => {
            return Err(visitor.refusal(
                StatusCode::NOT_FOUND,
                format!("{action} is nothing that a pool does"),
            ));
        }
    };
    match visitor.send(method, &path, None).await {
        Ok(_) if action == DELETE => {
            let notice = Notice::new(POOLS, DELETE, vec![id.to_string()]);
            Ok(visitor.lead_to(POOLS, &notice))
        }
        Ok(_) => Ok(visitor.lead_to(&own, &Notice::new(&own, &action, Vec::new()))),
        Err(refusal) => refused(&visitor, id, refusal, Typed::default()).await,
    }
}

/// Changes the settings that were typed and differ.
async fn change(visitor: &Visitor, id: InfraEnvId, form: &Form) -> Result<Response, Refusal> {
    let (own, path) = (address(id), format!("/infra-envs/{id}"));
    let pool: InfraEnv = visitor.get(&path).await?;
    let typed = Typed::of(form);
    let changes = typed.changes(&pool);
    let seen = form.field("seen");
    if !seen.is_empty() && seen != pool.updated_at && !changes.is_empty() {
        let refusal = visitor.refusal(
            StatusCode::CONFLICT,
            "the pool was changed meanwhile: compare the settings, and save again what is to be".to_owned(),
        );
        return refused(visitor, id, refusal, typed.late()).await;
    }
    if changes.is_empty() {
        return Ok(visitor.lead_to(&own, &Notice::new(&own, "nothing", Vec::new())));
    }
    match visitor.send(Method::PATCH, &path, Some(&body(&changes))).await {
        Ok(_) => {
            let notice = Notice::new(&own, "settings", vec![names(&changes)]);
            Ok(visitor.lead_to(&own, &notice))
        }
        Err(refusal) => refused(visitor, id, refusal, typed).await,
    }
}

/// The page with a refusal and what was typed.
async fn refused(
    visitor: &Visitor,
    id: InfraEnvId,
    refusal: Refusal,
    typed: Typed,
) -> Result<Response, Refusal> {
    if refusal.status == StatusCode::UNAUTHORIZED {
        return Err(refusal);
    }
    let (typed, problem) = typed.refused(refusal.reason);
    let marked = || "nothing was changed: a setting was refused, and is marked below".to_owned();
    let problem = Some(problem.unwrap_or_else(marked));
    let extra = Extra {
        problem,
        typed,
        ..Extra::default()
    };
    let page = page(visitor, id, extra).await?;
    Ok((refusal.status, answer(&page)).into_response())
}
