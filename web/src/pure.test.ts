import { expect, test } from 'vitest';
import type { Job } from './api/types';
import { LogStore, maxLines, patternOf, pieces } from './job/logStore';
import { timelineOf } from './job/timeline';
import { apply, readView, writeView } from './jobs/filter';
import { shown, since, span, visible } from './words/format';

const job = (change: Partial<Job>): Job => ({
  name: 'a', namespace: 'team', uid: '1', runtime: { kind: 'ClusterTrainingRuntime', name: 'r', mpi: true },
  phase: 'Running', times: { created: '2026-01-01T00:00:00Z' }, ...change,
});

test('hostile characters are visible', () => {
  expect(visible('a\x00b\x1b]8;;x\x07\u202eexe')).toBe('a␀b␛]8;;x␇⟨U+202E⟩exe');
  expect(visible('\x1b[1;31mred\x1b[0m')).toBe('red');
  expect(shown('x'.repeat(10_000_000)).length).toBeLessThan(2_200);
});

test('times without sense are unknown', () => {
  expect(span(125)).toBe('2m 5s');
  expect(span(90_000)).toBe('1d 1h');
  expect(since('not a date', undefined, 0)).toBe('–');
  expect(since('0001-01-01T00:00:00Z', undefined, 0)).toBe('–');
});

test('a view survives its URL', () => {
  const view = readView(new URLSearchParams('ns=a&state=Failed&state=Queued&owner=&q=x&sort=name&down=1'));
  expect(readView(writeView(view))).toEqual(view);
  expect(readView(new URLSearchParams('sort=constructor')).sort).toBe('age');
});

test('jobs are filtered and sorted', () => {
  const jobs = [job({ uid: '1', name: 'b', phase: 'Failed' }), job({ uid: '2', name: 'a', user: 'jane' })];
  const names = (query: string) => apply(jobs, readView(new URLSearchParams(query)), 0).map((j) => j.name);
  expect(names('sort=name')).toEqual(['a', 'b']);
  expect(names('state=Failed')).toEqual(['b']);
  expect(names('owner=jane')).toEqual(['a']);
  expect(names('q=fail')).toEqual(['b']);
  const noon = Date.parse('2026-01-01T12:00:00Z');
  const recent = (query: string) => apply(jobs, readView(new URLSearchParams(query)), noon).length;
  expect([recent('created=1h'), recent('created=24h'), recent('created=constructor')]).toEqual([0, 2, 2]);
});

test('a timeline has the seconds of each part', () => {
  const at = (s: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, s)).toISOString();
  const parts = timelineOf(job({ phase: 'Complete', times: { created: at(0), started: at(5), ended: at(35) } }), 0);
  expect(parts.map((p) => [p.name, (p.to - p.from) / 1000])).toEqual([['Waiting', 5], ['Running', 30]]);
});

test('a log is bounded and searched', async () => {
  const store = new LogStore(() => undefined);
  store.find(patternOf('needle 1999').pattern);
  for (let i = 0; i < 21; i++) {
    store.add(Array.from({ length: 10_000 }, (_, k) => ({ pod: 'p', text: `needle ${i * 10_000 + k}` })));
  }
  await new Promise((done) => setTimeout(done, 400));
  expect(store.lines.length).toBeLessThanOrEqual(maxLines);
  // 199900 to 199999; 1999 and 19990 to 19999 are no longer kept.
  expect(store.hits.length).toBe(100);
  expect(store.lines[(store.hits[0] ?? 0) - store.dropped]?.text).toMatch(/needle 1999/);
  store.close();
  expect(patternOf('(').wrong).toBeTruthy();
  expect(pieces('a needle b', /needle/)).toEqual(['a ', 'needle', ' b']);
});
