//! Discovery images as data.
