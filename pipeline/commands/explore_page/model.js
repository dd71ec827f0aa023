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
    this.nFeatures = data.columns.length;
    this.nPieces = this.offsets.length;
    this.starts = [0];
    for (const size of data.sizes) this.starts.push(this.starts[this.starts.length - 1] + size);
  }

  // The features of a row: missing cells (null or NaN) filled, then scaled.
  features(cells) {
    return this.columns.map((column, f) => {
      const cell = cells[f] === null || Number.isNaN(cells[f]) ? column.fill : cells[f];
      return (cell - this.mean[f]) / this.scale[f] - this.center[f];
    });
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
    const gradient = this.gradient(active, taus);
    return {z, decision, active, taus, shares, bias, gradient, class: decision >= 0 ? 1 : 0,
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

  // The raw cells of a row with other scaled features; only those of `free` differ from `cells`.
  cellsOf(z, cells, free) {
    return cells.map((cell, f) => (free[f] ? (z[f] + this.center[f]) * this.scale[f] + this.mean[f] : cell));
  }
}
