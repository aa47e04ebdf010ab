//! From counters to text.

use super::{Layout, SchedStatFile};
use fairground_model::{CpuStat, DomainStat};
use fairground_stdx::{CpuId, CpuMask};
use std::fmt::Write;

/// The text as the kernel prints it.
///
/// Kernel: stats.c show_schedstat(), v4.12–
pub fn write(file: &SchedStatFile) -> String {
    let SchedStatFile { version, layout, stat } = file;
    let mut text = format!("version {version}\ntimestamp {}\n", stat.timestamp);
    for cpu in &stat.cpus {
        line(&mut text, format!("cpu{}", cpu.cpu), cpu_numbers(cpu));
        for (level, domain) in cpu.domains.iter().enumerate() {
            line(&mut text, domain_head(*layout, level, domain, stat.nr_cpu_ids), domain_numbers(*layout, domain));
        }
    }
    text
}

fn line(text: &mut String, head: String, numbers: Vec<u64>) {
    text.push_str(&head);
    for number in numbers {
        // Writing to a string does not fail.
        let _ = write!(text, " {number}");
    }
    text.push('\n');
}

fn cpu_numbers(cpu: &CpuStat) -> Vec<u64> {
    let [yld_count, counted @ ..] = cpu.stats.numbers();
    [yld_count, cpu.legacy].into_iter().chain(counted).chain(cpu.added.iter().copied()).collect()
}

fn domain_head(layout: Layout, level: usize, domain: &DomainStat, nr_cpu_ids: u32) -> String {
    let mask = mask_text(&domain.span, nr_cpu_ids);
    match (&domain.name, layout) {
        (Some(name), Layout::ByKind) => format!("domain{level} {name} {mask}"),
        _ => format!("domain{level} {mask}"),
    }
}

fn domain_numbers(layout: Layout, domain: &DomainStat) -> Vec<u64> {
    let blocks = layout.blocks().into_iter().flat_map(|row| layout.block(&domain.stats.lb[row]));
    let tail = domain.stats.tail();
    let (active, wakeups) = tail.split_at(3);
    blocks.chain(active.iter().copied()).chain(domain.unused).chain(wakeups.iter().copied()).collect()
}

/// A mask of so many bits in hexadecimal digits, with a comma before each further 32 bits.
///
/// Kernel: lib/vsprintf.c bitmap_string(), v4.12–
fn mask_text(mask: &CpuMask, bits: u32) -> String {
    let digits = bits.div_ceil(4).max(1);
    let mut text = String::new();
    for place in (0..digits).rev() {
        let held = |bit: &u32| ((place * 4 + bit) as usize) < CpuMask::CAPACITY && mask.contains(CpuId::new(place * 4 + bit));
        let digit = (0..4).filter(held).map(|bit| 1 << bit).sum();
        text.extend(char::from_digit(digit, 16));
        if place > 0 && place % 8 == 0 {
            text.push(',');
        }
    }
    text
}
