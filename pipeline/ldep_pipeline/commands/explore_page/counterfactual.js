"use strict";
// The nearest row of another class. A number is measured in standard deviations, and another choice counts 1. With
// given choices, the answer is exact for a single model of two classes: each class is a union of polyhedra, and the row is projected
// onto each. For all others a search finds a near row, and proves nothing.

// Least squares with u >= 0 by an active set (Lawson and Hanson), from the normal equations: G u = q.
function nonNegative(G, q) {
  const n = q.length, u = new Float64Array(n), passive = new Array(n).fill(false);
  const residual = (j) => q[j] - G[j].reduce((sum, value, k) => sum + value * u[k], 0);
  const tolerance = 1e-12 * Math.max(1, ...q.map(Math.abs));
  for (let round = 0; round < 3 * n; round++) {
    let entering = -1, largest = tolerance;
    for (let j = 0; j < n; j++) {
      const value = passive[j] ? 0 : residual(j);
      if (value > largest) [entering, largest] = [j, value];
    }
    if (entering < 0) break;
    passive[entering] = true;
    for (let inner = 0; inner < n; inner++) {
      const members = [...passive.keys()].filter((j) => passive[j]);
      const s = solve(members.map((j) => members.map((k) => G[j][k])), members.map((j) => q[j]));
      let step = 1;
      members.forEach((j, k) => { if (s[k] <= 0) step = Math.min(step, u[j] / (u[j] - s[k])); });
      members.forEach((j, k) => { u[j] += step * (s[k] - u[j]); });
      if (step === 1) break;
      members.forEach((j, k) => { if (s[k] <= 0 && u[j] <= 1e-14) { passive[j] = false; u[j] = 0; } });
    }
  }
  return u;
}

function solve(A, b) {
  const n = b.length, M = A.map((row, i) => [...row, b[i]]);
  for (let c = 0; c < n; c++) {
    let pivot = c;
    for (let r = c + 1; r < n; r++) if (Math.abs(M[r][c]) > Math.abs(M[pivot][c])) pivot = r;
    [M[c], M[pivot]] = [M[pivot], M[c]];
    if (Math.abs(M[c][c]) < 1e-300) M[c][c] = 1e-300;
    for (let r = c + 1; r < n; r++) {
      const factor = M[r][c] / M[c][c];
      for (let k = c; k <= n; k++) M[r][k] -= factor * M[c][k];
    }
  }
  const x = new Array(n).fill(0);
  for (let r = n - 1; r >= 0; r--) {
    x[r] = M[r][n];
    for (let k = r + 1; k < n; k++) x[r] -= M[r][k] * x[k];
    x[r] /= M[r][r];
  }
  return x;
}

// The shortest x with A x >= b, or null if there is none: a non-negative least-squares problem in the dual.
function leastDistance(A, b) {
  const rows = [], right = [];
  for (let k = 0; k < A.length; k++) {
    const norm = Math.hypot(...A[k]);
    if (norm < 1e-12) { if (b[k] > 0) return null; continue; }
    rows.push(A[k].map((value) => value / norm));
    right.push(b[k] / norm);
  }
  const size = Math.max(...right);
  if (!(size > 0)) return new Array(A.length ? A[0].length : 0).fill(0);
  right.forEach((value, k) => { right[k] = value / size; });
  const G = rows.map((r, i) => rows.map((s, j) => r.reduce((sum, v, f) => sum + v * s[f], 0) + right[i] * right[j]));
  const u = nonNegative(G, right);
  const rest = 1 - right.reduce((sum, value, k) => sum + value * u[k], 0);
  if (rest < 1e-9) return null;
  return rows[0].map((_, f) => (size * rows.reduce((sum, r, k) => sum + r[f] * u[k], 0)) / rest);
}

// The shortest x with A x >= b and low <= x <= high. Few bounds are ever violated: they are added when they are.
function leastDistanceWithin(A, b, low, high) {
  for (let round = 0; round <= 2 * low.length; round++) {
    const move = leastDistance(A, b);
    if (move === null) return null;
    const worst = move.reduce((most, value, k) => {
      const over = Math.max(low[k] - value, value - high[k]);
      return over > most.over ? {over, k, side: value < low[k] ? 1 : -1} : most;
    }, {over: 1e-9, k: -1, side: 0});
    if (worst.k < 0) return move.map((value, k) => Math.min(Math.max(value, low[k]), high[k]));
    A.push(move.map((_, k) => (k === worst.k ? worst.side : 0)));
    b.push(worst.side > 0 ? low[worst.k] : -high[worst.k]);
  }
  return null;
}

