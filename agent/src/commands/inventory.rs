//! Commands that print facts about this machine, or capture them for tests.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};

use crate::host;
use crate::inventory::disks::links;
use crate::inventory::{self, Options};
use crate::net::predictable_names;
use crate::root::Root;

/// Commands about the machine itself. None of them contacts a service.
#[derive(Debug, Subcommand)]
pub enum InventoryCommand {
    /// Print the inventory of this machine as JSON; failed probes go to standard error
    Inventory(RootArgument),
    /// Print the id under which this machine registers
    HostId(RootArgument),
    /// Print every interface with the name that the installed OS will give it (its own where that stays)
    Names(RootArgument),
    /// Print the links under /dev/disk that name the disks of this machine, with their targets
    DiskLinks(RootArgument),
    /// Keep a copy of everything that the commands above read of this machine
    Capture(CaptureArguments),
}

#[derive(Debug, Args)]
pub struct RootArgument {
    /// Folder with a captured machine in place of this one
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CaptureArguments {
    /// A folder, or a file that ends in .tar, .tar.gz or .tgz
    #[arg(value_name = "OUT")]
    place: PathBuf,
}

impl InventoryCommand {
    /// Runs the command; the result goes to `output`.
    ///
    /// # Errors
    /// Fails if the captured tree cannot be read, or the result cannot be written.
    pub fn run(self, output: &mut impl Write) -> anyhow::Result<()> {
        match self {
            Self::Inventory(argument) => {
                let collected = inventory::collect(&argument.open()?, Options::default());
                for problem in &collected.problems {
                    eprintln!("{}: {}", problem.field, problem.reason);
                }
                serde_json::to_writer_pretty(&mut *output, &collected.inventory)
                    .context("cannot print the inventory")?;
                writeln!(output)?;
            }
            Self::HostId(argument) => {
                let root = argument.open()?;
                let interfaces = inventory::collect(&root, Options::default()).inventory.interfaces;
                writeln!(output, "{}", host::id::compute(&root, &interfaces))?;
            }
            Self::Names(argument) => {
                for (name, predictable) in predictable_names::names(&argument.open()?) {
                    writeln!(output, "{name} {}", predictable.as_deref().unwrap_or(&name))?;
                }
            }
            Self::DiskLinks(argument) => {
                for (link, target) in links::plan(&argument.open()?).links {
                    writeln!(output, "{link} {target}")?;
                }
            }
            Self::Capture(arguments) => {
                let recording = record();
                recording.write(&arguments.place)?;
            }
        }
        Ok(())
    }
}

impl RootArgument {
    fn open(&self) -> anyhow::Result<Root> {
        match &self.root {
            Some(dir) => Ok(Root::tree(dir)?),
            None => Ok(Root::live()),
        }
    }
}

/// Runs every probe once on this machine.
fn record() -> crate::root::Recording {
    let root = Root::recording();
    let collected = inventory::collect(&root, Options::default());
    host::id::compute(&root, &collected.inventory.interfaces);
    predictable_names::names(&root);
    links::plan(&root);
    root.into_recording().expect("the root was made to record")
}
