//! Whether the API server knows the kinds that the controllers watch.
