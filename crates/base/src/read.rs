//! Reads tables of parameters: a [`Value`] of any data format, and a deserialiser whose errors are [`ParamError`]s with
//! the path of the value.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeSeed, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

use crate::ParamError;

/// A value in a table of parameters, as in TOML and JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value, like JSON's null.
    Nothing,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A whole number too large for [`Value::Integer`].
    Large(u64),
    /// A floating-point number.
    Number(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// A table, in the order of its source.
    Table(Vec<(String, Value)>),
}

impl Value {
    /// Removes a key from a table and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let Value::Table(entries) = self else { return None };
        let place = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(place).1)
    }

    /// Two tables: of the keys that `first` takes, and of the others. Any other value is the second one.
    #[must_use]
    pub fn partition(self, first: impl Fn(&str) -> bool) -> (Value, Value) {
        match self {
            Value::Table(entries) => {
                let (these, others) = entries.into_iter().partition(|(key, _)| first(key));
                (Value::Table(these), Value::Table(others))
            }
            other => (Value::Table(Vec::new()), other),
        }
    }

    /// The value at a path of keys and of indices from 0, such as `classes[2].share`.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&Value> {
        if path.is_empty() {
            return Some(self);
        }
        if let Some((index, rest)) = path.strip_prefix('[').and_then(|after| after.split_once(']')) {
            let Value::List(values) = self else { return None };
            return values.get(index.parse::<usize>().ok()?)?.at(rest);
        }
        let path = path.strip_prefix('.').unwrap_or(path);
        let (key, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
        let Value::Table(entries) = self else { return None };
        entries.iter().find(|(name, _)| name == key)?.1.at(rest)
    }

    /// A number or a string as written; `None` for other values.
    #[must_use]
    pub fn as_written(&self) -> Option<String> {
        match self {
            Value::Integer(value) => Some(value.to_string()),
            Value::Large(value) => Some(value.to_string()),
            Value::Number(value) => Some(value.to_string()),
            Value::Text(text) => Some(text.clone()),
            Value::Nothing | Value::Bool(_) | Value::List(_) | Value::Table(_) => None,
        }
    }

    /// Reads the value as a `T`.
    ///
    /// # Errors
    /// If a key is unknown or missing, or a value has the wrong type or unit.
    pub fn read<T: de::DeserializeOwned>(&self) -> Result<T, ParamError> {
        T::deserialize(self).map_err(|error: ReadError| *error.0)
    }
}

macro_rules! value_from {
    ($($from:ty => $make:expr;)*) => {
        $(
            impl From<$from> for Value {
                fn from(value: $from) -> Value {
                    $make(value)
                }
            }
        )*
    };
}

value_from! {
    bool => Value::Bool;
    i32 => |value| Value::Integer(i64::from(value));
    u32 => |value| Value::Integer(i64::from(value));
    i64 => Value::Integer;
    f64 => Value::Number;
    &str => |text: &str| Value::Text(text.to_owned());
    String => Value::Text;
    Vec<Value> => Value::List;
}

/// A [`ParamError`] on the heap. While a table is read, a result holds one number or one text as a rule; with the error
/// itself, it would be many times as large.
#[derive(Debug)]
pub struct ReadError(Box<ParamError>);

impl ReadError {
    /// Maps the wrapped error.
    fn with(mut self, change: impl FnOnce(ParamError) -> ParamError) -> ReadError {
        *self.0 = change(*self.0);
        self
    }
}

impl From<ParamError> for ReadError {
    fn from(error: ParamError) -> ReadError {
        ReadError(Box::new(error))
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        ParamError::custom(message).into()
    }

    fn invalid_type(got: Unexpected<'_>, want: &dyn Expected) -> Self {
        ParamError::invalid_type(got, want).into()
    }

    fn invalid_value(got: Unexpected<'_>, want: &dyn Expected) -> Self {
        ParamError::invalid_value(got, want).into()
    }

    fn invalid_length(length: usize, want: &dyn Expected) -> Self {
        ParamError::invalid_length(length, want).into()
    }

