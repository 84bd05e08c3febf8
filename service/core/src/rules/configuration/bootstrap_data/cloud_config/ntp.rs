//! `ntp`, for chrony, which CoreOS has.

use super::super::refused::Refused;
use super::made::Made;
use super::node::Node;

const MEMBERS: [&str; 4] = ["enabled", "ntp_client", "pools", "servers"];

pub(super) fn translate(ntp: &Node<'_>, made: &mut Made) -> Result<(), Refused> {
    let entry = ntp.members(&MEMBERS)?;
    if let Some(client) = entry.get("ntp_client")
        && !["auto", "chrony"].contains(&client.text()?)
    {
        return Err(client.refuse("must be auto or chrony, which images for Ignition have"));
    }
    // It is enabled without the member, too.
    if let Some(node) = entry.get("enabled")
        && !node.flag()?
    {
        return Ok(());
    }
    let mut lines = Vec::new();
    for (key, word) in [("pools", "pool"), ("servers", "server")] {
        let Some(list) = entry.get(key) else { continue };
        for node in list.items()? {
            let name = node.line()?;
            let is_plain = |c: char| c.is_ascii_alphanumeric() || ".:-_%".contains(c);
            if name.is_empty() || !name.chars().all(is_plain) {
                return Err(node.refuse("must be a name or an address"));
            }
            lines.push(format!("{word} {name} iburst\n"));
        }
    }
    // Without servers the image's own stay.
    if !lines.is_empty() {
        let text = format!(
            "# Of the bootstrap data (ntp)\n{}driftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\nlogdir /var/log/chrony\n",
            lines.concat()
        );
        made.file("/etc/chrony.conf", 0o644, &text);
    }
    made.units
        .push(serde_json::json!({"name": "chronyd.service", "enabled": true}));
    Ok(())
}
