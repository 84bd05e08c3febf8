//! Machine models.

use muster_api::inventory::Gpu;

/// Disks of a model.
#[derive(Debug, Clone, Copy)]
pub enum Storage {
    /// So many SATA SSDs for the system, and up to that many NVMe and rotating disks.
    Server { system: u32, nvme: u32, rotating: u32 },
    /// SAS disks that are reached by two paths each, under a multipath device.
    Multipath,
    /// One virtio disk or two.
    Virtual,
    /// NVMe disks only.
    Nvme,
}

/// A model of a vendor.
#[derive(Debug)]
pub struct Model {
    /// Its weight in a draw among the models.
    pub share: u32,
    pub manufacturer: &'static str,
    pub product: &'static str,
    pub architecture: &'static str,
    pub cpu: &'static str,
    pub cpu_flags: &'static str,
    pub megahertz: f64,
    /// Logical processors, one of these.
    pub threads: &'static [i64],
    /// Memory, GiB, one of these.
    pub memory_gib: &'static [i64],
    pub storage: Storage,
    /// Network interfaces at most.
    pub nics: u32,
    /// PCI vendor and device of the network interfaces.
    pub nic: (&'static str, &'static str, i64),
    /// Name of the first.
    pub nic_name: &'static str,
    pub gpu: bool,
    pub uefi: bool,
    pub is_virtual: bool,
}

const INTEL: &str = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush dts acpi mmx fxsr sse sse2 ss ht tm pbe syscall nx pdpe1gb rdtscp lm constant_tsc art arch_perfmon pebs bts rep_good nopl xtopology nonstop_tsc cpuid aperfmperf pni pclmulqdq dtes64 monitor ds_cpl vmx smx est tm2 ssse3 sdbg fma cx16 xtpr pdcm pcid dca sse4_1 sse4_2 x2apic movbe popcnt tsc_deadline_timer aes xsave avx f16c rdrand lahf_lm abm 3dnowprefetch cat_l3 invpcid_single intel_ppin ssbd mba ibrs ibpb stibp ibrs_enhanced tpr_shadow flexpriority ept vpid ept_ad fsgsbase tsc_adjust bmi1 avx2 smep bmi2 erms invpcid cqm rdt_a avx512f avx512dq rdseed adx smap avx512ifma clflushopt clwb intel_pt avx512cd sha_ni avx512bw avx512vl xsaveopt xsavec xgetbv1 xsaves";
const AMD: &str = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx mmxext fxsr_opt pdpe1gb rdtscp lm constant_tsc rep_good nopl nonstop_tsc cpuid extd_apicid aperfmperf rapl pni pclmulqdq monitor ssse3 fma cx16 pcid sse4_1 sse4_2 movbe popcnt aes xsave avx f16c rdrand lahf_lm cmp_legacy svm extapic cr8_legacy abm sse4a misalignsse 3dnowprefetch osvw ibs skinit wdt tce topoext perfctr_core perfctr_nb bpext perfctr_llc mwaitx cpb cat_l3 cdp_l3 invpcid_single hw_pstate ssbd mba ibrs ibpb stibp vmmcall fsgsbase bmi1 avx2 smep bmi2 invpcid cqm rdt_a rdseed adx smap clflushopt clwb sha_ni xsaveopt xsavec xgetbv1 clzero irperf";
const GUEST: &str = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ss syscall nx pdpe1gb rdtscp lm constant_tsc rep_good nopl xtopology cpuid pni pclmulqdq vmx ssse3 fma cx16 pcid sse4_1 sse4_2 x2apic movbe popcnt tsc_deadline_timer aes xsave avx f16c rdrand hypervisor lahf_lm abm";
const ARM: &str =
    "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs";

