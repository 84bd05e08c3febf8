//! Reads lists of BMCs: CSV, or YAML.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use csv::StringRecord;
use muster_api::bmc::BmcCreateParams;
use muster_web::BmcTable;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::password;
use super::settings::{boot, mode, trust};
use crate::cli::arguments::csv_table::{CsvTable, WrongLines};

/// The columns.
const COLUMNS: [&str; 9] = [
    "address",
    "name",
    "user",
    "password",
    "password_file",
    "certificate",
    "fingerprint",
    "system",
    "boot",
];

/// A BMC and its line in the file.
#[derive(Debug)]
pub struct Line {
    pub number: u64,
    pub params: BmcCreateParams,
}

/// An entry as it is written; errors never show a password.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    address: String,
    name: Option<String>,
    user: Option<String>,
    password: Option<String>,
    password_file: Option<PathBuf>,
    certificate: Option<String>,
    fingerprint: Option<String>,
    system: Option<String>,
    boot: Option<String>,
}

/// The BMCs of a file; `otherwise`: default user and password.
///
/// # Errors
/// Reports every wrong line.
pub fn read(
    file: &Path,
    text: &str,
    otherwise: &(Option<String>, Option<String>),
) -> Result<Vec<Line>, WrongLines> {
    let is_yaml = file.extension().is_some_and(|end| end == "yaml" || end == "yml");
    let entries = if is_yaml { yaml(text) } else { csv(text) }?;
    lines_of(entries, otherwise)
}

/// The BMCs of a table that was pasted into the page, with their lines. It names no files: the service would read its own.
///
/// # Errors
/// Every wrong line, a text each.
pub fn pasted(table: &BmcTable) -> Result<Vec<(u64, BmcCreateParams)>, Vec<String>> {
    let read = match table.is_yaml {
        true => yaml(&table.text),
        false => csv(&table.text),
    };
    let (entries, mut wrong) = read.map_err(|wrong| wrong.texts())?;
    for (number, entry) in &entries {
        if entry.password_file.is_some() {
            wrong.tell(
                *number,
                "password_file is for muster bmc import: write the password here",
            );
        }
    }
    if !wrong.is_empty() {
        return Err(wrong.texts());
    }
    let otherwise = (table.user.clone(), table.password.clone());
    let lines = lines_of((entries, wrong), &otherwise).map_err(|wrong| wrong.texts())?;
    Ok(lines.into_iter().map(|line| (line.number, line.params)).collect())
}

/// The BMCs of entries; `otherwise`: default user and password.
fn lines_of(
    (entries, mut wrong): Entries,
    otherwise: &(Option<String>, Option<String>),
) -> Result<Vec<Line>, WrongLines> {
    let mut lines = Vec::<Line>::new();
    let mut line_of: HashMap<(String, Option<String>), u64> = HashMap::new();
    for (number, entry) in entries {
        match params(entry, otherwise) {
            Ok(params) => {
                let place = (params.address.clone(), params.system_id.clone());
                match line_of.get(&place) {
                    Some(twice) => wrong.tell(
                        number,
                        format!("the address {} is on line {twice}, too", params.address),
                    ),
                    None => {
                        line_of.insert(place, number);
                        lines.push(Line { number, params });
                    }
                }
            }
            Err(problems) => problems
                .into_iter()
                .for_each(|problem| wrong.tell(number, problem)),
        }
    }
    if lines.is_empty() && wrong.is_empty() {
        wrong.tell(1, "there is no BMC in it");
    }
    match wrong.is_empty() {
        true => Ok(lines),
        false => Err(wrong),
    }
}

fn params(
    entry: Entry,
    (user, common): &(Option<String>, Option<String>),
) -> Result<BmcCreateParams, Vec<String>> {
    let mut wrong = Vec::new();
    if entry.address.is_empty() {
        wrong.push("it has no address".to_owned());
    }
    let user_name = entry.user.or_else(|| user.clone()).unwrap_or_else(|| {
        wrong.push("it has no user, and --user is not given".to_owned());
        String::new()
    });
    let own = match entry.password_file.map(|file| password::read(&file)).transpose() {
        Ok(own) => own.or(entry.password),
        Err(error) => {
            wrong.push(format!("{error:#}"));
            Some(String::new())
        }
    };
    let password = own.or_else(|| common.clone()).unwrap_or_else(|| {
        wrong.push(
            "it has no password, and neither --password-file nor MUSTER_BMC_PASSWORD is given".to_owned(),
        );
        String::new()
    });
    let mut word =
        |parsed: Option<Result<_, String>>| parsed.transpose().map_err(|why| wrong.push(why)).ok().flatten();
    let mode = word(entry.certificate.as_deref().map(mode));
    let certificate = match trust(mode, entry.fingerprint, None) {
        Ok(certificate) => certificate,
        Err(why) => {
            wrong.push(why);
            None
        }
    };
    let boot = match entry.boot.as_deref().map(boot).transpose() {
        Ok(boot) => boot,
        Err(why) => {
            wrong.push(why);
            None
        }
    };
    match wrong.is_empty() {
        true => Ok(BmcCreateParams {
            name: entry.name,
            address: entry.address,
            user_name,
            password,
            certificate,
            system_id: entry.system,
            boot,
            discover: None,
        }),
        false => Err(wrong),
    }
}

/// Entries with their lines, and the lines that could not be read.
type Entries = (Vec<(u64, Entry)>, WrongLines);

