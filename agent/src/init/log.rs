//! Sends the log of process 1 to the kernel's ring buffer, which `dmesg` in a rescue shell and any serial
//! console show, and to the agent's own ring, which keeps whole lines and holds nothing else.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::MakeWriterExt;

use crate::logs::ring;

struct KernelLog;

/// One event; becomes one record.
struct Record {
    text: Vec<u8>,
    to: Option<File>,
}

impl<'a> MakeWriter<'a> for KernelLog {
    type Writer = Record;
    fn make_writer(&'a self) -> Record {
        Record {
            text: b"<6>muster-agent: ".to_vec(),
            to: OpenOptions::new().write(true).open("/dev/kmsg").ok(),
        }
    }
}

impl Write for Record {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(file) = &mut self.to {
            // The kernel takes records of up to 976 bytes.
            self.text.truncate(970);
            let _ = file.write_all(&self.text);
        }
    }
}

/// Sends all events to the kernel.
pub fn to_kernel() {
    let _ = std::fs::write("/proc/sys/kernel/printk_devkmsg", "on");
    let done = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("info"))
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .with_level(true)
        .with_writer(KernelLog.and(ring::Lines))
        .try_init();
    if done.is_err() {
        tracing::debug!("logging was set up before");
    }
}
