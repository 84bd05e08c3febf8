//! Runs apt with package lists, state and downloads in the cache folder, and the network settings (proxies,
//! certificates) of the machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::selection::Sources;

/// Mirrors for a machine that names none for the release.
const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";
const DEFAULT_SECURITY_MIRROR: &str = "http://deb.debian.org/debian-security";

/// Verifies the package lists; of the package `debian-archive-keyring`.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Package lists younger than this are not fetched again.
const FRESH_FOR: Duration = Duration::from_hours(24);

/// One package as the lists name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Package {
    /// Its name, such as `shim-signed`.
    pub name: String,
    pub version: String,
    /// Hex digest of the `.deb` file, from the signed list.
    pub sha256: String,
    /// Bytes of the `.deb` file.
    pub size: u64,
    /// Name of the `.deb` file.
    pub file: String,
    /// Debian's name of it; `all` for packages that fit each.
    pub architecture: String,
}

impl Package {
    /// True for that package, where it is of this architecture or of all.
    fn is(&self, name: &str, architecture: &str) -> bool {
        self.name == name && (self.architecture == architecture || self.architecture == "all")
    }
}

/// From backports (apt takes nothing from there by default) only the kernel and its firmware.
const PREFERENCES: &str = "\
Package: linux-image-* linux-modules-* linux-binary-* linux-base* firmware-*
Pin: release a=*-backports
Pin-Priority: 990
";

/// The architecture of the programs that run on the machine where images are built.
const OF_TOOLS: &str = "amd64";

/// Runs apt in a folder of its own.
#[derive(Debug)]
pub struct AptRoot {
    sources: Sources,
    root: PathBuf,
    debs: PathBuf,
}

impl AptRoot {
    /// Prepares the folder: `apt-trixie-amd64/` for lists and state, `debs/` for packages.
    ///
    /// # Errors
    /// When apt or Debian's keyring is missing, or the folder cannot be written.
    pub fn open(cache: &Path, sources: &Sources) -> Result<Self> {
        let this = Self {
            root: cache.join(format!(
                "apt-{}{}-{}",
                sources.release.name(),
                if sources.backports { "-backports" } else { "" },
                sources.architecture.debian()
            )),
            sources: sources.clone(),
            debs: cache.join("debs"),
        };
        for folder in ["lists/partial", "archives/partial", "state"] {
            fs::create_dir_all(this.root.join(folder))
                .with_context(|| format!("cannot write to the cache folder {}", cache.display()))?;
        }
        fs::create_dir_all(&this.debs)?;
        ensure!(
            Path::new(KEYRING).exists(),
            "{KEYRING} is missing; install it: apt-get install debian-archive-keyring"
        );
        fs::write(this.root.join("status"), "")?;
        let lists = source_list(&this.mirrors()?, &this.architectures().join(" "));
        let file = this.root.join("sources.sources");
        if fs::read_to_string(&file).is_ok_and(|present| present != lists) {
            // Other mirrors have other lists.
            let _ = fs::remove_file(this.root.join("fetched"));
        }
        fs::write(file, lists)?;
        fs::write(this.root.join("preferences"), PREFERENCES)?;
        fs::write(
            this.root.join("apt.conf"),
            this.configuration(&machine_settings()?),
        )?;
        Ok(this)
    }

    /// The time since the package lists were fetched; `None` before the first time.
    #[must_use]
    pub fn lists_age(&self) -> Option<Duration> {
        let fetched = fs::metadata(self.root.join("fetched")).ok()?.modified().ok()?;
        Some(SystemTime::now().duration_since(fetched).unwrap_or_default())
    }

    /// True when the lists were fetched within the last day.
    #[must_use]
    pub fn lists_are_fresh(&self) -> bool {
        self.lists_age().is_some_and(|age| age < FRESH_FOR)
    }

    /// Fetches the package lists.
    ///
    /// # Errors
    /// With apt's message, when the mirror is out of reach or a signature is wrong.
    pub fn update(&self) -> Result<()> {
        self.apt(
            "apt-get",
            &["update", "--error-on=any"],
            &self.root,
            "fetching the package lists",
        )?;
        fs::write(self.root.join("fetched"), "")?;
        Ok(())
    }

