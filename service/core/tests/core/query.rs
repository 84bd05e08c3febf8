//! Filters and counts of hosts in lists.

mod errors;
mod facets;
mod oracle;
mod sample;
mod summaries;
mod terms;
