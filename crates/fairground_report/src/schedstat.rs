//! Counters of /proc/schedstat as tables.

use crate::columns;
use crate::table::{Cell, Column, Table};
use fairground_metrics::schedstat::{total_by_level, total_of_cpus};
use fairground_model::schedstat::BALANCING_AS;
use fairground_model::{LbStats, RqStats, SchedStat, SdStats};
use fairground_stdx::Ns;

/// How the counters of a CPU are headed, in the order of [`RqStats::NAMES`].
const CPU_TITLES: [&str; 8] =
    ["yields", "schedule()", "to idle", "wake-ups", "onto itself", "run time", "run delay", "timeslices"];
/// Which of them a narrow terminal does without.
const SPARE: std::ops::Range<usize> = 0..2;
/// Which of them are lengths of time, ns.
const CPU_TIMES: std::ops::Range<usize> = 5..7;

/// The lines of the table: each CPU, or all together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// A line for each CPU and each of its domains.
    PerCpu,
    /// Sums over the CPUs, a line for each level of domains.
    Total,
}

/// Counters of CPUs, of balancing by domain and state, and of active balancing and wake-ups by domain.
pub fn tables(stat: &SchedStat, detail: Detail) -> Vec<Table> {
    let domains = domains(stat, detail);
    let mut tables = vec![cpu_table(stat, detail)];
    if !domains.is_empty() {
        tables.push(balance_table(&domains));
        tables.push(domain_table(&domains));
    }
    tables
}

fn cpu_table(stat: &SchedStat, detail: Detail) -> Table {
    let added = stat.cpus.first().map_or(0, |cpu| cpu.added.len());
    let mut columns = columns![left "CPU" "cpu"];
    for (place, (title, name)) in CPU_TITLES.iter().zip(RqStats::NAMES).enumerate() {
        let unit = if CPU_TIMES.contains(&place) { "_ns" } else { "" };
        let column = Column::right(*title, format!("{name}{unit}"));
        columns.push(if SPARE.contains(&place) { column.spare() } else { column });
    }
    columns.extend((1..=added).map(|number| Column::right(format!("added {number}"), format!("added_{number}"))));
    let mut table = Table::new("cpus", "CPUs", columns);
    let mut push = |who: Cell, stats: &RqStats, added: &[u64]| {
        let cells = stats.numbers().into_iter().enumerate();
        let counted =
            cells.map(|(place, number)| if CPU_TIMES.contains(&place) { Cell::ns(Ns(number)) } else { Cell::count(number) });
        table.push(std::iter::once(who).chain(counted).chain(added.iter().map(|&number| Cell::count(number))).collect());
    };
    match detail {
        Detail::PerCpu => stat.cpus.iter().for_each(|cpu| push(u64::from(cpu.cpu.get()).into(), &cpu.stats, &cpu.added)),
        Detail::Total => {
            let mut sums = vec![0; added];
            for cpu in &stat.cpus {
                sums.iter_mut().zip(&cpu.added).for_each(|(sum, &number)| *sum += number);
            }
            push("all".into(), &total_of_cpus(stat), &sums);
        }
    }
    table
}

/// A domain, or all of one level.
struct Domain {
    cpu: Cell,
    level: String,
    span: String,
    stats: SdStats,
}

fn domains(stat: &SchedStat, detail: Detail) -> Vec<Domain> {
    let level = |level: usize, name: &Option<String>| match name {
        Some(name) => format!("domain{level} {name}"),
        None => format!("domain{level}"),
    };
    match detail {
        Detail::PerCpu => {
            let rows = stat.cpus.iter().flat_map(|cpu| cpu.domains.iter().enumerate().map(move |row| (cpu, row)));
            let row = |(cpu, (number, domain)): (&fairground_model::CpuStat, (usize, &fairground_model::DomainStat))| Domain {
                cpu: u64::from(cpu.cpu.get()).into(),
                level: level(number, &domain.name),
                span: domain.span.to_string(),
                stats: domain.stats,
            };
            rows.map(row).collect()
        }
        Detail::Total => {
            let row = |row: fairground_metrics::schedstat::LevelTotal| Domain {
                cpu: "all".into(),
                level: level(row.level, &row.name),
                span: format!("{} domains", row.domains),
                stats: row.stats,
            };
            total_by_level(stat).into_iter().map(row).collect()
        }
    }
}

fn heading() -> Vec<Column> {
    columns![left "CPU" "cpu", left "domain", left "CPUs" "span"]
}

/// A line for each domain and state of the balancing CPU.
fn balance_table(domains: &[Domain]) -> Table {
    // Kernels up to v6.13 have one sum of imbalances, which stands in the first place.
    let one_sum = domains.iter().all(|domain| domain.stats.lb.iter().all(|lb| lb.imbalance[1..] == [0; 3]));
    let places: Vec<usize> = (0..LbStats::NAMES.len())
        .filter(|place| !one_sum || !LbStats::IMBALANCE.contains(place) || *place == LbStats::IMBALANCE.start)
        .collect();
    let mut columns = heading();
    columns.push(Column::left("as", "as"));
    for &place in &places {
        let name = LbStats::NAMES[place];
        let name = if one_sum && LbStats::IMBALANCE.contains(&place) { "lb_imbalance" } else { name };
        columns.push(Column::right(name.trim_start_matches("lb_").replace('_', " "), name));
    }
    let mut table = Table::new("load_balance", "Load balance", columns);
    for domain in domains {
        for (kind, lb) in BALANCING_AS.iter().zip(&domain.stats.lb) {
            let mut row = vec![domain.cpu.clone(), domain.level.clone().into(), domain.span.clone().into(), (*kind).into()];
            let numbers = lb.numbers();
            row.extend(places.iter().map(|&place| Cell::count(numbers[place])));
            table.push(row);
        }
    }
    table
}

