//! BMC resources on a built-in Kubernetes API in this process: their requests reach the records, and the outcomes are reported.
//! The test takes the place of the driver that controls BMCs.

mod cases;
mod world;
