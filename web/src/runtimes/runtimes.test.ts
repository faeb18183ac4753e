import { expect, test } from 'vitest';
import { matrixOf, summaryOf, type Probe } from './matrix';
import { commandsOf, emptyRuntime, problemsOf, specOf, type RuntimeForm } from './spec';

const probe: Probe = {
  hosts: ['a', 'a', 'b'], problems: [],
  between: { pairs: 2, roundTripMedian: 66.5, roundTripWorst: 200, bandwidthMedian: 5600, bandwidthSlowest: 900 },
  pairs: [
    { from: 0, to: 1, sameHost: true, roundTrip: { median: 9 }, bandwidthThere: 90_000, bandwidthBack: 1 },
    { from: 0, to: 2, roundTrip: { median: 66.54 }, bandwidthThere: 5600, bandwidthBack: 5500.4 },
    { from: 1, to: 2, roundTrip: { median: 200 }, bandwidthThere: 5800, bandwidthBack: 900 },
    { from: 7, to: 2, roundTrip: { median: 1 } }, { from: -1, to: 0 },
  ],
};

test('a matrix marks the pairs that are slow between hosts', () => {
  const text = (measure: 'Round trip' | 'Bandwidth') =>
    matrixOf(probe, measure).map((row) => row.map((c) => (c.slow ? `${c.text}!` : c.text)).join(' '));
  expect(text('Round trip')).toEqual([' 9.0 66.5', '9.0  200!', '66.5 200! ']);
  expect(text('Bandwidth')).toEqual([' 90000 5600', '1.0  5800', '5500 900! ']);
  expect(summaryOf(probe, 'Bandwidth'))
    .toBe('Bandwidth of 2 pairs between hosts in Mbit/s: median 5600.0, worst 900.0.');
});

test('a pair that was not measured is marked, and a probe without pairs is no fault', () => {
  const failed: Probe = { hosts: ['a', 'b'], problems: [], pairs: [{ from: 0, to: 1, error: 'refused' }] };
  expect(matrixOf(failed, 'Bandwidth')[0]?.[1]).toEqual({ text: '×', tip: 'rank 0 to 1: refused', slow: true });
  expect(matrixOf({ hosts: [], pairs: [], problems: [] }, 'Bandwidth')).toEqual([]);
  expect(summaryOf(failed, 'Round trip')).toContain('No pair');
});

const forms: RuntimeForm[] = [
  { ...emptyRuntime, name: 'of-page', version: '5.0', image: 'registry.example.com/mpi:5', profile: 'cpu-ethernet' },
  {
    name: 'whole', description: "  It's 7: \"quoted\" # no comment, - and ünïcode", framework: 'Horovod',
    documentation: 'https://docs.example.com/a/b.html', implementation: 'MPICH', version: '4.2.1',
    image: `registry.example.com/mpich@sha256:${'a'.repeat(64)}`, profile: 'cpu-ethernet', least: '2', most: '16',
    usual: '4', slots: '2', cpu: '500m', memory: '1Gi', launcherRunsRanks: true,
  },
  { ...emptyRuntime, name: 'bare', description: 'yes', version: '4', image: 'a:1', profile: 'cpu-ethernet', cpu: '1' },
];

// Tests of Go hold the same file against `runtime-compiler fmt` and `check`, and run the commands.
test('a runtime becomes the file that the compiler writes', async () => {
  expect(forms.map(problemsOf)).toEqual([{}, {}, {}]);
  const text = forms.map(specOf).join('---\n');
  await expect(text).toMatchFileSnapshot('./specs.yaml');
  await expect(`${commandsOf(forms[0] ?? emptyRuntime)}\n`).toMatchFileSnapshot('./commands.sh');
});

test('mistakes are named', () => {
  const wrong = problemsOf({ ...emptyRuntime, name: '../x', documentation: 'javascript:alert(1)', version: 'five',
    image: 'a b', profile: 'P', least: '9', most: '3', usual: '0', slots: 'all', cpu: 'x', memory: '-1' });
  expect(Object.keys(wrong).sort()).toEqual(['cpu', 'documentation', 'image', 'memory', 'most', 'name', 'profile',
    'slots', 'usual', 'version']);
});
