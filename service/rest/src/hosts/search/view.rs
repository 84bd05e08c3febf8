//! Found hosts on the wire.

use muster_api::search::{
    FacetCount, FoundHost, FoundHosts, HostBmc, HostDisk, HostFacet, HostHardware, HostWait, TermRemoval,
};
use muster_api::time::{Timestamp, millis};
use muster_core::query::{BmcSummary, Facet, HardwareSummary, HostSummary, Removal, WaitSummary};
use muster_operations::hosts;

pub fn found(found: hosts::FoundHosts) -> FoundHosts {
    FoundHosts {
        hosts: found.hosts.into_iter().map(host).collect(),
        next: found.next.map(|next| next.to_string()),
        total: found.total,
        visible: found.visible,
        facets: found.facets.into_iter().map(facet).collect(),
        terms: found.terms,
        removals: found.removals.into_iter().map(removal).collect(),
        revision: found.revision.to_string(),
        at: time(found.at),
    }
}

pub fn time(time: Timestamp) -> String {
    millis(Some(time))
}

fn host(host: HostSummary) -> FoundHost {
    FoundHost {
        sleep: host.sleep.word().to_owned(),
        id: host.id,
        infra_env_id: host.infra_env_id,
        infra_env: host.pool,
        cluster_id: host.cluster_id,
        cluster: host.cluster,
        name: host.name,
        status: host.status,
        reason: host.reason,
        since: time(host.since),
        stage: host.stage,
        percentage: host.percentage,
        role: host.role,
        approved: host.approved,
        labels: host.labels.into_iter().collect(),
        findings: host.findings,
        failed_checks: host
            .failed_checks
            .iter()
            .map(|check| check.id().to_owned())
            .collect(),
        wait: host.wait.map(wait),
        seen_at: time(host.seen_at),
        registered_at: time(host.registered_at),
        agent_version: host.agent_version,
        bmc: host.bmc.map(bmc),
        hardware: host.hardware.map(hardware),
    }
}

fn wait(wait: WaitSummary) -> HostWait {
    HostWait {
        what: wait.what,
        since: time(wait.since),
        until: wait.until.map(time),
        then: wait.then.into_owned(),
        what_to_do: wait.what_to_do.into_owned(),
    }
}

fn bmc(bmc: BmcSummary) -> HostBmc {
    HostBmc {
        name: bmc.name,
        address: bmc.address,
        power: bmc.power,
    }
}

fn hardware(hardware: HardwareSummary) -> HostHardware {
    let disks = hardware.disks.into_iter().map(|disk| HostDisk {
        bytes: disk.bytes,
        drive_type: disk.drive_type.name().to_owned(),
        serial: disk.serial,
    });
    HostHardware {
        vendor: hardware.vendor,
        model: hardware.model,
        serial: hardware.serial,
        cpu_threads: hardware.cpu_threads,
        memory_bytes: hardware.memory_bytes,
        disks: disks.collect(),
        gpus: hardware.gpus,
        nic_speed_mbps: hardware.nic_speed_mbps,
        macs: hardware.macs,
        ips: hardware.ips,
        ports: hardware.ports,
        vlans: hardware.vlans,
        bmc_address: hardware.bmc_address,
        firmware: hardware.firmware.map(|firmware| firmware.name().to_owned()),
        secure_boot: hardware.secure_boot,
    }
}

fn facet(facet: Facet) -> HostFacet {
    let values = facet.values.iter().map(|counted| FacetCount {
        value: counted.value.clone(),
        id: counted.id.clone(),
        hosts: counted.hosts,
        term: facet.term(counted),
    });
    HostFacet {
        key: facet.key.to_string(),
        values: values.collect(),
        left_out: facet.left_out,
        unknown: facet.unknown,
    }
}

fn removal(removal: Removal) -> TermRemoval {
    TermRemoval {
        term: removal.term,
        removes: removal.removes,
        removes_alone: removal.removes_alone,
    }
}
