//! Changes many hosts as a table of comma-separated values says: all wrong lines are told and then nothing is done; what was done
//! is taken back when the service refuses a later line.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};
use csv::{ReaderBuilder, StringRecord, Trim};
use muster_api::host::{Host, HostUpdateParams};

use super::edit::{Change, Wanted, change};
use crate::cli::client::Client;
use crate::cli::failure::{Failure, kind_of};
use crate::cli::fleet::{self, Member};
use crate::cli::names;
use crate::cli::output::print;

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

/// Wrong lines that are told.
const TOLD: usize = 100;

/// A line whose host is found.
struct Planned {
    line: u64,
    member: Member,
    change: Change,
}

/// Reads the table, shows what changes, and changes it unless `dry_run`.
pub async fn run(client: &Client, file: &Path, dry_run: bool) -> Result<()> {
    let text = match file == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(file),
    };
    let text = text.with_context(|| format!("--from-csv {} cannot be read", file.display()))?;
    let all = fleet::members(client, None).await?;
    let planned = plan(&text, &all).map_err(|wrong| refusal(file, &wrong))?;
    print(&preview(&planned));
    let changes: Vec<Planned> = planned.into_iter().filter(|one| !one.change.is_empty()).collect();
    if dry_run {
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

fn refusal(file: &Path, wrong: &[String]) -> Failure {
    let lines = if wrong.len() == 1 { "line is" } else { "lines are" };
    let words = format!(
        "{}: {} {lines} wrong, and nothing was changed",
        file.display(),
        wrong.len()
    );
    let failure = wrong.iter().take(TOLD).fold(Failure::usage(words), Failure::hint);
    match wrong.len().checked_sub(TOLD) {
        Some(more @ 1..) => failure.hint(format!("and {more} more")),
        _ => failure,
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
        format!("{}{so}\n{lines}", one.member.name())
    });
    told.collect()
}

/// One change after another; when one is refused, those before are taken back.
async fn apply(client: &Client, changes: &[Planned]) -> Result<()> {
    for (place, one) in changes.iter().enumerate() {
        let Err(error) = patch(client, &one.member, &one.change.params).await else {
            continue;
        };
        let mut kept = Vec::new();
        for before in changes[..place].iter().rev() {
            if let Err(error) = patch(client, &before.member, &before.change.back).await {
                kept.push(format!("{}: {error:#}", before.member.name()));
            }
        }
        let words = format!("line {}: host {}: {error:#}", one.line, one.member.name());
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

async fn patch(client: &Client, member: &Member, params: &HostUpdateParams) -> Result<()> {
    client.patch::<Host>(&member.path(), params).await.map(drop)
}

/// The changes of a table.
///
/// # Errors
/// Every wrong line, beginning with its number.
fn plan(text: &str, all: &[Member]) -> Result<Vec<Planned>, Vec<String>> {
    let mut reader = ReaderBuilder::new()
        .trim(Trim::All)
        .flexible(true)
        .from_reader(text.as_bytes());
    let headers = reader
        .headers()
        .map_err(|error| vec![format!("line 1: {error}")])?
        .clone();
    let columns = columns(&headers)?;
    let (mut planned, mut wrong) = (Vec::<Planned>::new(), Vec::new());
    for record in reader.into_records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                wrong.push(error.to_string());
                break;
            }
        };
        let line = record.position().map_or(0, csv::Position::line);
        let mut tell = |problem: &str| wrong.push(format!("line {line}: {problem}"));
        if record.len() > headers.len() {
            tell(&format!(
                "it has {} cells, and the table {} columns",
                record.len(),
                headers.len()
            ));
            continue;
        }
        match read(&record, &columns, all) {
            Ok((member, change)) => {
                let same = planned.iter().find(|one| one.member.host.id == member.host.id);
                match same {
                    Some(same) => tell(&format!("host {} is on line {}, too", member.name(), same.line)),
                    None => planned.push(Planned { line, member, change }),
                }
            }
            Err(problems) => problems.iter().for_each(|problem| tell(problem)),
        }
    }
    wrong.extend(names_taken_twice(&planned, all));
    wrong.sort_by_key(|problem| number_of(problem));
    match wrong.is_empty() {
        true => Ok(planned),
        false => Err(wrong),
    }
}

