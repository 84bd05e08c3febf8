//! Writes configurations of DHCP servers that exist already: each gives firmware iPXE, and iPXE one InfraEnv's script.
//!
//! Facts: docs/protocol/ipxe.md#6. Each text is loaded by its server in `tests/servers.rs`.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

/// Characters that the boot file field of a DHCP answer holds, its end apart.
const BOOT_FILE_LIMIT: usize = 127;

/// The iPXE of Debian's package `ipxe` for BIOS, as TFTP has it.
const BIOS_PROGRAM: &str = "undionly.kpxe";

/// The same for UEFI.
const UEFI_PROGRAM: &str = "snponly.efi";

/// A server, or a way of running one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// As the network's only DHCP server.
    Dnsmasq,
    /// dnsmasq next to another DHCP server, adding only the boot options.
    ProxyDhcp,
    /// ISC's dhcpd.
    IscDhcp,
    /// The successor of ISC's dhcpd.
    Kea,
}

/// The network and files of a recipe. Values come from an operator and are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    script: String,
    tftp_server: Ipv4Addr,
    subnet: Ipv4Net,
    range: (Ipv4Addr, Ipv4Addr),
}

/// A value that no recipe can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// Firmware would cut it.
    #[error(
        "the script's URL has {0} characters, a DHCP answer holds {BOOT_FILE_LIMIT}: give the service a shorter --boot-url"
    )]
    TooLong(usize),
    /// Distributions' iPXE has no TLS.
    #[error(
        "the script's URL {0} is neither http:// nor tftp://: the iPXE of distributions has no TLS (--boot-url)"
    )]
    NotHttp(String),
    /// The character would end a string or an option.
    #[error("the script's URL {0} has a character that configurations cannot hold")]
    Character(String),
    /// No address is left to give.
    #[error("{0} is too small to give addresses from: take a prefix of at most 29 bits")]
    Small(Ipv4Net),
    /// The server would refuse it.
    #[error("{first}-{last} is no range of addresses within {subnet}")]
    Range {
        /// As given.
        first: Ipv4Addr,
        /// As given.
        last: Ipv4Addr,
        /// As given.
        subnet: Ipv4Net,
    },
}

impl Recipe {
    /// For the script at that URL, of the service or of the TFTP server. Without `range` addresses come from the upper half of the subnet.
    ///
    /// # Errors
    /// For a URL that firmware or a configuration cannot take, and a range outside of the subnet.
    pub fn new(
        script: &str,
        tftp_server: Ipv4Addr,
        subnet: Ipv4Net,
        range: Option<(Ipv4Addr, Ipv4Addr)>,
    ) -> Result<Self, RecipeError> {
        if !["http://", "tftp://"]
            .iter()
            .any(|scheme| script.starts_with(scheme))
        {
            return Err(RecipeError::NotHttp(script.to_owned()));
        }
        if script.len() > BOOT_FILE_LIMIT {
            return Err(RecipeError::TooLong(script.len()));
        }
        if script.contains(|letter: char| !letter.is_ascii_graphic() || "\"'`,;\\#${}".contains(letter)) {
            return Err(RecipeError::Character(script.to_owned()));
        }
        let subnet = subnet.trunc();
        if subnet.prefix_len() > 29 {
            return Err(RecipeError::Small(subnet));
        }
        let (first, last) = range.unwrap_or_else(|| upper_half(subnet));
        if first > last || !subnet.contains(&first) || !subnet.contains(&last) {
            return Err(RecipeError::Range { first, last, subnet });
        }
        Ok(Self {
            script: script.to_owned(),
            tftp_server,
            subnet,
            range: (first, last),
        })
    }

    /// The whole configuration for that server, as its own program loads it.
    pub fn render(&self, server: Server) -> String {
        match server {
            Server::Dnsmasq => self.dnsmasq(),
            Server::ProxyDhcp => self.proxy_dhcp(),
            Server::IscDhcp => self.isc_dhcp(),
            Server::Kea => self.kea(),
        }
    }

    fn dnsmasq(&self) -> String {
        let Self {
            script,
            subnet,
            range: (first, last),
            ..
        } = self;
        let mut text = heading("#", "/etc/dnsmasq.d/muster.conf", "dnsmasq --test -C FILE");
        let _ = writeln!(
            text,
            "# Addresses: as they fit your network, with its routers and name servers."
        );
        let _ = writeln!(text, "dhcp-range={first},{last},{},1h", subnet.netmask());
        text += &tftp();
        text += "# iPXE is recognised by its option 175, or it would load itself for ever.\n";
        text += "dhcp-match=set:ipxe,175\n";
        text += "dhcp-match=set:bios,option:client-arch,0\n";
        text += "dhcp-match=set:efi64,option:client-arch,7\n";
        text += "dhcp-match=set:efi64,option:client-arch,9\n";
        let _ = writeln!(text, "dhcp-boot=tag:bios,tag:!ipxe,{BIOS_PROGRAM}");
        let _ = writeln!(text, "dhcp-boot=tag:efi64,tag:!ipxe,{UEFI_PROGRAM}");
        let _ = writeln!(text, "dhcp-boot=tag:ipxe,{script}");
        text
    }

