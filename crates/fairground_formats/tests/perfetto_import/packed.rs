//! Files and packets that are compressed.

use super::*;

fn deflated(packets: Vec<TracePacket>) -> TracePacket {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&file(packets)).unwrap();
    packet(Data::CompressedPackets(encoder.finish().unwrap()))
}

#[test]
fn compressed_packets() {
    let rows = |at| events(0, vec![switch(at, 0, 7), switch(at + 1, 7, 0)]);
    let trace = read(&file(vec![rows(1), deflated(vec![rows(3), rows(5)]), rows(7)]));
    assert_eq!((times(&trace), trace.stats.skipped), ((1..9).collect(), 0), "{}", notes(&trace));

    let nested = read(&file(vec![rows(1), deflated(vec![deflated(vec![rows(3)]), rows(5)])]));
    assert_eq!((nested.stats.events, nested.stats.skipped), (4, 1), "{}", notes(&nested));
    assert!(notes(&nested).contains("within a compressed packet"));

    let mut broken = deflated(vec![rows(3), rows(5)]);
    let Some(Data::CompressedPackets(bytes)) = &mut broken.data else { panic!("compressed") };
    bytes.truncate(bytes.len() / 2);
    let cut = read(&file(vec![rows(1), broken, rows(7)]));
    assert!(cut.stats.events >= 4 && notes(&cut).contains("could not be unpacked"), "{}", notes(&cut));
    let garbage = read(&file(vec![rows(1), packet(Data::CompressedPackets(vec![1, 2, 3]))]));
    assert_eq!((garbage.stats.events, garbage.stats.skipped), (2, 1));
}

#[test]
fn a_small_file_that_unpacks_to_a_huge_one_ends_soon() {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let empty_packets = [0x0a, 0].repeat(1 << 20);
    (0..256).for_each(|_| encoder.write_all(&empty_packets).unwrap());
    let bomb = packet(Data::CompressedPackets(encoder.finish().unwrap()));
    let trace = read(&file(vec![events(0, vec![switch(1, 0, 7)]), bomb]));
    assert_eq!((trace.stats.events, trace.stats.not_used), (1, 32 << 20), "{}", notes(&trace));
}

#[test]
fn files_packed_as_a_whole() {
    let plain = fs::read(sample("plain.pftrace")).unwrap();
    let expected = read(&plain);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&plain).unwrap();
    let gzip = gzip.finish().unwrap();
    assert_eq!(read_any(&gzip[..], "x.pftrace.gz").unwrap().events, expected.events);
    assert!(is_trace(&gzip[..], "x.pftrace.gz") && is_trace(&plain[..], "x.pftrace"));
    let cut = read_any(&gzip[..gzip.len() / 2], "x.pftrace.gz").unwrap();
    assert!(!cut.stats.is_clean() && cut.stats.events > 0, "{}", notes(&cut));
}

#[test]
fn a_file_of_that_name_that_is_something_else() {
    assert!(matches!(read_any(&b"\0\0\0\0"[..], "x.pftrace"), Err(ImportError::Unknown { .. })));
    let broken = read_any(&b"\x0a\x04abcd"[..], "x.pftrace").unwrap();
    assert!(broken.stats.skipped > 0 && !broken.stats.is_clean(), "{}", notes(&broken));
}
