//! Checks the agent's binary: process 1 of the image, it must run with nothing around it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Object as _, elf};

/// A script may take the place of the agent, to try images out: busybox is in every image.
const SCRIPT: &[u8] = b"#!/bin/busybox ";

/// Reads the agent and checks that the kernel can start it.
///
/// # Errors
/// When it is missing, for another processor, or dynamically linked.
pub fn load(path: &Path) -> Result<Vec<u8>> {
    let bytes = fs::read(path).with_context(|| {
        format!(
            "cannot read the agent {}; build it (make build) or name it with --agent",
            path.display()
        )
    })?;
    if !bytes.starts_with(SCRIPT) {
        check(&bytes).with_context(|| format!("{} cannot be the agent of an image", path.display()))?;
    }
    Ok(bytes)
}

fn check(bytes: &[u8]) -> Result<()> {
    let Ok(file) = ElfFile64::<object::Endianness>::parse(bytes) else {
        bail!("it is no 64-bit ELF program (nor a script for /bin/busybox)");
    };
    ensure!(
        file.architecture() == object::Architecture::X86_64,
        "it is a program for {:?}, the image is for X86_64",
        file.architecture()
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
        let error = load(&std::env::current_exe().unwrap()).expect_err("tests are dynamically linked");
        assert!(format!("{error:#}").contains("crt-static"), "{error:#}");
    }

    #[test]
    fn a_missing_agent_is_told_with_its_path() {
        let error = load(Path::new("/nonexistent/muster-agent")).expect_err("refused");
        assert!(error.to_string().contains("/nonexistent/muster-agent"));
    }

    #[test]
    fn a_text_is_no_agent() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "#!/bin/bash\n").unwrap();
        assert!(load(file.path()).is_err());
    }
}
