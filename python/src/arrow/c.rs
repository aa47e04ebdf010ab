//! The structures of the Arrow C data and C stream interfaces, and the capsules in which Python hands them around.
//!
//! Who gets a structure owns it and calls its `release` once, which sets `release` to null. Each structure of ours holds a share of the
//! [`Frame`] to whose buffers it points. So buffers live as long as anybody reads them, whatever became of the table in Python.

use super::{Field, Frame, Kind, Text, Values};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// The flag of a field that may have rows without a value.
const NULLABLE: i64 = 2;
/// errno of a call with wrong arguments.
const EINVAL: c_int = 22;

#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

// SAFETY: a schema points to memory that it alone owns, which nobody changes after it was made.
unsafe impl Send for ArrowSchema {}
// SAFETY: a stream owns its place in a frame, which is shared between threads by an `Arc` and never changed.
unsafe impl Send for ArrowArrayStream {}

impl Drop for ArrowSchema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: `release` is not null, so nobody has taken or released the schema; it is that of `release_schema`'s own making.
            unsafe { release(self) }
        }
    }
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as for a schema.
            unsafe { release(self) }
        }
    }
}

impl Drop for ArrowArrayStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as for a schema.
            unsafe { release(self) }
        }
    }
}

/// What a schema points to.
struct SchemaParts {
    _format: CString,
    _name: CString,
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
}