    fn unknown_variant(got: &str, known: &'static [&'static str]) -> Self {
        ParamError::unknown_variant(got, known).into()
    }

    fn unknown_field(got: &str, known: &'static [&'static str]) -> Self {
        ParamError::unknown_field(got, known).into()
    }

    fn missing_field(field: &'static str) -> Self {
        ParamError::missing_field(field).into()
    }

    fn duplicate_field(field: &'static str) -> Self {
        ParamError::duplicate_field(field).into()
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

/// Converts a value of any data format to a [`Value`].
struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Large(value), Value::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries: Vec<(String, Value)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            if entries.iter().any(|(other, _)| *other == key) {
                return Err(A::Error::custom(format_args!("{key} is given twice")));
            }
            entries.push((key, value));
        }
        Ok(Value::Table(entries))
    }
}

impl<'de> Deserializer<'de> for &Value {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self {
            Value::Nothing => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Integer(value) => visitor.visit_i64(*value),
            Value::Large(value) => visitor.visit_u64(*value),
            Value::Number(value) => visitor.visit_f64(*value),
            Value::Text(text) => visitor.visit_str(text),
            Value::List(values) => whole_list(values, visitor),
            Value::Table(entries) => visitor.visit_map(Entries::of(entries)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if matches!(self, Value::Nothing) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        // Only tables: for every type that is read, a reader of lists would be compiled that is never called.
        match self {
            Value::Table(entries) => visitor.visit_map(Entries::of(entries)),
            Value::List(_) => Err(ReadError::invalid_type(self.unexpected(), &"a table")),
            _ => Err(ReadError::invalid_type(self.unexpected(), &visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self {
            Value::Text(text) => {
                let name: StrDeserializer<'_, ReadError> = text.as_str().into_deserializer();
                visitor.visit_enum(name)
            }
            Value::Table(entries) if entries.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(Entries::of(entries)))
            }
            other => Err(ReadError::invalid_type(other.unexpected(), &"a name, or a table with one key")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

impl Value {
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Value::Nothing => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Integer(value) => Unexpected::Signed(*value),
            Value::Large(value) => Unexpected::Unsigned(*value),
            Value::Number(value) => Unexpected::Float(*value),
            Value::Text(text) => Unexpected::Str(text),
            Value::List(_) => Unexpected::Seq,
            Value::Table(_) => Unexpected::Map,
        }
    }
}

/// Has `visitor` read an array, and checks that it consumes all elements.
fn whole_list<'de, V: Visitor<'de>>(values: &[Value], visitor: V) -> Result<V::Value, ReadError> {
    let mut elements = Elements { values, next: 0 };
    let read = visitor.visit_seq(&mut elements)?;
    if elements.next == values.len() {
        return Ok(read);
    }
    Err(ReadError::invalid_length(values.len(), &format!("a list of {}", elements.next).as_str()))
}

/// The elements of a list; the path of an error includes the index.
struct Elements<'a> {
    values: &'a [Value],
    next: usize,
}

impl<'de> SeqAccess<'de> for &mut Elements<'_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some(value) = self.values.get(self.next) else { return Ok(None) };
        self.next += 1;
        seed.deserialize(value).map(Some).map_err(|e: ReadError| e.with(|error| error.within_element(self.next - 1)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len() - self.next)
    }
}

/// The entries of a table; the path of an error includes the key.
struct Entries<'a> {
    rest: std::slice::Iter<'a, (String, Value)>,
    current: Option<&'a (String, Value)>,
}

impl<'a> Entries<'a> {
    fn of(entries: &'a [(String, Value)]) -> Self {
        Entries { rest: entries.iter(), current: None }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        self.current = self.rest.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        let key: StrDeserializer<'_, ReadError> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let Some((key, value)) = self.current else { return Err(ReadError::custom("a key has no value")) };
        seed.deserialize(value).map_err(|e: ReadError| e.with(|error| error.within_key(key)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Amount, Duration};

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Class {
        share: f64,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Drop {
        Tail,
        After(Duration),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Params {
        limit: Option<Amount>,
        #[serde(default)]
        burst: u32,
        #[serde(default)]
        drop: Option<Drop>,
        #[serde(default)]
        classes: Vec<Class>,
        #[serde(default)]
        range: Option<(Duration, Duration)>,
        #[serde(default)]
        more: BTreeMap<String, bool>,
    }

    fn read(json: &str) -> Result<Params, String> {
        let value: Value = serde_json::from_str(json).unwrap();
        value.read().map_err(|e: ParamError| e.explain("a parameter of x", "x").to_string())
    }

    #[test]
    fn what_is_right_is_read() {
        let all = r#"{"limit": 60, "burst": 3, "drop": {"after": "1s"}, "classes": [{"share": 1}],
            "range": ["1s", "2s"], "more": {"a": true}}"#;
        let params = read(all).unwrap();
        assert_eq!((params.limit, params.burst), (Some(Amount::Packets(60.0)), 3));
        assert_eq!(
            (params.drop, params.classes),
            (Some(Drop::After(Duration::from_secs(1))), vec![Class { share: 1.0 }])
        );
        assert!(params.range.is_some() && params.more["a"]);
        assert_eq!(read(r#"{"limit": null, "drop": "tail"}"#).unwrap().drop, Some(Drop::Tail));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_path() {
        let told = |json| read(json).unwrap_err();
        assert_eq!(
            told(r#"{"limti": 1}"#),
            "limti is not a parameter of x: did you mean limit? Known are limit, burst, drop, classes, range, more"
        );
        assert_eq!(
            told(r#"{"classes": [{"share": 1}, {"shrae": 1}]}"#),
            "shrae is not a known key of classes[1]: did you mean share? Known are share"
        );
        assert_eq!(told(r#"{"classes": [{}]}"#), "share is missing: write share = …");
        assert_eq!(
            told(r#"{"classes": [{"share": "a"}]}"#),
            "classes[0].share of x is string \"a\": it must be a number"
        );
        assert_eq!(
            told(r#"{"drop": "tial"}"#),
            "\"tial\" is not a known value of drop: did you mean tail? Known are tail, after"
        );
        assert_eq!(
            told(r#"{"burst": -1}"#),
            "burst of x is integer -1: it must be a whole number that is not negative"
        );
        assert_eq!(
            told(r#"{"burst": 5000000000}"#),
            "burst of x is integer 5000000000: it must be a whole number from 0 to 4294967295"
        );
        assert!(told(r#"{"limit": "5ms"}"#).starts_with("limit of x: \"5ms\" is not a queue length: "));
        assert!(told(r#"{"range": ["1s", "2s", "3s"]}"#).contains("of length 3"));
        assert!(told(r#"{"more": {"a.b": 1}}"#).starts_with("more.\"a.b\" of x is integer 1"));
        assert_eq!(told("[]"), "x is a list: it must be a table");
    }

    #[test]
    fn a_path_leads_to_a_value() {
        let value: Value =
            serde_json::from_str(r#"{"limit": 60, "classes": [{"share": 1}, {"share": "5kb"}]}"#).unwrap();
        let at = |path: &str| value.at(path).and_then(Value::as_written);
        assert_eq!((at("limit").as_deref(), at("classes[1].share").as_deref()), (Some("60"), Some("5kb")));
        assert_eq!(value.at(""), Some(&value));
        for nowhere in ["classes", "classes[2].share", "classes[x]", "limit.share", "limit[0]", "min"] {
            assert_eq!(at(nowhere), None, "{nowhere}");
        }
    }

    #[test]
    fn an_error_shows_a_value_as_it_is_written() {
        let table: Value =
            serde_json::from_str(r#"{"max": "5kb", "min": 7, "target": "0.02s", "ecn": "5kb"}"#).unwrap();
        let shown = |field: &str, got: &str| ParamError::new(field, got, "no").as_written(&table).got;
        assert_eq!(shown("max", "5120b"), "5kb");
        assert_eq!(shown("min", "7p"), "7");
        assert_eq!(shown("target", &Duration::from_millis(20).to_string()), "0.02s");
        assert_eq!(shown("max", "6kb, less than min"), "6kb, less than min", "another value");
        assert_eq!(shown("interval", "5120b"), "5120b", "a field that is not in the table");
    }

    #[test]
    fn a_key_that_is_given_twice_is_refused() {
        let twice = serde_json::from_str::<Value>(r#"{"a": 1, "a": 2}"#).unwrap_err().to_string();
        assert!(twice.starts_with("a is given twice"), "{twice}");
    }
}
