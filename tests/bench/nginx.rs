//! The peer: nginx with sendfile, one worker, serving a folder.

use std::path::Path;
use std::time::Duration;

use muster_tests::condition::await_condition;
use muster_tests::process::ports::ReservedPort;
use muster_tests::process::{Program, command};
use tempfile::TempDir;

/// A running nginx.
pub struct Nginx {
    program: Program,
    port: ReservedPort,
    _folder: TempDir,
}

impl Nginx {
    /// Serves the files of `root`.
    pub fn serve(root: &Path) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("muster-nginx-").tempdir()?;
        let port = ReservedPort::reserve();
        let own = folder.path().display();
        let user = if nix::unistd::Uid::effective().is_root() {
            "user root;"
        } else {
            ""
        };
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary: String = temporary
            .iter()
            .map(|kind| format!("{kind}_temp_path {own}/{kind};"))
            .collect();
        let configuration = format!(
            "{user} daemon off; worker_processes 1; pid {own}/nginx.pid; error_log stderr;
             events {{ worker_connections 1024; }}
             http {{ {temporary} access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000;
                     server {{ listen 127.0.0.1:{port}; root {root}; }} }}",
            port = port.number(),
            root = root.display(),
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, configuration)?;
        let mut nginx = command("nginx");
        nginx.arg("-c").arg(&file).arg("-e").arg("stderr");
        let mut program = Program::start("nginx", &mut nginx, &folder.path().join("nginx.log"));
        await_condition("nginx to listen", Duration::from_secs(10), || {
            assert!(
                program.is_running(),
                "nginx ended:\n{}",
                program.transcript().tail()
            );
            std::net::TcpStream::connect(("127.0.0.1", port.number()))
                .map(drop)
                .map_err(|error| error.to_string())
        });
        Ok(Self {
            program,
            port,
            _folder: folder,
        })
    }

    pub fn id(&self) -> u32 {
        self.program.id()
    }

    pub fn port(&self) -> u16 {
        self.port.number()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // A master that is killed leaves its worker; one that is terminated does not.
        self.program.signal(nix::sys::signal::Signal::SIGTERM);
        self.program.await_exit(Duration::from_secs(10));
    }
}
