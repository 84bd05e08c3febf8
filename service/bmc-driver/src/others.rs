//! Other programs that drive BMCs: two programs that switch one machine break each other's work.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use muster_api::bmc::BmcFailure;
use muster_core::lifecycle::bmc::Problem;
use muster_core::record::Bmc;

use crate::context::Context;

/// Another program's record of a BMC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// Its kind and name, as in `the BareMetalHost lab/r1u7`.
    pub name: String,
    /// The other program does not manage the machine at present, and may resume.
    pub detached: bool,
}

/// The other program that drives a BMC, if any; an error is shown to users.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Option<Other>, String>> + Send + 'a>>;

/// Looks up other programs that drive BMCs.
pub trait Others: Debug + Send + Sync {
    /// The program that drives the BMC at `address` (`https://HOST[:PORT]`).
    fn of<'a>(&'a self, address: &'a str) -> Answer<'a>;
}

/// Refuses to switch a machine that another program manages; one that is detached there is switched only on a user's request.
///
/// # Errors
/// If another program manages it, or that is not known.
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
            reason: format!("it is not known whether another program drives this BMC: {why}"),
            passing: true,
        }),
    }
}
