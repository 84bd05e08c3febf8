//! The addresses of an InfraEnv's media, and commands and configurations that boot a machine from them.

use muster_api::boot::{BOOT_ORDER_SCRIPT, BOOT_SCRIPT, INITRD, KERNEL, ROOTFS, beside};
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::{CpuArchitecture, InfraEnv, PresignedUrl};

use crate::words::{self, quoted};

/// An address that a machine boots from.
pub struct Medium {
    pub what: String,
    pub url: String,
    /// Until when it can be used.
    pub until: String,
}

/// A command that boots a machine or prepares that, or a part of a configuration.
pub struct BootLine {
    pub what: &'static str,
    pub text: String,
    /// The command that prints the whole.
    pub whole: Option<String>,
}

/// All addresses. `script`: the iPXE script by a signed URL.
pub fn media(pool: &InfraEnv, iso: &PresignedUrl, script: &PresignedUrl, now: &str) -> Vec<Medium> {
    let until = |url: &PresignedUrl| match url.expires_at.starts_with("0001") {
        // Without a limit it is the zero date.
        true => "new addresses are made".to_owned(),
        false => format!("{} ({})", url.expires_at, words::relative(&url.expires_at, now)),
    };
    let medium = |what: &str, file: &str| Medium {
        what: what.to_owned(),
        url: beside(&iso.url, file),
        until: until(iso),
    };
    vec![
        Medium {
            what: format!("ISO ({}), also for UEFI HTTP boot", pool.image_type),
            url: iso.url.clone(),
            until: until(iso),
        },
        medium("iPXE script", BOOT_SCRIPT),
        medium(
            "iPXE script that sends installed hosts to their disks",
            BOOT_ORDER_SCRIPT,
        ),
        Medium {
            what: "iPXE script by a signed address".to_owned(),
            url: script.url.clone(),
            until: until(script),
        },
        medium("Kernel", KERNEL),
        medium("Initramfs", INITRD),
        medium("Root file system (of CoreOS images alone)", ROOTFS),
    ]
}

/// Commands that can be copied as they are, but for words in capitals.
pub fn lines(pool: &InfraEnv, iso: &str) -> Vec<BootLine> {
    let mut lines = with_file(pool, iso);
    lines.extend(with_ipxe(pool.id, iso));
    lines.extend(with_firmware(pool, iso));
    lines
}

fn line(what: &'static str, text: String) -> BootLine {
    let whole = None;
    BootLine { what, text, whole }
}

/// By the ISO as a file.
fn with_file(pool: &InfraEnv, iso: &str) -> Vec<BootLine> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let file = match pool.name.chars().all(is_plain) && !pool.name.starts_with('-') {
        true => format!("{}.iso", pool.name),
        false => "discovery.iso".to_owned(),
    };
    let mut lines = vec![
        line("Fetch the ISO", format!("curl -fLo {file} {}", quoted(iso))),
        line(
            "Write it to a USB stick (all on the stick is lost)",
            format!("sudo dd if={file} of=/dev/sdX bs=4M conv=fsync status=progress"),
        ),
    ];
    let machine = match pool.cpu_architecture.normalized() {
        CpuArchitecture::X86_64 => "qemu-system-x86_64 -machine q35",
        CpuArchitecture::Arm64 | CpuArchitecture::Aarch64 => {
            "qemu-system-aarch64 -machine virt -cpu neoverse-n1 -bios /usr/share/qemu-efi-aarch64/QEMU_EFI.fd"
        }
        // QEMU boots these from no ISO of ours.
        CpuArchitecture::Ppc64le | CpuArchitecture::S390x => return lines,
    };
    lines.push(line(
        "Boot it in QEMU",
        format!(
            "truncate -s 120G disk.img\n{machine} -smp 2 -m 8192 -nographic -cdrom {file} -drive file=disk.img,format=raw,if=virtio"
        ),
    ));
    lines
}

/// By iPXE and a DHCP server.
fn with_ipxe(id: InfraEnvId, iso: &str) -> [BootLine; 4] {
    let (script, in_order) = (beside(iso, BOOT_SCRIPT), beside(iso, BOOT_ORDER_SCRIPT));
    let whole = |server: &str| Some(format!("muster pxe-config {server} --infra-env {id}"));
    [
        line("Boot by iPXE, at its prompt", format!("dhcp\nchain {script}")),
        BootLine {
            what: "Boot by iPXE from your own TFTP or web server: a script",
            text: format!("#!ipxe\ndhcp\nchain --replace {in_order}"),
            whole: whole("script"),
        },
        BootLine {
            what: "Have dnsmasq send iPXE to the pool",
            text: format!("dhcp-match=set:ipxe,175\ndhcp-boot=tag:ipxe,{in_order}"),
            whole: whole("dnsmasq"),
        },
        BootLine {
            what: "Have Kea send iPXE to the pool",
            text: format!(
                "\"client-classes\": [\n  {{ \"name\": \"ipxe\", \
                 \"test\": \"option[77].exists and (substring(option[77].hex,0,4) == 'iPXE' or substring(option[77].hex,1,4) == 'iPXE')\",\n    \
                 \"boot-file-name\": \"{in_order}\" }}\n]"
            ),
            whole: whole("kea"),
        },
    ]
}

