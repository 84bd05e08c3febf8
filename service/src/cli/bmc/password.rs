//! Passwords of BMCs: from a file or a variable, never from the command line, which every user of a computer sees.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

/// The variable.
const VARIABLE: &str = "MUSTER_BMC_PASSWORD";

/// The option.
#[derive(Debug, Args)]
pub struct PasswordArgs {
    /// File with the password, - for standard input [default: the variable MUSTER_BMC_PASSWORD]. There is no option for the
    /// password itself: everybody on this computer would see it in the list of processes
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

impl PasswordArgs {
    /// The password; `None`: none is given.
    pub fn read(&self) -> Result<Option<String>> {
        match &self.password_file {
            Some(file) => read(file).map(Some),
            None => Ok(std::env::var(VARIABLE).ok().filter(|text| !text.is_empty())),
        }
    }

    /// True when a file is named, so that the password is to be changed.
    pub fn names_file(&self) -> bool {
        self.password_file.is_some()
    }
}

/// The first line of a file.
pub fn read(file: &Path) -> Result<String> {
    let read = || -> std::io::Result<String> {
        if file == Path::new("-") {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            return Ok(text);
        }
        std::fs::read_to_string(file)
    };
    let text = read().with_context(|| format!("the password file {} cannot be read", file.display()))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
