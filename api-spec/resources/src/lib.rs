//! The custom resources that Muster owns or reads. `api-spec/crds/*.yaml` is generated from these types.
