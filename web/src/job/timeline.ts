import type { Job } from '../api/types';
import { at } from '../words/format';
import { isFinal } from '../words/phases';

// Stretch is a part of a job's life, in milliseconds since 1970. `open` ones still last.
export interface Stretch { name: string; from: number; to: number; open: boolean; tone: string }

// timelineOf cuts the life of a job at the times that its conditions and its record hold.
export function timelineOf(job: Job, now: number): Stretch[] {
  const created = at(job.times?.created);
  if (created === undefined) return [];
  const when = (type: string) =>
    at(job.conditions?.find((c) => c.type === type && c.status === 'True')?.lastTransitionTime);
  const started = at(job.times.started);
  const ended = at(job.times.ended);
  const marks: [number | undefined, string, string][] = [
    [created, 'Waiting', 'wait'], [when('Created'), 'Pods start', 'start'],
    [when('PodsReady'), 'Nodes connect', 'connect'], [started, 'Running', 'run'],
  ];
  // Marks of an earlier attempt lie out of order, and are left out.
  let last = 0;
  const known = marks.filter((m): m is [number, string, string] => {
    const keep = m[0] !== undefined && m[0] >= last && (ended === undefined || m[0] <= ended);
    if (keep) last = m[0] ?? last;
    return keep;
  });
  const waits = !isFinal(job.phase) && job.phase !== 'Running' && started !== undefined;
  const result = known.map(([from, name, tone], i): Stretch => {
    const next = known[i + 1]?.[0];
    return { name, from, to: next ?? ended ?? now, open: next === undefined && ended === undefined, tone };
  });
  const open = result.at(-1);
  const since = at(job.since);
  if (open?.open && waits && since !== undefined && since >= open.from) {
    open.to = since;
    open.open = false;
    result.push({ name: job.phase, from: since, to: now, open: true, tone: 'wait' });
  } else if (open?.open && job.phase !== 'Running') {
    open.name = job.phase;
  }
  return result;
}
