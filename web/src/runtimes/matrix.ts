// What the test of a runtime measured, as a matrix of ranks.
export interface Pair {
  from: number; to: number; sameHost?: boolean; roundTrip?: { median: number }; bandwidthThere?: number;
  bandwidthBack?: number; error?: string;
}
export interface Between {
  pairs: number; roundTripMedian: number; roundTripWorst: number; bandwidthMedian: number; bandwidthSlowest: number;
}
export interface Probe {
  hosts: string[]; pairs: Pair[]; between?: Between; problems: string[]; certified?: string;
}

export const measures = ['Round trip', 'Bandwidth'] as const;
export type Measure = (typeof measures)[number];
export interface Cell { text: string; tip: string; slow: boolean }

const most = 128; // ranks of a probe
const units = { 'Round trip': 'µs', Bandwidth: 'Mbit/s' } as const;

// valuesOf returns what was measured from the first rank to the second, and back.
const valuesOf = (pair: Pair, measure: Measure): (number | undefined)[] => (measure === 'Bandwidth'
  ? [pair.bandwidthThere, pair.bandwidthBack] : [pair.roundTrip?.median, pair.roundTrip?.median]);

// matrixOf has a row for each rank. A pair on different hosts that is half as good as the median is slow.
export function matrixOf(probe: Probe, measure: Measure): Cell[][] {
  const ranks = Math.min(probe.hosts.length, most);
  const usual = measure === 'Bandwidth' ? probe.between?.bandwidthMedian : probe.between?.roundTripMedian;
  const cells = Array.from({ length: ranks }, () =>
    Array.from({ length: ranks }, (): Cell => ({ text: '', tip: '', slow: false })));
  for (const pair of probe.pairs) {
    const [there, back] = valuesOf(pair, measure);
    for (const [from, to, value] of [[pair.from, pair.to, there], [pair.to, pair.from, back]] as const) {
      const cell = from === to ? undefined : cells[from]?.[to];
      if (!cell) continue;
      cell.tip = `rank ${from} to ${to}${pair.sameHost ? ', on one host' : ''}${pair.error ? `: ${pair.error}` : ''}`;
      cell.text = value === undefined ? '×' : value < 100 ? value.toFixed(1) : value.toFixed(0);
      cell.slow = value === undefined || !pair.sameHost && usual !== undefined &&
        (measure === 'Bandwidth' ? value < usual / 2 : value > usual * 2);
    }
  }
  return cells;
}

// summaryOf puts the matrix into a sentence. Pairs on one host measure no network.
export function summaryOf({ between: b }: Probe, measure: Measure): string {
  if (!b) return 'No pair of ranks on different hosts was measured.';
  const [usual, worst] = measure === 'Bandwidth' ? [b.bandwidthMedian, b.bandwidthSlowest]
    : [b.roundTripMedian, b.roundTripWorst];
  return `${measure} of ${b.pairs} pairs between hosts in ${units[measure]}: median ${usual.toFixed(1)}, ` +
    `worst ${worst.toFixed(1)}.`;
}