/// The number in `line 7: ...`; the last of all where there is none.
fn number_of(problem: &str) -> u64 {
    let number = problem
        .strip_prefix("line ")
        .and_then(|rest| rest.split(':').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(u64::MAX)
}

/// Column by name.
fn columns(headers: &StringRecord) -> Result<HashMap<&str, usize>, Vec<String>> {
    let mut columns = HashMap::new();
    let mut wrong = Vec::new();
    for (place, name) in headers.iter().enumerate() {
        if !COLUMNS.contains(&name) {
            wrong.push(format!(
                "line 1: {name:?} is no column; there are {}",
                COLUMNS.join(", ")
            ));
        } else if columns.insert(name, place).is_some() {
            wrong.push(format!("line 1: the column {name} is there twice"));
        }
    }
    if !columns.contains_key(COLUMNS[0]) {
        wrong.push(format!("line 1: the column {} is missing", COLUMNS[0]));
    }
    match wrong.is_empty() {
        true => Ok(columns),
        false => Err(wrong),
    }
}

fn read(
    record: &StringRecord,
    columns: &HashMap<&str, usize>,
    all: &[Member],
) -> Result<(Member, Change), Vec<String>> {
    let cell = |name: &str| {
        let text = columns.get(name).and_then(|place| record.get(*place));
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let Some(host) = cell("host") else {
        return Err(vec!["it names no host".into()]);
    };
    let pool = cell("infra_env");
    let of_pool = |member: &&Member| {
        pool.as_ref()
            .is_none_or(|pool| *pool == member.pool.name || *pool == member.pool.id.to_string())
    };
    let candidates: Vec<Member> = all.iter().filter(of_pool).cloned().collect();
    let place = names::host_in(&candidates, &host).map_err(|failure| vec![failure.with_hints()])?;
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
    Ok((member, change))
}

/// New names that another host of the InfraEnv has afterwards.
fn names_taken_twice(planned: &[Planned], all: &[Member]) -> Vec<String> {
    let new_name = |member: &Member| {
        let change = planned.iter().find(|one| one.member.host.id == member.host.id);
        let new = change.and_then(|one| one.change.params.host_name.clone());
        new.unwrap_or_else(|| member.name())
    };
    let clash = |one: &Planned| {
        let name = one.change.params.host_name.as_ref()?;
        let other = all.iter().find(|other| {
            other.host.id != one.member.host.id
                && other.pool.id == one.member.pool.id
                && new_name(other) == *name
        })?;
        Some(format!(
            "line {}: the name {name} is that of host {}, too",
            one.line, other.host.id
        ))
    };
    planned.iter().filter_map(clash).collect()
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
        let text =
            "host,name,labels,disk\nhost-1, node-1 ,rack=r2 zone-,\nhost-2,,,DISK-2\nhost-3,host-3,,\n";
        let planned = plan(text, &fleet()).unwrap();
        assert_eq!(
            preview(&planned),
            "host-1\n  name: host-1 -> node-1\n  labels: rack=r1 zone= -> rack=r2\nhost-2\n  disk: (none) -> a\nhost-3: is so already\n"
        );
    }

    #[test]
    fn names_may_change_places() {
        let text = "host,name\nhost-1,host-2\nhost-2,host-1\n";
        assert_eq!(plan(text, &fleet()).map(|planned| planned.len()), Ok(2));
    }

    #[test]
    fn every_wrong_line_is_told_with_its_number() {
        let text = "host,name,role,disk,labels
host-1,Node 1,,,
host-2,,boss,,
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
        let wrong = plan(text, &fleet()).err().unwrap();
        let numbers: Vec<&str> = wrong.iter().map(|line| line.split(':').next().unwrap()).collect();
        for number in [2, 3, 4, 5, 6, 7, 8, 9, 10, 12] {
            assert!(
                numbers.contains(&format!("line {number}").as_str()),
                "{number}: {wrong:#?}"
            );
        }
    }

    #[test]
    fn columns_are_checked() {
        let wrong = plan("hots,name\n", &[]).err().unwrap();
        assert!(
            wrong[0].contains("\"hots\" is no column") && wrong[1].contains("host is missing"),
            "{wrong:?}"
        );
    }
}
