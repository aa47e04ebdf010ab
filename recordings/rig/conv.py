#!/usr/bin/env python3
"""conv.py RUNDIR EXP OUTDIR: turn one recorded guest trace into compact CSV plus figures.
The columns are described in ORACLE.md one folder up."""
import sys, re, json, os, subprocess, statistics as st
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pelt_ref
L = re.compile(r'^\s*(.+)-(\d+)\s+\[(\d+)\]\s+\S+\s+(\d+)(?:\.(\d{6}))?: (\w+): (.*)$')
SW = re.compile(r'prev_comm=(.*) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio=(-?\d+)')
KV = re.compile(r'(\w+)=(-?0x[0-9a-f]+|-?\d+)')
def pct(a, p):
    if not a: return None
    a = sorted(a); return a[min(len(a) - 1, int(len(a) * p / 100))]
def main(run, exp, out, dur=None):
    d = f'{run}/out/{exp}'
    comm, prio, ev, pelt, ids = {}, {}, [], [], {}
    def ident(x, pre):
        if x in ('0x0', '0'): return '-'
        return ids.setdefault(x, f'{pre}{len(ids)}')
    for line in open(d + '/trace.txt', errors='replace'):
        m = L.match(line)
        if not m: continue
        cpu, e, a = int(m[3]), m[6], m[7]
        t = int(m[4]) * 1000000000 + int(m[5]) * 1000 if m[5] else int(m[4])
        cur = int(m[2])
        if e == 'sched_switch':
            s = SW.search(a)
            pp, np_ = int(s[2]), int(s[6])
            comm[pp], comm[np_] = s[1], s[5]; prio[pp], prio[np_] = int(s[3]), int(s[7])
            ev.append((t, cpu, 'sw', pp, s[4], np_))
        elif e in ('sched_waking', 'sched_wakeup', 'sched_wakeup_new'):
            k = dict(KV.findall(a)); p = int(k['pid']); 
            ev.append((t, cpu, {'sched_waking': 'wa', 'sched_wakeup': 'wu', 'sched_wakeup_new': 'wn'}[e], p, int(k['target_cpu'].lstrip('0') or 0), cur))
        elif e == 'sched_migrate_task':
            k = dict(KV.findall(a)); ev.append((t, cpu, 'mi', int(k['pid']), int(k['orig_cpu']), int(k['dest_cpu'])))
        elif e == 'sched_stat_runtime':
            k = dict(KV.findall(a)); ev.append((t, cpu, 'rt', int(k['pid']), int(k['runtime']), k.get('vruntime', '')))
        elif e == 'sched_process_fork':
            k = dict(KV.findall(a)); ev.append((t, cpu, 'fk', int(k['pid']), int(k['child_pid']), ''))
        elif e == 'sched_process_exit':
            k = dict(KV.findall(a)); ev.append((t, cpu, 'ex', int(k['pid']), '', ''))
        elif e in ('throttle', 'unthrottle'):
            k = dict(KV.findall(a)); ev.append((t, cpu, 'th' if e == 'throttle' else 'un', ident(k['cfs'], 'q'), int(k['rem']), cur))
        elif e in ('period', 'distribute', 'distribute_ret', 'thrwork'):
            ev.append((t, cpu, {'period': 'pe', 'distribute': 'di', 'distribute_ret': 'dr', 'thrwork': 'tw'}[e], cur, '', ''))
        elif e in ('se', 'bse', 'cfs'):
            k = dict(KV.findall(a)); k['t'], k['cpu'], k['k'] = t, cpu, e; pelt.append(k)
    ev.sort(key=lambda x: x[0])
    txt = open(d + '/stdout.txt').read()
    pids = {int(p): n for n, p in re.findall(r'^(\w+) pid=(\d+)', txt, re.M)}
    if not pids or 0 in pids:
        pids = {p: c for p, c in comm.items() if re.match(r'(ramp|hackbench|msg\d|wk\d|press\d)', c)}
    P = set(pids)
    forks = [x[0] for x in ev if x[2] == 'fk' and (x[4] in P or x[3] in P)]
    script = exp.split('_')[0]
    f0 = min(forks) if forks else ev[0][0]
    lead = 45e6
    if exp.startswith('c_'): lead = max(forks) - f0 + 60e6 if forks else 0
    if exp.startswith('d_') or exp.startswith('h_'): lead = 0
    if exp.startswith('e_') or exp.startswith('h_msg'): lead = 60e6
    wk = [x[0] for x in ev if x[2] in ('wa', 'wn') and x[3] in P and x[0] >= f0 + lead]
    w0 = min(wk) if wk else ev[0][0]
    if 'ramp' in pids.values():
        w0 = max(x[0] for x in ev if x[2] == 'wa' and x[3] in P and x[0] < ev[-1][0] - 250e6)
    ends = [x[0] for x in ev if x[2] == 'ex' and x[3] in P]
    w1 = w0 + dur * 1e6 if dur else (max(ends) if ends else ev[-1][0])
    base = ev[0][0]
    # running intervals
    run_at, slices, wake_at, lat, waits, ready_at = {}, {p: [] for p in P}, {}, [], {p: 0 for p in P}, {}
    rt = {p: 0 for p in P}; mig = 0; sw = 0; inferred = 0; preempt = 0; busy = {}; wl_cpu = {p: {} for p in P}; order = []
    migs = {p: 0 for p in P}
    for t, cpu, e, a, b, c in ev:
        if e in ('wa', 'wn') and a in P and a not in run_at:
            wake_at[a] = t; ready_at.setdefault(a, t)
        elif e == 'mi' and a in P and w0 <= t < w1: mig += 1; migs[a] += 1
        elif e == 'rt' and a in P and a not in run_at:  # its switch-in was not recorded: take it from the runtime
            run_at[a] = (t - b, cpu); inferred += 1; ready_at.pop(a, None)
        elif e == 'sw':
            if w0 <= t < w1: sw += 1
            if a in run_at:
                s, c0 = run_at.pop(a); lo, hi = max(s, w0), min(t, w1)
                if hi > lo:
                    rt[a] += hi - lo; wl_cpu[a][cpu] = wl_cpu[a].get(cpu, 0) + hi - lo
                    slices[a].append((s, hi - lo, cpu, b))
                    if b.startswith('R'): preempt += 1
            if a in P and b.startswith('R'): ready_at[a] = t
            if c in P:
                run_at[c] = (t, cpu)
                if c in wake_at:
                    if w0 <= wake_at[c] < w1: lat.append(t - wake_at[c])
                    del wake_at[c]
                if c in ready_at:
                    r = ready_at.pop(c)
                    if w0 <= r < w1: waits[c] = max(waits[c], t - r)
    for p, (s, c0) in run_at.items():
        lo, hi = max(s, w0), min(ev[-1][0], w1)
        if hi > lo: rt[p] += hi - lo; slices[p].append((s, hi - lo, c0, 'end'))
    os.makedirs(out, exist_ok=True)
    with open(out + '/tasks.csv', 'w') as f:
        f.write('pid,name,prio,workload\n')
        for p in sorted(set(comm) | P):
            f.write(f"{p},{pids.get(p) or comm.get(p, '')},{prio.get(p, '')},{int(p in P)}\n")
    with open(out + '/trace.csv', 'w') as f:
        f.write(f'# t in ns from first event; window {w0 - base}..{int(w1 - base)}\nt,cpu,ev,a,b,c\n')
        for t, cpu, e, a, b, c in ev:
          if not (e == 'rt' and exp.startswith('h_msg')): f.write(f'{t - base},{cpu},{e},{a},{b},{c}\n')
    S = {'window_ns': [int(w0 - base), int(w1 - base)]}
    allsl = [x[1] for p in P for x in slices[p] if x[0] > w0 and not str(x[3]).startswith('end')]
    S['tasks'] = {pids[p]: {'runtime_ns': int(rt[p]), 'slices': len(slices[p]), 'slice_median_ns': pct([x[1] for x in slices[p]], 50), 'slice_max_ns': max([x[1] for x in slices[p]], default=None), 'max_wait_ns': waits[p], 'migrations': migs[p], 'cpus': sorted(wl_cpu[p])} for p in sorted(P)} if len(P) <= 40 else {}
    S['all'] = {'tasks': len(P), 'runtime_ns': int(sum(rt.values())), 'switches': sw, 'migrations': mig, 'preemptions': preempt,
        'slice_ns': {'n': len(allsl), **{f'p{q}': pct(allsl, q) for q in (5, 25, 50, 75, 95)}, 'max': max(allsl, default=None)},
        'wake_to_run_ns': {'n': len(lat), **{f'p{q}': pct(lat, q) for q in (50, 90, 99)}, 'max': max(lat, default=None)},
        'max_wait_ns': max(waits.values(), default=None)}
    if inferred: S['all']['switch_ins_inferred'] = inferred
    if len(P) > 1 and sum(rt.values()):
        v = list(rt.values()); S['all']['runtime_cv'] = round(st.pstdev(v) / st.mean(v), 4)
    pe = [x[0] for x in ev if x[2] == 'pe']
    if any(x[2] in ('th', 'un') for x in ev):
        un = [x[0] for x in ev if x[2] == 'un']; th = [x for x in ev if x[2] == 'th']
        edges = [w0] + [t for t in pe if w0 < t < w1]
        per = []
        for i, lo in enumerate(edges):
            hi = edges[i + 1] if i + 1 < len(edges) else None
            if hi is None: break
            tot = 0
            for p in P:
                for s, l, cpu, b in slices[p]:
                    tot += max(0, min(s + l, hi) - max(s, lo))
            per.append(tot)
        di, dd = None, []
        for x in ev:
            if x[2] == 'di': di = x[0]
            elif x[2] == 'dr' and di: dd.append(x[0] - di); di = None
        S['bandwidth'] = {'period_timer_fires': len([t for t in pe if w0 <= t < w1]), 'throttles': len([x for x in th if w0 <= x[0] < w1]), 'unthrottles': len([t for t in un if w0 <= t < w1]),
            'runtime_between_fires_ns': {'n': len(per), 'mean': int(st.mean(per)) if per else None, 'min': min(per, default=None), 'max': max(per, default=None)},
            'overrun_at_throttle_ns': {'median': -pct([x[4] for x in th], 50) if th else None, 'max': -min([x[4] for x in th], default=0)},
            'distribute_ns': {'n': len(dd), 'median': pct(dd, 50), 'max': max(dd, default=None)}}
    cs = re.findall(r'== (\S+) weight (\d+) max (\S+ \S+)\n((?:\w+ \d+\n)+)', txt)
    if cs: S['cgroups'] = {n: {'weight': int(w), 'max': mx, **{k: int(v) for k, v in re.findall(r'(\w+) (\d+)\n', body)}} for n, w, mx, body in cs}
    rep = re.findall(r'^((?:msg|hackbench|Time).*)$', txt, re.M)
    if rep: S['reported'] = rep
    pr = re.findall(r'^(\w+) pid=\d+ (.*)$', txt, re.M)
    if pr: S['reported_by_task'] = {n: {k: int(v) for k, v in re.findall(r'(\w+)=(\d+)', r)} for n, r in pr}
    if pelt:
        G = {}; ok = bad = 0; rows = []
        sid = {}
        n_by = {}
        for k in pelt:
            key = k['cfs'] if k['k'] == 'cfs' else k['se']
            grp = k['k'] != 'cfs' and k.get('myq', '0x0') not in ('0x0', '0')
            pid = int(k['pid']) if 'pid' in k else None
            keep = k['k'] == 'cfs' or grp or pid in P
            cur = {x: int(k[x]) for x in ('lut', 'lsum', 'rsum', 'usum', 'pc', 'lavg', 'ravg', 'uavg')}
            if keep:
                if key in G:
                    pred = G[key]; good = all(pred[x] == cur[x] for x in cur)
                    z = n_by.setdefault(k['k'] + ('-group' if grp else ''), [0, 0]); z[not good] += 1
                nxt = dict(cur); now = int(k['now'])
                if k['k'] == 'se':
                    on = int(k['on']) != 0; sd = int(k.get('sd', 0)); rn = int(k['rw']) if grp else int(on and not sd)
                    if pelt_ref.step(nxt, now, int(on), rn, int(k['curr'] == k['se'])): pelt_ref.averages(nxt, int(k['w']) >> 10)
                elif k['k'] == 'bse':
                    if pelt_ref.step(nxt, now, 0, 0, 0): pelt_ref.averages(nxt, int(k['w']) >> 10)
                else:
                    if pelt_ref.step(nxt, now, int(k['w']) >> 10, int(k['hn']), int(k['curr'] != '0x0')): pelt_ref.averages(nxt, 1)
                G[key] = nxt
                rows.append([k['t'] - base, k['cpu'], k['k'], ident(key, 'e') if k['k'] != 'cfs' else ident(key, 'q'), ('g' if grp else pid if pid is not None else '-'), ident(k['cfs'], 'q') if 'cfs' in k else '-', k['now']] + [cur[x] for x in ('lut', 'lsum', 'rsum', 'usum', 'pc', 'lavg', 'ravg', 'uavg')] + [int(k['w']) >> 10, k.get('on', '-'), k.get('sd', '-'), (k['rw'] if grp else '-') if k['k'] == 'se' else k.get('hn', '-'), int(k['curr'] == k['se']) if k['k'] == 'se' else (int(k['curr'] != '0x0') if k['k'] == 'cfs' else '-'), k.get('ct', '-'), k.get('cp', '-'), k.get('lost', '-')])
        with open(out + '/pelt.csv', 'w') as f:
            f.write('t,cpu,kind,id,pid,cfs,now,lut,load_sum,runnable_sum,util_sum,period_contrib,load_avg,runnable_avg,util_avg,weight,on_rq,delayed,runnable_in,running_in,clock_task,clock_pelt,lost_idle\n')
            for r in rows: f.write(','.join(map(str, r)) + '\n')
        S['pelt'] = {'rows': len(rows), 'replay_exact_vs_not': n_by}
        if any(k['k'] == 'se' for k in pelt):
            for p in P:
                x = [(k['t'], int(k['lut']), int(k['uavg']), int(k['usum'])) for k in pelt if k['k'] == 'se' and int(k['pid']) == p and k['t'] >= w0 and k.get('myq') in ('0x0', '0')]
                if not x: continue
                S['pelt'].setdefault('util_avg', {})[pids[p]] = {'min': min(v[2] for v in x if v[0] > w0 + (w1 - w0) / 2) if [v for v in x if v[0] > w0 + (w1 - w0) / 2] else None, 'max': max(v[2] for v in x)}
                if pids[p] == 'ramp':
                    rr = [k for k in pelt if k['k'] == 'se' and int(k['pid']) == p]
                    z = max(i for i, k in enumerate(rr) if int(k['now']) - int(k['lut']) > 1e9)
                    n0 = int(rr[z]['now']); tab = {}; prev = (0, 0, 0)
                    for kb, k in zip(rr[z + 1:], rr[z + 2:]):
                        q = ((int(k['lut']) - n0) / 1e6, int(k['uavg']), (kb['t'] - rr[z]['t']) / 1e6)
                        for target in (128, 256, 400, 486, 512, 768, 840, 972, 1002):
                            if str(target) not in tab and q[1] >= target:
                                tab[str(target)] = {'before_ms_util': [round(prev[0], 3), prev[1]], 'after_ms_util': [round(q[0], 3), q[1]], 'linear_ms': round(prev[0] + (q[0] - prev[0]) * (target - prev[1]) / max(1, q[1] - prev[1]), 2), 'wall_linear_ms': round(prev[2] + (q[2] - prev[2]) * (target - prev[1]) / max(1, q[1] - prev[1]), 2)}
                        prev = q
                    S['pelt']['ramp_reaches'] = tab
    json.dump(S, open(out + '/summary.json', 'w'), indent=1)
    for f in ('trace.csv', 'pelt.csv'):
        if os.path.exists(f'{out}/{f}'): subprocess.run(['zstd', '-q', '-19', '--rm', '-f', f'{out}/{f}'], check=True)
    return S
if __name__ == '__main__':
    S = main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]) if len(sys.argv) > 4 else None)
    print(json.dumps({k: S[k] for k in S if k != 'tasks' and k != 'reported_by_task'}, indent=1)[:3000])
