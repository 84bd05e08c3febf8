//! The checks of a host: facts in, verdicts out.
