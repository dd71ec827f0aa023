"use strict";
// The page around the model: controls, answer, counterfactual, map and rules.

const find = (id) => document.getElementById(id);
const model = new Model(JSON.parse(find("data").textContent));
const {columns, classes} = model;
const isNominal = (f) => columns[f].categories !== null;
const isDate = (f) => columns[f].read === "date";
const isoDate = (moment) => new Date((moment + 946684800) * 1000).toISOString().slice(0, 10);
const typical = columns.map((column) => column.typical);
let cells = [...typical];
let near = null;
const controls = [];

function shown(value) {
  if (value === null || Number.isNaN(value)) return "missing";
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e7 || size < 1e-4) ? value.toExponential(3) : String(Number(value.toPrecision(4)));
}

function shownCell(f, cell) {
  if (cell === null) return "missing";
  return isNominal(f) ? columns[f].categories[cell] : isDate(f) ? isoDate(cell) : shown(cell);
}

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function makeControl(f) {
  const column = columns[f], id = `cell-${f}`;
  const share = element("i"), bar = element("div", {className: "share", title: ""}, share);
  const lock = element("input", {type: "checkbox", className: "lock", checked: column.read !== "date", disabled: column.read === "date",
    title: column.read === "date" ? "The nearest change keeps this date" : "The nearest change may change this value"});
  lock.setAttribute("aria-label", `may change ${column.name}`);
  lock.addEventListener("change", showCounterfactual);
  const way = element("select", {className: "way", title: "How the nearest change may move this number"},
    ...[["", "↕"], ["up", "↑"], ["down", "↓"]].map(([value, textContent]) => element("option", {value, textContent})));
  way.setAttribute("aria-label", `way of ${column.name}`);
  way.addEventListener("change", showCounterfactual);
  const parts = [element("label", {htmlFor: id, textContent: column.name})];
  if (isNominal(f)) {
    const select = element("select", {id}, element("option", {value: "", textContent: "missing"}),
      ...column.categories.flatMap((text, code) => (text === null ? [] : [element("option", {value: code, textContent: text})])));
    select.addEventListener("change", () => set(f, select.value === "" ? null : Number(select.value)));
    parts.push(select);
    controls.push({share, bar, lock, way: null, show: (cell) => { select.value = cell === null ? "" : cell; }});
  } else {
    const slider = element("input", {type: "range", min: column.low, max: column.high, step: column.step});
    slider.setAttribute("aria-label", column.name);
    const box = element("input", isDate(f) ? {type: "date", id} : {type: "number", id, step: "any", placeholder: "missing"});
    const read = () => (isDate(f) ? Date.parse(box.value) / 1000 - 946684800 : Number(box.value));
    slider.addEventListener("input", () => set(f, Number(slider.value)));
    box.addEventListener("input", () => set(f, box.value === "" ? null : read(), box));
    parts.push(slider, box);
    controls.push({share, bar, lock, way: isDate(f) ? null : way, show: (cell, source) => {
      slider.value = cell === null ? column.typical : cell;
      if (source !== box) box.value = cell === null ? "" : isDate(f) ? isoDate(cell) : Number(cell.toPrecision(6));
    }});
  }
  return element("div", {className: "control"}, ...parts, bar, lock, ...(isNominal(f) || isDate(f) ? [] : [way]));
}

function set(f, cell, source) {
  cells[f] = cell;
  controls[f].show(cell, source);
  show();
}

function setAll(row) {
  cells = [...row];
  cells.forEach((cell, f) => controls[f].show(cell));
  show();
}

let planned = false;
function show() {
  const now = model.answer(cells);
  const name = find("class");
  name.textContent = classes[now.class];
  name.className = !model.two || now.class ? "second" : "first";
  if (!model.two) nameClasses([classes[now.rival], classes[now.class]]);
  find("probability").textContent = now.probability === null ? "not available" : `${(100 * now.probability).toFixed(1)} %`;
  find("decision").textContent = shown(now.decision);
  find("bias").textContent = shown(now.bias);
  const place = now.probability === null ? 0.5 + Math.atan(now.decision) / Math.PI : now.probability;
  find("needle").style.left = `${100 * place}%`;
  const largest = Math.max(...now.shares.map(Math.abs), 1e-12);
  now.shares.forEach((share, f) => {
    const width = (50 * Math.abs(share)) / largest;
    Object.assign(controls[f].share.style, {width: `${width}%`, left: `${share >= 0 ? 50 : 50 - width}%`,
      background: share >= 0 ? "var(--second)" : "var(--first)"});
    controls[f].bar.title = shown(share);
  });
  if (planned) return;
  planned = true;  // what takes longer follows once, after the answer is on the screen
  setTimeout(() => { planned = false; showCounterfactual(); showRule(); }, 0);
}