fn yaml(text: &str) -> Result<Entries, WrongLines> {
    let entries: Vec<Spanned<Entry>> = serde_saphyr::from_str(text).map_err(|error| {
        // The parser's message may quote the file, passwords too.
        let line = error.location().map_or(1, |at| at.line());
        WrongLines::of(
            line,
            format!("it is no list of entries with {}", COLUMNS.join(", ")),
        )
    })?;
    let numbered = entries
        .into_iter()
        .map(|entry| (entry.referenced.line(), entry.value));
    Ok((numbered.collect(), WrongLines::default()))
}

fn csv(text: &str) -> Result<Entries, WrongLines> {
    let (table, wrong) = CsvTable::read(text, &COLUMNS)?;
    let entries = table.rows.iter().map(|(line, row)| (*line, entry(&table, row)));
    Ok((entries.collect(), wrong))
}

fn entry(table: &CsvTable, row: &StringRecord) -> Entry {
    let cell = |name: &str| table.cell(row, name).map(str::to_owned);
    Entry {
        address: cell("address").unwrap_or_default(),
        name: cell("name"),
        user: cell("user"),
        password: cell("password"),
        password_file: cell("password_file").map(PathBuf::from),
        certificate: cell("certificate"),
        fingerprint: cell("fingerprint"),
        system: cell("system"),
        boot: cell("boot"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: (Option<String>, Option<String>) = (None, None);

    fn common() -> (Option<String>, Option<String>) {
        (Some("root".into()), Some("calvin-common".into()))
    }

    #[test]
    fn a_table_and_a_list_say_the_same() {
        let table = "address,name,password,boot,fingerprint\n10.0.0.1, a ,own,uefi-http,AB\n10.0.0.2,,,,\n";
        let list = "- address: 10.0.0.1\n  name: a\n  password: own\n  boot: uefi-http\n  fingerprint: AB\n- address: 10.0.0.2\n";
        let read = |file: &str, text| {
            let lines = read(Path::new(file), text, &common()).unwrap();
            lines.into_iter().map(|line| line.params).collect::<Vec<_>>()
        };
        let (by_table, by_list) = (read("a.csv", table), read("a.yaml", list));
        assert_eq!(by_table, by_list);
        assert_eq!(
            (by_list[0].password.as_str(), by_list[1].password.as_str()),
            ("own", "calvin-common")
        );
    }

    #[test]
    fn a_pasted_table_names_no_file_of_the_service() {
        let of = |text: &str, is_yaml| {
            let table = BmcTable {
                text: text.into(),
                is_yaml,
                user: Some("root".into()),
                password: None,
            };
            pasted(&table)
        };
        let read = of("address,password\n10.0.0.1,calvin\n", false).unwrap();
        let read: Vec<_> = read
            .iter()
            .map(|(line, params)| (*line, params.address.as_str(), params.password.as_str()))
            .collect();
        assert_eq!(read, [(2, "10.0.0.1", "calvin")]);
        let list = "- address: 10.0.0.1\n  password: calvin\n";
        assert_eq!(of(list, true).unwrap().len(), 1);
        for (text, is_yaml) in [
            ("address,password_file\n10.0.0.1,/etc/hostname\n", false),
            ("- address: 10.0.0.1\n  password_file: /etc/hostname\n", true),
        ] {
            let wrong = of(text, is_yaml).unwrap_err();
            assert!(
                wrong.len() == 1 && wrong[0].contains("write the password here"),
                "{wrong:?}"
            );
        }
        for (text, wrong_lines) in [
            ("address,password\n,hunter2\n10.0.0.2,\n", 2),
            // Without names of columns.
            ("10.0.0.1,root,hunter2\n10.0.0.2,root,hunter2\n", 1),
        ] {
            let wrong = of(text, false).unwrap_err();
            assert_eq!(wrong.len(), wrong_lines);
            assert!(!wrong.concat().contains("hunter2"), "{wrong:?}");
        }
    }

    #[test]
    fn every_wrong_line_is_told_with_its_number_and_no_password() {
        let table = "address,user,password,boot,certificate\n,u,hunter2,,\na,,hunter2,cd,\nb,u,,,pen\nc,u,hunter2,,bundle\nd,u,p,,\nd,u,p,,\nx,u,p,,,more\n";
        let wrong = read(Path::new("a.csv"), table, &NOBODY).unwrap_err().texts();
        for (number, words) in [
            (2, "no address"),
            (3, "no user"),
            (3, "virtual-media or uefi-http"),
            (4, "no password"),
            (4, "pin, system"),
            (5, "need --bundle"),
            (7, "is on line 6, too"),
            (8, "6 cells, and the table 5 columns"),
        ] {
            let found = wrong
                .iter()
                .any(|line| line.starts_with(&format!("line {number}:")) && line.contains(words));
            assert!(found, "{number} {words}: {wrong:#?}");
        }
        assert!(!wrong.concat().contains("hunter2"), "{wrong:?}");
        let wrong = read(
            Path::new("a.yml"),
            "- address: a\n- adress: b\n  password: hunter2\n",
            &common(),
        )
        .unwrap_err()
        .texts();
        assert!(
            wrong[0].starts_with("line 2: ") && !wrong[0].contains("hunter2"),
            "{wrong:?}"
        );
        let wrong = read(Path::new("a.csv"), "adress,user\n", &common())
            .unwrap_err()
            .texts();
        assert!(
            wrong[0].contains("cell 1 names no column; the column address is missing"),
            "{wrong:?}"
        );
        assert_eq!(
            read(Path::new("a.yaml"), "[]", &common())
                .unwrap_err()
                .texts()
                .len(),
            1
        );
    }
}
