//! iPXE scripts.