// The nearest row for a single model: {z, distance}, or null if no change of the free features is enough.
function nearestExact(model, now, free, sides) {
  const scores = model.scores(now.z), F = model.nFeatures;
  const [start, middle, end] = model.starts;
  // Piece `own` of the target class must exceed every piece of the other class.
  const target = now.class === 1 ? [start, middle, middle, end] : [middle, end, start, middle];
  const indices = [...free.keys()].filter((f) => free[f]);
  // The class changes where the difference of the maxima is the threshold, a little beyond which the row must be.
  const margin = 1e-9 * (1 + Math.abs(now.decision));
  const least = (now.class === 1 ? -1 : 1) * model.threshold / model.weights[0] + margin;
  let best = null;
  for (let own = target[0]; own < target[1]; own++) {
    const A = [], b = [];
    for (let other = target[2]; other < target[3]; other++) {
      A.push(indices.map((f) => model.slopes[own * F + f] - model.slopes[other * F + f]));
      b.push(scores[other] - scores[own] + least);
    }
    const [low, high] = [sides.low, sides.high].map((side) => indices.map((f) => side[f] - now.z[f]));
    const move = leastDistanceWithin(A, b, low, high);
    if (move === null) continue;
    const z = [...now.z];
    indices.forEach((f, k) => { z[f] += move[k]; });
    const distance = Math.hypot(...move);
    if ((best === null || distance < best.distance) && flipped(model, z, now)) best = {z, distance};
  }
  return best;
}

function flipped(model, z, now) {
  return model.decide(model.scores(z)).class !== now.class;
}

// A near row of another class: from several directions, repeated projection onto the boundary around
// the best row so far.
function nearestSearch(model, now, free, sides) {
  // With two classes the decision has to reach 0 from below or above; with more the lead of the class has to vanish.
  const sign = model.two && now.class === 0 ? 1 : -1;
  const usable = (vector) => vector.map((value, f) => (free[f] ? sign * value : 0));
  const directions = [usable(now.gradient)];
  for (let m = 0; m < model.weights.length && directions.length < 24; m++) {
    if (model.two) directions.push(usable([...model.slopesOf(m, now.active)]));
    else for (let k = 0; k < model.classes.length; k++) {
      if (k !== now.class) directions.push(usable([...model.slopesOf(m, now.active, now.class, k)]));
    }
  }
  free.forEach((may, f) => {
    if (may && directions.length < 80) for (const way of [1, -1]) directions.push(now.z.map((_, g) => (f === g ? way : 0)));
  });
  let best = null;
  for (const direction of directions) {
    let at = crossing(model, now, direction, sides);
    for (let round = 0; at !== null && round < 12; round++) {
      if (best === null || at.distance < best.distance) best = at;
      const {decision, gradient} = model.lead(model.decide(model.scores(at.z)), now.class);
      const normal = usable(gradient);
      const square = normal.reduce((sum, value) => sum + value * value, 0);
      if (square < 1e-20) break;
      // The nearest point of the boundary, if the model were affine everywhere as it is around `at`.
      const gap = normal.reduce((sum, value, f) => sum + value * (at.z[f] - now.z[f]), 0) - sign * decision;
      const next = crossing(model, now, normal.map((value) => (value * gap) / square), sides);
      if (next === null || next.distance > at.distance * (1 - 1e-6)) break;
      at = next;
    }
  }
  return best;
}

// The first change of class along a direction, to within a share of 1e-9; null if there is none in 20 deviations.
function crossing(model, now, direction, sides) {
  const length = Math.hypot(...direction);
  if (!(length > 1e-12)) return null;
  const unit = direction.map((value) => value / length);
  const at = (t) => now.z.map((value, f) => Math.min(Math.max(value + t * unit[f], sides.low[f]), sides.high[f]));
  let inside = 0, outside = 0.05;
  while (!flipped(model, at(outside), now)) {
    inside = outside;
    outside *= 1.3;
    if (outside > 20) return null;
  }
  while (outside - inside > 1e-9 * outside) {
    const half = (inside + outside) / 2;
    if (flipped(model, at(half), now)) outside = half; else inside = half;
  }
  return {z: at(outside), distance: Math.hypot(...at(outside).map((value, f) => value - now.z[f]))};
}

