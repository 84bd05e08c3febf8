//! Processors. Source of the rules: docs/protocol/agent-inventory.md#5; the names of fields there are lscpu's.

mod arm;

use std::collections::BTreeMap;

use muster_api::inventory::Cpu;

use super::{Problems, smbios};
use crate::root::{ProbeError, Root};

/// Flag of processors that count their cycles: the kernel then shows the clock of the last moments as `cpu MHz`.
const COUNTS_CYCLES: &str = "aperfmperf";

pub(super) fn cpu(root: &Root, problems: &mut Problems) -> Cpu {
    let text = problems
        .take("cpu", read(root, "/proc/cpuinfo"))
        .unwrap_or_default();
    let info = parse(&text);
    let machine = root.probe("uname.machine", || Ok(sysinfo::System::cpu_arch()));
    let flags = info
        .first("flags")
        .or_else(|| info.first("Features"))
        .or_else(|| info.first("features"));
    let flags: Vec<String> = flags
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let online = root
        .text("/sys/devices/system/cpu/online")
        .ok()
        .and_then(|list| count_of_list(&list));
    let is_momentary = flags.iter().any(|flag| flag == COUNTS_CYCLES);
    Cpu {
        architecture: problems.take("cpu.architecture", machine).unwrap_or_default(),
        count: online.unwrap_or(info.processors),
        frequency: problems
            .take("cpu.frequency", frequency(root, &info, is_momentary))
            .unwrap_or_default(),
        model_name: problems.take("cpu.model_name", model(&info)).unwrap_or_default(),
        flags,
    }
}

fn read(root: &Root, path: &str) -> Result<String, ProbeError> {
    root.text(path).map_err(ProbeError::reading(path))
}

/// `/proc/cpuinfo`: the values of the first processor (and of the machine) by key.
#[derive(Debug, Default)]
struct CpuInfo {
    values: BTreeMap<String, String>,
    processors: i64,
    /// Implementer and part of each kind of arm processors, in order.
    kinds: Vec<(u32, u32)>,
}

impl CpuInfo {
    fn first(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }
}

fn parse(text: &str) -> CpuInfo {
    let mut info = CpuInfo::default();
    let mut implementer = None;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let key = key.trim();
        let hexadecimal = || u32::from_str_radix(value.trim().strip_prefix("0x")?, 16).ok();
        match key {
            "CPU implementer" => implementer = hexadecimal(),
            "CPU part" => {
                let kind = implementer.zip(hexadecimal());
                info.kinds.extend(kind.filter(|kind| !info.kinds.contains(kind)));
            }
            _ => {}
        }
        // s390x writes `processor 0: version = FF, ...`.
        if key == "processor" || key.starts_with("processor ") {
            info.processors += 1;
        }
        info.values
            .entry(key.to_owned())
            .or_insert_with(|| value.trim().to_owned());
    }
    info
}

/// x86 `model name`, ppc64le `cpu`, s390x the machine type, arm from the table of parts; of several kinds the last, as lscpu's is.
fn model(info: &CpuInfo) -> Result<String, ProbeError> {
    let s390x = info.first("processor 0").and_then(|text| {
        text.split(',')
            .find_map(|part| part.trim().strip_prefix("machine = "))
    });
    if let Some(machine) = s390x {
        return Ok(machine.to_owned());
    }
    if let Some(name) = info.first("model name").or_else(|| info.first("cpu")) {
        return Ok(name.to_owned());
    }
    match info.kinds.last() {
        Some(&(implementer, part)) => arm::model(implementer, part).map(str::to_owned).ok_or_else(|| {
            let text = format!("no name is known for arm implementer {implementer:#x}, part {part:#x}");
            ProbeError::value(text)
        }),
        None => Err(ProbeError::content("/proc/cpuinfo", "names no processor")),
    }
}

/// MHz: the highest that cpufreq allows, else the constant that the kernel calibrated, else that of the firmware, else that in the
/// model's name. Never a measured one: that would differ with each inventory.
fn frequency(root: &Root, info: &CpuInfo, is_momentary: bool) -> Result<f64, ProbeError> {
    let kilohertz = root
        .list("/sys/devices/system/cpu")
        .unwrap_or_default()
        .into_iter()
        .filter(|name| {
            name.strip_prefix("cpu")
                .is_some_and(|rest| rest.parse::<u32>().is_ok())
        })
        .filter_map(|name| {
            let file = format!("/sys/devices/system/cpu/{name}/cpufreq/cpuinfo_max_freq");
            root.text(&file).ok()?.parse::<u32>().ok()
        })
        .max();
    if let Some(kilohertz) = kilohertz {
        return Ok(f64::from(kilohertz) / 1000.0);
    }
    let constant = info
        .first("cpu MHz")
        .filter(|_| !is_momentary)
        .or_else(|| info.first("cpu MHz static"))
        // POWER's, which is the firmware's: `3866.000000MHz`.
        .or_else(|| info.first("clock")?.strip_suffix("MHz"))
        .and_then(|text| text.trim().parse::<f64>().ok())
        .filter(|mhz| mhz.is_finite() && *mhz > 0.0);
    let of_firmware = || {
        let table = root.read("/sys/firmware/dmi/tables/DMI").ok()?;
        smbios::processor_mhz(&table).map(f64::from)
    };
    constant
        .or_else(of_firmware)
        .or_else(|| of_name(info.first("model name")?))
        .ok_or_else(|| ProbeError::value("neither cpufreq nor the firmware reports the clock rate"))
}

