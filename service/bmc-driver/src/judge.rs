//! Decides whether a host is the machine that a BMC has booted: by what BMC and agent tell, and by the BMC that the host's kernel names.

use muster_bmc::matching::{Matching, Verdict};
use muster_core::record::{Bmc, Host};
use muster_core::rules::boot_argument::booted_by;

/// What a host is to a BMC.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    IsIt,
    Another,
    /// Somebody has to look.
    Noteworthy(String),
}

/// `matching`: of what both tell.
pub(crate) fn judge(bmc: &Bmc, host: &Host, matching: &Matching) -> Judged {
    let boot = host.inventory.as_ref().and_then(|told| told.boot.as_ref());
    let named = boot.and_then(|boot| booted_by(&boot.command_line));
    let booted_here = named == Some(bmc.id);
    let list = |keys: Vec<String>| keys.join(", ");
    let agreed = || list(matching.agreed.iter().map(ToString::to_string).collect());
    let differing = || {
        let keys = matching.differences.iter();
        list(keys.map(|one| one.key.to_string()).collect())
    };
    match (matching.verdict, named) {
        (Verdict::Same, None) => Judged::IsIt,
        // It booted what only this BMC was given.
        (Verdict::Same | Verdict::Conflict | Verdict::Unknown, Some(_)) if booted_here => Judged::IsIt,
        (Verdict::Different, Some(_)) if booted_here => Judged::Noteworthy(format!(
            "host {} booted this BMC's image and has another {}: the image's URL was used elsewhere, or the BMC tells of another machine",
            host.id,
            differing()
        )),
        (Verdict::Same | Verdict::Conflict, Some(other)) => Judged::Noteworthy(format!(
            "host {} has the same {} and booted the image of BMC {other}: look whether the two are swapped",
            host.id,
            agreed()
        )),
        (Verdict::Conflict, None) => Judged::Noteworthy(format!(
            "host {} has the same {} and another {}: look at both",
            host.id,
            agreed(),
            differing()
        )),
        (Verdict::Different | Verdict::Unknown, _) => Judged::Another,
    }
}
