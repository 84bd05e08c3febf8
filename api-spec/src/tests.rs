//! Names come from two derives, serde's and strum's: they have to agree.

use serde::Serialize;
use strum::VariantArray;

use crate::event::{Category, Severity};
use crate::host::{HostRole, HostStage, HostStatus, LogsProgressState};
use crate::infra_env::{CpuArchitecture, ImageType};
use crate::jobs::{JobOutcome, JobPower, JobState};
use crate::node_pools::Controllers;
use crate::search::FoundKind;
use crate::steps::StepType;

fn check<T>()
where
    T: VariantArray + Copy + PartialEq + std::fmt::Debug + Into<&'static str> + std::str::FromStr + Serialize,
{
    for &variant in T::VARIANTS {
        let name: &str = variant.into();
        assert_eq!(
            serde_json::to_value(variant).expect("a unit variant is JSON"),
            name
        );
        assert_eq!(name.parse().ok(), Some(variant));
    }
    assert!("no such name".parse::<T>().is_err());
}

#[test]
fn a_name_is_the_same_in_json_and_in_text() {
    check::<HostStatus>();
    check::<HostRole>();
    check::<HostStage>();
    check::<LogsProgressState>();
    check::<ImageType>();
    check::<CpuArchitecture>();
    check::<Severity>();
    check::<Category>();
    check::<StepType>();
    check::<FoundKind>();
    check::<JobState>();
    check::<JobOutcome>();
    check::<JobPower>();
    check::<Controllers>();
}
