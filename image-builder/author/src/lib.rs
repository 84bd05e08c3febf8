//! Authors the Muster live ISO from the distribution's packages (contract: `docs/live-image.md`).
//!
//! Read in this order: [`live`] decides what is built and when it need not be; [`packages`] gets the ingredients; [`kernel`] chooses
//! modules and firmware; [`initramfs`] packs them; [`boot`] makes the loaders; [`iso`] writes the medium through [`xorriso`], the safe side
//! of the declarations in `sys`.
//!
//! This package links libisoburn (GPL-2.0-or-later) and is GPL-3.0-or-later as a whole; nothing depends on it.

pub mod architecture;

pub mod live;

pub mod packages;

pub mod kernel;

pub mod initramfs;

pub mod boot;

pub mod iso;

pub mod xorriso;

mod sys;

pub mod progress;
