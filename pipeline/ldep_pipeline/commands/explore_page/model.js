"use strict";
// The program of a model: from the raw cells of a row to the decision, its probability and its shares. No page is needed.

function readNumbers(text, bits) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return bits === 64 ? new Float64Array(bytes.buffer) : Float64Array.from(new Float32Array(bytes.buffer));
}

class Model {
  // `program` is that of `ldep.export` for two classes, as `pipeline/ldep_pipeline/commands/explore.py` writes it.
  constructor(program) {
    Object.assign(this, program);
    for (const name of ["slopes", "offsets", "own_offsets", "shifts"]) this[name] = readNumbers(program[name], program.bits);
    this.nFeatures = program.features.length;
    this.nPieces = this.offsets.length;
    [this.signs] = program.signs;
    [this.threshold] = program.thresholds;
    this.clipped = program.vote === "clip";
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

  // The value of the decision and the active piece of each maximum, from the scores of all pieces.
  decide(scores) {
    const active = [], taus = [], nMaxima = this.signs.length;
    let decision = -this.threshold;
    for (let m = 0; m < this.weights.length; m++) {
      let tau = 0;
      for (let g = 0; g < nMaxima; g++) {
        let best = this.starts[m * nMaxima + g];
        for (let p = best + 1; p < this.starts[m * nMaxima + g + 1]; p++) if (scores[p] > scores[best]) best = p;
        active.push(best);
        tau += this.signs[g] * scores[best];
      }
      taus.push(tau);
      decision += this.weights[m] * (this.clipped ? Math.min(1, Math.max(-1, tau)) : tau);
    }
    return {decision, active, taus};
  }

  probability(decision) {
    if (this.link === null) return null;
    const {kind, slope, intercepts, shift} = this.link, value = decision + shift[0];
    const score = {identity: value, asinh: Math.asinh(value), log_odds: 2 * Math.atanh((1 - this.openVotes) * value)}[kind];
    return 1 / (1 + Math.exp(-(slope * score + intercepts[0])));
  }

  // All that the page shows of a row. `gradient` is that of the decision with respect to the scaled features.
  answer(cells) {
    const z = this.scaled(cells), {decision, active, taus} = this.decide(this.scores(z));
    const shares = new Array(this.columns.length).fill(0), nMaxima = this.signs.length;
    let bias = -this.threshold;
    for (let m = 0; m < this.weights.length; m++) {
      const slopes = this.slopesOf(m, active), factor = this.weights[m] / (this.clipped ? Math.max(1, Math.abs(taus[m])) : 1);
      this.features.forEach(({column}, f) => {
        shares[column] += slopes[f] * (z[f] + this.shifts[m * this.nFeatures + f]) * factor;
      });
      for (let g = 0; g < nMaxima; g++) bias += this.signs[g] * this.own_offsets[active[m * nMaxima + g]] * factor;
    }
    return {z, decision, active, taus, shares, bias, gradient: this.gradient(active, taus), class: decision >= 0 ? 1 : 0,
      probability: this.probability(decision)};
  }

  // The slopes of the tau of a member.
  slopesOf(m, active) {
    const slopes = new Float64Array(this.nFeatures), nMaxima = this.signs.length;
    for (let g = 0; g < nMaxima; g++) {
      const at = active[m * nMaxima + g] * this.nFeatures;
      for (let f = 0; f < this.nFeatures; f++) slopes[f] += this.signs[g] * this.slopes[at + f];
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

// A part of a date, which is a number of seconds since the beginning of 2000.
function partOfDate(moment, part) {
  const days = Math.floor(moment / 86400), date = new Date((days + 10957) * 86400000);
  return {year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, weekday: (date.getUTCDay() + 6) % 7, days,
    hour: (moment - days * 86400) / 3600}[part];
}