// What the person has set: the range of the training rows, unless it is switched off, and the ways of the numbers.
function limitsOfRow() {
  const within = find("within").checked;
  return columns.map((column, c) => {
    const way = controls[c].way?.value, [low, high] = (within && column.range) || [null, null], cell = cells[c];
    if (cell === null || column.read !== "number") return {};
    return {low: way === "up" ? cell : low === null ? null : Math.min(low, cell),
      high: way === "down" ? cell : high === null ? null : Math.max(high, cell)};
  });
}

// One line per column: what changing it alone can do.
function showMenu(free, limits) {
  const now = model.answer(cells), rows = [];
  free.forEach((may, c) => {
    if (!may) return;
    let found = nearest(model, cells, free.map((_, d) => d === c), limits);
    if (found !== null && find("within").checked) found = onGrid(model, cells, found);
    const none = isSingle(model) ? "cannot" : "none found";
    const texts = [columns[c].name, found === null ? none : `${shownCell(c, cells[c])} → ${shownCell(c, found.cells[c])}`,
      found === null ? "" : classes[model.answer(found.cells).class]];
    rows.push({distance: found === null ? Infinity : found.distance, texts});
  });
  rows.sort((a, b) => a.distance - b.distance);
  find("menu").replaceChildren(...rows.map(({texts}) => element("tr", {}, ...texts.map((text) => element("td", {textContent: text})))));
}

function showCounterfactual() {
  const now = model.answer(cells), free = controls.map((control) => control.lock.checked && !control.lock.disabled);
  const limits = limitsOfRow(), most = Number(find("most").value);
  near = most ? nearestOfSets(model, cells, free, limits, most) : nearest(model, cells, free, limits);
  if (near !== null && find("within").checked) near = onGrid(model, cells, near);
  if (find("levers").open) showMenu(free, limits);
  const table = find("changes");
  table.replaceChildren();
  find("apply").disabled = near === null;
  const other = near !== null ? classes[model.answer(near.cells).class] : model.two ? classes[1 - now.class] : "another class";
  if (near === null) {
    find("counterfactual").textContent = `No change of the ticked features was found that gives ${other}.`;
  } else {
    const proof = near.proven ? "the nearest row" : "a near row, found by a search; a nearer one may exist,";
    find("counterfactual").textContent = `With these changes the answer is ${other}: ${proof} at a distance of `
      + `${shown(near.distance)}. A number counts in standard deviations, another choice counts 1. Only ticked features change.`;
    const size = (c) => (isNominal(c) ? 1 : Math.abs(near.z[model.firstFeature(c)] - now.z[model.firstFeature(c)]));
    const moves = [...cells.keys()].filter((c) => near.cells[c] !== cells[c] && size(c) > 1e-4 * near.distance);
    moves.sort((c, d) => size(d) - size(c));
    table.append(element("tr", {}, ...["feature", "from", "to"].map((text) => element("th", {textContent: text}))));
    for (const c of moves.slice(0, 12)) {
      const texts = [columns[c].name, shownCell(c, cells[c]), shownCell(c, near.cells[c])];
      table.append(element("tr", {}, ...texts.map((text) => element("td", {textContent: text}))));
    }
    if (moves.length > 12) table.append(element("tr", {}, element("td", {colSpan: 3, textContent: `and ${moves.length - 12} smaller changes`})));
  }
  drawMap();
}

// The map. Only two columns vary, so that the scores of all pieces change by what each of the two adds.
const GRID = 160;

function axisOf(f) {
  const column = columns[f];
  return isNominal(f) ? {low: -0.5, high: column.categories.length - 0.5, at: Math.round}
    : {low: Math.min(column.low, cells[f] ?? column.low), high: Math.max(column.high, cells[f] ?? column.high), at: (v) => v};
}

function valueAt(axis, share) { return axis.at(axis.low + share * (axis.high - axis.low)); }

