//! A running BMC, and the controls of its owner.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};

use crate::bmc::Bmc;
use crate::boot::Override;
use crate::certificate::Certificate;
use crate::faults::Fault;
use crate::machine::Machine;
use crate::quirks::Quirks;
use crate::record::Recorded;
use crate::respond::restart;
use crate::server::{Port, run};
use crate::sessions::{Account, Sessions};
use crate::shared::{Order, Shared};

/// Time for which the end of an emulator waits for a busy machine.
const END: Duration = Duration::from_secs(5);

/// A BMC to be started.
pub struct Setup {
    machine: Arc<dyn Machine>,
    quirks: Quirks,
    account: Account,
    certificate: Option<Certificate>,
}

/// A BMC on a port of loopback, with a thread of its own. It ends when dropped; its machine does not.
pub struct Emulator {
    shared: Arc<Shared>,
    address: SocketAddr,
    has_tls: bool,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Setup {
    /// A BMC by the standard, over plain HTTP, with the user `admin` and the password `password`.
    pub fn new(machine: Arc<dyn Machine>) -> Self {
        Self {
            machine,
            quirks: Quirks::default(),
            account: Account {
                user: "admin".to_owned(),
                password: "password".to_owned(),
            },
            certificate: None,
        }
    }

    /// With these quirks.
    #[must_use]
    pub fn quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    /// With this user and password.
    #[must_use]
    pub fn account(mut self, user: &str, password: &str) -> Self {
        self.account = Account {
            user: user.to_owned(),
            password: password.to_owned(),
        };
        self
    }

    /// Over TLS, with this certificate.
    #[must_use]
    pub fn tls(mut self, certificate: Certificate) -> Self {
        self.certificate = Some(certificate);
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// If the certificate and its key do not match, or there is no port.
    pub fn start(self) -> io::Result<Emulator> {
        let tls = self.certificate.as_ref().map(Certificate::acceptor).transpose()?;
        let has_tls = tls.is_some();
        let bmc = Bmc::new(self.quirks, self.machine, Sessions::new(self.account));
        let (orders, ordered) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared::new(bmc, tls, orders));
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (port, listener) = {
            let _inside = runtime.enter();
            let port = Port::reserve()?;
            let listener = port.listen()?;
            (port, listener)
        };
        let address = port.address();
        let (stop, stopped) = oneshot::channel();
        let running = run(Arc::clone(&shared), port, listener, ordered, stopped);
        let thread = std::thread::Builder::new()
            .name("bmc-emulator".to_owned())
            .spawn(move || {
                runtime.block_on(running);
                runtime.shutdown_timeout(END);
            })?;
        Ok(Emulator {
            shared,
            address,
            has_tls,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Emulator {
    /// Its URL without a path: `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        let scheme = if self.has_tls { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The received requests, in order.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.record.all()
    }

    /// Clears the received requests.
    pub fn forget_requests(&self) {
        self.shared.record.forget();
    }

    /// Its present quirks, after the countdown of counters.
    pub fn quirks(&self) -> Quirks {
        self.shared.bmc().quirks.clone()
    }

    /// Changes its quirks.
    pub fn change(&self, change: impl FnOnce(&mut Quirks)) {
        change(&mut self.shared.bmc().quirks);
    }

    /// Adds a fault.
    pub fn fail(&self, fault: Fault) {
        self.shared.bmc().faults.add(fault);
    }

    /// Removes the faults that have not occurred yet.
    pub fn heal(&self) {
        self.shared.bmc().faults.clear();
    }

    /// Changes user and password; sessions stay.
    pub fn set_account(&self, user: &str, password: &str) {
        self.shared.bmc().sessions.set_account(Account {
            user: user.to_owned(),
            password: password.to_owned(),
        });
    }

    /// The number of sessions that are open.
    pub fn sessions(&self) -> usize {
        let mut bmc = self.shared.bmc();
        let timeout = bmc.quirks.session_timeout;
        bmc.sessions.ids(timeout, Instant::now()).len()
    }

    /// Ends all sessions, as their time-out does.
    pub fn end_sessions(&self) {
        self.shared.bmc().sessions.end_all();
    }

    /// The present boot override, or the one for the next start.
    pub fn boot_override(&self) -> Override {
        self.shared.bmc().boot.shown(true).clone()
    }

    /// The URL of the image that is in a virtual drive.
    pub fn image(&self) -> Option<String> {
        self.shared.bmc().media.any().map(|image| image.url.clone())
    }

    /// Inserts an image into a drive, like another client.
    ///
    /// # Panics
    /// If there is no such drive, or the machine cannot read the image.
    pub fn occupy(&self, drive: &str, url: &str) {
        let mut bmc = self.shared.bmc();
        assert!(
            bmc.quirks.slots.iter().any(|slot| slot.id == drive),
            "this BMC has no drive {drive}"
        );
        let inserted = bmc.machine.insert(url);
        inserted.expect("the machine can read the image");
        bmc.media.insert(drive, url.into());
    }

    /// Shows another certificate from now on; connections are closed when this returns.
    ///
    /// # Panics
    /// If it was started without one, or the key does not match.
    pub fn set_certificate(&self, certificate: &Certificate) {
        assert!(self.has_tls, "this BMC was started without TLS");
        let acceptor = certificate.acceptor().expect("a certificate and its key");
        self.shared.set_tls(Some(acceptor));
        let (closed, wait) = std::sync::mpsc::channel();
        self.shared.order(Order::Close(closed));
        // There is no reply after the end of the listener and, with it, of its connections.
        let _ = wait.recv();
    }

    /// Restarts the BMC, not the machine: it is unavailable for this time, and its sessions and tasks are lost.
    pub fn restart(&self, duration: Duration) {
        restart(&self.shared, duration);
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
