//! Checks the agent's binary: as process 1 of the image, it must run without any other file.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Object as _, elf};

use crate::architecture::Architecture;

/// A script may replace the agent, to try images out: busybox is in every image.
const SCRIPT: &[u8] = b"#!/bin/busybox ";

/// Reads the agent and checks that the kernel can start it.
///
/// # Errors
/// When it is missing, for another processor, or dynamically linked.
pub fn load(path: &Path, architecture: Architecture) -> Result<Vec<u8>> {
    let bytes = fs::read(path).with_context(|| {
        format!(
            "cannot read the agent {}; build it (make build) or name it with --agent",
            path.display()
        )
    })?;
    if !bytes.starts_with(SCRIPT) {
        check(&bytes, architecture)
            .with_context(|| format!("{} cannot be the agent of an image", path.display()))?;
    }
    Ok(bytes)
}

fn check(bytes: &[u8], architecture: Architecture) -> Result<()> {
    let Ok(file) = ElfFile64::<object::Endianness>::parse(bytes) else {
        bail!("it is no 64-bit ELF program (nor a script for /bin/busybox)");
    };
    ensure!(
        file.architecture() == architecture.of_programs(),
        "it is a program for {:?}, the image is for {}",
        file.architecture(),
        architecture.name()
    );
    let endian = file.endian();
    ensure!(
        file.elf_program_headers()
            .iter()
            .all(|header| header.p_type(endian) != elf::PT_INTERP),
        "it is dynamically linked, and the image has no libraries; build it with -C target-feature=+crt-static \
         (in Muster's own tree .ci/rustc does)"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamically_linked_program_is_refused_with_the_way_out() {
        let error = load(&std::env::current_exe().unwrap(), Architecture::X86_64)
            .expect_err("tests are dynamically linked");
        assert!(format!("{error:#}").contains("crt-static"), "{error:#}");
    }

    #[test]
    fn a_program_for_another_processor_is_refused() {
        let error = load(&std::env::current_exe().unwrap(), Architecture::Aarch64).expect_err("refused");
        assert!(
            format!("{error:#}").contains("the image is for aarch64"),
            "{error:#}"
        );
    }

    #[test]
    fn a_missing_agent_is_told_with_its_path() {
        let error = load(Path::new("/nonexistent/muster-agent"), Architecture::X86_64).expect_err("refused");
        assert!(error.to_string().contains("/nonexistent/muster-agent"));
    }

    #[test]
    fn a_text_is_no_agent() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "#!/bin/bash\n").unwrap();
        assert!(load(file.path(), Architecture::X86_64).is_err());
    }
}
