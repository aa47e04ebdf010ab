// Draws the timelines of the page. All of them show the same span of time, which stands in the address as #t=10ms-20ms.
'use strict';

const UNITS = [['s', 1e9], ['ms', 1e6], ['us', 1e3], ['ns', 1]];
const GUTTER = 92; // px left of the lanes, for names
const HEAD = 22; // px above the lanes, for the time
const SHORTEST = 100; // ns that a view has at least

function shownTime(ns) {
  const [name, size] = UNITS.find(([, size]) => Math.abs(ns) >= size) || UNITS[3];
  return `${+(ns / size).toFixed(3)} ${name}`;
}

// `10.5ms` in ns; NaN if it is none.
function parsedTime(text) {
  const found = /^([0-9.]+)(ns|us|ms|s)$/.exec(text);
  return found ? Number(found[1]) * UNITS.find(([name]) => name === found[2])[1] : NaN;
}

// A lane from its flat list: gap, length, who; or gap, length, -1 - who, parts, busy, most.
function unpackedLane(list, start) {
  const lane = [];
  for (let i = 0, at = start; i < list.length;) {
    const from = at + list[i], to = from + list[i + 1], who = list[i + 2];
    if (who >= 0) {
      lane.push({ from, to, who, parts: 1, busy: to - from, most: to - from });
      i += 3;
    } else {
      lane.push({ from, to, who: -1 - who, parts: list[i + 3], busy: list[i + 4], most: list[i + 5] });
      i += 6;
    }
    at = to;
  }
  return lane;
}

// The place of the first stretch that ends after `time`.
function firstAfter(lane, time) {
  let low = 0, high = lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane[middle].to > time) high = middle; else low = middle + 1;
  }
  return low;
}

// Calls `each` for the stretches of a lane within a span.
function within(lane, from, to, each) {
  for (let i = firstAfter(lane, from); i < lane.length && lane[i].from < to; i++) each(lane[i]);
}

function element(parent, tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  parent.append(made);
  return made;
}

const colour = (number) => `hsl(${(number * 137.508 + 210) % 360} 56% ${34 + (number % 3) * 6}%)`;
const styleOf = (name) => getComputedStyle(document.body).getPropertyValue(name);

// The span of time that is shown, for all timelines of the page.
const view = { start: Infinity, end: -Infinity, from: 0, to: 0, drawers: [], pending: false };

function show(from, to) {
  const length = Math.min(Math.max(to - from, SHORTEST), view.end - view.start);
  view.from = Math.min(Math.max(from, view.start), view.end - length);
  view.to = view.from + length;
  if (!view.pending) requestAnimationFrame(update);
  view.pending = true;
}

function update() {
  view.pending = false;
  view.drawers.forEach((drawer) => drawer.draw());
  clearTimeout(view.timer);
  view.timer = setTimeout(settle, 120);
}

// What is slow and not needed while the view moves.
function settle() {
  view.drawers.forEach((drawer) => drawer.tell());
  const all = view.from === view.start && view.to === view.end;
  const address = all ? location.pathname + location.search : `#t=${Math.round(view.from)}ns-${Math.round(view.to)}ns`;
  if (!all || location.hash.startsWith('#t=')) history.replaceState(null, '', address);
}

function zoom(factor, at = (view.from + view.to) / 2) {
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}
const pan = (share) => show(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));
const showAll = () => show(view.start, view.end);

function showAddress() {
  const [from, to] = location.hash.startsWith('#t=') ? location.hash.slice(3).split('-').map(parsedTime) : [];
  if (to > from) show(from, to); else if (!location.hash) showAll();
}

const KEYS = {
  ArrowLeft: () => pan(-0.2), a: () => pan(-0.2), ArrowRight: () => pan(0.2), d: () => pan(0.2),
  ArrowUp: () => zoom(0.5), w: () => zoom(0.5), '+': () => zoom(0.5), ArrowDown: () => zoom(2), s: () => zoom(2), '-': () => zoom(2),
  Home: showAll, 0: showAll,
};

