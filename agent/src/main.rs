//! The program: a table from command to function.

use clap::Parser;
use muster_agent::inventory_command::InventoryCommand;

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: InventoryCommand,
}

fn main() -> anyhow::Result<()> {
    Arguments::parse().command.run(&mut std::io::stdout().lock())
}
