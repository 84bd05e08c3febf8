//! BMCs, through which machines are switched on and booted to be discovered.

mod actions;
mod import;
mod list;
mod machine;
mod one;
mod rows;
mod table;

use muster_api::ids::{BmcId, InfraEnvId};

pub use import::add;
pub use list::list;
pub use one::{act, show};
pub use rows::{Bmcs, of_pool};
pub use table::{BmcTable, ReadBmcs};

/// The address of the list.
pub const BMCS: &str = "/ui/bmcs";

/// The address of a BMC's page.
pub fn address(infra_env_id: InfraEnvId, id: BmcId) -> String {
    format!("{BMCS}/{infra_env_id}/{id}")
}