class Drawer {
  constructor(figure) {
    const data = JSON.parse(figure.querySelector('script').textContent);
    this.figure = figure;
    this.tasks = data.tasks;
    this.sections = data.sections;
    this.cpus = data.cpus.map((cpu) => ({ tasks: unpackedLane(cpu.tasks, data.start), kernel: unpackedLane(cpu.kernel, data.start) }));
    this.throttled = data.throttled.map(({ group, lane }) => ({ group, lane: unpackedLane(lane, data.start) }));
    this.groups = [...new Set(data.tasks.map(([, group]) => group))];
    this.rowHeight = this.cpus.length <= 16 ? 26 : this.cpus.length <= 64 ? 16 : 9;
    view.start = Math.min(view.start, data.start);
    view.end = Math.max(view.end, data.end);
    this.paint();
    this.build();
  }

  // The colours of the tasks.
  paint() {
    this.palette = this.tasks.map(([, group], number) => colour(this.byGroup ? this.groups.indexOf(group) : number));
  }

  build() {
    const note = this.figure.querySelector('.note');
    const bar = element(this.figure, 'div', undefined, 'bar');
    for (const [text, title, action] of [['−', 'zoom out (key -)', () => zoom(2)], ['+', 'zoom in (key +)', () => zoom(0.5)],
      ['◀', 'earlier (key left)', () => pan(-0.4)], ['▶', 'later (key right)', () => pan(0.4)], ['all', 'the whole run (key 0)', showAll]]) {
      const button = element(bar, 'button', text);
      button.title = title;
      button.onclick = action;
    }
    if (this.groups.length > 1) {
      const select = element(element(bar, 'label', 'colours by '), 'select');
      for (const name of ['task', 'group']) element(select, 'option', name);
      select.onchange = () => { this.byGroup = select.value === 'group'; this.paint(); this.draw(); this.tell(); };
    }
    this.span = element(bar, 'span', '', 'span');
    this.canvas = element(this.figure, 'canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('aria-label', 'Timeline of CPUs: wheel, + and - zoom, drag and arrows move, 0 shows all');
    this.tip = element(this.figure, 'div', '', 'tip');
    this.legend = element(this.figure, 'div', undefined, 'legend');
    if (note) this.figure.append(note);
    const details = element(this.figure, 'details');
    element(details, 'summary', 'What is in view, CPU by CPU');
    details.open = true;
    this.table = element(element(details, 'div', undefined, 'window'), 'table');
    this.listen();
  }

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(Math.sign(event.deltaX + event.deltaY) * 0.1);
      else zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => { canvas.setPointerCapture(event.pointerId); this.dragged = event.offsetX; });
    canvas.addEventListener('pointerup', () => { this.dragged = undefined; });
    canvas.addEventListener('pointermove', (event) => {
      if (this.dragged === undefined) return this.point(event);
      const moved = (this.dragged - event.offsetX) / this.width() * (view.to - view.from);
      this.dragged = event.offsetX;
      show(view.from + moved, view.to + moved);
    });
    canvas.addEventListener('pointerleave', () => { this.tip.style.display = 'none'; });
    canvas.addEventListener('dblclick', (event) => zoom(0.25, this.timeAt(event.offsetX)));
    canvas.addEventListener('keydown', (event) => {
      if (KEYS[event.key] && !event.ctrlKey && !event.metaKey) { event.preventDefault(); KEYS[event.key](); }
    });
  }

  width() { return Math.max(this.canvas.clientWidth - GUTTER, 1); }
  timeAt(x) { return view.from + (x - GUTTER) / this.width() * (view.to - view.from); }

  draw() {
    const rows = this.cpus.length + this.throttled.length, height = HEAD + rows * this.rowHeight, ratio = window.devicePixelRatio || 1;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.ink = this.canvas.getContext('2d');
    this.ink.scale(ratio, ratio);
    this.ink.font = '11px system-ui, sans-serif';
    this.style = Object.fromEntries(['text', 'line', 'kernel', 'throttled'].map((name) => [name, styleOf(`--${name}`)]));
    this.drawHead(height);
    let seen = 0;
    this.cpus.forEach((cpu, number) => {
      const top = HEAD + number * this.rowHeight, tasks = this.rowHeight * 0.7;
      if (this.rowHeight > 12 || number % 10 === 0) this.drawName(`CPU ${number}`, top);
      seen += this.drawLane(cpu.tasks, top + 1, tasks - 1, (who) => this.palette[who], (who) => this.tasks[who][0]);
      seen += this.drawLane(cpu.kernel, top + tasks, this.rowHeight - tasks - 2, () => this.style.kernel);
    });
    this.throttled.forEach(({ group, lane }, number) => {
      const top = HEAD + (this.cpus.length + number) * this.rowHeight;
      this.drawName(group, top);
      this.drawThrottled(lane, top);
    });
    Object.assign(this.figure.dataset, { from: Math.round(view.from), to: Math.round(view.to), seen, rows });
    this.span.textContent = `${shownTime(view.from)} to ${shownTime(view.to)} (${shownTime(view.to - view.from)})`;
  }

  drawName(name, top) {
    this.ink.fillStyle = this.style.text;
    this.ink.textAlign = 'right';
    this.ink.fillText(name.length > 14 ? `…${name.slice(-13)}` : name, GUTTER - 6, top + this.rowHeight * 0.65);
    this.ink.fillStyle = this.style.line;
    this.ink.fillRect(GUTTER, top + this.rowHeight - 1, this.width(), 0.5);
  }

  drawHead(height) {
    const length = view.to - view.from, rough = length / 8, ten = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * ten).find((value) => value >= rough);
    this.ink.textAlign = 'center';
    for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
      const x = GUTTER + (time - view.from) / length * this.width();
      this.ink.fillStyle = this.style.line;
      this.ink.fillRect(x, HEAD - 4, 1, height);
      this.ink.fillStyle = this.style.text;
      this.ink.fillText(shownTime(time), Math.min(x, GUTTER + this.width() - 24), 12);
    }
  }

  // Stretches narrower than a pixel share it: it has the colour of the one with most of it, the paler the less of it is busy.
  drawLane(lane, top, height, colourOf, nameOf) {
    const scale = this.width() / (view.to - view.from), place = (time) => (time - view.from) * scale;
    let seen = 0, pixel = -1, busy = 0, most = 0, who = 0;
    const flush = () => {
      if (pixel >= 0) this.fill(GUTTER + pixel, top, 1, height, colourOf(who), Math.min(0.25 + 0.75 * busy * scale, 1));
      pixel = -1; busy = 0; most = 0;
    };
    within(lane, view.from, view.to, (stretch) => {
      seen++;
      const left = Math.max(place(stretch.from), 0), right = Math.min(place(stretch.to), this.width());
      if (right - left < 1) {
        if (Math.floor(left) !== pixel) { flush(); pixel = Math.floor(left); }
        busy += stretch.busy;
        if (stretch.most > most) { most = stretch.most; who = stretch.who; }
        return;
      }
      flush();
      const share = stretch.busy / (stretch.to - stretch.from);
      this.fill(GUTTER + left, top, right - left - (right - left > 4 ? 0.5 : 0), height, colourOf(stretch.who), stretch.parts > 1 ? 0.15 + 0.45 * share : 1);
      if (nameOf && height > 9 && right - left > 30 && stretch.parts === 1) this.label(nameOf(stretch.who), GUTTER + left, top + height / 2 + 4, right - left);
    });
    flush();
    return seen;
  }

  fill(left, top, width, height, style, alpha) {
    this.ink.globalAlpha = alpha;
    this.ink.fillStyle = style;
    this.ink.fillRect(left, top, width, height);
    this.ink.globalAlpha = 1;
  }

  label(name, left, top, width) {
    if (name.length * 6.2 > width - 6) return;
    this.ink.fillStyle = '#fff';
    this.ink.textAlign = 'left';
    this.ink.fillText(name, left + 4, top);
  }

  // How many CPUs of a group wait for quota, as a height.
  drawThrottled(lane, top) {
    const scale = this.width() / (view.to - view.from), highest = lane.reduce((most, stretch) => Math.max(most, stretch.who), 1);
    within(lane, view.from, view.to, (stretch) => {
      const left = Math.max((stretch.from - view.from) * scale, 0), right = Math.min((stretch.to - view.from) * scale, this.width());
      const height = (this.rowHeight - 2) * stretch.who / highest;
      this.fill(GUTTER + left, top + this.rowHeight - 1 - height, Math.max(right - left, 0.5), height, this.style.throttled, stretch.parts > 1 ? 0.5 : 1);
    });
  }

  // The stretch below the mouse.
  point(event) {
    const row = Math.floor((event.offsetY - HEAD) / this.rowHeight), time = this.timeAt(event.offsetX);
    const cpu = this.cpus[row], group = this.throttled[row - this.cpus.length];
    const isKernel = (event.offsetY - HEAD) % this.rowHeight > this.rowHeight * 0.7;
    const lane = cpu ? (isKernel ? cpu.kernel : cpu.tasks) : group ? group.lane : [];
    const reach = (view.to - view.from) / this.width(), stretch = lane[firstAfter(lane, time - reach)];
    const isHit = time >= view.from && stretch && stretch.from <= time + reach;
    this.tip.style.display = isHit || (cpu && time >= view.from) ? 'block' : 'none';
    const place = shownTime(time), name = stretch && (cpu ? (isKernel ? this.sections[stretch.who] : this.tasks[stretch.who].filter(Boolean).join(' in ')) : `${stretch.who} CPUs of ${group.group} throttled`);
    this.tip.textContent = !isHit ? `CPU ${row}, ${place}: ${isKernel ? 'no kernel work' : 'idle'}`
      : stretch.parts === 1 ? `${name}: ${shownTime(stretch.to - stretch.from)}, from ${shownTime(stretch.from)} on`
        : `${stretch.parts} stretches in ${shownTime(stretch.to - stretch.from)} from ${shownTime(stretch.from)} on, ${shownTime(stretch.busy)} in all; ${name} has ${shownTime(stretch.most)} or more`;
    this.tip.style.left = `${Math.min(event.offsetX + 12, this.canvas.clientWidth - 240)}px`;
    this.tip.style.top = `${this.canvas.offsetTop + event.offsetY + 14}px`;
  }

  // The legend and the table of what is in view.
  tell() {
    const length = view.to - view.from, percent = (time) => `${(time / length * 100).toFixed(1)} %`;
    const times = new Map();
    const rows = this.cpus.map((cpu, number) => {
      const own = new Map();
      const sum = (lane) => {
        let busy = 0, parts = 0;
        within(lane, view.from, view.to, (stretch) => {
          const share = (Math.min(stretch.to, view.to) - Math.max(stretch.from, view.from)) / (stretch.to - stretch.from);
          busy += stretch.busy * share;
          parts += stretch.parts;
          if (lane === cpu.tasks) for (const map of [own, times]) map.set(stretch.who, (map.get(stretch.who) || 0) + stretch.most * share);
        });
        return [busy, parts];
      };
      const [busy, parts] = sum(cpu.tasks), [kernel] = sum(cpu.kernel);
      const [first] = [...own].sort((a, b) => b[1] - a[1]);
      return [`CPU ${number}`, percent(busy), percent(kernel), parts, first ? `${this.tasks[first[0]][0]} (${percent(first[1])})` : '-'];
    });
    this.table.replaceChildren();
    const head = element(element(this.table, 'thead'), 'tr'), body = element(this.table, 'tbody');
    ['CPU', 'busy', 'kernel', 'stretches', 'most of it'].forEach((name, column) => element(head, 'th', name, column % 4 ? 'n' : ''));
    for (const row of rows) {
      const line = element(body, 'tr');
      row.forEach((text, column) => element(line, 'td', String(text), column % 4 ? 'n' : ''));
    }
    this.tellColours(times);
  }

  tellColours(times) {
    const sums = new Map();
    for (const [who, time] of times) {
      const [name, group] = this.tasks[who], key = this.byGroup ? group || '/' : name;
      const row = sums.get(key) || { time: 0, colour: this.palette[who] };
      row.time += time;
      sums.set(key, row);
    }
    const sorted = [...sums].sort((a, b) => b[1].time - a[1].time), shown = sorted.slice(0, 14);
    this.legend.replaceChildren();
    const item = (text, style) => { element(element(this.legend, 'span'), 'i').style.background = style; this.legend.lastChild.append(text); };
    for (const [name, row] of shown) item(`${name} ${shownTime(row.time)}`, row.colour);
    if (sorted.length > shown.length) element(this.legend, 'span', `and ${sorted.length - shown.length} more`);
    item('kernel', this.style.kernel);
    if (this.throttled.length) item('throttled: the higher, the more CPUs', this.style.throttled);
  }
}

view.drawers = [...document.querySelectorAll('figure.timeline')].map((figure) => new Drawer(figure));
[view.from, view.to] = [view.start, view.end];
showAll();
showAddress();
update();
settle();
addEventListener('hashchange', showAddress);
addEventListener('resize', () => show(view.from, view.to));
for (const media of ['(prefers-color-scheme: dark)', 'print']) matchMedia(media).addEventListener('change', update);
