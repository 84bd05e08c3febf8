//! Unpacks a newer program of the agent into memory, and becomes it.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use cpio::newc;
use muster_api::steps::AgentProgram;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::execve;

use super::build;
use super::error::HandoverError;
use crate::host::inherited::{Inherited, VARIABLE};

/// No program of the agent is larger, in bytes; with symbols they have some 70 MB.
const LARGEST: u64 = 256 << 20;

/// Name of the program in the archive.
const PROGRAM: &str = "init";

/// A program in memory that has the promised digest.
pub struct Successor {
    file: File,
    pub sha256: String,
    /// The service's name for it.
    pub name: String,
}

impl Successor {
    /// Takes the program out of the archive, and checks it.
    ///
    /// # Errors
    /// [`HandoverError`]
    pub fn unpack(packed: &[u8], promised: &AgentProgram, name: &str) -> Result<Self, HandoverError> {
        if promised.size > LARGEST {
            return Err(HandoverError::TooLarge(promised.size));
        }
        let mut file = memfd_create("muster-agent", MFdFlags::MFD_CLOEXEC)
            .map(File::from)
            .map_err(|error| HandoverError::Memory(error.into()))?;
        copy_program(packed, promised, &mut file)?;
        file.flush().map_err(HandoverError::Memory)?;
        let successor = Self {
            file,
            sha256: promised.sha256.to_ascii_lowercase(),
            name: name.to_owned(),
        };
        let written = File::open(successor.path()).and_then(build::digest);
        if written.map_err(HandoverError::Memory)? != successor.sha256 {
            return Err(HandoverError::Digest);
        }
        Ok(successor)
    }

    /// The path by which this process and its children start it.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Becomes the program, with the arguments and environment of this one. Returns only when that fails.
    pub fn take_over(&self, inherited: &Inherited) -> HandoverError {
        let (_left, number) = match inherited.leave() {
            Ok(left) => left,
            Err(error) => return HandoverError::Memory(error),
        };
        let others = std::env::vars_os().filter(|(name, _)| name != VARIABLE);
        let number = (OsString::from(VARIABLE), OsString::from(number));
        let environment = others.chain([number]).map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            name
        });
        let started = c_strings([self.path().into_os_string()])
            .and_then(|path| Ok((path, c_strings(std::env::args_os())?, c_strings(environment)?)))
            .and_then(|(path, arguments, environment)| {
                // Not by the standard library, which would hand anything but a program to a shell.
                Ok(execve(&path[0], &arguments, &environment)?)
            });
        match started {
            Ok(never) => match never {},
            Err(error) => HandoverError::Start(error),
        }
    }
}

fn c_strings(texts: impl IntoIterator<Item = OsString>) -> io::Result<Vec<CString>> {
    let texts = texts.into_iter().map(|text| CString::new(text.into_vec()));
    Ok(texts.collect::<Result<_, _>>()?)
}

fn copy_program(packed: &[u8], promised: &AgentProgram, to: &mut File) -> Result<(), HandoverError> {
    let unpacked = zstd::Decoder::with_buffer(packed).map_err(HandoverError::Unpack)?;
    let mut entry = newc::Reader::new(unpacked.single_frame()).map_err(HandoverError::Unpack)?;
    while entry.entry().name() != PROGRAM {
        if entry.entry().is_trailer() {
            return Err(HandoverError::NoProgram);
        }
        let rest = entry.finish().map_err(HandoverError::Unpack)?;
        entry = newc::Reader::new(rest).map_err(HandoverError::Unpack)?;
    }
    let found = u64::from(entry.entry().file_size());
    if found != promised.size {
        return Err(HandoverError::Size {
            found,
            promised: promised.size,
        });
    }
    let copied = io::copy(&mut entry, to).map_err(HandoverError::Unpack)?;
    if copied == found {
        Ok(())
    } else {
        Err(HandoverError::Size {
            found: copied,
            promised: found,
        })
    }
}

#[cfg(test)]
mod tests {
    use muster_api::ids::{HostId, InfraEnvId};

    use super::*;

    /// The download of a program.
    fn packed(name: &str, program: &[u8]) -> Vec<u8> {
        let size = u32::try_from(program.len()).unwrap();
        let mut entry = newc::Builder::new(name).mode(0o100_755).write(Vec::new(), size);
        entry.write_all(program).unwrap();
        let archive = newc::trailer(entry.finish().unwrap()).unwrap();
        zstd::bulk::compress(&archive, 1).unwrap()
    }

    fn promise(program: &[u8]) -> AgentProgram {
        AgentProgram {
            sha256: build::digest(program).unwrap(),
            size: program.len() as u64,
            packed_size: 1,
        }
    }

    fn refused(packed: &[u8], promised: &AgentProgram) -> HandoverError {
        Successor::unpack(packed, promised, "n").err().expect("refused")
    }

    #[test]
    fn a_program_is_taken_only_as_it_was_promised() {
        let program = vec![7; 100_000];
        let (archive, promised) = (packed(PROGRAM, &program), promise(&program));
        let successor = Successor::unpack(&archive, &promised, "n").unwrap();
        assert_eq!(std::fs::read(successor.path()).unwrap(), program);

        let other = promise(&[8; 100_000]);
        assert!(matches!(refused(&archive, &other), HandoverError::Digest));
        let longer = promise(&[7; 100_001]);
        assert!(matches!(refused(&archive, &longer), HandoverError::Size { .. }));
        let huge = AgentProgram {
            size: LARGEST + 1,
            ..promised.clone()
        };
        assert!(matches!(refused(&archive, &huge), HandoverError::TooLarge(_)));
        let named = packed("muster", &program);
        assert!(matches!(refused(&named, &promised), HandoverError::NoProgram));
        for broken in [&b""[..], b"no archive at all", &archive[..archive.len() / 2]] {
            assert!(matches!(refused(broken, &promised), HandoverError::Unpack(_)));
        }
    }

    #[test]
    fn this_program_goes_on_when_the_other_one_does_not_start() {
        let garbage = [b"\x7fELF\x02\x01\x01".as_slice(), &[9; 500]].concat();
        let successor = Successor::unpack(&packed(PROGRAM, &garbage), &promise(&garbage), "n").unwrap();
        let inherited = Inherited {
            infra_env_id: InfraEnvId(uuid::Uuid::nil()),
            host_id: HostId(uuid::Uuid::nil()),
            version: String::new(),
            host_key: String::new(),
            builds: Vec::new(),
        };
        assert!(matches!(successor.take_over(&inherited), HandoverError::Start(_)));
    }
}