function drawMap() {
  const canvas = find("map"), context = canvas.getContext("2d");
  const across = Number(find("across").value), up = Number(find("up").value);
  const axes = [axisOf(across), axisOf(up)], styles = getComputedStyle(document.documentElement);
  const colour = (name) => styles.getPropertyValue(name).trim();
  const shades = model.two ? ["--first-soft", "--second-soft", "--first", "--second"].map((name) => rgb(colour(name)))
    : [0.55, 1].flatMap((strength) => classes.map((_, k) => hue(k).map((value) => 235 + strength * (value - 235))));
  const z = model.scaled(cells), base = model.scores(z), F = model.nFeatures;
  const columnsOf = GRID, rowsOf = Math.round((GRID * canvas.height) / canvas.width);
  const image = new ImageData(columnsOf, rowsOf), kinds = new Array(columnsOf * rowsOf);
  const scores = new Float64Array(model.nPieces);
  // What another value of a column adds to the scores.
  const added = (c, value) => {
    const other = [...cells];
    other[c] = value;
    const moved = model.scaled(other), sums = new Float64Array(model.nPieces);
    for (let f = 0; f < F; f++) {
      const step = moved[f] - z[f];
      if (step !== 0) for (let p = 0; p < model.nPieces; p++) sums[p] += step * model.slopes[p * F + f];
    }
    return sums;
  };
  const right = [...Array(columnsOf).keys()].map((column) => added(across, valueAt(axes[0], (column + 0.5) / columnsOf)));
  const none = new Float64Array(model.nPieces);
  for (let row = 0; row < rowsOf; row++) {
    const above = across === up ? none : added(up, valueAt(axes[1], 1 - (row + 0.5) / rowsOf));
    for (let column = 0; column < columnsOf; column++) {
      for (let p = 0; p < model.nPieces; p++) scores[p] = base[p] + right[column][p] + above[p];
      const {decision, active, class: side} = model.decide(scores), at = row * columnsOf + column;
      const strength = Math.min(1, Math.abs(decision)) * 0.75;
      kinds[at] = isSingle(model) ? active[0] * model.nPieces + active[1] : side;
      for (let k = 0; k < 3; k++) image.data[4 * at + k] = shades[side][k] + strength * (shades[side + classes.length][k] - shades[side][k]);
      image.data[4 * at + 3] = 255;
    }
  }
  if (isSingle(model)) {
    for (let at = 0; at < kinds.length; at++) {
      const edge = (at % columnsOf && kinds[at] !== kinds[at - 1]) || (at >= columnsOf && kinds[at] !== kinds[at - columnsOf]);
      if (edge) for (let k = 0; k < 3; k++) image.data[4 * at + k] = 0.75 * image.data[4 * at + k];
    }
  }
  const small = element("canvas", {width: columnsOf, height: rowsOf});
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
  const place = (row) => [across, up].map((f, k) => {
    const share = ((row[f] ?? columns[f].typical) - axes[k].low) / (axes[k].high - axes[k].low);
    return k === 0 ? share * canvas.width : (1 - (across === up ? 0.5 : share)) * canvas.height;
  });
  const circle = (row, filled) => {
    context.beginPath();
    context.arc(...place(row), 7, 0, 7);
    context.lineWidth = 3;
    context.strokeStyle = colour("--card");
    context.fillStyle = colour("--ink");
    if (filled) context.fill();
    context.stroke();
    if (!filled) { context.lineWidth = 1.5; context.strokeStyle = colour("--ink"); context.stroke(); }
  };
  if (near !== null) circle(near.cells, false);
  circle(cells, true);
}

// The colour of one of more than two classes, all equally bright.
function hue(k) {
  return [0, 1, 2].map((part) => 130 + 95 * Math.cos(2 * Math.PI * (k / classes.length - part / 3)));
}

function nameClasses(names) {
  for (const [k, name] of ["first", "second"].entries())
    document.querySelectorAll(`span.${name}, b.${name}`).forEach((span) => { span.textContent = names[k]; });
}

