//! `muster-agent self-check`.

use std::io::Write;

use clap::Args;

use crate::self_check;

/// Compare what the agent finds out about this machine with what udev, lsblk, lscpu, dmidecode and ip report, and print the differences
///
/// Needs a running Linux with these programs, and root. Exits with 1 when a difference is not explained: please report it with the
/// output, and an archive by `muster-agent capture`.
#[derive(Debug, Args)]
pub struct SelfCheckCommand {}

impl SelfCheckCommand {
    /// # Errors
    /// Fails if there is a difference without an explanation.
    pub fn run(&self, output: &mut impl Write) -> anyhow::Result<()> {
        let report = self_check::run();
        write!(output, "{report}")?;
        match report.unexplained().count() {
            0 => Ok(()),
            1 => anyhow::bail!("one difference is not explained"),
            number => anyhow::bail!("{number} differences are not explained"),
        }
    }
}
