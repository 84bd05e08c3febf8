//! A load balancer in front of the replicas of a service: one address, and each connection is forwarded to one that
//! accepts it.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::io::copy;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Time limit for a replica to accept a connection. The queue of a stopped replica fills up with connections that its
/// clients gave up, and each further connection would hold two files for the two minutes in which the kernel tries.
const CONNECT: Duration = Duration::from_secs(3);

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
    /// Opens a free port of the loopback address; connections end at once until there is a replica.
    ///
    /// # Panics
    /// If there is none.
    pub fn start() -> Self {
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("there is a limit");
        setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("up to the hard limit everybody may go");
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
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

    /// Also forwards connections to the replica of that port.
    pub fn add(&self, port: u16) {
        self.replicas
            .ports
            .lock()
            .expect("nothing panics with the lock")
            .push(port);
    }
}

impl Replicas {
    /// Forwards to the next replica that accepts the connection; to none, if none does.
    async fn relay(self: Arc<Self>, mut client: TcpStream) {
        let mut ports = self.ports.lock().expect("nothing panics with the lock").clone();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let first = turn % ports.len().max(1);
        ports.rotate_left(first);
        for port in ports {
            let connected = timeout(CONNECT, TcpStream::connect((Ipv4Addr::LOCALHOST, port)));
            if let Ok(Ok(mut replica)) = connected.await {
                let ((mut sent, mut to_client), (mut answered, mut to_replica)) =
                    (client.split(), replica.split());
                // If one side ends it, the other side sees that at once. A stopped replica would never close
                // connections that its clients gave up, and thousands of them in minutes take all files that this
                // process may open.
                tokio::select! {
                    _ = copy(&mut sent, &mut to_replica) => {}
                    _ = copy(&mut answered, &mut to_client) => {}
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::{Ipv4Addr, TcpStream};

    use socket2::{Domain, Socket, Type};

    use super::{Balancer, CONNECT};
    use crate::condition::await_condition;

    const CLIENTS: usize = 300;

    /// Other tests of this process open some, too.
    fn files() -> usize {
        fs::read_dir("/proc/self/fd").unwrap().count()
    }

    #[test]
    fn clients_of_a_replica_that_accepts_nothing_leave_no_files_behind() {
        let replica = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        replica
            .bind(&std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())
            .unwrap();
        replica.listen(1).unwrap();
        let port = replica.local_addr().unwrap().as_socket().unwrap().port();
        let balancer = Balancer::start();
        balancer.add(port);
        let before = files();
        for _ in 0..CLIENTS {
            TcpStream::connect((Ipv4Addr::LOCALHOST, balancer.port())).unwrap();
        }
        await_condition("the files of those who left", CONNECT * 5, || {
            let more = files().saturating_sub(before);
            if more < CLIENTS / 2 {
                Ok(())
            } else {
                Err(format!("{more} more than before"))
            }
        });
    }
}
