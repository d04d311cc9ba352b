//! A discipline's table of parameters with `flow` in it, which all disciplines that tell flows apart read alike.

use std::fmt;

use aqmkit_base::FlowKind;
use serde::de::value::{Error as Plain, StrDeserializer};
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

/// The key.
const FLOW: &str = "flow";

/// A table that keeps its value of `flow` to itself and shows the other keys.
pub(super) struct Table<'a, D> {
    table: D,
    /// The discipline, where it does not tell flows apart.
    unfit: Option<&'static str>,
    flow: &'a mut Option<FlowKind>,
}

impl<'a, D> Table<'a, D> {
    /// Of the discipline `name`; what `flow` says goes to the place given.
    pub(super) fn new(table: D, name: &'static str, tells_flows: bool, flow: &'a mut Option<FlowKind>) -> Self {
        Table { table, unfit: (!tells_flows).then_some(name), flow }
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Table<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.table.deserialize_map(Rest { visitor, unfit: self.unfit, flow: self.flow })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Who reads the other keys.
struct Rest<'a, V> {
    visitor: V,
    unfit: Option<&'static str>,
    flow: &'a mut Option<FlowKind>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Rest<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Entries { map, unfit: self.unfit, flow: self.flow })
    }
}

/// The entries of the table without `flow`.
struct Entries<'a, A> {
    map: A,
    unfit: Option<&'static str>,
    flow: &'a mut Option<FlowKind>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            if key == FLOW {
                let kind = self.map.next_value_seed(Kind { unfit: self.unfit })?;
                if self.flow.replace(kind).is_some() {
                    return Err(A::Error::duplicate_field(FLOW));
                }
                continue;
            }
            let name: StrDeserializer<'_, Plain> = key.as_str().into_deserializer();
            // The refusal of an unknown key ends with the list of those that are known.
            let known = if self.unfit.is_none() { ", `flow`" } else { "" };
            return seed.deserialize(name).map(Some).map_err(|e| A::Error::custom(format_args!("{e}{known}")));
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// The value of `flow`.
struct Kind {
    unfit: Option<&'static str>,
}

impl<'de> DeserializeSeed<'de> for Kind {
    type Value = FlowKind;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<FlowKind, D::Error> {
        match self.unfit {
            None => FlowKind::deserialize(value),
            Some(name) => Err(D::Error::custom(format_args!("{name} does not distinguish flows: omit flow"))),
        }
    }
}