function isSingle(model) {
  return model.two && model.weights.length === 1 && model.nMaxima === 2 && (!model.clipped || Math.abs(model.threshold) < model.weights[0]);
}

// The most pairs of changed choices that are tried, and after how many searches an ensemble tries no further choice.
const MOST_PAIRS = 200, MOST_SEARCHES = 6;

// The nearest row when the columns of `free` may change: {cells, z, distance, proven}, or null. All rows with one other
// choice are tried, and those with two if they are few. More changes count more, so a near row proves that they are not
// needed: k of them have a distance of at least the root of k. `limits` has {low, high} of the number of each column.
function nearest(model, cells, free, limits = []) {
  const now = model.answer(cells), exact = isSingle(model);
  const side = (name, none) => model.scaled(cells.map((cell, c) => limits[c]?.[name] ?? cell)).map((value, f) => {
    const limit = limits[model.features[f].column]?.[name];
    return limit === undefined || limit === null ? none : value;
  });
  const sides = {low: side("low", -Infinity), high: side("high", Infinity)};
  const numbers = model.freeFeatures(free, cells), others = [];
  model.columns.forEach(({categories}, c) => {
    if (!free[c] || categories === null) return;
    others.push(categories.flatMap((text, code) => (text === null || code === cells[c] ? [] : [[c, code]])));
  });
  const singles = others.flat().map((change) => [change]), pairs = [];
  others.forEach((first, k) => others.slice(k + 1).forEach((second) => {
    for (const one of first) for (const two of second) if (pairs.length <= MOST_PAIRS) pairs.push([one, two]);
  }));
  const depth = pairs.length > MOST_PAIRS ? 1 : 2;
  const rows = [[], ...singles, ...(depth === 2 ? pairs : [])].map((changes) => {
    const row = [...cells];
    changes.forEach(([c, code]) => { row[c] = code; });
    const at = model.answer(row);
    return {row, count: changes.length, at, done: at.class !== now.class};
  });
  let best = null, searches = 0;
  const offer = (row, z, distance) => { if (best === null || distance < best.distance) best = {cells: row, z, distance}; };
  for (const {row, count, at, done} of rows) if (done) offer(row, at.z, Math.sqrt(count));
  // Rows that are nearly of another class come first: a search has time for few searches.
  const open = rows.filter(({done}) => !done).sort((a, b) => a.count - b.count || Math.abs(a.at.decision) - Math.abs(b.at.decision));
  for (const {row, count, at} of open) {
    if (!numbers.some(Boolean) || (best !== null && Math.sqrt(count) >= best.distance)) continue;
    if (!exact && searches++ >= MOST_SEARCHES) break;
    const found = exact ? nearestExact(model, at, numbers, sides) : nearestSearch(model, at, numbers, sides);
    if (found !== null) offer(model.cellsOf(found.z, row, numbers), found.z, Math.hypot(Math.sqrt(count), found.distance));
  }
  if (best === null) return null;
  const all = others.length <= depth;
  return {...best, proven: exact && (all || best.distance <= Math.sqrt(depth + 1))};
}

// The nearest row that changes at most so many columns: the best of all sets, of which few are tried for an ensemble.
const MOST_SETS = 300;
function nearestOfSets(model, cells, free, limits, most) {
  const levers = [...free.keys()].filter((c) => free[c]);
  const sets = most === 1 ? levers.map((c) => [c]) : levers.flatMap((c, k) => levers.slice(k + 1).map((d) => [c, d]));
  let best = null;
  for (const set of sets.slice(0, MOST_SETS)) {
    const found = nearest(model, cells, free.map((_, c) => set.includes(c)), limits);
    if (found !== null && (best === null || found.distance < best.distance)) best = {...found};
  }
  if (best !== null) best.proven = isSingle(model) && sets.length <= MOST_SETS;
  return best;
}

// The numbers of an answer on the grid of their column, away from the row; the answer itself if that does not flip.
function onGrid(model, cells, near) {
  const rounded = near.cells.map((cell, c) => {
    const {grid, range} = model.columns[c];
    if (!grid || cell === cells[c] || cells[c] === null) return cell;
    const steps = (cell - cells[c]) / grid, away = Math.sign(steps) * Math.ceil(Math.abs(steps) - 1e-9);
    return Math.min(Math.max(Number((cells[c] + away * grid).toPrecision(12)), range[0]), range[1]);
  });
  if (model.answer(rounded).class === model.answer(cells).class) return near;
  return {...near, cells: rounded, z: model.scaled(rounded)};
}