    fn proxy_dhcp(&self) -> String {
        let Self { script, subnet, .. } = self;
        let mut text = heading("#", "/etc/dnsmasq.d/muster.conf", "dnsmasq --test -C FILE");
        text += "# Next to the DHCP server that gives addresses; on its broadcast domain, UDP ports 67, 69 and 4011 open.\n";
        text += "port=0\n";
        let _ = writeln!(text, "dhcp-range={},proxy,{}", subnet.network(), subnet.netmask());
        text += &tftp();
        text += "# iPXE is recognised by its user class, or it would load itself for ever.\n";
        text += "dhcp-userclass=set:ipxe,iPXE\n";
        let _ = writeln!(text, "pxe-service=tag:!ipxe,x86PC,\"iPXE\",{BIOS_PROGRAM}");
        let _ = writeln!(text, "pxe-service=tag:!ipxe,X86-64_EFI,\"iPXE\",{UEFI_PROGRAM}");
        let _ = writeln!(text, "pxe-service=tag:ipxe,x86PC,\"Muster\",{script}");
        let _ = writeln!(text, "pxe-service=tag:ipxe,X86-64_EFI,\"Muster\",{script}");
        text
    }

    fn isc_dhcp(&self) -> String {
        let Self {
            script,
            tftp_server,
            subnet,
            range: (first, last),
        } = self;
        let mut text = heading("#", "/etc/dhcp/dhcpd.conf", "dhcpd -t -cf FILE");
        let _ = writeln!(
            text,
            "# {tftp_server} is a TFTP server that has {BIOS_PROGRAM} and {UEFI_PROGRAM} (Debian package ipxe)."
        );
        text += "option arch code 93 = unsigned integer 16;\n";
        let _ = writeln!(
            text,
            "subnet {} netmask {} {{",
            subnet.network(),
            subnet.netmask()
        );
        let _ = writeln!(
            text,
            "  # Addresses: as they fit your network, with its routers and name servers. To servers that give them already add what follows the range."
        );
        let _ = writeln!(text, "  range {first} {last};");
        let _ = writeln!(text, "  next-server {tftp_server};");
        text += "  # iPXE is recognised by its user class, or it would load itself for ever.\n";
        text += "  if exists user-class and (option user-class = \"iPXE\" or substring(option user-class, 1, 4) = \"iPXE\") {\n";
        let _ = writeln!(text, "    filename \"{script}\";");
        text += "  } elsif substring(option arch, 0, 2) = 00:07 or substring(option arch, 0, 2) = 00:09 {\n";
        let _ = writeln!(text, "    filename \"{UEFI_PROGRAM}\";");
        text += "  } else {\n";
        let _ = writeln!(text, "    filename \"{BIOS_PROGRAM}\";");
        text += "  }\n}\n";
        text
    }

    fn kea(&self) -> String {
        let Self {
            script,
            tftp_server,
            subnet,
            range: (first, last),
        } = self;
        let mut text = heading("//", "/etc/kea/kea-dhcp4.conf", "kea-dhcp4 -t FILE");
        let _ = writeln!(
            text,
            r#"// {tftp_server} is a TFTP server that has {BIOS_PROGRAM} and {UEFI_PROGRAM} (Debian package ipxe).
// To a server that gives addresses already add "client-classes" alone.
{{
  "Dhcp4": {{
    "interfaces-config": {{ "interfaces": [ "*" ] }},
    "lease-database": {{ "type": "memfile" }},
    "valid-lifetime": 3600,
    // iPXE is recognised by its user class, or it would load itself for ever.
    "client-classes": [
      {{ "name": "ipxe", "test": "option[77].exists and (substring(option[77].hex,0,4) == 'iPXE' or substring(option[77].hex,1,4) == 'iPXE')",
        "boot-file-name": "{script}" }},
      {{ "name": "efi64", "test": "not member('ipxe') and (substring(option[93].hex,0,2) == 0x0007 or substring(option[93].hex,0,2) == 0x0009)",
        "next-server": "{tftp_server}", "boot-file-name": "{UEFI_PROGRAM}" }},
      {{ "name": "bios", "test": "not member('ipxe') and substring(option[93].hex,0,2) == 0x0000",
        "next-server": "{tftp_server}", "boot-file-name": "{BIOS_PROGRAM}" }}
    ],
    // Addresses: as they fit your network, with its routers and name servers.
    "subnet4": [
      {{ "id": 1, "subnet": "{subnet}", "pools": [ {{ "pool": "{first} - {last}" }} ] }}
    ]
  }}
}}"#
        );
        text
    }
}

/// The first lines: what the file is, where it goes, how it is tested.
fn heading(comment: &str, place: &str, test: &str) -> String {
    format!(
        "{comment} Printed by `muster pxe-config`: machines of one InfraEnv boot from the network. Goes to {place};\n\
         {comment} `{test}` checks it. Have machines boot from the network first, from their disk second.\n"
    )
}

/// dnsmasq's own TFTP server.
fn tftp() -> String {
    format!(
        "# {BIOS_PROGRAM} and {UEFI_PROGRAM} lie there (cp /usr/lib/ipxe/{{{BIOS_PROGRAM},{UEFI_PROGRAM}}} /srv/tftp/; Debian package ipxe).\n\
         enable-tftp\ntftp-root=/srv/tftp\n"
    )
}

/// Its addresses but the broadcast address.
fn upper_half(subnet: Ipv4Net) -> (Ipv4Addr, Ipv4Addr) {
    let (network, broadcast) = (u32::from(subnet.network()), u32::from(subnet.broadcast()));
    let middle = network + (broadcast - network) / 2 + 1;
    (Ipv4Addr::from(middle), Ipv4Addr::from(broadcast - 1))
}

#[cfg(test)]
mod tests;
