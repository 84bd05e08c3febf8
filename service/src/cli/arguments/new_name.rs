//! The name of an object to make: the first argument, as for all commands that name one, or `--name`.

use clap::Args;

/// One of both.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct NewNameArgs {
    /// Its name
    #[arg(value_name = "NAME")]
    first: Option<String>,

    /// Its name, written as an option
    #[arg(long = "name", value_name = "NAME")]
    option: Option<String>,
}

impl NewNameArgs {
    /// The name that was given.
    pub fn given(self) -> String {
        self.first.or(self.option).unwrap_or_default()
    }
}
