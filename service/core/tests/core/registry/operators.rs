//! Cases of add-on operators.

use muster_api::host::HostRole;
use muster_api::inventory::{Boot, Gpu};
use muster_core::validate::CheckId as C;

use super::Outcome::{Failure, Hidden, Pending, Success};
use super::Where::{Bound, Day1, Pool};
use super::{Case, Scene};
use crate::world::disk;

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let operators = C::ALL.into_iter().filter(|check| check.category() == "operators");
    for check in operators {
        let cases: Vec<Case> = vec![(check, Pool, Hidden, |_| ()), (check, Bound, Success, |_| ())];
        all.extend(cases);
    }
    all.extend(of_disks());
    all.extend(of_capacity());
    all.extend(of_drivers());
    all
}

fn no_inventory(s: &mut Scene, operator: &str) {
    s.operator(operator);
    s.no_inventory();
}

fn spare_disk(s: &mut Scene, size_gb: i64) {
    s.inventory().disks.push(disk("sdc", size_gb));
}

fn of_disks() -> Vec<Case> {
    vec![
        // Three workers: none is on the control plane, so that they store.
        (C::Odf, Day1, Success, |s| s.operator("odf")),
        (C::Odf, Day1, Failure, |s| {
            s.operator("odf");
            s.host.data.role = HostRole::Master;
        }),
        (C::Odf, Day1, Success, |s| {
            s.operator("odf");
            s.host.data.role = HostRole::Master;
            spare_disk(s, 25);
        }),
        (C::Odf, Day1, Failure, |s| {
            s.operator("odf");
            s.operator("mce");
            s.host.data.role = HostRole::Master;
            spare_disk(s, 74);
        }),
        (C::Odf, Day1, Pending, |s| {
            s.operator("odf");
            s.host.data.role = HostRole::AutoAssign;
            s.peers.pop();
        }),
        (C::Odf, Day1, Pending, |s| no_inventory(s, "odf")),
        (C::Lvm, Day1, Success, |s| s.operator("lvm")),
        (C::Lvm, Day1, Failure, |s| {
            s.operator("lvm");
            s.inventory().disks.truncate(1);
        }),
        (C::Lvm, Day1, Failure, |s| {
            s.operator("lvm");
            s.operator("mce");
        }),
        (C::Lvm, Day1, Success, |s| {
            s.operator("lvm");
            s.operator("mce");
            spare_disk(s, 50);
        }),
        (C::Lvm, Day1, Failure, |s| {
            s.operator("lvm");
            s.host.data.role = HostRole::AutoAssign;
        }),
        (C::Lvm, Day1, Success, |s| {
            s.operator("lvm");
            s.inventory().disks.truncate(1);
            s.host.data.role = HostRole::Arbiter;
        }),
        (C::Lvm, Day1, Pending, |s| no_inventory(s, "lvm")),
    ]
}

fn of_capacity() -> Vec<Case> {
    fn runs_machines(s: &mut Scene) {
        s.operator("cnv");
        s.inventory().cpu.as_mut().unwrap().flags = vec!["svm".into()];
    }
    fn cores(s: &mut Scene, operator: &str, count: i64) {
        s.operator(operator);
        s.inventory().cpu.as_mut().unwrap().count = count;
    }
    fn usable_mib(s: &mut Scene, operator: &str, mib: i64) {
        s.operator(operator);
        s.inventory().memory.as_mut().unwrap().usable_bytes = mib << 20;
    }
    vec![
        (C::Cnv, Day1, Success, runs_machines),
        (C::Cnv, Day1, Success, |s| {
            s.operator("cnv");
            s.inventory().cpu.as_mut().unwrap().architecture = "aarch64".into();
        }),
        (C::Cnv, Day1, Failure, |s| s.operator("cnv")),
        (C::Cnv, Day1, Failure, |s| {
            runs_machines(s);
            s.host.data.role = HostRole::AutoAssign;
        }),
        (C::Cnv, Day1, Failure, |s| {
            runs_machines(s);
            s.inventory().cpu.as_mut().unwrap().count = 1;
        }),
        (C::Cnv, Day1, Failure, |s| {
            runs_machines(s);
            s.traits().control_plane_count = 1;
        }),
        (C::Cnv, Day1, Success, |s| {
            runs_machines(s);
            s.traits().control_plane_count = 1;
            spare_disk(s, 60);
        }),
        (C::Cnv, Day1, Pending, |s| no_inventory(s, "cnv")),
        (C::Mce, Day1, Success, |s| usable_mib(s, "mce", 16384)),
        (C::Mce, Day1, Failure, |s| usable_mib(s, "mce", 16383)),
        (C::Mce, Day1, Failure, |s| {
            usable_mib(s, "mce", 16384);
            s.traits().control_plane_count = 1;
        }),
        (C::Mce, Day1, Failure, |s| cores(s, "mce", 3)),
        (C::Mce, Day1, Pending, |s| no_inventory(s, "mce")),
        (C::Mtv, Day1, Success, |s| usable_mib(s, "mtv", 1024)),
        (C::Mtv, Day1, Failure, |s| usable_mib(s, "mtv", 1023)),
        (C::Mtv, Day1, Pending, |s| no_inventory(s, "mtv")),
        (C::Osc, Day1, Success, |s| cores(s, "osc", 1)),
        (C::Osc, Day1, Failure, |s| cores(s, "osc", 0)),
        (C::Osc, Day1, Pending, |s| no_inventory(s, "osc")),
        (C::OpenshiftAi, Day1, Success, |s| {
            usable_mib(s, "openshift-ai", 32768)
        }),
        (C::OpenshiftAi, Day1, Failure, |s| {
            usable_mib(s, "openshift-ai", 32767)
        }),
        (C::OpenshiftAi, Day1, Failure, |s| cores(s, "openshift-ai", 7)),
        (C::OpenshiftAi, Day1, Pending, |s| no_inventory(s, "openshift-ai")),
    ]
}

fn of_drivers() -> Vec<Case> {
    fn secure_with_gpu(s: &mut Scene, operator: &str, vendor_id: &str) {
        s.operator(operator);
        s.inventory().gpus = vec![Gpu {
            vendor_id: vendor_id.into(),
            ..Gpu::default()
        }];
        s.inventory().boot = Some(Boot {
            secure_boot_state: "Enabled".into(),
            ..Boot::default()
        });
    }
    vec![
        (C::NvidiaGpu, Day1, Success, |s| {
            secure_with_gpu(s, "nvidia-gpu", "1002")
        }),
        (C::NvidiaGpu, Day1, Failure, |s| {
            secure_with_gpu(s, "nvidia-gpu", "10de")
        }),
        (C::NvidiaGpu, Day1, Pending, |s| no_inventory(s, "nvidia-gpu")),
        (C::AmdGpu, Day1, Success, |s| {
            secure_with_gpu(s, "amd-gpu", "10de")
        }),
        (C::AmdGpu, Day1, Failure, |s| {
            secure_with_gpu(s, "amd-gpu", "1002")
        }),
        (C::AmdGpu, Day1, Pending, |s| no_inventory(s, "amd-gpu")),
        (C::Kmm, Day1, Success, |s| s.operator("kmm")),
        (C::Kmm, Day1, Failure, |s| secure_with_gpu(s, "kmm", "")),
        (C::Kmm, Day1, Pending, |s| no_inventory(s, "kmm")),
    ]
}
