//! Decides whether a host is the machine that a BMC has booted: by the reports of BMC and agent, and by the BMC that the host's kernel
//! arguments name.

use muster_bmc::matching::{Matching, Verdict};
use muster_core::record::{Bmc, Host};
use muster_core::rules::boot_argument::booted_by;

/// The relation of a host to a BMC.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    IsIt,
    Another,
    /// No identifier differs from the machine's, and its kernel arguments name no BMC. The image that the BMC was given decides:
    /// [`without_a_boot`].
    Unnamed,
    /// An operator has to check.
    Noteworthy(String),
}

/// `matching`: of the two reports.
pub(crate) fn judge(bmc: &Bmc, host: &Host, matching: &Matching) -> Judged {
    let boot = host.inventory.as_ref().and_then(|told| told.boot.as_ref());
    let named = boot.and_then(|boot| booted_by(&boot.command_line));
    let booted_here = named == Some(bmc.id);
    let list = |keys: Vec<String>| keys.join(", ");
    let agreed = || agreed(matching);
    let differing = || {
        let keys = matching.differences.iter();
        list(keys.map(|one| one.key.to_string()).collect())
    };
    match (matching.verdict, named) {
        (Verdict::Same, None) => Judged::Unnamed,
        // It booted an image that only this BMC was given.
        (Verdict::Same | Verdict::Conflict | Verdict::Unknown, Some(_)) if booted_here => Judged::IsIt,
        (Verdict::Different, Some(_)) if booted_here => Judged::Noteworthy(format!(
            "host {} booted this BMC's image and has another {}: the image's URL was used elsewhere, or the BMC reports another machine",
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

/// Decides about an [unnamed](Judged::Unnamed) host. `image_names_bmc`: every system that boots this BMC's image has the BMC in its kernel
/// arguments, so a host without it booted something else.
pub(crate) fn without_a_boot(bmc: &Bmc, host: &Host, matching: &Matching, image_names_bmc: bool) -> Judged {
    if image_names_bmc {
        return Judged::Noteworthy(format!(
            "host {} has the same {} and did not boot the image of this BMC: look whether it is another machine, or booted from elsewhere",
            host.id,
            agreed(matching)
        ));
    }
    match bmc.image.requests {
        // The image of this BMC has not been read yet.
        0 => Judged::Another,
        _ => Judged::IsIt,
    }
}

fn agreed(matching: &Matching) -> String {
    let keys: Vec<String> = matching.agreed.iter().map(ToString::to_string).collect();
    keys.join(", ")
}