/// A line for each domain.
fn domain_table(domains: &[Domain]) -> Table {
    let titles = ["active", "failed", "pushed", "wake-ups out", "moved affine", "moved by slow path"];
    let mut columns = heading();
    columns.extend(titles.iter().zip(SdStats::TAIL_NAMES).map(|(title, name)| Column::right(*title, name)));
    let mut table = Table::new("domains", "Active balance and wake-ups", columns);
    for domain in domains {
        let mut row = vec![domain.cpu.clone(), domain.level.clone().into(), domain.span.clone().into()];
        row.extend(domain.stats.tail().map(Cell::count));
        table.push(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use fairground_model::{CpuStat, DomainStat};
    use fairground_stdx::{CpuId, CpuMask};

    fn sample() -> SchedStat {
        let lb =
            [1, 2, 3].map(|count| LbStats { count, imbalance: [count * 10, 0, 0, 0], gained: count * 100, ..LbStats::default() });
        let domain = DomainStat {
            name: Some("MC".into()),
            span: CpuMask::first_n(2),
            stats: SdStats { lb, alb_pushed: 4, ttwu_move_affine: 5, ..SdStats::default() },
            unused: [0; 6],
        };
        let stats = RqStats { sched_count: 1234, rq_cpu_time: 5_000_000, run_delay: 7, ..RqStats::default() };
        let cpu = |cpu| CpuStat { cpu: CpuId::new(cpu), stats, legacy: 0, added: vec![9], domains: vec![domain.clone()] };
        SchedStat { timestamp: 1, nr_cpu_ids: 2, cpus: vec![cpu(0), cpu(1)] }
    }

    fn text(detail: Detail) -> String {
        tables(&sample(), detail).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn per_cpu() {
        expect![[r#"
            CPUs
            CPU  yields  schedule()  to idle  wake-ups  onto itself  run time  run delay  timeslices  added 1
            ---  ------  ----------  -------  --------  -----------  --------  ---------  ----------  -------
            0         0       1 234        0         0            0   5.00 ms       7 ns           0        9
            1         0       1 234        0         0            0   5.00 ms       7 ns           0        9

            Load balance
            CPU  domain      CPUs  as       count  balanced  failed  imbalance  gained  hot gained  nobusyq  nobusyg
            ---  ----------  ----  -------  -----  --------  ------  ---------  ------  ----------  -------  -------
            0    domain0 MC  0-1   busy         1         0       0         10     100           0        0        0
            0    domain0 MC  0-1   idle         2         0       0         20     200           0        0        0
            0    domain0 MC  0-1   newidle      3         0       0         30     300           0        0        0
            1    domain0 MC  0-1   busy         1         0       0         10     100           0        0        0
            1    domain0 MC  0-1   idle         2         0       0         20     200           0        0        0
            1    domain0 MC  0-1   newidle      3         0       0         30     300           0        0        0

            Active balance and wake-ups
            CPU  domain      CPUs  active  failed  pushed  wake-ups out  moved affine  moved by slow path
            ---  ----------  ----  ------  ------  ------  ------------  ------------  ------------------
            0    domain0 MC  0-1        0       0       4             0             5                   0
            1    domain0 MC  0-1        0       0       4             0             5                   0
        "#]]
        .assert_eq(&text(Detail::PerCpu));
    }

    #[test]
    fn total() {
        expect![[r#"
            CPUs
            CPU  yields  schedule()  to idle  wake-ups  onto itself  run time  run delay  timeslices  added 1
            ---  ------  ----------  -------  --------  -----------  --------  ---------  ----------  -------
            all       0       2 468        0         0            0  10.00 ms      14 ns           0       18

            Load balance
            CPU  domain      CPUs       as       count  balanced  failed  imbalance  gained  hot gained  nobusyq  nobusyg
            ---  ----------  ---------  -------  -----  --------  ------  ---------  ------  ----------  -------  -------
            all  domain0 MC  2 domains  busy         2         0       0         20     200           0        0        0
            all  domain0 MC  2 domains  idle         4         0       0         40     400           0        0        0
            all  domain0 MC  2 domains  newidle      6         0       0         60     600           0        0        0

            Active balance and wake-ups
            CPU  domain      CPUs       active  failed  pushed  wake-ups out  moved affine  moved by slow path
            ---  ----------  ---------  ------  ------  ------  ------------  ------------  ------------------
            all  domain0 MC  2 domains       0       0       8             0            10                   0
        "#]]
        .assert_eq(&text(Detail::Total));
    }
}
