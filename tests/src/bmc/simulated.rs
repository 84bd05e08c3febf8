//! A machine without hardware that becomes a host: it reads the image in its virtual drive like a machine, and then the
//! agent of a simulated machine of `muster_fleet` runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use muster_api::ids::BmcId;
use muster_bmc_emulator::machine::{Drive, First, Processor, Progress};
use muster_bmc_emulator::{Booted, Failure, Hardware, InMemory, Machine as Managed};
use muster_fleet::{Agents, Machine, Power};
use reqwest::header::RANGE;
use reqwest::{Client, StatusCode};

/// Bytes of the image in one range request.
const CHUNK: u64 = 1 << 20;

/// Time limit of one range.
const RANGE_LIMIT: Duration = Duration::from_secs(120);

/// The part of an image that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// As much as firmware reads to find the boot loader: the volume descriptors and a megabyte.
    Beginning,
    /// All of it, like a system that runs from memory then.
    Whole,
}

/// A machine of that number among the agents'.
pub struct SimulatedMachine {
    machine: InMemory,
    agents: Arc<Agents>,
    number: u32,
    reading: Reading,
    /// The system that runs from the image; `None`: another one runs, or the machine is off.
    running: Mutex<Option<Power>>,
}

impl SimulatedMachine {
    /// A machine that runs the system on its disk.
    pub fn running(agents: &Arc<Agents>, number: u32, reading: Reading) -> Self {
        Self {
            machine: InMemory::running(hardware(agents.machine(number))),
            agents: Arc::clone(agents),
            number,
            reading,
            running: Mutex::default(),
        }
    }

    /// All images that it booted from, in order.
    pub fn boots(&self) -> Vec<Booted> {
        self.machine.boots()
    }

    /// Ends the running system; the booted image replaces it.
    fn boot(&self) {
        let booted = self.machine.boots().pop();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running = match booted {
            Some(Booted::Image(url)) if self.machine.is_on() => {
                Some(self.agents.boot(self.number, read(url, self.reading)))
            }
            _ => None,
        };
    }
}

impl Managed for SimulatedMachine {
    fn hardware(&self) -> Hardware {
        self.machine.hardware()
    }

    fn is_on(&self) -> bool {
        self.machine.is_on()
    }

    fn progress(&self) -> Progress {
        self.machine.progress()
    }

    fn power_on(&self, first: Option<First>) -> Result<(), Failure> {
        self.machine.power_on(first)?;
        self.boot();
        Ok(())
    }

    fn power_off(&self) -> Result<(), Failure> {
        self.machine.power_off()?;
        self.boot();
        Ok(())
    }

    fn reset(&self, first: Option<First>) -> Result<(), Failure> {
        self.machine.reset(first)?;
        self.boot();
        Ok(())
    }

    fn press_power_button(&self) -> Result<(), Failure> {
        self.machine.press_power_button()?;
        if !self.machine.is_on() {
            self.boot();
        }
        Ok(())
    }

    fn insert(&self, url: &str) -> Result<(), Failure> {
        self.machine.insert(url)
    }

    fn eject(&self) -> Result<(), Failure> {
        self.machine.eject()
    }
}

/// The processor of all machines: iDRAC9 before 6.00 boots virtual CDs only with Intel's (docs/protocol/redfish.md#3).
const PROCESSOR: &str = "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz";

/// The BMC's report about a simulated machine: the same as its agent's, except for the processor's model.
fn hardware(machine: Machine) -> Hardware {
    const GIB: i64 = 1 << 30;
    let parts = machine.fingerprint();
    let inventory = machine.inventory();
    let (cpu, memory) = (
        inventory.cpu.unwrap_or_default(),
        inventory.memory.unwrap_or_default(),
    );
    let threads = u32::try_from(cpu.count).unwrap_or(1);
    // Several paths lead to one drive.
    let mut drives: Vec<Drive> = Vec::new();
    for disk in inventory.disks.into_iter().filter(|disk| !disk.removable) {
        if !disk.serial.is_empty() && drives.iter().all(|drive| drive.serial != disk.serial) {
            drives.push(Drive {
                serial: disk.serial,
                model: disk.model,
                bytes: u64::try_from(disk.size_bytes).unwrap_or(0),
                protocol: "SATA".to_owned(),
            });
        }
    }
    Hardware {
        uuid: parts.system_uuid.parse().expect("a made-up machine has a UUID"),
        serial: parts.system_serial,
        macs: parts.macs,
        processor: Processor {
            model: PROCESSOR.to_owned(),
            cores: threads.div_ceil(2),
            threads,
        },
        processors: 1,
        memory_gib: u32::try_from(memory.physical_bytes / GIB).unwrap_or(0),
        drives,
    }
}

/// Reads an image by ranges; returns the BMC in its kernel's arguments. `None` if it is not available, and then nothing
/// boots.
async fn read(url: String, reading: Reading) -> Option<BmcId> {
    let read = match reading {
        Reading::Beginning => ranges(&url, &[(32 << 10, 2048), (0, CHUNK)]).await,
        Reading::Whole => whole(&url).await,
    };
    if let Err(why) = &read {
        eprintln!("a simulated machine does not boot from {url}: {why}");
    }
    read.ok().and_then(|()| bmc_of(&url))
}

/// Returns the BMC in `.../bmc/BOOTID-BMCIDCODE[-TAG].iso`. Machines under QEMU prove that the image of this URL names
/// this BMC.
pub fn bmc_of(url: &str) -> Option<BmcId> {
    let (_, file) = url.rsplit_once('/')?;
    let (_, named) = file.split_once('-')?;
    named.get(..32)?.parse().ok()
}

async fn whole(url: &str) -> Result<(), String> {
    let client = client()?;
    let head = client.head(url).timeout(RANGE_LIMIT).send().await.map_err(text)?;
    let length = head.headers().get(reqwest::header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let length = length.ok_or_else(|| format!("HEAD is answered with {} and no length", head.status()))?;
    let mut at = 0;
    while at < length {
        let bytes = CHUNK.min(length - at);
        range(&client, url, at, bytes).await?;
        at += bytes;
    }
    Ok(())
}

async fn ranges(url: &str, wanted: &[(u64, u64)]) -> Result<(), String> {
    let client = client()?;
    for (first, bytes) in wanted {
        range(&client, url, *first, *bytes).await?;
    }
    Ok(())
}

async fn range(client: &Client, url: &str, first: u64, bytes: u64) -> Result<(), String> {
    let asked = client.get(url).timeout(RANGE_LIMIT);
    let asked = asked.header(RANGE, format!("bytes={first}-{}", first + bytes - 1));
    let mut answer = asked.send().await.map_err(text)?;
    if answer.status() != StatusCode::PARTIAL_CONTENT {
        return Err(format!("a range is answered with {}", answer.status()));
    }
    let mut got = 0;
    while let Some(chunk) = answer.chunk().await.map_err(text)? {
        got += chunk.len() as u64;
    }
    if got == bytes {
        Ok(())
    } else {
        Err(format!("a range of {bytes} bytes has {got}"))
    }
}

fn client() -> Result<Client, String> {
    // reqwest is built without a TLS provider and requires one for plain HTTP, too. At a second call it is installed
    // already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().map_err(text)
}

fn text(error: reqwest::Error) -> String {
    error.to_string()
}
