//! The blocks of a description: trace, clocks, streams, events.

use super::Wrong;
use super::lexer::Token;
use super::parser::{Parser, Value, order};
use super::types::Type;
use crate::import::event_format::ByteOrder;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Everything that a description says.
#[derive(Default, Debug)]
pub(crate) struct Description {
    /// None = the trace does not say.
    pub(crate) order: Option<ByteOrder>,
    pub(crate) packet_header: Option<Rc<Type>>,
    pub(crate) clocks: BTreeMap<String, ClockClass>,
    pub(crate) streams: BTreeMap<u64, StreamClass>,
    /// What the recorder says of the machine and itself.
    pub(crate) env: BTreeMap<String, String>,
}

/// A clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ClockClass {
    /// In Hz.
    pub(crate) frequency: u64,
    pub(crate) offset_s: i64,
    /// In cycles.
    pub(crate) offset: i64,
}

/// A kind of stream.
#[derive(Default, Debug)]
pub(crate) struct StreamClass {
    pub(crate) packet_context: Option<Rc<Type>>,
    pub(crate) event_header: Option<Rc<Type>>,
    pub(crate) event_context: Option<Rc<Type>>,
    pub(crate) events: BTreeMap<u64, EventClass>,
}

/// A kind of event.
#[derive(Debug)]
pub(crate) struct EventClass {
    pub(crate) name: String,
    pub(crate) context: Option<Rc<Type>>,
    pub(crate) fields: Option<Rc<Type>>,
}

/// What stands in a block: values, and types.
#[derive(Default)]
struct Block {
    values: BTreeMap<String, Value>,
    types: BTreeMap<String, Rc<Type>>,
}

impl Block {
    fn number(&self, name: &str) -> Option<u64> {
        self.values.get(name)?.number()?.try_into().ok()
    }
    fn signed(&self, name: &str) -> i64 {
        self.values.get(name).and_then(Value::number).and_then(|number| number.try_into().ok()).unwrap_or(0)
    }
    fn text(&self, name: &str) -> String {
        self.values.get(name).map_or("", Value::text).to_string()
    }
}

/// Reads blocks into a description, until one is wrong.
pub(super) fn parse(text: &str, description: &mut Description) -> Result<(), Wrong> {
    let mut parser = Parser::new(text)?;
    while parser.peek() != &Token::End {
        if parser.take_if(";")? || parser.definition()? {
            continue;
        }
        match parser.word()? {
            "trace" => {
                let block = block(&mut parser)?;
                description.order = order(&block.text("byte_order").to_ascii_lowercase()).or(description.order);
                description.packet_header = block.types.get("packet.header").cloned().or(description.packet_header.take());
            }
            "env" => {
                let values = block(&mut parser)?.values.into_iter();
                description.env.extend(values.map(|(name, value)| match value {
                    Value::Number(number) => (name, number.to_string()),
                    Value::Text(text) | Value::Path(text) => (name, text),
                }));
            }
            "clock" => {
                let block = block(&mut parser)?;
                let frequency = block.number("freq").filter(|&freq| freq > 0).unwrap_or(1_000_000_000);
                let clock = ClockClass { frequency, offset_s: block.signed("offset_s"), offset: block.signed("offset") };
                description.clocks.insert(block.text("name").to_ascii_lowercase(), clock);
            }
            "stream" => {
                let mut block = block(&mut parser)?;
                let stream = description.streams.entry(block.number("id").unwrap_or(0)).or_default();
                let mut take = |name: &str| block.types.remove(name);
                stream.packet_context = take("packet.context");
                stream.event_header = take("event.header");
                stream.event_context = take("event.context");
            }
            "event" => {
                let mut block = block(&mut parser)?;
                let stream = description.streams.entry(block.number("stream_id").unwrap_or(0)).or_default();
                let id = block.number("id").unwrap_or(stream.events.len() as u64);
                let mut take = |name: &str| block.types.remove(name);
                let (context, fields) = (take("context"), take("fields"));
                stream.events.insert(id, EventClass { name: block.text("name"), context, fields });
            }
            _ => parser.skip_block()?,
        }
    }
    Ok(())
}

fn block(parser: &mut Parser<'_>) -> Result<Block, Wrong> {
    let mut block = Block::default();
    parser.open()?;
    while !parser.closes()? {
        if parser.take_if(";")? || parser.definition()? {
            continue;
        }
        let name = parser.path()?;
        if parser.take_if(":=")? {
            let of = parser.specifier()?;
            block.types.insert(name, of);
        } else {
            parser.demand("=")?;
            let value = parser.value()?;
            block.values.insert(name, value);
        }
        parser.demand(";")?;
    }
    Ok(block)
}
