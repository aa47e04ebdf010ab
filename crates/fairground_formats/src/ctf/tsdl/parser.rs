//! From words to types.

use super::Wrong;
use super::lexer::{Lexer, Token};
use super::types::{DEPTH_MAX, Field, INT_BITS_MAX, IntType, Label, Shape, Type};
use crate::import::event_format::ByteOrder;
use std::collections::BTreeMap;
use std::rc::Rc;

/// How deep brackets may lie in each other.
const NESTED_MAX: u32 = 64;
/// Largest alignment, in bits.
const ALIGN_MAX: i128 = 1 << 12;

/// A value of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Text(String),
    Number(i128),
    /// A word, or several with dots between them.
    Path(String),
}

impl Value {
    pub(super) fn text(&self) -> &str {
        match self {
            Value::Text(text) | Value::Path(text) => text,
            Value::Number(_) => "",
        }
    }
    pub(super) fn number(&self) -> Option<i128> {
        if let Value::Number(number) = self { Some(*number) } else { None }
    }
}

/// The parser, with the types that have names.
pub(super) struct Parser<'t> {
    lexer: Lexer<'t>,
    next: Token<'t>,
    /// Line of the word at hand.
    pub(super) line: u32,
    nested: u32,
    /// Named types; those of an inner block are forgotten at its end. Tagged ones are named `struct NAME`.
    scopes: Vec<BTreeMap<String, Rc<Type>>>,
}

