//! Stands before the replicas of a service, as a load balancer does: one address, and each connection goes to one that takes it.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::io::copy;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// Ends with its connections when dropped.
pub struct Balancer {
    port: u16,
    replicas: Arc<Replicas>,
    _runtime: Runtime,
}

#[derive(Default)]
struct Replicas {
    ports: Mutex<Vec<u16>>,
    turn: AtomicUsize,
}

impl Balancer {
    /// Takes a free port of the loopback address; connections end at once until there is a replica.
    ///
    /// # Panics
    /// If there is none.
    pub fn start() -> Self {
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("there is a limit");
        setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("up to the hard limit everybody may go");
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_io().build();
        let runtime = runtime.expect("a runtime starts");
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let listener = listener.expect("a port of the loopback address is free");
        let port = listener.local_addr().expect("a listener has an address").port();
        let replicas = Arc::<Replicas>::default();
        let shared = Arc::clone(&replicas);
        runtime.spawn(async move {
            loop {
                // Without a free file a connection waits until there is one.
                if let Ok((client, _)) = listener.accept().await {
                    tokio::spawn(Arc::clone(&shared).relay(client));
                }
            }
        });
        Self {
            port,
            replicas,
            _runtime: runtime,
        }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Gives connections to the replica of that port, too.
    pub fn add(&self, port: u16) {
        self.replicas
            .ports
            .lock()
            .expect("nothing panics with the lock")
            .push(port);
    }
}

impl Replicas {
    /// To the next replica that takes the connection; to none, if none does.
    async fn relay(self: Arc<Self>, mut client: TcpStream) {
        let mut ports = self.ports.lock().expect("nothing panics with the lock").clone();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let first = turn % ports.len().max(1);
        ports.rotate_left(first);
        for port in ports {
            if let Ok(mut replica) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
                let ((mut sent, mut to_client), (mut answered, mut to_replica)) =
                    (client.split(), replica.split());
                // Whichever side ends it, the other one sees that at once. A replica that is stopped would never close what its clients gave
                // up, and thousands of them in minutes take all files that this process may open.
                tokio::select! {
                    _ = copy(&mut sent, &mut to_replica) => {}
                    _ = copy(&mut answered, &mut to_client) => {}
                }
                return;
            }
        }
    }
}
