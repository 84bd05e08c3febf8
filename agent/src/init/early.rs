//! Runs before Rust's own start-up: that ends the process when descriptors 0 to 2 are closed and there is no
//! `/dev/null`, both of which can be so in an initramfs. As process 1 that would be a kernel panic.
#![expect(
    unsafe_code,
    reason = "runs before main, where only system calls are safe to use"
)]

use std::ffi::c_int;

/// Called by the C start-up code before `main`.
#[used]
// SAFETY: the section holds pointers to functions of this type, which the C start-up code calls once, one by one.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    // SAFETY: getpid has no arguments and cannot fail.
    if unsafe { libc::getpid() } != 1 {
        return;
    }
    // SAFETY: a constant text that ends with NUL. A container's first process has a complete `/dev`.
    if unsafe { libc::access(c"/dev/null".as_ptr(), libc::F_OK) } == 0 {
        return;
    }
    // SAFETY: every pointer is a constant text that ends with NUL; failures are allowed and change nothing.
    unsafe {
        libc::mkdir(c"/dev".as_ptr(), 0o755);
        libc::mount(
            c"devtmpfs".as_ptr(),
            c"/dev".as_ptr(),
            c"devtmpfs".as_ptr(),
            libc::MS_NOSUID,
            c"mode=0755".as_ptr().cast(),
        );
    }
    for descriptor in 0..3 {
        open_if_closed(descriptor);
    }
}

fn open_if_closed(descriptor: c_int) {
    // SAFETY: the call queries a number and touches no memory.
    if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } != -1 {
        return;
    }
    for device in [c"/dev/console", c"/dev/null"] {
        // SAFETY: a constant text that ends with NUL. The lowest free number is given, which is the closed one.
        if unsafe { libc::open(device.as_ptr(), libc::O_RDWR | libc::O_NOCTTY) } != -1 {
            return;
        }
    }
}
