//! Reads the operator's requirements of hosts.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use muster_core::rules::checks::parse_disabled;
use muster_core::rules::requirements;
use muster_core::rules::requirements::Requirements;

/// Options for the requirements of hosts.
#[derive(Debug, Clone, Default, Args)]
pub struct RequirementArgs {
    /// JSON file with what hardware is required by version and role [default: the usual numbers]
    #[arg(long, env = "MUSTER_HW_REQUIREMENTS", value_name = "FILE")]
    hw_requirements: Option<PathBuf>,

    /// The same JSON itself
    #[arg(
        long,
        env = "HW_VALIDATOR_REQUIREMENTS",
        value_name = "JSON",
        hide_env_values = true
    )]
    hw_requirements_json: Option<String>,

    /// Ids of host validations that are not made; on hosts of clusters that ignore some by themselves they are
    #[arg(
        long,
        env = "DISABLED_HOST_VALIDATIONS",
        value_name = "LIST",
        default_value = ""
    )]
    disabled_host_validations: String,

    /// Products that are small machines inside others, and need a worker's hardware in small
    #[arg(
        long,
        env = "EDGE_WORKERS_PRODUCT_NAMES",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "BlueField SoC"
    )]
    edge_worker_products: Vec<String>,
}

impl RequirementArgs {
    /// The requirements of hosts.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or its content cannot be used. The file counts if both forms are given.
    pub fn load(&self) -> Result<Requirements> {
        let mut wanted = if let Some(file) = &self.hw_requirements {
            let json = std::fs::read_to_string(file)
                .with_context(|| format!("--hw-requirements {} cannot be read", file.display()))?;
            requirements::parse(&json).with_context(|| format!("--hw-requirements {}", file.display()))?
        } else {
            match self.hw_requirements_json.as_deref().map(str::trim) {
                None | Some("") => Requirements::default(),
                Some(json) => requirements::parse(json).context("HW_VALIDATOR_REQUIREMENTS")?,
            }
        };
        wanted.disabled_checks =
            parse_disabled(&self.disabled_host_validations).context("--disabled-host-validations")?;
        wanted.edge_products = self
            .edge_worker_products
            .iter()
            .map(|name| name.to_lowercase().replace(' ', ""))
            .collect();
        Ok(wanted)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use muster_core::record::CheckId;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        requirements: RequirementArgs,
    }

    fn load(args: &[&str]) -> Result<Requirements> {
        Cli::parse_from([&["muster"], args].concat()).requirements.load()
    }

    const SMALL: &str = r#"[{"version":"default",
        "master":{"cpu_cores":1,"ram_mib":1024,"disk_size_gb":10},
        "worker":{"cpu_cores":1,"ram_mib":1024,"disk_size_gb":10},
        "sno":{"cpu_cores":1,"ram_mib":1024,"disk_size_gb":10}}]"#;

    #[test]
    fn requirements_come_from_a_file_or_as_text_and_are_the_shipped_ones_otherwise() {
        assert_eq!(load(&[]).unwrap(), Requirements::default());
        assert_eq!(
            load(&["--hw-requirements-json", " "]).unwrap(),
            Requirements::default()
        );
        let small = load(&["--hw-requirements-json", SMALL]).unwrap();
        assert_eq!(small.default.arbiter.ram_mib, 1024);
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("requirements.json");
        std::fs::write(&file, SMALL).unwrap();
        let file = file.to_str().unwrap();
        assert_eq!(load(&["--hw-requirements", file]).unwrap(), small);
    }

    #[test]
    fn what_cannot_be_used_names_the_option() {
        let words = |args: &[&str]| format!("{:#}", load(args).unwrap_err());
        assert!(
            words(&["--hw-requirements", "/nonexistent/x.json"])
                .contains("/nonexistent/x.json cannot be read")
        );
        let wrong = words(&["--hw-requirements-json", "{}"]);
        assert!(
            wrong.starts_with("HW_VALIDATOR_REQUIREMENTS: hardware requirements are not"),
            "{wrong}"
        );
        let wrong = words(&["--disabled-host-validations", "ntp"]);
        assert!(
            wrong.contains("--disabled-host-validations: \"ntp\" is not the id"),
            "{wrong}"
        );
    }

    #[test]
    fn checks_are_switched_off_and_edge_products_compared_without_case_and_spaces() {
        let wanted = load(&[
            "--disabled-host-validations",
            "ntp-synced,mtu-valid",
            "--edge-worker-products",
            "Blue Field,X",
        ])
        .unwrap();
        assert_eq!(wanted.disabled_checks, [CheckId::NtpSynced, CheckId::MtuValid]);
        assert_eq!(wanted.edge_products, ["bluefield", "x"]);
    }
}