/// By firmware and BMC.
fn with_firmware(pool: &InfraEnv, iso: &str) -> [BootLine; 2] {
    // Source: IANA, Dynamic Host Configuration Protocol version 6 parameters, processor architecture types.
    let architecture = match pool.cpu_architecture.normalized() {
        CpuArchitecture::Arm64 | CpuArchitecture::Aarch64 => 19,
        CpuArchitecture::X86_64 | CpuArchitecture::Ppc64le | CpuArchitecture::S390x => 16,
    };
    [
        line(
            "Have UEFI firmware load the ISO by HTTP, with dnsmasq",
            format!(
                "dhcp-match=set:http,option:client-arch,{architecture}\n\
                 dhcp-option-force=tag:http,60,HTTPClient\ndhcp-boot=tag:http,{iso}"
            ),
        ),
        line("Have the machine of a BMC boot it (Redfish)", add_bmc(pool.id)),
    ]
}

/// The command that adds a BMC.
pub fn add_bmc(id: InfraEnvId) -> String {
    format!("muster bmc add https://BMC --user USER --password-file FILE --infra-env {id}")
}

/// True if the host of a URL is this machine itself.
pub fn is_loopback(url: &str) -> bool {
    let host = url::Url::parse(url).ok();
    let host = host.as_ref().and_then(url::Url::host);
    host.is_some_and(|host| match host {
        url::Host::Domain(name) => name == "localhost",
        url::Host::Ipv4(address) => address.is_loopback(),
        url::Host::Ipv6(address) => address.is_loopback(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pool(name: &str, architecture: &str) -> InfraEnv {
        serde_json::from_value(json!({
            "kind": "InfraEnv", "id": InfraEnvId::random(), "href": "", "name": name, "type": "minimal-iso",
            "cpu_architecture": architecture, "user_name": "admin", "email_domain": "", "proxy": {}, "pull_secret_set": false,
            "created_at": "", "updated_at": "", "expires_at": "",
        }))
        .unwrap()
    }

    #[test]
    fn lines_can_be_copied_whatever_the_name_is() {
        let iso = "http://192.0.2.1/boot/a'b/discovery.iso";
        for (name, file) in [
            ("rack-1", "rack-1.iso"),
            ("it's; rm", "discovery.iso"),
            ("-x", "discovery.iso"),
        ] {
            let lines = lines(&pool(name, "x86_64"), iso);
            assert_eq!(
                lines[0].text,
                format!(r"curl -fLo {file} 'http://192.0.2.1/boot/a'\''b/discovery.iso'")
            );
        }
    }

    #[test]
    fn the_line_for_qemu_is_for_the_processor_of_the_pool() {
        let qemu = |architecture: &str| {
            let lines = lines(&pool("a", architecture), "http://192.0.2.1/boot/x/discovery.iso");
            lines
                .into_iter()
                .find(|line| line.what == "Boot it in QEMU")
                .map(|line| line.text)
        };
        assert!(
            qemu("x86_64")
                .unwrap()
                .contains("\nqemu-system-x86_64 -machine q35 ")
        );
        assert!(
            qemu("arm64")
                .unwrap()
                .contains("\nqemu-system-aarch64 -machine virt ")
        );
        assert_eq!(qemu("s390x"), None);
    }

    #[test]
    fn media_are_beside_the_iso_and_say_until_when() {
        let url = |url: &str, expires_at: &str| PresignedUrl {
            url: url.into(),
            expires_at: expires_at.into(),
        };
        let iso = url(
            "http://192.0.2.1/boot/x/discovery.iso",
            "0001-01-01T00:00:00.000Z",
        );
        let script = url("http://192.0.2.1/s", "2026-11-30T14:00:00.000Z");
        let media = media(&pool("a", "x86_64"), &iso, &script, "2026-11-30T12:00:00.000Z");
        assert_eq!(media[0].what, "ISO (minimal-iso), also for UEFI HTTP boot");
        assert_eq!(media[4].url, "http://192.0.2.1/boot/x/vmlinuz");
        assert_eq!(media[4].until, "new addresses are made");
        assert_eq!(media[3].until, "2026-11-30T14:00:00.000Z (in 2 h)");
    }

    #[test]
    fn addresses_of_this_machine_alone_are_known() {
        assert!(
            is_loopback("http://127.0.0.1:8091/x")
                && is_loopback("http://[::1]/")
                && !is_loopback("http://192.0.2.1/")
        );
    }
}
