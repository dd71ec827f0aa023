"use strict";
// The model: from the raw cells of a row to the decision, its probability and its shares. No page is needed.

function readNumbers(text, bits) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return bits === 64 ? new Float64Array(bytes.buffer) : Float64Array.from(new Float32Array(bytes.buffer));
}

class Model {
  // `data` is what `pipeline/commands/explore.py` writes. Pieces are listed member by member: dilation, then erosion.
  constructor(data) {
    Object.assign(this, data);
    for (const name of ["slopes", "offsets", "ownOffsets", "shifts"]) this[name] = readNumbers(data[name], data.bits);
    this.nFeatures = data.mean.length;
    this.nPieces = this.offsets.length;
    this.starts = [0];
    for (const size of data.sizes) this.starts.push(this.starts[this.starts.length - 1] + size);
  }

  // The features of a row in raw units: missing cells (null or NaN) filled.
  rawFeatures(cells) {
    return this.recipe.map(([c, kind, code], f) => {
      const missing = cells[c] === null || Number.isNaN(cells[c]);
      if (kind === "missing") return missing ? 1 : 0;
      if (missing) return this.fill[f];
      const value = this.columns[c].categories === null ? cells[c] : this.columns[c].values[cells[c]];
      if (kind === "equals") return value === code ? 1 : 0;
      return kind === "value" ? value : partOfDate(value, kind);
    });
  }

  features(cells) {
    return this.rawFeatures(cells).map((value, f) => (value - this.mean[f]) / this.scale[f] - this.center[f]);
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

  // The value of the decision and the active pieces, from the scores of all pieces.
  decide(scores) {
    const active = [], taus = [];
    let decision = -this.threshold;
    for (let m = 0; m < this.weights.length; m++) {
      for (let side = 0; side < 2; side++) {
        let best = this.starts[2 * m + side];
        for (let p = best + 1; p < this.starts[2 * m + side + 1]; p++) if (scores[p] > scores[best]) best = p;
        active.push(best);
      }
      const tau = scores[active[2 * m]] - scores[active[2 * m + 1]];
      taus.push(tau);
      decision += this.weights[m] * (this.clipped ? Math.min(1, Math.max(-1, tau)) : tau);
    }
    return {decision, active, taus};
  }

  probability(decision) {
    if (this.link === null) return null;
    const {kind, slope, intercept, openVotes} = this.link, value = decision + this.threshold;
    const score = {identity: decision, asinh: Math.asinh(value), log_odds: 2 * Math.atanh((1 - openVotes) * value)}[kind];
    return 1 / (1 + Math.exp(-(slope * score + intercept)));
  }

  // All that the page shows of a row. `gradient` is that of the decision with respect to the scaled features.
  answer(cells) {
    const z = this.features(cells);
    const {decision, active, taus} = this.decide(this.scores(z));
    const shares = new Array(this.nFeatures).fill(0);
    let bias = -this.threshold;
    for (let m = 0; m < this.weights.length; m++) {
      const i = active[2 * m], j = active[2 * m + 1];
      const factor = this.weights[m] / (this.clipped ? Math.max(1, Math.abs(taus[m])) : 1);
      for (let f = 0; f < this.nFeatures; f++) {
        const slope = this.slopes[i * this.nFeatures + f] - this.slopes[j * this.nFeatures + f];
        shares[f] += slope * (z[f] + this.shifts[m * this.nFeatures + f]) * factor;
      }
      bias += (this.ownOffsets[i] - this.ownOffsets[j]) * factor;
    }
    const gradient = this.gradient(active, taus), ofColumns = new Array(this.columns.length).fill(0);
    shares.forEach((share, f) => { ofColumns[this.recipe[f][0]] += share; });
    return {z, decision, active, taus, shares: ofColumns, bias, gradient, class: decision >= 0 ? 1 : 0,
      probability: this.probability(decision)};
  }

  gradient(active, taus) {
    const gradient = new Array(this.nFeatures).fill(0);
    for (let m = 0; m < this.weights.length; m++) {
      if (this.clipped && Math.abs(taus[m]) > 1) continue;  // the vote does not change around this row
      for (let f = 0; f < this.nFeatures; f++) {
        const i = active[2 * m] * this.nFeatures + f, j = active[2 * m + 1] * this.nFeatures + f;
        gradient[f] += this.weights[m] * (this.slopes[i] - this.slopes[j]);
      }
    }
    return gradient;
  }

  // Which features may change if some columns may: those of numbers, unless a gap is marked.
  freeFeatures(free, cells) {
    const marked = (c) => this.recipe.some(([column, kind]) => column === c && kind === "missing") && cells[c] === null;
    return this.recipe.map(([c, kind]) => free[c] && this.columns[c].kind === "numeric" && kind === "value" && !marked(c));
  }

  // The raw cells of a row with other scaled features; only those of `free` features differ from `cells`.
  cellsOf(z, cells, free) {
    const changed = [...cells];
    free.forEach((may, f) => { if (may) changed[this.recipe[f][0]] = (z[f] + this.center[f]) * this.scale[f] + this.mean[f]; });
    return changed;
  }
}

// A part of a date, which is a number of seconds since the beginning of 2000; pipeline/encoding/dates.py has the same.
function partOfDate(moment, part) {
  const days = Math.floor(moment / 86400), date = new Date((days + 10957) * 86400000);
  return {year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, weekday: (date.getUTCDay() + 6) % 7, days,
    hour: (moment - days * 86400) / 3600}[part];
}