/// `... CPU @ 2.40GHz`
fn of_name(model: &str) -> Option<f64> {
    let (_, rate) = model.rsplit_once('@')?;
    let ghz: f64 = rate.trim().strip_suffix("GHz")?.trim().parse().ok()?;
    Some((ghz * 1000.0).round())
}

/// The number of numbers in a kernel list such as `0-3,8`; `None` for a text that is no such list.
fn count_of_list(list: &str) -> Option<i64> {
    list.split(',').try_fold(0_i64, |sum, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: i64 = first.trim().parse().ok()?;
        let last: i64 = last.trim().parse().ok()?;
        (last >= first).then(|| sum.saturating_add(last - first).saturating_add(1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_lists_are_counted() {
        for (list, count) in [
            ("0", Some(1)),
            ("0-3,8", Some(5)),
            ("0-127", Some(128)),
            ("", None),
            ("3-1", None),
            ("a-b", None),
        ] {
            assert_eq!(count_of_list(list), count, "{list}");
        }
    }

    #[test]
    fn a_clock_that_is_measured_is_never_told() {
        use crate::testing::Machine;
        let frequency = |machine: &Machine, text: &str, is_momentary| {
            frequency(&machine.root(), &parse(text), is_momentary).unwrap_or(0.0)
        };
        let epyc = "cpu MHz\t: 2894.561\nmodel name\t: AMD EPYC 7763\n";
        let xeon = "cpu MHz\t: 1200.1\nmodel name\t: Intel(R) Xeon(R) CPU @ 2.40GHz\n";
        let bare = Machine::new();
        assert_eq!(frequency(&bare, epyc, true), 0.0);
        assert_eq!(frequency(&bare, xeon, true), 2400.0);
        assert_eq!(frequency(&bare, epyc, false), 2894.561, "calibrated at the start");
        let mut processor = vec![0_u8; 0x1c];
        (processor[0], processor[1]) = (4, 0x1a);
        processor[0x14..0x16].copy_from_slice(&4000_u16.to_le_bytes());
        processor[0x16..0x18].copy_from_slice(&3500_u16.to_le_bytes());
        let told = bare.file("/sys/firmware/dmi/tables/DMI", &processor);
        assert_eq!(frequency(&told, epyc, true), 3500.0);
        let scaled = told.file(
            "/sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq",
            "3600000\n",
        );
        assert_eq!(frequency(&scaled, epyc, true), 3600.0);
    }

    #[test]
    fn an_arm_server_is_named_by_its_part() {
        let info = parse(
            "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\nprocessor\t: 1\n",
        );
        assert_eq!(model(&info).unwrap(), "Neoverse-N1");
        assert_eq!(info.processors, 2);
    }

    #[test]
    fn of_several_kinds_of_arm_processors_the_last_one_names_the_machine() {
        let kind = |part: &str| format!("CPU implementer\t: 0x41\nCPU part\t: {part}\n\n");
        let text: String = ["0xd46", "0xd4e", "0xd46"].map(kind).concat();
        assert_eq!(model(&parse(&text)).unwrap(), "Cortex-X3");
    }

    #[test]
    fn power_tells_its_clock_with_the_unit() {
        let info = parse("processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3666.000000MHz\n");
        let machine = crate::testing::Machine::new();
        assert_eq!(frequency(&machine.root(), &info, false), Ok(3666.0));
    }

    #[test]
    fn an_unknown_arm_part_is_unknown_with_its_numbers_as_the_reason() {
        let info = parse("CPU implementer\t: 0x41\nCPU part\t: 0xfff\n");
        assert!(model(&info).unwrap_err().to_string().contains("0xfff"));
    }

    #[test]
    fn a_mainframe_is_named_by_its_machine_type() {
        let info = parse(
            "vendor_id       : IBM/S390\nfeatures\t: esan3 zarch\nprocessor 0: version = 00,  identification = 0133E8,  machine = 8561\n",
        );
        assert_eq!(model(&info).unwrap(), "8561");
        assert_eq!(info.first("features"), Some("esan3 zarch"));
    }
}
