//! Changes many hosts as given by a table of comma-separated values. All wrong lines are reported, and then nothing is changed; changes
//! are undone if the service refuses a later line.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};
use csv::StringRecord;
use muster_api::host::{Host, HostUpdateParams};

use super::edit::{Change, Wanted, change};
use super::set::change_path;
use crate::cli::arguments::csv_table::{CsvTable, WrongLines};
use crate::cli::arguments::names;
use crate::cli::arguments::twins::same_name;
use crate::cli::failure::{Failure, Kind, kind_of};
use crate::cli::fleet::{self, HostKey, Member};
use crate::cli::output::print;
use crate::cli::service::Client;

/// The columns that a table may have; the first one it must have.
const COLUMNS: [&str; 7] = [
    "host",
    "infra_env",
    "name",
    "role",
    "disk",
    "labels",
    "config_pool",
];

/// A line and the host that it names.
struct Planned {
    line: u64,
    /// The host as the line names it.
    named: String,
    member: Member,
    change: Change,
}

impl Planned {
    /// The name in the line, and that of the host if it differs.
    fn title(&self) -> String {
        match self.member.name() {
            name if name == self.named => name,
            name => format!("{} ({name})", self.named),
        }
    }
}

/// Reads the table, shows what changes, and changes it unless `dry_run`.
pub async fn run(client: &Client, file: &Path, dry_run: bool) -> Result<()> {
    let text = match file == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(file),
    };
    let text = text.with_context(|| format!("--from-csv {} cannot be read", file.display()))?;
    let all = fleet::members(client, None).await?;
    let planned = plan(&text, &all).map_err(|wrong| wrong.refusal(file, "nothing was changed"))?;
    print(&preview(&planned));
    let changes: Vec<Planned> = planned.into_iter().filter(|one| !one.change.is_empty()).collect();
    if dry_run {
        check(client, file, &changes).await?;
        print(&format!("{} would change (--dry-run)\n", hosts(changes.len())));
        return Ok(());
    }
    apply(client, &changes).await?;
    print(&format!("{} changed\n", hosts(changes.len())));
    Ok(())
}

fn hosts(count: usize) -> String {
    match count {
        1 => "1 host".into(),
        count => format!("{count} hosts"),
    }
}

fn preview(planned: &[Planned]) -> String {
    let told = planned.iter().map(|one| {
        let lines: String = one
            .change
            .lines
            .iter()
            .map(|line| format!("  {line}\n"))
            .collect();
        let so = if one.change.is_empty() {
            ": is so already"
        } else {
            ""
        };
        format!("{}{so}\n{lines}", one.title())
    });
    told.collect()
}

