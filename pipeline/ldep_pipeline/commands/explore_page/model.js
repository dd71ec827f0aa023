"use strict";
// The program of a model: from the raw cells of a row to the decision, its probability and its shares. No page is needed.

function readNumbers(text, bits) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return bits === 64 ? new Float64Array(bytes.buffer) : Float64Array.from(new Float32Array(bytes.buffer));
}

class Model {
  // `program` is that of `ldep.export`, as `pipeline/ldep_pipeline/commands/explore.py` writes it.
  constructor(program) {
    Object.assign(this, program, {program});
    for (const name of ["slopes", "offsets", "own_offsets", "shifts"]) this[name] = readNumbers(program[name], program.bits);
    this.nFeatures = program.features.length;
    this.nPieces = this.offsets.length;
    this.two = program.classes.length === 2;
    if (this.two) [this.signs] = program.signs;
    if (this.two) [this.threshold] = program.thresholds;
    this.clipped = program.vote === "clip";
    this.shared = program.vote === "sparsemax";
    this.nMaxima = program.signs[0].length;
    this.open = program.factors === null ? 0 : program.openVotes;
    this.factors = program.factors ?? program.classes.map(() => 1);
    this.starts = [0];
    for (const size of program.sizes.flat()) this.starts.push(this.starts.at(-1) + size);
  }

  // The features of a row in raw units: missing cells (null or NaN) filled.
  rawFeatures(cells) {
    return this.features.map(({column, step, equals, fill}) => {
      const missing = cells[column] === null || Number.isNaN(cells[column]);
      if (step === "missing") return missing ? 1 : 0;
      if (missing) return fill;
      const {read, numbers} = this.columns[column], value = read === "category" ? numbers[cells[column]] : cells[column];
      if (step === "equals") return value === equals ? 1 : 0;
      return step === "value" ? value : partOfDate(value, step);
    });
  }

  scaled(cells) {
    return this.rawFeatures(cells).map((value, f) => (value - this.features[f].mean) / this.features[f].scale - this.center[f]);
  }

  scores(z) {
    const scores = new Float64Array(this.nPieces);
    for (let p = 0; p < this.nPieces; p++) {
      let sum = 0;
      for (let f = 0, at = p * this.nFeatures; f < this.nFeatures; f++) sum += this.slopes[at + f] * z[f];
      scores[p] = sum + this.offsets[p];
    }
    return scores;
  }

  // The active piece of each maximum, member after member.
  activePieces(scores) {
    const active = [];
    for (let g = 0; g + 1 < this.starts.length; g++) {
      let best = this.starts[g];
      for (let p = best + 1; p < this.starts[g + 1]; p++) if (scores[p] > scores[best]) best = p;
      active.push(best);
    }
    return active;
  }

  // The decision, the class, and the active piece of each maximum, from the scores of all pieces. With more than two
  // classes the decision is the lead of the class over the second best one, its rival.
  decide(scores) {
    const active = this.activePieces(scores);
    return this.two ? this.decideTwo(scores, active) : this.decideMore(scores, active);
  }

  decideTwo(scores, active) {
    const taus = [];
    let decision = -this.threshold;
    for (let m = 0; m < this.weights.length; m++) {
      let tau = 0;
      for (let g = 0; g < this.nMaxima; g++) tau += this.signs[g] * scores[active[m * this.nMaxima + g]];
      taus.push(tau);
      decision += this.weights[m] * (this.clipped ? Math.min(1, Math.max(-1, tau)) : tau);
    }
    return {decision, active, taus, class: decision >= 0 ? 1 : 0};
  }

  decideMore(scores, active) {
    const {nMaxima, weights, factors, open} = this, count = this.classes.length;
    const members = weights.map((_, m) => this.classes.map((_, k) => {
      let score = 0;
      for (let g = 0; g < nMaxima; g++) score += this.counts(k, g) * scores[active[m * nMaxima + g]];
      return score;
    }));
    const votes = members.map((member) => (this.shared ? sparsemax(member) : member));
    const opened = this.classes.map((_, k) =>
      (1 - open) * weights.reduce((sum, weight, m) => sum + weight * votes[m][k], 0) + open / count);
    const values = opened.map((value, k) => factors[k] * value - this.thresholds[k]);
    const best = largest(values, -1), rival = largest(values, best);
    return {decision: values[best] - values[rival], active, members, votes, opened, values, class: best, rival};
  }

