import type { Job } from '../api/types';
import { at } from '../words/format';

// View is what the URL of the list holds. `namespace` is asked of the server, the rest is done here.
export interface View {
  namespace: string; state: string[]; framework: string[]; owner: string[]; text: string; created: string;
  sort: SortKey; down: boolean;
}

// ages are the choices of `created`, in hours.
export const ages = new Map([['1h', 1], ['24h', 24], ['7d', 168], ['30d', 720]]);
export const sortKeys = ['name', 'state', 'progress', 'ready', 'slots', 'runtime', 'queue', 'owner', 'namespace',
  'duration', 'age'] as const;
export type SortKey = (typeof sortKeys)[number];

export function readView(query: URLSearchParams): View {
  const sort = (query.get('sort') ?? 'age') as SortKey;
  const created = query.get('created') ?? '';
  return {
    namespace: query.get('ns') ?? '', text: query.get('q') ?? '', created: ages.has(created) ? created : '',
    sort: sortKeys.includes(sort) ? sort : 'age',
    down: query.get('down') === '1',
    state: query.getAll('state'), framework: query.getAll('framework'), owner: query.getAll('owner'),
  };
}

export function writeView(view: View): URLSearchParams {
  const query = new URLSearchParams();
  if (view.namespace) query.set('ns', view.namespace);
  if (view.text) query.set('q', view.text);
  if (view.created) query.set('created', view.created);
  for (const key of ['state', 'framework', 'owner'] as const) for (const v of view[key]) query.append(key, v);
  if (view.sort !== 'age') query.set('sort', view.sort);
  if (view.down) query.set('down', '1');
  return query;
}

export const ownerOf = (job: Job) => job.user ?? '';
export const frameworkOf = (job: Job) => job.framework ?? (job.runtime?.mpi ? 'MPI' : job.runtime?.framework ?? '');

const holds = (chosen: string[], value: string) => chosen.length === 0 || chosen.includes(value);

export function duration(job: Job, now: number): number {
  const began = at(job.times?.started);
  return began === undefined ? -1 : (at(job.times.ended) ?? now) - began;
}

const keys: Record<SortKey, (job: Job, now: number) => string | number> = {
  name: (j) => j.name, state: (j) => j.phase, progress: (j) => j.progress?.percent ?? -1,
  ready: (j) => (j.pods ? j.pods.ready / Math.max(1, j.pods.want) : -1), slots: (j) => j.world?.slots ?? -1,
  runtime: (j) => j.runtime?.name ?? '', queue: (j) => `${j.queue?.name ?? '~'}${1e6 + (j.queue?.position ?? 0)}`,
  owner: ownerOf, namespace: (j) => j.namespace, duration, age: (j, now) => now - (at(j.times?.created) ?? 0),
};

// apply filters and sorts. Equal jobs are in the order of their names, so that rows never jump.
export function apply(jobs: Iterable<Job>, view: View, now: number): Job[] {
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  const key = keys[view.sort];
  const hours = ages.get(view.created) ?? Infinity;
  const kept = [...jobs].filter((j) => {
    if (now - (at(j.times?.created) ?? 0) > hours * 3_600_000) return false;
    if (!holds(view.state, j.phase) || !holds(view.framework, frameworkOf(j)) || !holds(view.owner, ownerOf(j))) {
      return false;
    }
    const text = [j.name, j.namespace, j.runtime?.name, ownerOf(j), j.phase, j.cause?.reason, j.queue?.name]
      .join(' ').toLowerCase();
    return words.every((w) => text.includes(w));
  }).map((j) => ({ j, k: key(j, now) }));
  const sign = view.down ? -1 : 1;
  kept.sort((a, b) => (a.k < b.k ? -sign : a.k > b.k ? sign : a.j.name < b.j.name ? -1 : a.j.name > b.j.name ? 1
    : a.j.namespace < b.j.namespace ? -1 : 1));
  return kept.map((x) => x.j);
}
