//! The images of an architecture that machines boot and get on their disks, and a kernel argument of theirs.

pub(crate) mod architecture;
pub mod boot_argument;
pub mod os_image;