/// Has the service check each change, which makes none.
///
/// # Errors
/// Every line that it would refuse.
async fn check(client: &Client, file: &Path, changes: &[Planned]) -> Result<()> {
    let mut wrong = WrongLines::default();
    for one in changes {
        let Err(error) = patch(client, &one.member, &one.change.params, true).await else {
            continue;
        };
        match kind_of(&error) {
            Kind::Refused | Kind::NotFound => {
                wrong.tell(one.line, format!("host {}: {error:#}", one.title()))
            }
            _ => return Err(error),
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let mut failure = wrong.refusal(file, "nothing was changed");
    failure.kind = Kind::Refused;
    Err(failure.into())
}

/// One change after another; when one is refused, those before are taken back.
async fn apply(client: &Client, changes: &[Planned]) -> Result<()> {
    for (place, one) in changes.iter().enumerate() {
        let Err(error) = patch(client, &one.member, &one.change.params, false).await else {
            continue;
        };
        let mut kept = Vec::new();
        for before in changes[..place].iter().rev() {
            if let Err(error) = patch(client, &before.member, &before.change.back, false).await {
                kept.push(format!("{}: {error:#}", before.title()));
            }
        }
        let words = format!("line {}: host {}: {error:#}", one.line, one.title());
        let failure = Failure::new(kind_of(&error), words);
        return Err(match kept.is_empty() {
            true => failure.hint("the lines before it were taken back: nothing is changed"),
            false => kept.into_iter().fold(
                failure.hint("these were changed before and could not be taken back:"),
                Failure::hint,
            ),
        }
        .into());
    }
    Ok(())
}

async fn patch(client: &Client, member: &Member, params: &HostUpdateParams, dry_run: bool) -> Result<()> {
    let path = change_path(member, dry_run);
    client.patch::<Host>(&path, params).await.map(drop)
}

/// The changes of a table.
///
/// # Errors
/// Reports every wrong line.
fn plan(text: &str, all: &[Member]) -> Result<Vec<Planned>, WrongLines> {
    let (table, mut wrong) = CsvTable::read(text, &COLUMNS)?;
    let mut planned = Vec::<Planned>::new();
    for (line, row) in &table.rows {
        match read(&table, row, all) {
            Ok((named, member, change)) => {
                match planned.iter().find(|one| one.member.key() == member.key()) {
                    Some(same) => wrong.tell(*line, format!("host {named} is on line {}, too", same.line)),
                    None => planned.push(Planned {
                        line: *line,
                        named,
                        member,
                        change,
                    }),
                }
            }
            Err(problems) => problems
                .into_iter()
                .for_each(|problem| wrong.tell(*line, problem)),
        }
    }
    tell_same_names(&planned, all, &mut wrong);
    match wrong.is_empty() {
        true => Ok(planned),
        false => Err(wrong),
    }
}

/// Reads a row: the host's name in it, the host, and its changes.
fn read(
    table: &CsvTable,
    row: &StringRecord,
    all: &[Member],
) -> Result<(String, Member, Change), Vec<String>> {
    let cell = |name: &str| table.cell(row, name).map(str::to_owned);
    let Some(named) = cell("host") else {
        return Err(vec!["it names no host".into()]);
    };
    let pool = cell("infra_env");
    let of_pool = |member: &&Member| {
        pool.as_ref()
            .is_none_or(|pool| *pool == member.pool.name || *pool == member.pool.id.to_string())
    };
    let candidates: Vec<Member> = all.iter().filter(of_pool).cloned().collect();
    let place = names::host_in(&candidates, &named).map_err(|failure| vec![failure.with_hints()])?;
    let member = candidates[place].clone();
    let labels = cell("labels").unwrap_or_default();
    let wanted = Wanted {
        name: cell("name"),
        role: cell("role"),
        disk: cell("disk"),
        labels: labels.split_whitespace().map(str::to_owned).collect(),
        config_pool: cell("config_pool"),
    };
    let change = change(&member, &wanted)?;
    Ok((named, member, change))
}

/// Reports new names that another host of the InfraEnv has afterwards.
fn tell_same_names(planned: &[Planned], all: &[Member], wrong: &mut WrongLines) {
    let new_name = |one: &Planned| Some((one.member.key(), one.change.params.host_name.clone()?));
    let renamed: HashMap<HostKey, String> = planned.iter().filter_map(new_name).collect();
    for one in planned {
        let Some(other) = same_name(&one.member, &renamed, all) else {
            continue;
        };
        let name = &renamed[&one.member.key()];
        let by_line = planned.iter().find(|line| line.member.key() == other.key());
        wrong.tell(
            one.line,
            match by_line.filter(|line| line.change.params.host_name.is_some()) {
                Some(line) => format!(
                    "host {} on line {} gets the name {name}, too",
                    line.named, line.line
                ),
                None => format!(
                    "another host of the InfraEnv {} is called {name} already, and keeps its name",
                    other.pool.name
                ),
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::member;
    use super::*;

    fn fleet() -> Vec<Member> {
        (1..=20).map(member).collect()
    }

    #[test]
    fn a_table_changes_what_differs() {
        let text = "host,name,labels,disk\nhost-1, node-1 ,rack=r2 zone-,\n00000000-0000-4000-8000-000000000002,,,DISK-2\nhost-3,host-3,,\n";
        let planned = plan(text, &fleet()).unwrap();
        assert_eq!(
            preview(&planned),
            "host-1\n  name: host-1 -> node-1\n  labels: rack=r1 zone= -> rack=r2\n00000000-0000-4000-8000-000000000002 (host-2)\n  disk: (none) -> a\nhost-3: is so already\n"
        );
    }

    #[test]
    fn names_may_change_places() {
        let text = "host,name\nhost-1,host-2\nhost-2,host-1\n";
        assert_eq!(plan(text, &fleet()).map(|planned| planned.len()), Ok(2));
        let text = "host,name\nhost-1,host-2\nhost-2,host-2\nhost-3,node\nhost-4,node\n";
        let wrong = plan(text, &fleet()).err().unwrap();
        assert_eq!(
            wrong.texts(),
            [
                "line 2: another host of the InfraEnv lab is called host-2 already, and keeps its name",
                "line 4: host host-4 on line 5 gets the name node, too",
                "line 5: host host-3 on line 4 gets the name node, too",
            ]
        );
    }

    #[test]
    fn every_wrong_line_is_told_with_its_number() {
        let text = "host,name,role,disk,labels
host-1,Node 1,,,
host-2,,boss,sdz,
host-3,,,sdz,
host-44,,,,
,node-5,,,
host-6,node-7,,,
host-7,node-7,,,
host-8,,,,rack
host-9,host-10,,,
host-1,,,,
host-11,a,b,c,d,e
";
        let texts = plan(text, &fleet()).err().unwrap().texts();
        let numbers: Vec<&str> = texts.iter().map(|line| line.split(':').next().unwrap()).collect();
        let all = [2, 3, 4, 5, 6, 7, 8, 9, 10, 12].map(|number| format!("line {number}"));
        assert_eq!(numbers, all, "{texts:#?}");
        assert!(
            texts[1].contains("boss") && texts[1].contains("sdz"),
            "{texts:#?}"
        );
    }
}
