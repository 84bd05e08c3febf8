//! A BMC with a machine in memory, and a client for it.

use std::sync::Arc;
use std::time::Duration;

use muster_bmc::{
    AddressRules, Bmc, BmcError, BootFrom, CertificateMode, Client, Credentials, Limits, Networks, Target,
};
use muster_bmc_emulator::machine::Hardware;
use muster_bmc_emulator::{Emulator, InMemory, Quirks, Recorded, Setup};

pub const IMAGE: &str = "http://192.0.2.9/boot/t0ken.iso";

pub struct Lab {
    pub machine: Arc<InMemory>,
    pub bmc: Emulator,
    pub client: Client,
}

/// Waits that fit a BMC in the same process.
pub fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(5),
        request: Duration::from_secs(5),
        pause: Duration::from_millis(20),
        longest_pause: Duration::from_millis(150),
        power: Duration::from_secs(5),
        poll: Duration::from_millis(20),
        power_interval: Duration::ZERO,
        media: Duration::from_secs(5),
        task: Duration::from_secs(5),
        turn: Duration::from_secs(5),
        close: Duration::from_secs(5),
        ..Limits::default()
    }
}

/// Loopback, too.
pub fn networks() -> Networks {
    Networks {
        special: vec!["127.0.0.0/8".parse().unwrap()],
        ..Networks::default()
    }
}

/// Emulated BMCs are at loopback, on any port.
pub fn rules() -> AddressRules {
    AddressRules {
        networks: networks(),
        plain_http: true,
        ports: Vec::new(),
        known_certificates: false,
    }
}

impl Lab {
    /// A machine that runs the system of its disk.
    pub fn new(quirks: Quirks) -> Self {
        Self::with_limits(quirks, limits())
    }

    pub fn with_limits(quirks: Quirks, limits: Limits) -> Self {
        Self::of(|setup| setup.quirks(quirks), limits)
    }

    pub fn of(setup: impl FnOnce(Setup) -> Setup, limits: Limits) -> Self {
        let machine = Arc::new(InMemory::running(Hardware::example(1)));
        let bmc = setup(Setup::new(machine.clone())).start().unwrap();
        Self {
            machine,
            bmc,
            client: Client::new(rules(), limits, None),
        }
    }

    pub fn target(&self) -> Target {
        Target {
            address: self.bmc.url(),
            credentials: Credentials::new("admin", "password"),
            certificate: CertificateMode::System,
            system: None,
        }
    }

    pub async fn connect(&self) -> Result<Bmc, BmcError> {
        self.client.connect(&self.target()).await
    }

    /// Inserts the image and boots from it, each in a session of its own.
    pub async fn boot(&self) -> Result<(), BmcError> {
        let mut bmc = self.connect().await?;
        let inserted = bmc.insert(IMAGE).await;
        bmc.close().await;
        inserted?;
        let mut bmc = self.connect().await?;
        let booted = bmc.boot(&BootFrom::Media).await;
        bmc.close().await;
        booted.map(drop)
    }

    pub async fn finish(&self) -> Result<(), BmcError> {
        let mut bmc = self.connect().await?;
        let finished = bmc.finish(None).await;
        bmc.close().await;
        finished
    }

    /// Requests of a method with a path that ends in `path_end`.
    pub fn sent(&self, method: &str, path_end: &str) -> Vec<Recorded> {
        let all = self.bmc.requests();
        all.into_iter()
            .filter(|request| request.is(method, path_end))
            .collect()
    }

    pub fn logins(&self) -> usize {
        self.bmc
            .requests()
            .iter()
            .filter(|request| request.is_login())
            .count()
    }
}

/// The error of a call that must fail.
pub fn failure<T>(result: Result<T, BmcError>) -> BmcError {
    match result {
        Ok(_) => panic!("it went well"),
        Err(error) => error,
    }
}