/// Field names have a `_` before them that is no part of the name (CTF 1.8.2, 7.1).
pub(super) fn plain(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Result<Parser<'t>, Wrong> {
        let mut lexer = Lexer::new(text);
        let next = lexer.next()?;
        Ok(Parser { line: lexer.line, lexer, next, nested: 0, scopes: vec![BTreeMap::new()] })
    }
    pub(super) fn wrong<T>(&self, what: &str) -> Result<T, Wrong> {
        Err(Wrong { line: self.line, what: what.to_string() })
    }
    pub(super) fn peek(&self) -> &Token<'t> {
        &self.next
    }
    pub(super) fn take(&mut self) -> Result<Token<'t>, Wrong> {
        let next = self.lexer.next()?;
        self.line = self.lexer.line;
        Ok(std::mem::replace(&mut self.next, next))
    }
    pub(super) fn follows(&self, sign: &str) -> bool {
        matches!(&self.next, Token::Sign(next) if *next == sign)
    }
    pub(super) fn take_if(&mut self, sign: &str) -> Result<bool, Wrong> {
        let follows = self.follows(sign);
        if follows {
            self.take()?;
        }
        Ok(follows)
    }
    pub(super) fn demand(&mut self, sign: &str) -> Result<(), Wrong> {
        if self.take_if(sign)? { Ok(()) } else { self.wrong(&format!("has something else where `{sign}` should stand")) }
    }
    fn take_word(&mut self, word: &str) -> Result<bool, Wrong> {
        let follows = matches!(self.next, Token::Word(next) if next == word);
        if follows {
            self.take()?;
        }
        Ok(follows)
    }
    pub(super) fn word(&mut self) -> Result<&'t str, Wrong> {
        match self.take()? {
            Token::Word(word) => Ok(word),
            _ => self.wrong("has something else where a name should stand"),
        }
    }
    /// Opens a block: brackets with names of their own.
    pub(super) fn open(&mut self) -> Result<(), Wrong> {
        self.demand("{")?;
        self.nested += 1;
        self.scopes.push(BTreeMap::new());
        if self.nested > NESTED_MAX { self.wrong("has brackets that lie too deep in each other") } else { Ok(()) }
    }
    /// Whether the block ends here.
    pub(super) fn closes(&mut self) -> Result<bool, Wrong> {
        if self.peek() == &Token::End {
            return self.wrong("is cut off in a block");
        }
        let closes = self.take_if("}")?;
        if closes {
            self.nested -= 1;
            self.scopes.pop();
        }
        Ok(closes)
    }
    /// Passes over a block.
    pub(super) fn skip_block(&mut self) -> Result<(), Wrong> {
        self.demand("{")?;
        let mut open = 1_u32;
        while open > 0 {
            match self.take()? {
                Token::Sign("{") => open += 1,
                Token::Sign("}") => open -= 1,
                Token::End => return self.wrong("is cut off in a block"),
                _ => {}
            }
        }
        Ok(())
    }
    /// Words with dots between them.
    pub(super) fn path(&mut self) -> Result<String, Wrong> {
        let mut path = self.word()?.to_string();
        while self.take_if(".")? {
            path.push('.');
            path.push_str(self.word()?);
        }
        Ok(path)
    }
    fn signed_number(&mut self) -> Result<i128, Wrong> {
        let is_negative = self.take_if("-")?;
        if !is_negative {
            self.take_if("+")?;
        }
        match self.take()? {
            Token::Number(number) => Ok(if is_negative { -number } else { number }),
            _ => self.wrong("has something else where a number should stand"),
        }
    }
    /// The value of an attribute.
    pub(super) fn value(&mut self) -> Result<Value, Wrong> {
        match self.peek() {
            Token::Text(_) => match self.take()? {
                Token::Text(text) => Ok(Value::Text(text)),
                _ => self.wrong("has no value where one should stand"),
            },
            Token::Word(_) => Ok(Value::Path(self.path()?)),
            _ => Ok(Value::Number(self.signed_number()?)),
        }
    }
    fn known(&self, name: &str) -> Option<Rc<Type>> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).cloned()
    }
    fn define(&mut self, name: String, of: Rc<Type>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, of);
        }
    }
    fn checked(&self, shape: Shape, align: u32) -> Result<Rc<Type>, Wrong> {
        let of = Type::new(shape, align);
        if of.depth > DEPTH_MAX { self.wrong("has types that lie too deep in each other") } else { Ok(Rc::new(of)) }
    }
    /// `typealias`, `typedef`, or a structure, variant or enumeration with a name, where one stands. False = none does.
    pub(super) fn definition(&mut self) -> Result<bool, Wrong> {
        if self.take_word("typealias")? {
            let of = self.specifier()?;
            self.demand(":=")?;
            let mut name = self.word()?.to_string();
            while let Token::Word(word) = self.peek() {
                name = format!("{name} {word}");
                self.take()?;
            }
            self.define(name, of);
        } else if self.take_word("typedef")? {
            let (name, of) = self.declaration()?;
            self.define(name, of);
        } else if matches!(self.peek(), Token::Word("struct" | "variant" | "enum")) {
            self.specifier()?;
        } else {
            return Ok(false);
        }
        self.demand(";")?;
        Ok(true)
    }
    /// A type and the name that is declared with it.
    fn declaration(&mut self) -> Result<(String, Rc<Type>), Wrong> {
        let (mut of, name) = match self.composed()? {
            Some(of) => (of, self.word()?.to_string()),
            None => {
                let mut words = vec![self.word()?];
                while let Token::Word(word) = self.peek() {
                    words.push(word);
                    self.take()?;
                }
                let name = words.pop().unwrap_or_default().to_string();
                (self.named(&words.join(" "))?, name)
            }
        };
        let mut lengths = Vec::new();
        while self.take_if("[")? {
            lengths.push(self.value()?);
            self.demand("]")?;
        }
        for length in lengths.into_iter().rev() {
            let shape = match length {
                Value::Number(length) => match u64::try_from(length) {
                    Ok(length) => Shape::Array(of, length),
                    Err(_) => return self.wrong("has an array of an impossible length"),
                },
                length => Shape::Sequence(of, last_name(length.text())),
            };
            of = self.checked(shape, 1)?;
        }
        Ok((name, of))
    }
    /// A type, without a name that is declared with it.
    pub(super) fn specifier(&mut self) -> Result<Rc<Type>, Wrong> {
        if let Some(of) = self.composed()? {
            return Ok(of);
        }
        let mut name = self.word()?.to_string();
        while let Token::Word(word) = self.peek() {
            name = format!("{name} {word}");
            self.take()?;
        }
        self.named(&name)
    }
    fn named(&self, name: &str) -> Result<Rc<Type>, Wrong> {
        match self.known(name) {
            Some(of) => Ok(of),
            None => {
                self.wrong(&format!("names the type `{}`, which it does not describe", name.chars().take(60).collect::<String>()))
            }
        }
    }
    /// A type that is written out, or a tagged one. None = something else stands here.
    fn composed(&mut self) -> Result<Option<Rc<Type>>, Wrong> {
        let Token::Word(kind) = *self.peek() else { return Ok(None) };
        Ok(Some(match kind {
            "integer" => {
                self.take()?;
                let int = self.int_type()?;
                self.checked(Shape::Int(int), 1)?
            }
            "floating_point" => {
                self.take()?;
                self.float_type()?
            }
            "string" => {
                self.take()?;
                if self.follows("{") {
                    self.attributes()?;
                }
                self.checked(Shape::Text, 8)?
            }
            "struct" => self.struct_type()?,
            "variant" => self.variant_type()?,
            "enum" => self.enum_type()?,
            _ => return Ok(None),
        }))
    }
    /// `{ name = value; … }`
    fn attributes(&mut self) -> Result<BTreeMap<String, Value>, Wrong> {
        let mut attributes = BTreeMap::new();
        self.open()?;
        while !self.closes()? {
            let name = self.path()?;
            self.demand("=")?;
            let value = self.value()?;
            self.demand(";")?;
            attributes.insert(name, value);
        }
        Ok(attributes)
    }
    fn alignment(&self, value: Option<&Value>, default: u32) -> Result<u32, Wrong> {
        match value.map(|value| value.number()) {
            None => Ok(default),
            Some(Some(align)) if (1..=ALIGN_MAX).contains(&align) && align & (align - 1) == 0 => Ok(align as u32),
            Some(_) => self.wrong("has an alignment that is no power of two"),
        }
    }
    fn int_type(&mut self) -> Result<IntType, Wrong> {
        let attributes = self.attributes()?;
        let bits = attributes.get("size").and_then(Value::number);
        let Some(bits) = bits.filter(|bits| (1..=i128::from(INT_BITS_MAX)).contains(bits)) else {
            return self.wrong("has an integer that is not of 1 to 64 bits");
        };
        let word = |name: &str| attributes.get(name).map_or("", |value| value.text()).to_ascii_lowercase();
        let signed = match attributes.get("signed") {
            Some(Value::Number(signed)) => *signed != 0,
            _ => word("signed") == "true",
        };
        let clock = word("map");
        Ok(IntType {
            bits: bits as u32,
            align: self.alignment(attributes.get("align"), if bits % 8 == 0 { 8 } else { 1 })?,
            signed,
            order: order(&word("byte_order")),
            is_text: matches!(word("encoding").as_str(), "utf8" | "ascii"),
            clock: clock.strip_prefix("clock.").map(|path| path.split('.').next().unwrap_or(path).to_string()),
        })
    }
    fn float_type(&mut self) -> Result<Rc<Type>, Wrong> {
        let attributes = self.attributes()?;
        let digits = |name: &str| attributes.get(name).and_then(Value::number).filter(|digits| (1..=128).contains(digits));
        let (Some(exponent), Some(mantissa)) = (digits("exp_dig"), digits("mant_dig")) else {
            return self.wrong("has a floating-point number without its digits");
        };
        let align = self.alignment(attributes.get("align"), 8)?;
        self.checked(Shape::Float { bits: (exponent + mantissa) as u32 }, align)
    }
    /// `struct`, `variant` or `enum` and the name behind it, if there is one.
    fn tag(&mut self) -> Result<Option<String>, Wrong> {
        let kind = self.word()?;
        match self.peek() {
            Token::Word(_) => Ok(Some(format!("{kind} {}", self.word()?))),
            _ => Ok(None),
        }
    }
    fn fields(&mut self) -> Result<Vec<Field>, Wrong> {
        let mut fields = Vec::new();
        self.open()?;
        while !self.closes()? {
            if matches!(self.peek(), Token::Word("typealias" | "typedef")) {
                self.definition()?;
                continue;
            }
            let (name, of) = self.declaration()?;
            self.demand(";")?;
            fields.push(Field { name: plain(&name).to_string(), of });
        }
        Ok(fields)
    }
    fn struct_type(&mut self) -> Result<Rc<Type>, Wrong> {
        let tag = self.tag()?;
        if !self.follows("{") {
            return self.named(&tag.unwrap_or_default());
        }
        let fields = self.fields()?;
        let mut align = 1;
        if self.take_word("align")? {
            self.demand("(")?;
            let value = self.value()?;
            align = self.alignment(Some(&value), 1)?;
            self.demand(")")?;
        }
        let of = self.checked(Shape::Struct(fields), align)?;
        if let Some(tag) = tag {
            self.define(tag, Rc::clone(&of));
        }
        Ok(of)
    }
    fn variant_type(&mut self) -> Result<Rc<Type>, Wrong> {
        let name = self.tag()?;
        let mut tag = String::new();
        if self.take_if("<")? {
            tag = last_name(&self.path()?);
            self.demand(">")?;
        }
        let options = if self.follows("{") {
            self.fields()?
        } else {
            match &self.named(name.as_deref().unwrap_or_default())?.shape {
                Shape::Variant { options, .. } => options.clone(),
                _ => return self.wrong("has a variant that is none"),
            }
        };
        let of = self.checked(Shape::Variant { tag, options }, 1)?;
        if let Some(name) = name {
            self.define(name, Rc::clone(&of));
        }
        Ok(of)
    }
    fn enum_type(&mut self) -> Result<Rc<Type>, Wrong> {
        let tag = self.tag()?;
        let has_base = self.take_if(":")?;
        if !has_base && !self.follows("{") {
            return self.named(&tag.unwrap_or_default());
        }
        let base = if has_base { self.specifier()? } else { self.named("int")? };
        let Shape::Int(int) = &base.shape else { return self.wrong("has an enumeration of what is no integer") };
        let mut labels: Vec<Label> = Vec::new();
        self.open()?;
        while !self.closes()? {
            let name = match self.take()? {
                Token::Word(word) => plain(word).to_string(),
                Token::Text(text) => plain(&text).to_string(),
                _ => return self.wrong("has something else where a label should stand"),
            };
            let mut from = labels.last().map_or(0, |last| last.to + 1);
            let mut to = from;
            if self.take_if("=")? {
                from = self.signed_number()?;
                to = if self.take_if("...")? { self.signed_number()? } else { from };
            }
            labels.push(Label { name, from, to });
            if !self.take_if(",")? && !self.follows("}") {
                return self.wrong("has an enumeration whose labels run into each other");
            }
        }
        let of = self.checked(Shape::Enum(int.clone(), labels), base.align)?;
        if let Some(tag) = tag {
            self.define(tag, Rc::clone(&of));
        }
        Ok(of)
    }
}

/// The name of a field that a path leads to.
fn last_name(path: &str) -> String {
    plain(path.rsplit('.').next().unwrap_or(path)).to_string()
}

/// The byte order of this name; none where it is that of the trace.
pub(super) fn order(name: &str) -> Option<ByteOrder> {
    match name {
        "le" => Some(ByteOrder::Little),
        "be" | "network" => Some(ByteOrder::Big),
        _ => None,
    }
}
