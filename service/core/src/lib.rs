//! Pure decisions of Muster.
