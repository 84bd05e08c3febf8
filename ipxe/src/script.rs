//! Writes the boot script and the redirect script.
//!
//! A line of an iPXE script is split at white space and `${..}` in it is expanded, so URLs and arguments that
//! hold either, or would end the line, are refused and not repaired: each comes from a validated setting.

use url::Url;

/// Arguments that follow `initrd=initrd` for a CoreOS live image. Source: docs/protocol/ipxe.md#2.
const COREOS_ARGUMENTS: &str = "random.trust_cpu=on rd.luks.options=discard ignition.firstboot \
    ignition.platform.id=metal console=tty1 console=ttyS1,115200n8 \
    coreos.inst.persistent-kargs=\"console=tty1 console=ttyS1,115200n8\"";

/// Names the network card that the live image was loaded by, in PXELINUX's form: the image tries this card's route to the service first.
const BOOT_CARD: &str = " BOOTIF=01-${netX/mac:hexhyp}";

/// The URLs and arguments of a boot script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootScript<'a> {
    pub kernel_url: &'a str,
    /// URL of the initramfs, with its credentials.
    pub initrd_url: &'a str,
    pub system: System<'a>,
    /// The user's arguments, in order.
    pub kernel_arguments: &'a [String],
    pub on_failure: OnFailure,
}

/// What a machine does when a script cannot be done: the service is away, or an answer is broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// The script ends, and the firmware continues with the next boot device, which may be a disk with an old system. The form of
    /// docs/protocol/ipxe.md#2.
    Leave,
    /// It tries again, for ever. Requests name the machine's network card.
    Retry,
}

/// Seconds between two attempts.
const PAUSE: u32 = 10;

/// The live system, with what its kernel line needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum System<'a> {
    /// The Muster live image: everything is in the initramfs.
    Muster {
        /// `kargs.default` of the image, separated by spaces.
        default_arguments: &'a str,
    },
    /// A CoreOS live image: it fetches its root.
    CoreOs { rootfs_url: &'a str },
}

/// No script can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The text is not an absolute http(s) URL.
    #[error("the {what} is not an absolute http or https URL")]
    NotAUrl { what: &'static str },
    /// It would not survive iPXE's script parser. The URL itself may hold a token and is not shown.
    #[error("the {what} holds {found}, which has a meaning in an iPXE script; percent-encode it")]
    UnsafeUrl { what: &'static str, found: &'static str },
    /// An argument would break the line, or iPXE would replace parts of it.
    #[error("kernel argument number {number} holds {found}, which has a meaning in an iPXE script")]
    UnsafeArgument {
        /// Its place in the list, from 1; 0 is the image's own.
        number: usize,
        found: &'static str,
    },
}

impl BootScript<'_> {
    pub fn render(&self) -> Result<String, ScriptError> {
        let kernel = checked_url("kernel URL", self.kernel_url)?;
        let initrd = checked_url("initrd URL", self.initrd_url)?;
        let mut arguments = String::from("initrd=initrd");
        match self.system {
            System::Muster { default_arguments } => {
                check_argument(0, default_arguments)?;
                if !default_arguments.trim().is_empty() {
                    arguments.push(' ');
                    arguments.push_str(default_arguments.trim());
                }
                arguments.push_str(BOOT_CARD);
            }
            System::CoreOs { rootfs_url } => {
                let rootfs = checked_url("rootfs URL", rootfs_url)?;
                arguments.push_str(&format!(" coreos.live.rootfs_url={rootfs} {COREOS_ARGUMENTS}"));
            }
        }
        for (index, argument) in self.kernel_arguments.iter().enumerate() {
            check_argument(index + 1, argument)?;
            arguments.push(' ');
            arguments.push_str(argument);
        }
        // `imgfree` drops what was loaded before, by a failed attempt or by the script that led here: the kernel would get that, too.
        Ok(match self.on_failure {
            OnFailure::Leave => {
                format!("#!ipxe\nimgfree\ninitrd --name initrd {initrd}\nkernel {kernel} {arguments}\nboot\n")
            }
            // Arguments end a line, so the check is on the next one.
            OnFailure::Retry => format!(
                "#!ipxe\n:again\nimgfree\ninitrd --name initrd {} || goto failed\nkernel {} {arguments} || goto failed\n\
                 boot || goto failed\n:failed\necho The discovery image could not be loaded; trying again in {PAUSE} s\n\
                 sleep {PAUSE}\ngoto again\n",
                with_mac(initrd, "netX"),
                with_mac(kernel, "netX"),
            ),
        })
    }
}

/// The URL with the MAC of one of iPXE's cards; `netX` is the one that was opened last.
fn with_mac(url: &str, card: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}mac=${{{card}/mac}}")
}

/// The script that requests the script again with the machine's MAC, so that the service can send installed hosts to their disk.
/// `script_url` is the boot script's own URL, with its credentials. Source: docs/protocol/ipxe.md#2: it is always `net0`.
///
/// With [`OnFailure::Retry`] the service answers [`to_disk_script`] for an installed host, and any other failure is retried.
pub fn redirect_script(script_url: &str, on_failure: OnFailure) -> Result<String, ScriptError> {
    let url = checked_url("script URL", script_url)?;
    let target = with_mac(url, "net0");
    Ok(match on_failure {
        OnFailure::Leave => format!("#!ipxe\nchain {target}\n"),
        OnFailure::Retry => format!(
            "#!ipxe\n:again\nchain --replace {target}&{DISK_SCRIPT_WANTED} ||\n\
             echo The service gave no boot script; trying again in {PAUSE} s\nsleep {PAUSE}\ngoto again\n"
        ),
    })
}

/// The query parameter of a machine that takes [`to_disk_script`] for an answer.
const DISK_SCRIPT_WANTED: &str = "installed=exit";

/// Ends iPXE, so that the firmware continues with the next boot device: the disk of an installed host.
pub fn to_disk_script() -> &'static str {
    "#!ipxe\necho This host is installed: booting from its disk\nexit\n"
}

fn checked_url<'a>(what: &'static str, text: &'a str) -> Result<&'a str, ScriptError> {
    if let Some(found) = special(text, true) {
        return Err(ScriptError::UnsafeUrl { what, found });
    }
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(text),
        _ => Err(ScriptError::NotAUrl { what }),
    }
}

fn check_argument(number: usize, text: &str) -> Result<(), ScriptError> {
    match special(text, false) {
        Some(found) => Err(ScriptError::UnsafeArgument { number, found }),
        None => Ok(()),
    }
}

/// Names the part of `text` that iPXE would not take literally. From iPXE's `src/core/exec.c`: a line is
/// split at white space only (quotes mean nothing), a word that begins with `#` ends it, the words `||`, `&&`
/// and `;` separate commands, and `${` begins a setting anywhere.
fn special(text: &str, url: bool) -> Option<&'static str> {
    if text.chars().any(char::is_control) {
        return Some("a line break or another control character");
    }
    if text.contains("${") {
        return Some("`${`");
    }
    if url && text.contains(char::is_whitespace) {
        return Some("a space");
    }
    if url && text.contains('#') {
        return Some("`#`");
    }
    if text.split_whitespace().any(|word| word.starts_with('#')) {
        return Some("a word that begins with `#`");
    }
    if text
        .split_whitespace()
        .any(|word| matches!(word, "||" | "&&" | ";"))
    {
        return Some("a command separator");
    }
    if text.ends_with('\\') {
        return Some("a backslash at its end");
    }
    None
}

#[cfg(test)]
mod tests;