  // What a maximum counts in the score of a class.
  counts(k, g) { return this.program.signs[k][g]; }

  // How much the lead of one class over another, in votes, is smaller than that in scores.
  kept(decided, m, label, rival) {
    const lead = decided.members[m][label] - decided.members[m][rival];
    const won = decided.votes[m][label] - decided.votes[m][rival];
    return lead === 0 ? 1 : Math.min(1, Math.max(0, won / lead));
  }

  // The lead of a class over the best other one, and its gradient; with two classes the decision and its gradient.
  lead(decided, label) {
    if (this.two) return {decision: decided.decision, gradient: this.gradient(decided.active, decided.taus)};
    const rival = largest(decided.values, label), gradient = new Array(this.nFeatures).fill(0);
    this.weights.forEach((weight, m) => {
      const used = this.votesOf(decided, m, label, rival);
      for (let g = 0; g < this.nMaxima; g++) {
        const count = weight * used.reduce((sum, part, k) => sum + part * this.counts(k, g), 0);
        const at = decided.active[m * this.nMaxima + g] * this.nFeatures;
        if (count !== 0) for (let f = 0; f < this.nFeatures; f++) gradient[f] += count * this.slopes[at + f];
      }
    });
    return {decision: decided.values[label] - decided.values[rival], gradient};
  }

  // How the difference of two decision values changes with the scores of a member.
  votesOf(decided, m, label, rival) {
    const scale = (k) => (k === label ? 1 : -1) * this.factors[k] * (1 - this.open);
    if (!this.shared) return this.classes.map((_, k) => (k === label || k === rival ? scale(k) : 0));
    const sharing = decided.votes[m].map((vote) => vote > 0), size = sharing.filter(Boolean).length;
    return this.classes.map((_, k) => [label, rival].reduce((sum, c) =>
      sum + (sharing[c] && sharing[k] ? scale(c) * ((c === k ? 1 : 0) - 1 / size) : 0), 0));
  }

  probability(decision) {
    if (this.link === null) return null;
    const {kind, slope, intercepts, shift} = this.link, value = decision + shift[0];
    const score = {identity: value, asinh: Math.asinh(value), log_odds: 2 * Math.atanh((1 - this.openVotes) * value)}[kind];
    return 1 / (1 + Math.exp(-(slope * score + intercepts[0])));
  }

  // The probabilities of more than two classes.
  probabilities(values) {
    if (this.link === null) return null;
    const {kind, slope, intercepts, shift} = this.link, moved = values.map((value, k) => value + shift[k]);
    const argument = {
      leads: (k) => Math.asinh(moved[k] - moved[largest(moved, k)]),
      log_shares: (k) => Math.log(moved[k] / this.factors[k]),
    }[kind] ?? ((k) => moved[k]);
    const scores = moved.map((_, k) => slope * argument(k) + intercepts[k]), top = Math.max(...scores);
    const sizes = scores.map((score) => Math.exp(score - top)), total = sizes.reduce((sum, size) => sum + size, 0);
    return sizes.map((size) => size / total);
  }

  // All that the page shows of a row. `gradient` is that of the decision with respect to the scaled features.
  answer(cells) {
    const z = this.scaled(cells), decided = this.decide(this.scores(z));
    const {gradient} = this.lead(decided, decided.class);
    return {z, ...decided, gradient, ...(this.two ? this.sharesOfTwo(z, decided) : this.sharesOfMore(z, decided))};
  }

  sharesOfTwo(z, {decision, active, taus}) {
    const shares = new Array(this.columns.length).fill(0), {nMaxima} = this;
    let bias = -this.threshold;
    for (let m = 0; m < this.weights.length; m++) {
      const slopes = this.slopesOf(m, active), factor = this.weights[m] / (this.clipped ? Math.max(1, Math.abs(taus[m])) : 1);
      this.features.forEach(({column}, f) => {
        shares[column] += slopes[f] * (z[f] + this.shifts[m * this.nFeatures + f]) * factor;
      });
      for (let g = 0; g < nMaxima; g++) bias += this.signs[g] * this.own_offsets[active[m * nMaxima + g]] * factor;
    }
    return {shares, bias, probability: this.probability(decision)};
  }

