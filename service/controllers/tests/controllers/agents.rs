//! The bridge on a built-in Kubernetes API in this process: hosts become Agents, edits of Agents reach hosts, Events
//! are published.

mod deletions;
mod edits;
mod erasing;
mod images;
mod infra_envs;
mod moves;
mod reboots;
mod reinstalls;
mod world;