impl ArrowSchema {
    fn new(format: &str, name: &str, children: Vec<ArrowSchema>, dictionary: Option<ArrowSchema>) -> ArrowSchema {
        // A name with a zero byte cannot be handed over in C; none of ours has one.
        let text = |text: &str| CString::new(text).unwrap_or_default();
        let mut parts = Box::new(SchemaParts {
            _format: text(format),
            _name: text(name),
            children: children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect(),
            dictionary: dictionary.map_or(null_mut(), |words| Box::into_raw(Box::new(words))),
        });
        ArrowSchema {
            format: parts._format.as_ptr(),
            name: parts._name.as_ptr(),
            metadata: null(),
            flags: NULLABLE,
            n_children: parts.children.len() as i64,
            children: parts.children.as_mut_ptr(),
            dictionary: parts.dictionary,
            release: Some(release_schema),
            private_data: Box::into_raw(parts).cast(),
        }
    }
    fn of(frame: &Frame) -> ArrowSchema {
        ArrowSchema::new("+s", "", frame.fields.iter().map(ArrowSchema::of_field).collect(), None)
    }
    fn of_field(field: &Field) -> ArrowSchema {
        let format = match field.kind {
            Kind::Int64 => "l",
            Kind::Float64 => "g",
            Kind::UInt16 => "S",
            Kind::UInt32 | Kind::Words32 => "I",
            Kind::Words8 => "C",
            Kind::Text => "u",
        };
        let words = field.words.as_ref().map(|_| ArrowSchema::new("u", "", Vec::new(), None));
        ArrowSchema::new(format, &field.name, Vec::new(), words)
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the interface's caller hands in a structure of ours that was not released; its private data is the box of `new`.
    let parts: Box<SchemaParts> = unsafe { Box::from_raw((*schema).private_data.cast()) };
    for child in parts.children.iter().copied().chain([parts.dictionary]).filter(|child| !child.is_null()) {
        // SAFETY: `new` made each of them by `Box::into_raw`. One that was taken has no `release` any more, and dropping it does nothing.
        drop(unsafe { Box::from_raw(child) });
    }
    // SAFETY: as above; null says that it is released.
    unsafe { (*schema).release = None }
}

/// What an array points to, and a share of the frame that its buffers belong to.
struct ArrayParts {
    _frame: Arc<Frame>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    dictionary: *mut ArrowArray,
}

impl ArrowArray {
    fn new(
        frame: &Arc<Frame>,
        (rows, nulls): (usize, usize),
        buffers: Vec<*const c_void>,
        children: Vec<ArrowArray>,
        dictionary: Option<ArrowArray>,
    ) -> ArrowArray {
        let mut parts = Box::new(ArrayParts {
            _frame: frame.clone(),
            buffers,
            children: children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect(),
            dictionary: dictionary.map_or(null_mut(), |words| Box::into_raw(Box::new(words))),
        });
        ArrowArray {
            length: rows as i64,
            null_count: nulls as i64,
            offset: 0,
            n_buffers: parts.buffers.len() as i64,
            n_children: parts.children.len() as i64,
            buffers: parts.buffers.as_mut_ptr(),
            children: parts.children.as_mut_ptr(),
            dictionary: parts.dictionary,
            release: Some(release_array),
            private_data: Box::into_raw(parts).cast(),
        }
    }
    /// The rows of one batch: a structure whose children are the columns. It has no row without a value, so no bit map.
    fn of(frame: &Arc<Frame>, batch: usize) -> Option<ArrowArray> {
        let rows = frame.batches.get(batch)?;
        let columns = rows.columns.iter().zip(&frame.fields).map(|(column, field)| {
            let valid = column.valid.as_ref().map_or(null(), |valid| valid.bytes().as_ptr().cast());
            let mut buffers = vec![valid];
            match &column.values {
                Values::Int64(values) => buffers.push(values.as_ptr().cast()),
                Values::Float64(values) => buffers.push(values.as_ptr().cast()),
                Values::UInt8(values) => buffers.push(values.as_ptr().cast()),
                Values::UInt16(values) => buffers.push(values.as_ptr().cast()),
                Values::UInt32(values) => buffers.push(values.as_ptr().cast()),
                Values::Text(text) => buffers.extend(of_text(text)),
            }
            let words = field.words.as_ref().map(|words| {
                let buffers = std::iter::once(null()).chain(of_text(words)).collect();
                ArrowArray::new(frame, (words.len(), 0), buffers, Vec::new(), None)
            });
            ArrowArray::new(frame, (rows.rows, column.nulls()), buffers, Vec::new(), words)
        });
        Some(ArrowArray::new(frame, (rows.rows, 0), vec![null()], columns.collect(), None))
    }
}

fn of_text(text: &Text) -> [*const c_void; 2] {
    [text.offsets().as_ptr().cast(), text.bytes().as_ptr().cast()]
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: as in `release_schema`.
    let parts: Box<ArrayParts> = unsafe { Box::from_raw((*array).private_data.cast()) };
    for child in parts.children.iter().copied().chain([parts.dictionary]).filter(|child| !child.is_null()) {
        // SAFETY: as in `release_schema`.
        drop(unsafe { Box::from_raw(child) });
    }
    // SAFETY: as in `release_schema`.
    unsafe { (*array).release = None }
}

/// Where a stream is.
struct Place {
    frame: Arc<Frame>,
    next: usize,
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the caller hands in a stream of ours that was not released; its private data is the box of `stream_capsule`.
    let Some(place) = (unsafe { (*stream).private_data.cast::<Place>().as_ref() }) else { return EINVAL };
    // SAFETY: `out` is memory of the caller for one schema; what is there has no meaning and must not be dropped.
    unsafe { out.write(ArrowSchema::of(&place.frame)) }
    0
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as in `get_schema`; the interface forbids two calls at once.
    let Some(place) = (unsafe { (*stream).private_data.cast::<Place>().as_mut() }) else { return EINVAL };
    let next = ArrowArray::of(&place.frame, place.next);
    place.next += 1;
    let ended = || ArrowArray {
        length: 0,
        null_count: 0,
        offset: 0,
        n_buffers: 0,
        n_children: 0,
        buffers: null_mut(),
        children: null_mut(),
        dictionary: null_mut(),
        release: None,
        private_data: null_mut(),
    };
    // SAFETY: as in `get_schema`. An array without `release` says that the stream has ended.
    unsafe { out.write(next.unwrap_or_else(ended)) }
    0
}

unsafe extern "C" fn get_last_error(_stream: *mut ArrowArrayStream) -> *const c_char {
    null()
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: as in `get_schema`; after this call nobody uses the box.
    drop(unsafe { Box::from_raw((*stream).private_data.cast::<Place>()) });
    // SAFETY: as in `release_schema`.
    unsafe { (*stream).release = None }
}

/// A new stream over all batches, in a capsule. One that nobody takes is released with its capsule.
pub(crate) fn stream_capsule<'py>(py: Python<'py>, frame: &Arc<Frame>) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(Place { frame: frame.clone(), next: 0 })).cast(),
    };
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// The types of the columns, in a capsule.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, frame: &Frame) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, ArrowSchema::of(frame), c"arrow_schema")
}
