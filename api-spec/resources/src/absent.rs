//! An object without `spec` is read as one with an empty `spec`: the CRDs do not require it, and a single object that
//! cannot be read would stop a watch of all of them.

/// For types that derive their serialization with `#[serde(remote = "Self")]`: a missing or `null` value is the default.
macro_rules! absent_is_default {
    ($type:ty) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;

                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $type;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                        formatter.write_str(concat!("an object (", stringify!($type), ")"))
                    }

                    fn visit_none<E>(self) -> Result<$type, E> {
                        Ok(<$type>::default())
                    }

                    fn visit_unit<E>(self) -> Result<$type, E> {
                        Ok(<$type>::default())
                    }

                    fn visit_some<D: serde::Deserializer<'de>>(
                        self,
                        deserializer: D,
                    ) -> Result<$type, D::Error> {
                        <$type>::deserialize(deserializer)
                    }
                }

                // Serde requests an option for a missing member before it reports an error.
                deserializer.deserialize_option(Visitor)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$type>::serialize(self, serializer)
            }
        }
    };
}

pub(crate) use absent_is_default;