function rgb(text) {
  const value = parseInt(text.slice(1).length === 3 ? [...text.slice(1)].map((c) => c + c).join("") : text.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

// The decision is affine around the row. Coefficients are per unit of the raw value.
function showRule() {
  const now = model.answer(cells), table = find("rule");
  const slopes = now.gradient.map((value, f) => value / model.features[f].scale);
  const raw = model.rawFeatures(cells);
  const constant = now.decision - slopes.reduce((sum, slope, f) => sum + slope * raw[f], 0);
  const voting = model.two ? now.taus.filter((tau) => !model.clipped || Math.abs(tau) <= 1).length
    : now.votes.filter((votes) => !model.shared || Math.max(...votes) < 1).length;
  const members = model.weights.length > 1
    ? ` ${voting} of ${model.weights.length} members decide with their value here; the others have a whole vote.` : "";
  const meaning = model.two ? `the decision value is exactly this sum; at 0 or above the class is ${classes[1]}.`
    : `the lead of ${classes[now.class]} over ${classes[now.rival]} is exactly this sum; below 0 the class is another one.`;
  find("rule-text").textContent = `Around this row ${meaning}${members}`;
  table.replaceChildren(element("tr", {}, ...["feature", "per unit", "value", "product"].map((text) => element("th", {textContent: text}))));
  const order = [...slopes.keys()].filter((f) => slopes[f] !== 0);
  order.sort((f, g) => Math.abs(now.gradient[g]) - Math.abs(now.gradient[f]));
  for (const f of order) {
    const {column: c, step, name} = model.features[f];
    const unit = isNominal(c) && step === "value" ? `${shown(raw[f])} (${shownCell(c, cells[c])})` : shown(raw[f]);
    const texts = [name, shown(slopes[f]), unit, shown(slopes[f] * raw[f])];
    table.append(element("tr", {}, ...texts.map((text) => element("td", {textContent: text}))));
  }
  for (const [text, value] of [["constant", constant], ["decision value", now.decision]])
    table.append(element("tr", {}, element("td", {textContent: text}), element("td"), element("td"), element("td", {textContent: shown(value)})));
}

// A single model is a short list of formulas; one table shows them all.
function showPieces() {
  if (!isSingle(model) || model.nPieces > 80) { find("all-rules").remove(); return; }
  find("all-text").textContent = `Compute every formula in raw units. The largest of the first group minus the largest of the second `
    + `is the decision value${model.threshold ? ` plus ${shown(model.threshold)}` : ""}. This is the whole model. Nominal values count by their place in the list, from 0.`;
  const table = find("pieces"), F = model.nFeatures;
  table.append(element("tr", {}, ...["formula", ...model.features.map(({name}) => name), "constant"].map((text) => element("th", {textContent: text}))));
  const pieces = [...Array(model.nPieces).keys()], second = model.starts[1];
  for (const p of [...pieces.slice(second), ...pieces.slice(0, second)]) {
    const side = p < second ? 0 : 1, slopes = model.features.map(({scale}, f) => model.slopes[p * F + f] / scale);
    const constant = slopes.reduce((sum, slope, f) => sum - slope * (model.features[f].mean + model.center[f] * model.features[f].scale), model.offsets[p]);
    const label = `${classes[side]} ${p - model.starts[side] + 1}`;
    const row = element("tr", {}, ...[label, ...slopes.map(shown), shown(constant)].map((text) => element("td", {textContent: text})));
    row.firstChild.className = side ? "second" : "first";
    table.append(row);
  }
}

function oneOf(values) { return values[Math.floor(Math.random() * values.length)]; }

function start() {
  if (model.two) nameClasses(classes);
  else find("legend").append(...classes.flatMap((name, k) => [
    element("b", {textContent: "■ ", style: `color:rgb(${hue(k).join()})`}), `${name} `]));
  find("controls").append(...columns.map((_, f) => makeControl(f)));
  const importance = columns.map((column, c) => model.offsets.reduce((sum, _, p) => sum + Math.abs(model.slopes[p * model.nFeatures + model.firstFeature(c)]), 0) - (isNominal(c) ? 1e9 : 0));
  const order = [...importance.keys()].sort((f, g) => importance[g] - importance[f]);
  for (const [k, id] of ["across", "up"].entries()) {
    find(id).append(...columns.map((column, f) => element("option", {value: f, textContent: column.name})));
    find(id).value = order[Math.min(k, order.length - 1)];
    find(id).addEventListener("change", drawMap);
  }
  if (!isSingle(model)) find("lines").remove();
  find("map").addEventListener("click", (event) => {
    const box = event.target.getBoundingClientRect();
    const across = Number(find("across").value), up = Number(find("up").value);
    const x = valueAt(axisOf(across), (event.clientX - box.left) / box.width);
    const y = valueAt(axisOf(up), 1 - (event.clientY - box.top) / box.height);
    const row = [...cells];
    row[across] = x;
    if (across !== up) row[up] = y;
    setAll(row);
  });
  find("reset").addEventListener("click", () => setAll(typical));
  find("random").addEventListener("click", () => setAll(columns.map((column, f) => (isNominal(f)
    ? oneOf([...column.categories.keys()].filter((code) => column.categories[code] !== null))
    : Math.round((column.low + Math.random() * (column.high - column.low)) / column.step) * column.step))));
  for (const [id, event] of [["most", "change"], ["within", "change"], ["levers", "toggle"]]) find(id).addEventListener(event, showCounterfactual);
  find("apply").addEventListener("click", () => { if (near !== null) setAll(near.cells); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMap);
  showPieces();
  setAll(typical);
}

start();
