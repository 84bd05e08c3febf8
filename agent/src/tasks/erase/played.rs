//! A disk in memory that is played at the level of commands, for tests. No real disk was erased by the commands of ATA and NVMe here.

use std::io;
use std::time::Duration;

use super::commands::{Ata, Commands, Data, Kind, NvmeAdmin, Refusal};
use super::methods::ata::PASSWORD;
use super::methods::nvme::{FORMAT, IDENTIFY, SANITIZE};
use crate::passthrough::GET_LOG_PAGE;

/// Status "Invalid Command Opcode", with "Do Not Retry".
pub(super) const INVALID_OPCODE: u16 = 0x4001;
/// Requests for its status during which a sanitize runs.
const ROUNDS: u32 = 4;

/// The effect of a discard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Discards {
    Zeros,
    Refused,
    /// Succeeds, and leaves the data.
    Keeps,
}

pub(super) struct PlayedNvme {
    /// `SANICAP`
    pub sanitizes: u32,
    /// `OACS`
    pub optional: u16,
    /// `FNA`
    pub attributes: u8,
    pub namespaces: Vec<u32>,
    /// Status with which it refuses a sanitize or a format.
    pub refuses_sanitize: Option<u16>,
    pub refuses_format: Option<u16>,
    /// The state of the log page: 0 never, 1 done, 2 running, 3 failed.
    pub state: u8,
    pub rounds: u32,
    /// The sanitize that runs ends in failure, never, or with the data left.
    pub fails: bool,
    pub never_ends: bool,
    pub keeps: bool,
    /// Its failure can only be left by another sanitize.
    pub restricted: bool,
}

pub(super) struct PlayedAta {
    pub supported: bool,
    pub frozen: bool,
    pub enhanced: bool,
    pub password: Option<Vec<u8>>,
    pub locked: bool,
    pub prepared: bool,
    /// A command that it aborts.
    pub aborts: Option<u8>,
    pub times_out: bool,
    pub keeps: bool,
}

pub(super) struct Played {
    kind: Kind,
    pub bytes: Vec<u8>,
    pub read_only: bool,
    pub discards: Discards,
    pub nvme: PlayedNvme,
    pub ata: PlayedAta,
    /// Commands until power is lost.
    pub cut_in: Option<usize>,
    /// Time that each write takes.
    pub slow: Duration,
    /// Opcodes of the commands of its own, in order.
    pub sent: Vec<u8>,
    clock: Duration,
}

impl Played {
    fn of(kind: Kind, size: u64) -> Self {
        Self {
            kind,
            bytes: (0..size).map(|at| (at % 251) as u8 | 1).collect(),
            read_only: false,
            discards: Discards::Zeros,
            nvme: PlayedNvme {
                sanitizes: 0b11,
                optional: 0b10,
                attributes: 0b100,
                namespaces: vec![1],
                refuses_sanitize: None,
                refuses_format: None,
                state: 0,
                rounds: 0,
                fails: false,
                never_ends: false,
                keeps: false,
                restricted: false,
            },
            ata: PlayedAta {
                supported: true,
                frozen: false,
                enhanced: true,
                password: None,
                locked: false,
                prepared: false,
                aborts: None,
                times_out: false,
                keeps: false,
            },
            cut_in: None,
            slow: Duration::ZERO,
            sent: Vec::new(),
            clock: Duration::ZERO,
        }
    }

    pub(super) fn plain(size: u64) -> Self {
        Self::of(Kind::Plain, size)
    }

    pub(super) fn nvme(size: u64) -> Self {
        Self::of(Kind::Nvme(1), size)
    }

    pub(super) fn ata(size: u64) -> Self {
        Self::of(Kind::Ata, size)
    }

    /// Power comes back: a disk with a password is locked, and a sanitize goes on.
    pub(super) fn power_on(&mut self) {
        self.cut_in = None;
        self.ata.locked = self.ata.password.is_some();
        self.ata.prepared = false;
    }

    pub(super) fn is_zero(&self) -> bool {
        self.bytes.iter().all(|byte| *byte == 0)
    }

    /// True if no byte is as it was at first.
    pub(super) fn is_other(&self) -> bool {
        let first = (0..self.bytes.len()).map(|at| (at % 251) as u8 | 1);
        self.bytes.iter().zip(first).all(|(byte, first)| *byte != first)
    }

