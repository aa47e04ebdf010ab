#!/usr/bin/env python3
"""Writes one experiment of a set from the runs that the guest wrote, or holds an experiment against the limits of another.
usage: write_set.py OUT RUN...      the first run is the record, the others are further samples; the last part of OUT names the experiment
       write_set.py --check NEW OLD the figures of NEW against the limits `expect` of OLD; prints those outside"""
import json, pathlib, re, subprocess, sys, tempfile
import conv

# Each row: figure, part of the value and constant by which another run may differ. A figure of several runs spans the limits of all of them.
RULES = [
    (r'all\.runtime_ns', .02, 0), (r'all\.switches', .15, 5), (r'all\.migrations', .4, 4), (r'all\.slice_ns\.p50', .05, 0),
    (r'all\.slice_ns\.p95', .15, 0), (r'all\.max_wait_ns', .3, 2e6), (r'bandwidth\.(un)?throttles', .15, 3),
    (r'bandwidth\.period_timer_fires', 0, 1), (r'bandwidth\.overrun_at_throttle_ns\.median', .1, 5e5),
    (r'bandwidth\.runtime_between_fires_ns\.mean', .03, 0), (r'cgroups\..*\.nr_periods', 0, 2), (r'cgroups\..*\.nr_throttled', .05, 2),
    (r'cgroups\..*\.throttled_usec', .1, 2e4), (r'cgroups\..*\.usage_usec', .03, 5e3), (r'group_share\..*', 0, .04),
]


def workload(experiment):
    """The commands of an experiment without what only serves recording."""
    serves = re.compile(r'^\s*(pelt_probes|bw_probes|trace_off|sleep .*|echo > \$T/kprobe_events)?\s*$')
    return '\n'.join(line for line in experiment.splitlines() if not serves.match(line)) + '\n'


def lost(run, name):
    text = (run / 'out' / name / 'overruns').read_text()
    return sum(int(cpus) * int(n) for cpus, n in re.findall(r'(\d+) (?:overrun|dropped events): (\d+)', text))


def shares(summary):
    """The part of each group without children in the CPU time of all such groups."""
    groups = summary.get('cgroups', {})
    leaves = {n: g['usage_usec'] for n, g in groups.items() if not any(other.startswith(n + '/') for other in groups)}
    total = sum(leaves.values())
    return {n: round(leaves[n] / total, 4) for n in sorted(leaves)} if len(leaves) > 1 and total else {}


def flat(value, path=''):
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from flat(inner, f'{path}{key}.')
        elif isinstance(inner, (int, float)):
            yield f'{path}{key}', inner


def limits(runs):
    figures = [dict(flat(run)) for run in runs]
    rows = []
    for figure, value in figures[0].items():
        rule = next((rule for rule in RULES if re.fullmatch(rule[0], figure)), None)
        samples = [other[figure] for other in figures if figure in other]
        if rule is None or (figure.startswith('cgroups.') and 'max 100000' in str(runs[0]['cgroups'][figure.split('.')[1]]['max'])):
            continue
        room = lambda v: rule[1] * abs(v) + rule[2]
        tidy = lambda v: round(v, 4) if v < 1000 else round(v)
        rows.append({'figure': figure, 'value': value, 'lo': tidy(max(0, min(v - room(v) for v in samples))),
                     'hi': tidy(max(v + room(v) for v in samples)), 'runs': len(samples)})
    return rows


def write(out, runs):
    name = out.name
    summaries = []
    for index, run in enumerate(runs):
        with tempfile.TemporaryDirectory() as scrap:
            summary = conv.main(str(run), name, str(out) if index == 0 else scrap)
        summary['group_share'] = shares(summary)
        summary['trace_lost_events'] = lost(run, name)
        summaries.append(summary)
    first = summaries[0]
    kept = ('all', 'bandwidth', 'cgroups', 'group_share')
    first['variants'] = [{key: other[key] for key in kept if other.get(key)} for other in summaries[1:]]
    first['expect'] = limits(summaries)
    if not first['group_share']:
        del first['group_share']
    (out / 'summary.json').write_text(json.dumps(first, indent=1))
    guest = runs[0] / 'out' / name
    for part in ('before', 'after'):
        with open(guest / f'schedstat.{part}', 'rb') as text, open(out / f'schedstat.{part}.zst', 'wb') as packed:
            subprocess.run(['zstd', '-q', '-19'], stdin=text, stdout=packed, check=True)
    script = pathlib.Path(__file__).parent / 'experiments' / f'{name}.sh'
    (out / 'workload.txt').write_text(workload(script.read_text()))
    a = first['all']
    print(f"| {name} | {a['tasks']} | {(first['window_ns'][1] - first['window_ns'][0]) // 1000000} | {a['switches']} | {a['migrations']} "
          f"| {(a['slice_ns']['p50'] or 0) // 1000} | {(a['max_wait_ns'] or 0) / 1e6:.2f} | {first['trace_lost_events']} |")


def check(new, old):
    found = dict(flat(json.loads((new / 'summary.json').read_text())))
    rows = [row for row in json.loads((old / 'summary.json').read_text())['expect'] if isinstance(row['value'], (int, float))]
    asked = [row for row in rows if row['figure'] in found]
    outside = [row for row in asked if not row['lo'] <= found[row['figure']] <= row['hi']]
    for row in outside:
        print(f"{old.name}: {row['figure']} is {found[row['figure']]}, recorded {row['value']}, limits {row['lo']} to {row['hi']}")
    print(f'{old.name}: {len(asked) - len(outside)} of {len(asked)} figures inside the limits of the recorded set')
    return 0 if asked and not outside else 1


if __name__ == '__main__':
    if sys.argv[1] == '--check':
        sys.exit(check(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])))
    write(pathlib.Path(sys.argv[1]), [pathlib.Path(run) for run in sys.argv[2:]])
