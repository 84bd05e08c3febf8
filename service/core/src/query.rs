//! Finds hosts among many: what a list needs of each host, the language of filters, counts by value, and order in windows.
//!
//! The page, the command line and REST use this one language (`cpu:>32 -finding:* switch:sw1`).

mod facets;
mod facts;
mod language;
mod natural;
mod nearest;
mod removal;
mod sort;
mod summary;
mod table;
mod words;

pub use facets::{FACETS, Facet, FacetValue, facets};
pub use facts::{Facts, Field, Sizes};
pub use language::{
    Key, MAX_QUERY_BYTES, MAX_TERMS, MAX_VALUE_BYTES, MAX_VALUES, Problem, Query, QueryError, QueryErrors,
    Term, quoted,
};
pub use natural::natural_order;
pub use removal::{Removal, removals};
pub use sort::{Cursor, CursorError, Sort, SortKey, UnknownSort, Window, window};
pub use summary::{
    BmcSummary, DiskSummary, DriveType, Firmware, HardwareSummary, HostSummary, Surroundings, WaitSummary,
    summary,
};
pub use table::{HostTable, HostView};
pub use words::{Fit, Words};
