//! Converts rows to values and values to rows, with errors that name table, key and column.

mod column;
mod lenient;
mod reading;
mod values;

use muster_core::record::KubeRef;

pub(crate) use column::{Json, Sealed, cell, document, micros, storable};
pub(crate) use lenient::{or_pass_over, readable};
pub(crate) use reading::Reading;
pub(crate) use values::Values;

/// Declares the type of a table's rows. Its fields are the columns: this is the one place where they are listed.
macro_rules! row {
    (
        $(#[$meta:meta])*
        $name:ident$(<$life:lifetime>)? of $table:literal by [$($key:ident),+] {
            $first:ident: $first_type:ty, $($field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        pub(crate) struct $name$(<$life>)? {
            pub(crate) $first: $first_type,
            $(pub(crate) $field: $type,)*
        }

        impl$(<$life>)? $name$(<$life>)? {
            pub(crate) const TABLE: &'static str = $table;

            /// The columns that name a row.
            pub(crate) const KEY: &'static [&'static str] = &[$(stringify!($key)),+];

            /// For a `SELECT`.
            pub(crate) const COLUMNS: &'static str = concat!(stringify!($first) $(, ", ", stringify!($field))*);

            /// # Errors
            /// `Corrupt` when a column cannot be read.
            pub(crate) fn read(reading: &$crate::row::Reading<'_>) -> $crate::Result<Self> {
                Ok(Self {
                    $first: reading.get(stringify!($first))?,
                    $($field: reading.get(stringify!($field))?,)*
                })
            }

            /// # Errors
            /// `Encode` when a document cannot be written as JSON, `Sealing` when it cannot be sealed.
            pub(crate) fn values(&self, vault: &$crate::Vault) -> $crate::Result<$crate::row::Values> {
                let cells = vec![
                    (stringify!($first), $crate::row::cell($table, stringify!($first), &self.$first)?),
                    $((stringify!($field), $crate::row::cell($table, stringify!($field), &self.$field)?),)*
                ];
                $crate::row::Values::new($table, cells).sealed(vault, Self::KEY)
            }
        }
    };
}
pub(crate) use row;

/// The custom resource that a record belongs to.
pub(crate) fn kube_ref(namespace: Option<String>, name: Option<String>) -> Option<KubeRef> {
    namespace
        .zip(name)
        .map(|(namespace, name)| KubeRef { namespace, name })
}

/// Namespace and name of the custom resource that a record belongs to.
pub(crate) fn kube_columns(kube: Option<&KubeRef>) -> (Option<String>, Option<String>) {
    (
        kube.map(|kube| kube.namespace.clone()),
        kube.map(|kube| kube.name.clone()),
    )
}
