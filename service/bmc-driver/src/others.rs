//! Others who drive BMCs: two who switch one machine break each other's work.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use muster_api::bmc::BmcFailure;
use muster_core::lifecycle::bmc::Problem;
use muster_core::record::Bmc;

use crate::context::Context;

/// Somebody else's record of a BMC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// What it is and what it is called, as in `the BareMetalHost lab/r1u7`.
    pub name: String,
    /// They leave the machine alone at present, and may take it back.
    pub detached: bool,
}

/// The answer to who else drives a BMC; an error is for people.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Option<Other>, String>> + Send + 'a>>;

/// Knows who else drives BMCs.
pub trait Others: Debug + Send + Sync {
    /// Who drives the one at `address` (`https://HOST[:PORT]`).
    fn of<'a>(&'a self, address: &'a str) -> Answer<'a>;
}

/// A machine of others is left alone; one that they detached is switched when a user asks for it.
///
/// # Errors
/// It is others', or that cannot be told.
pub(crate) async fn leave_to_others(
    context: &Context,
    bmc: &Bmc,
    asked_by_user: bool,
) -> Result<(), Problem> {
    let Some(others) = &context.settings.others else {
        return Ok(());
    };
    match others.of(&bmc.settings.address).await {
        Ok(None) => Ok(()),
        Ok(Some(other)) if other.detached && asked_by_user => Ok(()),
        Ok(Some(other)) => Err(Problem {
            failure: BmcFailure::InUse,
            reason: format!(
                "{} has the same BMC, and two must not switch one machine: delete either that or this BMC",
                other.name
            ),
            passing: false,
        }),
        Err(why) => Err(Problem {
            failure: BmcFailure::Refused,
            reason: format!("it cannot be told whether others drive this BMC: {why}"),
            passing: true,
        }),
    }
}
