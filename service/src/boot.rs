//! What machines boot: ISO, kernel, initramfs and iPXE script of an InfraEnv, under our short addresses and under
//! those of the upstream image service (docs/protocol/image-service.md#2).

pub mod artifact;
mod routes;

pub use routes::routes;