    fn power(&mut self) -> io::Result<()> {
        match &mut self.cut_in {
            None => Ok(()),
            Some(0) => Err(io::Error::other("no power")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }

    fn access(&mut self, at: u64, length: usize) -> io::Result<std::ops::Range<usize>> {
        self.power()?;
        if self.ata.locked || self.nvme.state >= 2 {
            return Err(io::Error::other("refused in this state"));
        }
        let start = usize::try_from(at).map_err(io::Error::other)?;
        let end = start + length;
        if end > self.bytes.len() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        Ok(start..end)
    }

    fn identify(&self, what: u32, data: &mut [u8]) {
        match what {
            1 => {
                data[256..258].copy_from_slice(&self.nvme.optional.to_le_bytes());
                data[328..332].copy_from_slice(&self.nvme.sanitizes.to_le_bytes());
                data[524] = self.nvme.attributes;
            }
            2 | 0x10 => {
                for (number, place) in self.nvme.namespaces.iter().zip(data.chunks_exact_mut(4)) {
                    place.copy_from_slice(&number.to_le_bytes());
                }
            }
            _ => {}
        }
    }

    fn sanitize_status(&mut self, page: &mut [u8]) {
        if self.nvme.state == 2 && !self.nvme.never_ends {
            if self.nvme.rounds == 0 {
                self.end_sanitize();
            } else {
                self.nvme.rounds -= 1;
            }
        }
        page[12..20].fill(0xff);
        page[2] = self.nvme.state;
        let share = (ROUNDS - self.nvme.rounds.min(ROUNDS)) * 65_535 / ROUNDS;
        page[..2].copy_from_slice(&(share as u16).to_le_bytes());
    }

    fn end_sanitize(&mut self) {
        if self.nvme.fails {
            self.nvme.state = 3;
            return;
        }
        self.nvme.state = 1;
        if !self.nvme.keeps {
            self.bytes.fill(0);
        }
    }

    fn sanitize(&mut self, word: u32) -> Result<(), Refusal> {
        if let Some(status) = self.nvme.refuses_sanitize {
            return Err(Refusal::Nvme(status));
        }
        let unrestricted = word & 8 != 0;
        if word & 7 == 1 {
            if self.nvme.restricted {
                return Err(Refusal::Nvme(0x1c));
            }
            self.nvme.state = 0;
            return Ok(());
        }
        if self.nvme.state == 2 {
            return Err(Refusal::Nvme(0x1d));
        }
        if self.nvme.state == 3 && self.nvme.restricted && unrestricted {
            return Err(Refusal::Nvme(0x1c));
        }
        (self.nvme.state, self.nvme.rounds) = (2, ROUNDS);
        Ok(())
    }

    fn ata_security(&mut self, command: &Ata, data: &[u8]) -> Result<(), Refusal> {
        let aborted = || {
            Err(Refusal::Sense {
                status: 2,
                key: 0xb,
                code: 0,
                qualifier: 0,
            })
        };
        let was_prepared = std::mem::take(&mut self.ata.prepared);
        if self.ata.frozen || !self.ata.supported || self.ata.aborts == Some(command.command) {
            return aborted();
        }
        let given = data.get(2..34);
        let fits = self.ata.password.as_deref() == given;
        match command.command {
            0xf1 if !self.ata.locked => self.ata.password = given.map(<[u8]>::to_vec),
            0xf2 if fits => self.ata.locked = false,
            0xf3 => self.ata.prepared = true,
            0xf4 if fits && was_prepared => {
                if self.ata.times_out {
                    return Err(Refusal::Deadline(command.limit.as_secs()));
                }
                if !self.ata.keeps {
                    self.bytes.fill(if data[0] & 2 != 0 { 0xfe } else { 0 });
                }
                (self.ata.password, self.ata.locked) = (None, false);
            }
            0xf6 if fits && !self.ata.locked => self.ata.password = None,
            _ => return aborted(),
        }
        Ok(())
    }
}

/// The password as the disk stores it.
pub(super) fn own_password() -> Vec<u8> {
    let mut password = PASSWORD.to_vec();
    password.resize(32, 0);
    password
}

impl Commands for Played {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&mut self, at: u64, to: &mut [u8]) -> io::Result<()> {
        let place = self.access(at, to.len())?;
        to.copy_from_slice(&self.bytes[place]);
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let place = self.access(at, bytes.len())?;
        self.clock += self.slow;
        if self.read_only {
            return Err(io::Error::from(io::ErrorKind::ReadOnlyFilesystem));
        }
        self.bytes[place].copy_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.power()
    }

    fn discard(&mut self, at: u64, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let place = self.access(at, length)?;
        match self.discards {
            Discards::Zeros => self.bytes[place].fill(0),
            Discards::Refused => return Err(io::Error::from(io::ErrorKind::Unsupported)),
            Discards::Keeps => {}
        }
        Ok(())
    }

    fn nvme(&mut self, command: &NvmeAdmin, data: &mut [u8]) -> Result<(), Refusal> {
        self.power()?;
        self.sent.push(command.opcode);
        match command.opcode {
            IDENTIFY => self.identify(command.cdw10, data),
            GET_LOG_PAGE if self.nvme.sanitizes & 3 != 0 => self.sanitize_status(data),
            SANITIZE => self.sanitize(command.cdw10)?,
            FORMAT => match self.nvme.refuses_format {
                Some(status) => return Err(Refusal::Nvme(status)),
                None => self.bytes.fill(0),
            },
            _ => return Err(Refusal::Nvme(INVALID_OPCODE)),
        }
        Ok(())
    }

    fn ata(&mut self, command: &Ata, data: Data<'_>) -> Result<(), Refusal> {
        self.power()?;
        self.sent.push(command.command);
        match data {
            Data::In(bytes) if command.command == 0xec => {
                let state = [
                    self.ata.supported,
                    self.ata.password.is_some(),
                    self.ata.locked,
                    self.ata.frozen,
                    false,
                    self.ata.enhanced,
                ];
                let bits = state.iter().zip(0..).map(|(set, bit)| u8::from(*set) << bit);
                bytes[164] = u8::from(self.ata.supported) << 1;
                bytes[178] = 10;
                bytes[180] = 1;
                bytes[256] = bits.sum();
                Ok(())
            }
            Data::In(_) => Err(Refusal::Host(7)),
            Data::Out(bytes) => self.ata_security(command, bytes),
            Data::Nothing => self.ata_security(command, &[]),
        }
    }

    fn elapsed(&self) -> Duration {
        self.clock
    }

    fn pause(&mut self, time: Duration) {
        self.clock += time;
    }
}
