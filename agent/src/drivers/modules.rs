//! Finds the kernel modules that a device needs, from depmod's text files. Does no I/O.

use std::collections::HashMap;

/// The modules of a running kernel.
#[derive(Debug, Default)]
pub struct ModuleIndex {
    /// Patterns by bus (the part before the first colon), with the module that each names.
    aliases: HashMap<String, Vec<(String, String)>>,
    /// Modules by an alias that is no device's, such as `crc32c`.
    other_names: HashMap<String, Vec<String>>,
    /// File under the modules' folder, by name.
    files: HashMap<String, String>,
    /// Modules to load before, by name, in order.
    needs: HashMap<String, Vec<String>>,
    /// Modules to load before and after if they exist, by name.
    soft: HashMap<String, (Vec<String>, Vec<String>)>,
}

impl ModuleIndex {
    /// Parses `modules.dep`, `modules.alias` and `modules.softdep`. Malformed lines are skipped.
    pub fn parse(dep: &str, alias: &str, softdep: &str) -> Self {
        let mut index = Self::default();
        for line in dep.lines() {
            let Some((file, needs)) = line.split_once(':') else {
                continue;
            };
            let name = module_name(file);
            // depmod lists the nearest dependency first.
            let needs = needs.split_whitespace().rev().map(module_name).collect();
            index.files.insert(name.clone(), file.to_owned());
            index.needs.insert(name, needs);
        }
        for line in alias.lines() {
            let mut words = line.split_whitespace();
            if let (Some("alias"), Some(pattern), Some(module)) = (words.next(), words.next(), words.next()) {
                if !pattern.contains(':') {
                    let modules = index.other_names.entry(canonical(pattern)).or_default();
                    modules.push(canonical(module));
                }
                let entry = (pattern.to_owned(), canonical(module));
                index
                    .aliases
                    .entry(bus(pattern).to_owned())
                    .or_default()
                    .push(entry);
            }
        }
        for line in softdep.lines() {
            let mut words = line.split_whitespace();
            let (Some("softdep"), Some(module)) = (words.next(), words.next()) else {
                continue;
            };
            let (mut before, mut after, mut to_after) = (Vec::new(), Vec::new(), false);
            for word in words {
                match word {
                    "pre:" => to_after = false,
                    "post:" => to_after = true,
                    name if to_after => after.push(canonical(name)),
                    name => before.push(canonical(name)),
                }
            }
            index.soft.insert(canonical(module), (before, after));
        }
        index
    }

    /// The modules for a device's `modalias`.
    pub fn wanted_by(&self, modalias: &str) -> Vec<&str> {
        let patterns = self.aliases.get(bus(modalias)).into_iter().flatten();
        let mut wanted: Vec<&str> = patterns
            .filter(|(pattern, _)| matches(pattern.as_bytes(), modalias.as_bytes()))
            .map(|(_, module)| module.as_str())
            .collect();
        wanted.dedup();
        wanted
    }

    /// The module and its dependencies in loading order, as `(name, file)`. Empty for a module that is built
    /// in or absent.
    pub fn plan(&self, name: &str) -> Vec<(&str, &str)> {
        let mut plan = Vec::new();
        self.add(&canonical(name), &mut plan, 0);
        plan
    }

    fn add<'a>(&'a self, name: &str, plan: &mut Vec<(&'a str, &'a str)>, depth: usize) {
        // Soft dependencies may form circles.
        if depth > 8 || plan.iter().any(|(planned, _)| *planned == name) {
            return;
        }
        let Some((name, file)) = self.files.get_key_value(name) else {
            // Soft dependencies may name a feature that several modules offer, each for another machine.
            for other in self.other_names.get(name).into_iter().flatten() {
                self.add(other, plan, depth + 1);
            }
            return;
        };
        let (before, after) = self.soft.get(name).map_or((&[][..], &[][..]), |(b, a)| (b, a));
        for other in before.iter().chain(self.needs.get(name).into_iter().flatten()) {
            self.add(other, plan, depth + 1);
        }
        if !plan.iter().any(|(planned, _)| planned == name) {
            plan.push((name, file));
        }
        for other in after {
            self.add(other, plan, depth + 1);
        }
    }
}

/// `kernel/drivers/net/virtio-net.ko` is `virtio_net`.
fn module_name(file: &str) -> String {
    let base = file.rsplit('/').next().unwrap_or(file);
    canonical(base.split('.').next().unwrap_or(base))
}

/// The kernel takes `-` and `_` in names as the same.
fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

/// Drivers of ACPI devices name it as `acpi*`.
fn bus(alias: &str) -> &str {
    let bus = alias.split(':').next().unwrap_or(alias);
    bus.trim_end_matches('*')
}

