//! Filters, order and counts of hosts in lists.

mod errors;
mod facets;
mod oracle;
mod sample;
mod sort;
mod summaries;
mod table;
mod terms;
