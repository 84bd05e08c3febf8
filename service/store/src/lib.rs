//! What Muster remembers.
