//! Descriptions, whole and broken.

use super::{Shape, Type, parse};
use std::fmt::Write;

/// What is wrong with a description, with its line.
fn wrong(text: &str) -> String {
    parse(text).1.map_or_else(String::new, |wrong| format!("{}: {}", wrong.line, wrong.what))
}
fn fields(text: &str) -> Vec<(String, Type)> {
    let (trace, wrong) = parse(&format!("event {{ name = \"e\"; fields := {text}; }};"));
    assert_eq!(wrong, None, "{text}");
    match &trace.streams[&0].events[&0].fields.as_ref().map(|of| of.shape.clone()) {
        Some(Shape::Struct(fields)) => fields.iter().map(|field| (field.name.clone(), Type::clone(&field.of))).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn types_of_every_kind() {
    let rows = fields(
        "struct { integer { size = 16; byte_order = be; signed = true; } a; integer { size = 5; } _b; string c; \
         string { encoding = UTF8; } d; floating_point { exp_dig = 8; mant_dig = 24; align = 32; } e; \
         integer { size = 8; } f[4][2]; } align(64)",
    );
    let names: Vec<&str> = rows.iter().map(|row| row.0.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e", "f"]);
    let aligned: Vec<u32> = rows.iter().map(|row| row.1.align).collect();
    assert_eq!(aligned, [8, 1, 8, 8, 32, 8]);
    assert!(matches!(&rows[4].1.shape, Shape::Float { bits: 32 }));
    let Shape::Array(inner, 4) = &rows[5].1.shape else { panic!("{:?}", rows[5]) };
    assert!(matches!(inner.shape, Shape::Array(_, 2)));
}

#[test]
fn names_of_types_end_with_their_block() {
    let text = "typealias integer { size = 8; } := unsigned char;\ntypedef unsigned char byte;\n\
                struct pair { byte a; byte b[a]; };\n\
                stream { id = 1; typealias integer { size = 4; } := nibble; event.header := struct { nibble id; struct pair p; }; };\n\
                event { stream_id = 1; name = x.y; fields := struct { nibble n; }; };";
    assert_eq!(wrong(text), "5: names the type `nibble`, which it does not describe");
    let (trace, _) = parse(text);
    assert!(trace.streams[&1].event_header.is_some() && trace.streams[&1].events.is_empty());
}

#[test]
fn enumerations_count_on_and_have_ranges() {
    let text = "struct { enum : integer { size = 8; signed = true; } { a = -3, b, \"c\" = 0x10 ... 020, _d } tag; \
                variant v <tag> { string a; integer { size = 8; } d; } u; }";
    // 0x10 ... 020 is 16 ... 16.
    let rows = fields(text);
    let Shape::Enum(int, labels) = &rows[0].1.shape else { panic!("{rows:?}") };
    let labels: Vec<(&str, i128, i128)> = labels.iter().map(|label| (label.name.as_str(), label.from, label.to)).collect();
    assert_eq!((int.signed, labels), (true, vec![("a", -3, -3), ("b", -2, -2), ("c", 16, 16), ("d", 17, 17)]));
    assert!(matches!(&rows[1].1.shape, Shape::Variant { tag, options } if tag == "tag" && options.len() == 2));
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, part) in [
        ("trace {", "1: is cut off in a block"),
        ("trace { major = 1 }", "1: has something else where `;` should stand"),
        ("\n\ntrace { uuid = \"abc", "3: holds a text without an end"),
        ("/* never", "holds a comment without an end"),
        ("trace { a = 0x; };", "holds a number that is none"),
        ("trace { a = 99999999999999999999; };", "holds a number that is none"),
        ("typealias integer { size = 65; } := a;", "is not of 1 to 64 bits"),
        ("typealias integer { size = 8; align = 3; } := a;", "no power of two"),
        ("typealias nothing := a;", "names the type `nothing`"),
        ("trace { § = 1; };", "a character that means nothing"),
        ("event { fields := struct { string a[-1]; }; };", "array of an impossible length"),
        ("5;", "where a name should stand"),
    ] {
        assert!(wrong(text).contains(part), "{text}: {}", wrong(text));
    }
}

#[test]
fn hostile_descriptions_are_bounded() {
    let deep = "struct { ".repeat(1000);
    assert!(wrong(&format!("event {{ fields := {deep}")).contains("too deep"));
    // Each structure has two of the one before: written out they would be 2^64 fields.
    let mut doubled = "struct s0 { string a; };\n".to_string();
    for level in 1..64 {
        writeln!(doubled, "struct s{level} {{ struct s{} a; struct s{} b; }};", level - 1, level - 1).unwrap();
    }
    assert!(wrong(&doubled).contains("too deep"), "{}", wrong(&doubled));
    assert_eq!(wrong(&"typealias integer { size = 8; } := a;\n".repeat(10_000)), "");
    for cut in 0..doubled.len().min(400) {
        let _ = parse(&doubled[..cut]);
    }
}
