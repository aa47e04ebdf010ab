//! Members of JSON objects, read leniently: what is not there, or is of another kind, is not told.

use serde_json::{Map, Value};

/// An object's members.
pub(super) type Members = Map<String, Value>;

/// A text.
pub(super) fn text(of: &Members, key: &str) -> Option<String> {
    of.get(key).and_then(Value::as_str).map(str::to_string)
}

/// A number that is not negative.
pub(super) fn number(of: &Members, key: &str) -> Option<u64> {
    of.get(key).and_then(Value::as_u64)
}

/// A number.
pub(super) fn signed(of: &Members, key: &str) -> Option<i64> {
    of.get(key).and_then(Value::as_i64)
}

/// Yes or no.
pub(super) fn flag(of: &Members, key: &str) -> Option<bool> {
    of.get(key).and_then(Value::as_bool)
}

/// A list of texts; empty if there is none.
pub(super) fn texts(of: &Members, key: &str) -> Vec<String> {
    let rows = of.get(key).and_then(Value::as_array).into_iter().flatten();
    rows.filter_map(Value::as_str).map(str::to_string).collect()
}

/// Pairs of texts; empty if there are none.
pub(super) fn pairs(of: &Members, key: &str) -> Vec<(String, String)> {
    let rows = of.get(key).and_then(Value::as_object).into_iter().flatten();
    rows.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_string()))).collect()
}

/// The members of what is told: unknown ones are left out.
pub(super) fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    Value::Object(members.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?))).collect())
}

/// Pairs as an object; none if there are none.
pub(super) fn of_pairs(pairs: &[(String, String)]) -> Option<Value> {
    let members: Members = pairs.iter().map(|(key, value)| (key.clone(), Value::from(value.clone()))).collect();
    (!members.is_empty()).then_some(Value::Object(members))
}

/// A list; none if it is empty.
pub(super) fn of_texts(texts: &[String]) -> Option<Value> {
    (!texts.is_empty()).then(|| Value::from(texts.to_vec()))
}
