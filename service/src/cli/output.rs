//! Standard output of commands: tables, JSON, YAML, names or values at a path; one object in lines, a table again and again.

mod details;
mod table;
mod watch;

pub use details::Details;
pub use table::{Column, Fit, Table};
pub use watch::Watch;

use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::{Context, Result};
use clap::Args;
use muster_kube_api::jsonpath::Path;
use rustix::event::{self, PollFd, PollFlags, Timespec};
use serde_json::Value;

/// The format of the output.
#[derive(Debug, Clone)]
pub enum Format {
    /// Fitted to the terminal.
    Table,
    /// With every column.
    Wide,
    /// All that the service returned.
    Json,
    /// The same as YAML.
    Yaml,
    /// One name a line, as commands take it.
    Name,
    /// The values at a path in the JSON.
    JsonPath(Box<Path>),
}

impl Format {
    /// True for forms with rows and columns.
    pub fn is_table(&self) -> bool {
        matches!(self, Self::Table | Self::Wide)
    }
}

/// The option.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// table, wide, json, yaml, name (ids, for other commands), or jsonpath=PATH such as jsonpath='{[*].inventory.cpu.count}'
    #[arg(long = "output", short, value_name = "FORMAT", default_value = "table", value_parser = format)]
    pub output: Format,
}

/// Reads the name of a format.
///
/// # Errors
/// The names that there are.
pub fn format(text: &str) -> Result<Format, String> {
    match text {
        "table" => Ok(Format::Table),
        "wide" => Ok(Format::Wide),
        "json" => Ok(Format::Json),
        "yaml" => Ok(Format::Yaml),
        "name" => Ok(Format::Name),
        text => {
            let unknown = || "write table, wide, json, yaml, name or jsonpath=PATH".to_owned();
            let path = text.strip_prefix("jsonpath=").ok_or_else(unknown)?;
            let path = Path::parse(path).map_err(|error| error.to_string())?;
            Ok(Format::JsonPath(Box::new(path)))
        }
    }
}

/// Prints a response in the requested format. `names`: the names that commands take.
pub fn show(format: &Format, table: impl FnOnce() -> Table, json: &Value, names: &[String]) -> Result<()> {
    let text = match format {
        Format::Table => table().render(width(), false),
        Format::Wide => table().render(None, true),
        Format::Name => names.iter().map(|name| format!("{name}\n")).collect(),
        structured => structured_text(structured, json)?,
    };
    print(&text);
    Ok(())
}

/// JSON in the structured formats; tables are shown as JSON, too.
fn structured_text(format: &Format, json: &Value) -> Result<String> {
    Ok(match format {
        Format::Yaml => serde_saphyr::to_string(json).context("no YAML can be made of the answer")?,
        Format::JsonPath(path) => {
            let found = path.find(json).into_iter().map(|value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            found.map(|value| value + "\n").collect()
        }
        Format::Json | Format::Table | Format::Wide | Format::Name => {
            format!("{}\n", serde_json::to_string_pretty(json)?)
        }
    })
}

/// Columns of the terminal: from `COLUMNS`, or from the terminal itself; `None` if standard output is not a terminal.
pub fn width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let asked = || {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        Some(usize::from(size.ws_col))
    };
    said.or_else(asked).filter(|columns| *columns > 0)
}

/// Lines of the terminal; `None` if standard output is not a terminal.
pub fn height() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_row)).filter(|rows| *rows > 0)
}

/// True if standard output is a terminal.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// True if nothing reads standard output any more: it is a pipe without its other end.
pub fn is_closed() -> bool {
    let out = std::io::stdout();
    let mut poll = [PollFd::new(&out, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    event::poll(&mut poll, Some(&now)).is_ok() && poll[0].revents().contains(PollFlags::ERR)
}

/// Prints `text` as it is. A closed standard output (`| head`) ends the command, quietly.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            eprintln!("standard output: {error}");
            std::process::exit(1);
        }
    }
}
