//! BMC resources on a built-in Kubernetes API in this process: what they ask for reaches the records, and what becomes of these is told.
//! The driver that talks to BMCs is played.

mod cases;
mod world;