/// Shell patterns as depmod writes them: `*`, `?`, `[a-c]`.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Position to resume at when the last `*` must take one byte more.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        let step = match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
                continue;
            }
            Some(b'?') => Some(1),
            Some(b'[') => set(&pattern[at..], text[from]),
            Some(byte) if *byte == text[from] => Some(1),
            _ => None,
        };
        match (step, star) {
            (Some(length), _) => {
                at += length;
                from += 1;
            }
            (None, Some((star_at, star_from))) => {
                at = star_at + 1;
                from = star_from + 1;
                star = Some((star_at, star_from + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// The length of the set that `pattern` begins with, if `byte` is in it.
fn set(pattern: &[u8], byte: u8) -> Option<usize> {
    let end = pattern.iter().position(|one| *one == b']')?;
    let mut members = &pattern[1..end];
    let mut within = false;
    while let [first, rest @ ..] = members {
        match rest {
            [b'-', last, rest @ ..] => {
                within |= (*first..=*last).contains(&byte);
                members = rest;
            }
            _ => {
                within |= *first == byte;
                members = rest;
            }
        }
    }
    within.then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEP: &str = "\
kernel/drivers/net/virtio_net.ko: kernel/drivers/net/net_failover.ko kernel/net/core/failover.ko
kernel/drivers/net/net_failover.ko: kernel/net/core/failover.ko
kernel/net/core/failover.ko:
kernel/drivers/scsi/sd_mod.ko: kernel/lib/crc-t10dif.ko
kernel/lib/crc-t10dif.ko:
kernel/lib/crct10dif-pclmul.ko:
kernel/drivers/scsi/ch.ko:
kernel/lib/libcrc32c.ko:
kernel/crypto/crc32c_generic.ko:
kernel/arch/x86/crypto/crc32c-intel.ko:
nonsense
";
    const ALIAS: &str = "\
# Aliases
alias virtio:d00000001v* virtio_net
alias scsi:t-0x00* sd_mod
alias scsi:t-0x0[7-9]* ch
alias pci:v00008086d0000100Esv*sd*bc*sc*i* e1000
alias acpi*:LNXPWRBN:* button
alias crc32c crc32c_intel
alias crc32c crc32c_generic
alias crypto-round round
alias round crypto-round
alias
";
    const SOFT: &str = "\
softdep crc_t10dif pre: crct10dif-pclmul
softdep a pre: b
softdep ch pre: sd_mod post: ch
softdep libcrc32c pre: crc32c
";

    fn index() -> ModuleIndex {
        ModuleIndex::parse(DEP, ALIAS, SOFT)
    }

    #[test]
    fn devices_want_the_modules_whose_patterns_they_match() {
        let index = index();
        assert_eq!(index.wanted_by("virtio:d00000001v00001AF4"), ["virtio_net"]);
        assert_eq!(index.wanted_by("scsi:t-0x00"), ["sd_mod"]);
        assert_eq!(index.wanted_by("scsi:t-0x08"), ["ch"]);
        assert!(index.wanted_by("scsi:t-0x05").is_empty());
        assert!(index.wanted_by("usb:v1D6Bp0002").is_empty());
        let e1000 = "pci:v00008086d0000100Esv00001AF4sd00001100bc02sc00i00";
        assert_eq!(index.wanted_by(e1000), ["e1000"]);
        assert_eq!(index.wanted_by("acpi:LNXPWRBN:"), ["button"]);
    }

    #[test]
    fn modules_are_loaded_after_what_they_need() {
        let index = index();
        let names = |module| {
            index
                .plan(module)
                .into_iter()
                .map(|(name, _)| name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("virtio-net"), ["failover", "net_failover", "virtio_net"]);
        assert_eq!(names("sd_mod"), ["crct10dif_pclmul", "crc_t10dif", "sd_mod"]);
        assert_eq!(names("ch"), ["crct10dif_pclmul", "crc_t10dif", "sd_mod", "ch"]);
        assert!(names("e1000").is_empty(), "built in or not in the image");
        assert_eq!(
            names("libcrc32c"),
            ["crc32c_intel", "crc32c_generic", "libcrc32c"],
            "a soft dependency may be an alias"
        );
        assert!(names("round").is_empty(), "aliases may go round in circles");
        assert_eq!(
            index.plan("failover"),
            [("failover", "kernel/net/core/failover.ko")]
        );
    }

    #[test]
    fn patterns_are_those_of_the_shell() {
        for (pattern, text, expected) in [
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*", "", true),
            ("a?c", "ac", false),
            ("a[0-9A-F]b", "aEb", true),
            ("a[0-9A-F]b", "aGb", false),
            ("*bc*bd*", "xxbcxbcbdx", true),
            ("a[", "ab", false),
            ("", "a", false),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), text.as_bytes()),
                expected,
                "{pattern} {text}"
            );
        }
    }
}