  // Shares in the lead of the class over its rival.
  sharesOfMore(z, decided) {
    const shares = new Array(this.columns.length).fill(0), {nMaxima, factors} = this, {class: label, rival, opened} = decided;
    const slope = ((factors[label] + factors[rival]) / 2) * (1 - this.open);
    let bias = this.shared ? ((factors[label] - factors[rival]) / 2) * (opened[label] + opened[rival]) : 0;
    bias -= this.thresholds[label] - this.thresholds[rival];
    this.weights.forEach((weight, m) => {
      const part = slope * weight * this.kept(decided, m, label, rival);
      for (let g = 0; g < nMaxima; g++) {
        const count = part * (this.counts(label, g) - this.counts(rival, g)), p = decided.active[m * nMaxima + g];
        if (count === 0) continue;
        this.features.forEach(({column}, f) => {
          shares[column] += count * this.slopes[p * this.nFeatures + f] * (z[f] + this.shifts[m * this.nFeatures + f]);
        });
        bias += count * this.own_offsets[p];
      }
    });
    const probabilities = this.probabilities(decided.values);
    return {shares, bias, probabilities, probability: probabilities === null ? null : probabilities[label]};
  }

  // The slopes of the tau of a member, or of the lead of one class over another in its scores.
  slopesOf(m, active, label, rival) {
    const slopes = new Float64Array(this.nFeatures), {nMaxima} = this;
    for (let g = 0; g < nMaxima; g++) {
      const at = active[m * nMaxima + g] * this.nFeatures;
      const count = this.two ? this.signs[g] : this.counts(label, g) - this.counts(rival, g);
      for (let f = 0; f < this.nFeatures; f++) slopes[f] += count * this.slopes[at + f];
    }
    return slopes;
  }

  gradient(active, taus) {
    const gradient = new Array(this.nFeatures).fill(0);
    this.weights.forEach((weight, m) => {
      if (this.clipped && Math.abs(taus[m]) > 1) return;  // the vote does not change around this row
      this.slopesOf(m, active).forEach((slope, f) => { gradient[f] += weight * slope; });
    });
    return gradient;
  }

  // The first feature of a column.
  firstFeature(c) {
    return this.features.findIndex(({column}) => column === c);
  }

  // Which features may change if some columns may: those of numbers, unless a gap is marked.
  freeFeatures(free, cells) {
    const marked = (c) => this.features.some(({column, step}) => column === c && step === "missing") && cells[c] === null;
    return this.features.map(({column, step}) =>
      free[column] && this.columns[column].read === "number" && step === "value" && !marked(column));
  }

  // The raw cells of a row with other scaled features; only those of `free` features differ from `cells`.
  cellsOf(z, cells, free) {
    const changed = [...cells];
    this.features.forEach(({column, mean, scale}, f) => { if (free[f]) changed[column] = (z[f] + this.center[f]) * scale + mean; });
    return changed;
  }
}

// The place of the largest value but the one at `without`; of equal ones the first.
function largest(values, without) {
  return values.reduce((best, value, k) => (k !== without && (best < 0 || value > values[best]) ? k : best), -1);
}

// The nearest point of the simplex: what a member's vote gives to each class.
function sparsemax(scores) {
  const sorted = scores.map((score) => score - Math.max(...scores)).sort((a, b) => b - a);
  let sum = 0, limit = 0;
  sorted.forEach((score, k) => {
    sum += score;
    if (score * (k + 1) > sum - 1) limit = (sum - 1) / (k + 1);
  });
  const top = Math.max(...scores);
  return scores.map((score) => Math.max(0, score - top - limit));
}

// A part of a date, which is a number of seconds since the beginning of 2000.
function partOfDate(moment, part) {
  const days = Math.floor(moment / 86400), date = new Date((days + 10957) * 86400000);
  return {year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, weekday: (date.getUTCDay() + 6) % 7, days,
    hour: (moment - days * 86400) / 3600}[part];
}
