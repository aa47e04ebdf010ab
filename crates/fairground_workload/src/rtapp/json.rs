//! Reading JSON as rt-app's own reader (json-c) does: comments and trailing commas are fine, every
//! key has a place, and no key gets lost.

use fairground_model::Mistakes;
use jsonc_parser::ast::{Object, ObjectProp, ObjectPropName, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use std::ops::Range;

/// rt-app keeps its numbers in a C `int`.
const INT_MAX: i64 = i32::MAX as i64;

/// The text as a tree.
pub(super) fn root(text: &str) -> Result<Object<'_>, Mistakes> {
    let options = ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: false,
        allow_trailing_commas: true,
        allow_missing_commas: false,
        allow_single_quoted_strings: true,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let mut mistakes = Mistakes::default();
    match parse_to_ast(text, &CollectOptions::default(), &options).map(|result| result.value) {
        Ok(Some(Value::Object(object))) => return Ok(object),
        Ok(Some(other)) => mistakes.at(span(&other), "the text is no JSON object", SKELETON),
        Ok(None) => mistakes.whole("the text is empty", SKELETON),
        Err(error) => {
            let range = error.range();
            let hint = "Every key has a value, also suspend and yield (`\"yield\" : \"\"`), and commas stand between the pairs.";
            mistakes.at(range.start..range.end, format!("this is no JSON: {}", error.kind()), hint);
        }
    }
    Err(mistakes)
}

const SKELETON: &str = "An rt-app file looks like { \"tasks\" : { \"name\" : { \"run\" : 1000, \"sleep\" : 9000 } } }.";

pub(super) fn span(node: &impl Ranged) -> Range<usize> {
    let range = node.range();
    range.start..range.end
}

pub(super) fn key<'t>(property: &'t ObjectProp<'_>) -> (&'t str, Range<usize>) {
    match &property.name {
        ObjectPropName::String(name) => (&name.value, span(name)),
        ObjectPropName::Word(name) => (name.value, span(name)),
    }
}

/// The reader of one object: checks for keys that are unknown or given twice.
pub(super) struct Fields<'m> {
    pub(super) mistakes: &'m mut Mistakes,
}

impl Fields<'_> {
    /// The only property of this name. rt-app's reader would silently take the last of several.
    pub(super) fn one<'t, 'a>(&mut self, object: &'t Object<'a>, name: &str) -> Option<&'t ObjectProp<'a>> {
        let mut all = object.properties.iter().filter(|property| key(property).0 == name);
        let first = all.next()?;
        for again in all {
            let hint = "Keep one of them: only events may be repeated, and are then done in order.";
            self.mistakes.at(key(again).1, format!("`{name}` is given twice"), hint);
        }
        Some(first)
    }
    /// An integer between two bounds.
    pub(super) fn int(&mut self, property: &ObjectProp<'_>, low: i64, high: i64, what: &str) -> Option<i64> {
        let number = property.value.as_number_lit().and_then(|number| number.value.parse::<i64>().ok());
        match number.filter(|number| (low..=high).contains(number)) {
            Some(number) => Some(number),
            None => {
                let message = format!("`{}` is no value for `{}`", shown(&property.value), key(property).0);
                let hint = if high == INT_MAX {
                    format!("Expected {what}, a whole number from {low} to {INT_MAX}.")
                } else {
                    format!("Expected {what}, a whole number from {low} to {high}.")
                };
                self.mistakes.at(span(&property.value), message, hint);
                None
            }
        }
    }
    /// A time in microseconds, not negative.
    pub(super) fn usec(&mut self, property: &ObjectProp<'_>) -> Option<u64> {
        self.int(property, 0, INT_MAX, "microseconds").and_then(|usec| u64::try_from(usec).ok())
    }
    /// A string.
    pub(super) fn string<'t>(&mut self, property: &'t ObjectProp<'_>) -> Option<&'t str> {
        let string = property.value.as_string_lit().map(|string| string.value.as_ref());
        if string.is_none() {
            self.kind(property, "a string in quotes");
        }
        string
    }
    /// true or false.
    pub(super) fn boolean(&mut self, property: &ObjectProp<'_>) -> Option<bool> {
        let boolean = property.value.as_boolean_lit().map(|boolean| boolean.value);
        if boolean.is_none() {
            self.kind(property, "true or false");
        }
        boolean
    }
    /// An object.
    pub(super) fn object<'t, 'a>(&mut self, property: &'t ObjectProp<'a>) -> Option<&'t Object<'a>> {
        let object = property.value.as_object();
        if object.is_none() {
            self.kind(property, "an object { … }");
        }
        object
    }
    /// An array of numbers from 0 to `high`, with at least one element.
    pub(super) fn numbers(&mut self, property: &ObjectProp<'_>, high: u32) -> Option<Vec<u32>> {
        let numbers = property.value.as_array().and_then(|array| {
            let number = |value: &Value<'_>| value.as_number_lit()?.value.parse::<u32>().ok().filter(|&number| number <= high);
            array.elements.iter().map(number).collect::<Option<Vec<u32>>>()
        });
        let numbers = numbers.filter(|numbers| !numbers.is_empty());
        if numbers.is_none() {
            self.kind(property, &format!("an array of numbers from 0 to {high} such as [0, 2]"));
        }
        numbers
    }
    /// Says that the value is of the wrong kind.
    pub(super) fn kind(&mut self, property: &ObjectProp<'_>, expected: &str) {
        let message = format!("`{}` is no value for `{}`", shown(&property.value), key(property).0);
        self.mistakes.at(span(&property.value), message, format!("Expected {expected}."));
    }
    /// Says that a thing is known but not built.
    pub(super) fn not_modelled(&mut self, property: &ObjectProp<'_>, needs: &str) {
        let message = format!("`{}` is not modelled yet ({needs})", key(property).0);
        self.mistakes.at(key(property).1, message, "Leave it out, or run the file without this part.");
    }
    /// Says that a key means nothing here.
    pub(super) fn unknown(&mut self, property: &ObjectProp<'_>, place: &str, known: &[&str]) {
        let (name, at) = key(property);
        self.mistakes.at(at, format!("`{name}` means nothing in {place}"), format!("Known are: {}.", known.join(", ")));
    }
}

/// The value as a message shows it, cut where it is long.
pub(super) fn shown(value: &Value<'_>) -> String {
    match value {
        Value::StringLit(string) => string.value.chars().take(40).collect(),
        Value::NumberLit(number) => number.value.chars().take(40).collect(),
        Value::BooleanLit(boolean) => boolean.value.to_string(),
        Value::Object(_) => "{ … }".into(),
        Value::Array(_) => "[ … ]".into(),
        Value::NullKeyword(_) => "null".into(),
    }
}
