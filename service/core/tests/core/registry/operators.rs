//! Cases of add-on operators.

use muster_core::record::CheckId as C;

use super::case::Case;
use super::case::Outcome::{Hidden, Success};
use super::case::Where::{Bound, Pool};

pub fn cases() -> Vec<Case> {
    let operators = C::ALL
        .iter()
        .copied()
        .filter(|check| check.category() == "operators");
    operators
        .flat_map(|check| -> [Case; 2] { [(check, Pool, Hidden, |_| ()), (check, Bound, Success, |_| ())] })
        .collect()
}
