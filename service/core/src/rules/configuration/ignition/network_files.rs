//! Writes what brings static networks to machines that boot CoreOS: the files of every machine, and the script by which each finds
//! its own. Source: docs/protocol/static-network.md#4, #5 and #6.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use muster_api::infra_env::HostStaticNetworkConfig;
use muster_api::live::network::keyfiles;

use crate::record::Settings;
use crate::rules::live_network::live_network;

const FOLDER: &str = "/etc/assisted/network";
const SCRIPT: &str = "/usr/local/bin/pre-network-manager-config.sh";
/// Name of the unit that runs the script.
pub const UNIT: &str = "pre-network-manager-config.service";

/// A file on the booted system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestFile {
    /// Absolute path.
    pub path: String,
    pub permissions: u32,
    pub text: String,
}

/// The files without the unit; none if no machine has a static network that CoreOS can apply.
pub fn network_files(settings: &Settings) -> Vec<GuestFile> {
    let mut files = connection_files(settings);
    if !files.is_empty() {
        files.push(GuestFile {
            path: SCRIPT.into(),
            permissions: 0o755,
            text: SCRIPT_TEXT.into(),
        });
    }
    files
}

/// The files of the machines only, without the script.
pub fn connection_files(settings: &Settings) -> Vec<GuestFile> {
    let hosts = settings.static_network_config.iter().enumerate();
    hosts.flat_map(|(index, host)| host_files(index, host)).collect()
}

fn host_files(index: usize, host: &HostStaticNetworkConfig) -> Vec<GuestFile> {
    // Settings that cannot be applied were reported when they were configured.
    let Ok(network) = live_network(host) else {
        return Vec::new();
    };
    let secret = |name: &str, text: String| GuestFile {
        path: format!("{FOLDER}/host{index}/{name}"),
        permissions: 0o600,
        text,
    };
    let mut cards: Vec<String> = host
        .mac_interface_map
        .iter()
        .filter_map(|card| {
            let name = card.logical_nic_name.as_deref().unwrap_or_default();
            Some(format!("{}={name}", card.mac_address.as_deref()?))
        })
        .collect();
    cards.sort();
    let mut files = vec![secret("mac_interface.ini", cards.join("\n"))];
    // Which names the machine gives its cards is known to the script.
    files.extend(keyfiles(&network, &BTreeMap::new()).map(|file| secret(&file.name, file.to_string())));
    files
}

/// The unit for the initramfs, or for the booted system.
pub fn network_unit(in_initramfs: bool) -> String {
    let (before, target) = if in_initramfs {
        ("coreos-copy-firstboot-network.service", "initrd.target")
    } else {
        ("NetworkManager.service", "multi-user.target")
    };
    let after = if in_initramfs {
        "systemd-udev-settle.service"
    } else {
        "local-fs.target systemd-udev-settle.service"
    };
    let mut text = String::new();
    let _ = write!(
        text,
        "[Unit]\n\
         Description=Muster: gives this machine its static network\n\
         DefaultDependencies=no\n\
         Wants=systemd-udev-settle.service\n\
         After={after}\n\
         Before={before}\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         TimeoutStartSec=60\n\
         ExecStart={SCRIPT}\n\
         \n\
         [Install]\n\
         WantedBy={target}\n"
    );
    text
}

/// Cards may appear late, so the script waits until their number is stable. A card's address is compared as a whole,
/// ignoring case. A bond's options name a port by this machine's name of the card.
const SCRIPT_TEXT: &str = r#"#!/bin/sh
# Puts the static network of this machine, which one of its cards identifies, to its place.
networks=/etc/assisted/network
[ -d "$networks" ] || exit 0
if [ -e /etc/initrd-release ]; then
  target=/etc/coreos-firstboot-network
else
  target=/etc/NetworkManager/system-connections
fi
known=
rests=0
seconds=0
while [ "$rests" -lt 3 ] && [ "$seconds" -lt 30 ]; do
  now=$(cat /sys/class/net/*/address 2>/dev/null)
  if [ "$now" = "$known" ] && [ -n "$now" ]; then
    rests=$((rests + 1))
  else
    rests=0
    known=$now
  fi
  seconds=$((seconds + 1))
  sleep 1
done
for host in "$networks"/host*; do
  for mac in $known; do
    if [ "$mac" != 00:00:00:00:00:00 ] && grep -qi "^$mac=" "$host/mac_interface.ini"; then
      mkdir -p "$target"
      rm -f "$target"/*.nmconnection
      cp "$host"/*.nmconnection "$target"/ && chmod 600 "$target"/*.nmconnection
      while IFS='=' read -r card name || [ -n "$card" ]; do
        for device in /sys/class/net/*; do
          if grep -qix "$card" "$device/address"; then
            pattern=$(echo "$name" | sed 's/[][\.*^$/]/\\&/g')
            sed -i -e "s/^primary=$pattern\$/primary=${device##*/}/" -e "s/^active_slave=$pattern\$/active_slave=${device##*/}/" "$target"/*.nmconnection
          fi
        done
      done <"$host/mac_interface.ini"
      echo "muster: the card $mac has the static network in $host"
      exit 0
    fi
  done
done
echo "muster: no static network of the InfraEnv is for the cards of this machine:" $known
"#;