/// All of them.
pub const CATALOGUE: &[Model] = &[
    Model {
        share: 30,
        manufacturer: "Dell Inc.",
        product: "PowerEdge R650",
        architecture: "x86_64",
        cpu: "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz",
        cpu_flags: INTEL,
        megahertz: 3200.0,
        threads: &[64, 128],
        memory_gib: &[256, 512, 1024],
        storage: Storage::Server {
            system: 2,
            nvme: 8,
            rotating: 0,
        },
        nics: 6,
        nic: ("0x14e4", "0x1751", 25_000),
        nic_name: "eno8303",
        gpu: false,
        uefi: true,
        is_virtual: false,
    },
    Model {
        share: 20,
        manufacturer: "HPE",
        product: "ProLiant DL380 Gen10",
        architecture: "x86_64",
        cpu: "Intel(R) Xeon(R) Silver 4214R CPU @ 2.40GHz",
        cpu_flags: INTEL,
        megahertz: 3500.0,
        threads: &[24, 48],
        memory_gib: &[96, 192, 384],
        storage: Storage::Server {
            system: 2,
            nvme: 2,
            rotating: 12,
        },
        nics: 8,
        nic: ("0x8086", "0x158b", 25_000),
        nic_name: "ens1f0",
        gpu: false,
        uefi: true,
        is_virtual: false,
    },
    Model {
        share: 12,
        manufacturer: "Supermicro",
        product: "SYS-1029U-TR4",
        architecture: "x86_64",
        cpu: "AMD EPYC 7543 32-Core Processor",
        cpu_flags: AMD,
        megahertz: 3737.0,
        threads: &[64, 128],
        memory_gib: &[256, 512],
        storage: Storage::Nvme,
        nics: 4,
        nic: ("0x15b3", "0x1017", 100_000),
        nic_name: "enp65s0f0np0",
        gpu: true,
        uefi: true,
        is_virtual: false,
    },
    Model {
        share: 8,
        manufacturer: "Lenovo",
        product: "ThinkSystem SR650 -[7X06CTO1WW]-",
        architecture: "x86_64",
        cpu: "Intel(R) Xeon(R) Gold 5218 CPU @ 2.30GHz",
        cpu_flags: INTEL,
        megahertz: 3900.0,
        threads: &[32, 64],
        memory_gib: &[128, 256],
        storage: Storage::Multipath,
        nics: 4,
        nic: ("0x8086", "0x37d1", 1000),
        nic_name: "ens2f0",
        gpu: false,
        uefi: false,
        is_virtual: false,
    },
    Model {
        share: 6,
        manufacturer: "Cisco Systems Inc",
        product: "UCSC-C220-M5SX",
        architecture: "x86_64",
        cpu: "Intel(R) Xeon(R) Platinum 8260 CPU @ 2.40GHz",
        cpu_flags: INTEL,
        megahertz: 3900.0,
        threads: &[48, 96],
        memory_gib: &[192, 768],
        storage: Storage::Server {
            system: 2,
            nvme: 0,
            rotating: 24,
        },
        nics: 2,
        nic: ("0x1137", "0x0043", 40_000),
        nic_name: "enp62s0f0",
        gpu: false,
        uefi: true,
        is_virtual: false,
    },
    Model {
        share: 14,
        manufacturer: "QEMU",
        product: "Standard PC (Q35 + ICH9, 2009)",
        architecture: "x86_64",
        cpu: "Intel Xeon Processor (Icelake)",
        cpu_flags: GUEST,
        megahertz: 0.0,
        threads: &[4, 8, 16],
        memory_gib: &[16, 32],
        storage: Storage::Virtual,
        nics: 2,
        nic: ("0x1af4", "0x0001", -1),
        nic_name: "enp1s0",
        gpu: false,
        uefi: true,
        is_virtual: true,
    },
    Model {
        share: 6,
        manufacturer: "VMware, Inc.",
        product: "VMware7,1",
        architecture: "x86_64",
        cpu: "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz",
        cpu_flags: GUEST,
        megahertz: 2494.0,
        threads: &[4, 8],
        memory_gib: &[16, 24],
        storage: Storage::Virtual,
        nics: 2,
        nic: ("0x15ad", "0x07b0", 10_000),
        nic_name: "ens192",
        gpu: false,
        uefi: false,
        is_virtual: true,
    },
    Model {
        share: 4,
        manufacturer: "Ampere(TM)",
        product: "Mt. Snow",
        architecture: "aarch64",
        cpu: "Neoverse-N1",
        cpu_flags: ARM,
        megahertz: 3000.0,
        threads: &[80],
        memory_gib: &[128, 256],
        storage: Storage::Nvme,
        nics: 2,
        nic: ("0x15b3", "0x1015", 25_000),
        nic_name: "enP4p4s0f0",
        gpu: false,
        uefi: true,
        is_virtual: false,
    },
];

/// Its accelerators.
pub fn gpus(model: &Model) -> Vec<Gpu> {
    let gpu = |bus: &str| Gpu {
        address: format!("0000:{bus}:00.0"),
        device_id: "20b5".into(),
        name: "GA100 [A100 PCIe 80GB]".into(),
        vendor: "NVIDIA Corporation".into(),
        vendor_id: "10de".into(),
    };
    if model.gpu {
        vec![gpu("41"), gpu("a1")]
    } else {
        Vec::new()
    }
}