    /// Each suite, and its mirror.
    fn mirrors(&self) -> Result<BTreeMap<String, String>> {
        let release = self.sources.release.name();
        let own = |own: &Option<String>, default: &str| own.clone().unwrap_or_else(|| default.to_owned());
        let (main, security) = (
            own(&self.sources.mirror, DEFAULT_MIRROR),
            own(&self.sources.security_mirror, DEFAULT_SECURITY_MIRROR),
        );
        let mut mirrors = BTreeMap::from([
            (release.to_owned(), main.clone()),
            (format!("{release}-updates"), main.clone()),
            (format!("{release}-security"), security),
        ]);
        if self.sources.backports {
            mirrors.insert(format!("{release}-backports"), main);
        }
        if self.sources.mirror.is_none() && self.sources.security_mirror.is_none() {
            take_mirrors(&machine_targets()?, &mut mirrors);
        }
        Ok(mirrors)
    }

    /// The image's, and that of tools if it is another.
    fn architectures(&self) -> Vec<&'static str> {
        let mut architectures = vec![self.sources.architecture.debian(), OF_TOOLS];
        architectures.dedup();
        architectures
    }

    /// The package of this name for the image's architecture.
    #[must_use]
    pub fn of_image<'a>(&self, packages: &'a [Package], name: &str) -> Option<&'a Package> {
        packages
            .iter()
            .find(|package| package.is(name, self.sources.architecture.debian()))
    }

    /// The package of tools with this name.
    #[must_use]
    pub fn of_tools<'a>(packages: &'a [Package], name: &str) -> Option<&'a Package> {
        packages.iter().find(|package| package.is(name, OF_TOOLS))
    }

    /// Looks up packages of the image and of tools in the lists: the newest version of each.
    ///
    /// # Errors
    /// When the lists do not name one.
    pub fn look_up(&self, image: &[&str], tools: &[&str]) -> Result<Vec<Package>> {
        let tools_named: Vec<String> = tools.iter().map(|name| format!("{name}:{OF_TOOLS}")).collect();
        let mut arguments = vec!["download", "--print-uris"];
        arguments.extend(image);
        arguments.extend(tools_named.iter().map(String::as_str));
        // Not in `debs`: apt would print nothing for a package that exists there.
        let mut found = parse_uris(&self.apt("apt-get", &arguments, &self.root, "looking packages up")?)?;
        found.sort();
        // With equal architectures, a package may be an ingredient and a tool.
        found.dedup();
        let missing = image.iter().find(|name| self.of_image(&found, name).is_none());
        let missing = missing.or_else(|| tools.iter().find(|name| Self::of_tools(&found, name).is_none()));
        if let Some(name) = missing {
            bail!(
                "the package lists of Debian {} do not name {name}",
                self.sources.release.name()
            );
        }
        Ok(found)
    }

    /// The packages that `name` depends on, alternatives and versions left out.
    ///
    /// # Errors
    /// When the lists do not name the package.
    pub fn dependencies(&self, name: &str) -> Result<Vec<String>> {
        let shown = self.apt(
            "apt-cache",
            &["show", "--no-all-versions", name],
            &self.root,
            "looking packages up",
        )?;
        Ok(parse_dependencies(&shown))
    }

    /// The newest version of a package of the lists, if they name it.
    #[must_use]
    pub fn version_now(&self, name: &str) -> Option<String> {
        let arguments = ["show", "--no-all-versions", name];
        let shown = self
            .apt("apt-cache", &arguments, &self.root, "looking packages up")
            .ok()?;
        let version = shown.lines().find_map(|line| line.strip_prefix("Version: "))?;
        Some(version.to_owned())
    }

    /// True when the lists still name exactly this file.
    #[must_use]
    pub fn offers(&self, package: &Package) -> bool {
        let arguments = ["download", "--print-uris", &exact(package)];
        self.apt("apt-get", &arguments, &self.root, "looking packages up")
            .and_then(|text| parse_uris(&text))
            .is_ok_and(|found| found.iter().any(|found| found.sha256 == package.sha256))
    }

    /// The folder of the packages' files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.debs
    }

    /// The release that packages come from.
    #[must_use]
    pub fn release(&self) -> &'static str {
        self.sources.release.name()
    }

    /// The path of the package's file, downloaded or not.
    #[must_use]
    pub fn path(&self, package: &Package) -> PathBuf {
        self.debs.join(&package.file)
    }

    /// True when the package's file is in the cache, complete.
    #[must_use]
    pub fn has(&self, package: &Package) -> bool {
        fs::metadata(self.path(package)).is_ok_and(|file| file.len() == package.size)
    }

    /// Downloads packages; apt checks them against the signed lists.
    ///
    /// # Errors
    /// With apt's message.
    pub fn download(&self, packages: &[&Package]) -> Result<()> {
        let exact: Vec<String> = packages.iter().map(|package| exact(package)).collect();
        let mut arguments = vec!["download"];
        arguments.extend(exact.iter().map(String::as_str));
        self.apt("apt-get", &arguments, &self.debs, "downloading packages")?;
        for package in packages {
            ensure!(self.has(package), "apt-get did not leave {}", package.file);
        }
        Ok(())
    }

    fn apt(&self, program: &str, arguments: &[&str], folder: &Path, doing: &str) -> Result<String> {
        let output = Command::new(program)
            .args(arguments)
            .env("APT_CONFIG", self.root.join("apt.conf"))
            .env("LC_ALL", "C")
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .with_context(|| cannot_run(program))?;
        if !output.status.success() {
            bail!(
                "{program} failed while {doing}:\n{}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The file that apt reads before anything else (`APT_CONFIG`): it can exclude the machine's own configuration, which may have hooks
    /// that clean the machine's cache.
    fn configuration(&self, machine_settings: &str) -> String {
        let root = self.root.display();
        let own = self.sources.architecture.debian();
        let all = self.architectures().join("\"; \"");
        format!(
            "{machine_settings}\
             Dir::Etc::main \"/dev/null\";\n\
             Dir::Etc::parts \"/dev/null\";\n\
             Dir::Etc::preferences \"{root}/preferences\";\n\
             Dir::Etc::preferencesparts \"/dev/null\";\n\
             Dir::Etc::sourcelist \"{root}/sources.sources\";\n\
             Dir::Etc::sourceparts \"/dev/null\";\n\
             Dir::State \"{root}/state\";\n\
             Dir::State::lists \"{root}/lists\";\n\
             Dir::State::status \"{root}/status\";\n\
             Dir::Cache \"{root}\";\n\
             Dir::Cache::archives \"{root}/archives\";\n\
             APT::Architecture \"{own}\";\n\
             APT::Architectures {{ \"{all}\"; }};\n\
             APT::Sandbox::User \"root\";\n\
             APT::Get::List-Cleanup \"true\";\n\
             Acquire::Languages {{ \"none\"; }};\n\
             Acquire::Retries \"3\";\n"
        )
    }
}

/// The exact version, in apt's syntax.
fn exact(package: &Package) -> String {
    match package.architecture.as_str() {
        "all" => format!("{}={}", package.name, package.version),
        architecture => format!("{}:{architecture}={}", package.name, package.version),
    }
}

fn cannot_run(program: &str) -> String {
    format!(
        "cannot run {program}: the ingredients are Debian packages; build on Debian or Ubuntu, or in a container \
         of debian:12 with apt and debian-archive-keyring"
    )
}

/// The machine's settings for fetching (proxies, certificates, time limits), as configuration text.
fn machine_settings() -> Result<String> {
    let output = Command::new("apt-config")
        .arg("dump")
        .output()
        .with_context(|| cannot_run("apt-config"))?;
    Ok(fetch_settings(&String::from_utf8_lossy(&output.stdout)))
}

fn fetch_settings(dump: &str) -> String {
    dump.lines()
        .filter(|line| {
            [
                "Acquire::http",
                "Acquire::https",
                "Acquire::Check-",
                "Acquire::ForceIPv",
            ]
            .iter()
            .any(|prefix| line.starts_with(prefix))
        })
        .fold(String::new(), |text, line| text + line + "\n")
}

/// Suites and the machine's address of each, in lines `URI suite`.
fn machine_targets() -> Result<String> {
    let output = Command::new("apt-get")
        .args([
            "indextargets",
            "--format",
            "$(REPO_URI) $(RELEASE)",
            "Created-By: Packages",
        ])
        .output()
        .with_context(|| cannot_run("apt-get"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Debian's own mirrors of our suites win over the default ones.
fn take_mirrors(targets: &str, mirrors: &mut BTreeMap<String, String>) {
    for line in targets.lines() {
        let Some((uri, suite)) = line.split_once(' ') else {
            continue;
        };
        let of_debian = uri
            .split('/')
            .any(|segment| segment == "debian" || segment == "debian-security");
        if let Some(mirror) = mirrors.get_mut(suite)
            && of_debian
        {
            uri.trim_end_matches('/').clone_into(mirror);
        }
    }
}

fn source_list(mirrors: &BTreeMap<String, String>, architectures: &str) -> String {
    mirrors
        .iter()
        .map(|(suite, uri)| {
            // Lists of the past have expired.
            let of_the_past = if uri.contains("snapshot.debian.org") {
                "Check-Valid-Until: no\n"
            } else {
                ""
            };
            format!(
                "Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: main non-free-firmware\n\
                 Architectures: {architectures}\nTargets: Packages\nSigned-By: {KEYRING}\n{of_the_past}\n"
            )
        })
        .collect()
}

/// Lines `'URI' name_version_arch.deb SIZE SHA256:HEX`.
fn parse_uris(text: &str) -> Result<Vec<Package>> {
    text.lines()
        .filter(|line| line.starts_with('\''))
        .map(|line| parse_uri(line).with_context(|| format!("apt-get printed an unexpected line: {line}")))
        .collect()
}

fn parse_uri(line: &str) -> Option<Package> {
    let mut words = line.split_whitespace().skip(1);
    let file = words.next()?;
    let size = words.next()?.parse().ok()?;
    let sha256 = words.next()?.strip_prefix("SHA256:")?;
    let mut parts = file.split('_');
    Some(Package {
        name: parts.next()?.to_owned(),
        version: parts.next()?.replace("%3a", ":"),
        architecture: parts.next()?.strip_suffix(".deb")?.to_owned(),
        sha256: sha256.to_owned(),
        size,
        file: file.to_owned(),
    })
}

fn parse_dependencies(shown: &str) -> Vec<String> {
    shown
        .lines()
        .find_map(|line| line.strip_prefix("Depends: "))
        .unwrap_or_default()
        .split(',')
        .filter_map(|one| one.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_print_uris_become_packages() {
        let text = "'http://x/pool/busybox-static_1.35.0-4%2bdeb12u1%2bb1_amd64.deb' \
                    busybox-static_1%3a1.35.0-4+deb12u1+b1_amd64.deb 928188 SHA256:ab12\n";
        let packages = parse_uris(text).unwrap();
        assert_eq!(packages[0].name, "busybox-static");
        assert_eq!(packages[0].version, "1:1.35.0-4+deb12u1+b1");
        assert_eq!(packages[0].size, 928_188);
        assert_eq!(packages[0].sha256, "ab12");
        assert_eq!(packages[0].architecture, "amd64");
    }

    #[test]
    fn a_line_without_a_sha256_is_refused() {
        assert!(parse_uris("'http://x/a' a_1_all.deb 12 MD5Sum:00\n").is_err());
    }

    #[test]
    fn the_kernel_package_is_read_from_the_metapackage() {
        let shown =
            "Package: linux-image-amd64\nDepends: linux-image-6.1.0-56-amd64 (= 6.1.192-2)\nSize: 1480\n";
        assert_eq!(parse_dependencies(shown), ["linux-image-6.1.0-56-amd64"]);
    }

    #[test]
    fn the_machines_debian_mirror_wins_and_strangers_do_not() {
        let mut mirrors = BTreeMap::from([
            ("bookworm".to_owned(), DEFAULT_MIRROR.to_owned()),
            ("bookworm-updates".to_owned(), DEFAULT_MIRROR.to_owned()),
        ]);
        take_mirrors(
            "http://mirror.corp/debian/ bookworm\nhttps://apt.stranger.example/ bookworm-updates\n\
             http://mirror.corp/debian/ trixie\n",
            &mut mirrors,
        );
        assert_eq!(mirrors["bookworm"], "http://mirror.corp/debian");
        assert_eq!(mirrors["bookworm-updates"], DEFAULT_MIRROR);
        assert_eq!(mirrors.len(), 2);
    }

    #[test]
    fn proxies_of_the_machine_are_kept_and_hooks_are_not() {
        let kept = fetch_settings(
            "Acquire::http::Proxy \"http://proxy:3128\";\nAPT::Update::Post-Invoke:: \"rm -f /x\";\n\
             Acquire::GzipIndexes \"true\";\n",
        );
        assert_eq!(kept, "Acquire::http::Proxy \"http://proxy:3128\";\n");
    }
}
