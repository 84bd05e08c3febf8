//! Reads arguments of commands: names of objects that exist or are to be made, versions, tables in files.

pub mod csv_table;
pub mod names;
pub mod new_name;
pub mod openshift_version;
pub mod twins;
