//! The scenarios that `faults` runs on PostgreSQL, for the service with its own database.

use muster_tests::database::on_sqlite;

use crate::faults::conversation::the_recorded_conversation_is_replayed;
use crate::faults::fleet::each_fault_is_contained_and_affects_no_other_host;
use crate::faults::sudden_death::what_was_answered_survives_a_kill;

on_sqlite!(
    the_recorded_conversation_is_replayed,
    what_was_answered_survives_a_kill,
    each_fault_is_contained_and_affects_no_other_host,
);
