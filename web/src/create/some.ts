// Jobs and forms at random, for tests: odd texts, comments, and fields that the form does not know.
import type { Form, Json, Tree, Variable } from './form';

export type Random = { int: (below: number) => number; pick: <T>(from: readonly T[]) => T; maybe: () => boolean };

// random is the same for the same seed (mulberry32).
export function random(seed: number): Random {
  const next = () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (below: number) => Math.floor(next() * below);
  return { int, pick: (from) => from[int(from.length)] as never, maybe: () => next() < 0.5 };
}

export const odd = ['mpirun', 'a b', "it's", 'say "hi"', '$HOME', '`id`', '', 'é', '# none', 'true', 'yes', 'on',
  '0x10',
  '1e3', '010', '1_000', '12:30:45', '2026-01-01', '.5', '~', 'null', '- a: b', 'a: b', '{', '*x', '&x', '!!str',
    '%', '@',
  '|', '>', "'", 'line\nline', ' lead', 'trail ', '\ttab', 'end\n', '--', 'tab\there', '=', 'y', 'No', '🚀', '0', '-1'];

export function someForm(r: Random): Form {
  const several = <T>(most: number, make: (i: number) => T) => Array.from({ length: r.int(most + 1) }, (_,
    i) => make(i));
  const command = ['mpirun', ...several(6, () => r.pick(odd))];
  const env = several(4, (i): Variable => (r.maybe() ? { name: `V_${i}`, value: r.pick(odd) }
    : { name: `S_${i}`, secret: `secret-${i}`, key: 'token' }));
  return {
    name: r.pick(['a', 'train', 'train-2', 'x9', 'on', 'null']), runtime: r.pick(['openmpi5-cpu', 'mpich-cpu']),
    kind: 'ClusterTrainingRuntime', nodes: r.pick([undefined, 1, 2, 3]), slots: r.pick([undefined, 1, 2, 4]),
    image: r.pick(['', '', 'registry.example/a:v1']), queue: r.pick(['', 'lockstep']), command, env,
    resources: r.pick([[], [{ name: 'cpu', amount: '500m' }], [{ name: 'cpu', amount: '1' },
      { name: 'memory', amount: '64Mi' }], [{ name: 'memory', amount: '1G' }]]),
    claims: several(2, (i) => ({ name: `claim-${i}`, path: `/data/${i}`, readOnly: r.maybe() })),
    files: r.int(4) > 0 ? [] : several(3, (i) => ({ path: `${'abc'[i]}/f${i}.py`, text: r.pick(odd) + r.pick(odd) })),
    trace: r.pick([[], [], ['waiting']]), suspend: r.int(4) === 0,
  };
}

// someRest adds to a TrainJob what the form does not know.
export function someRest(r: Random, job: Tree): Tree {
  const made = structuredClone(job);
  const spec = made.spec as Tree;
  const meta = made.metadata as Tree;
  if (r.maybe()) meta.labels = { ...(meta.labels as Tree), team: r.pick(odd) };
  if (r.maybe()) meta.annotations = { ...(meta.annotations as Tree), 'example.com/note': r.pick(odd) };
  if (r.maybe()) spec.unknown = { list: [1, { a: r.pick(odd) }], empty: {}, none: null };
  if (r.maybe() && spec.trainer) (spec.trainer as Tree).later = r.pick(odd);
  if (r.maybe()) {
    const template = { metadata: { labels: { a: 'b' } } };
    const other: Json = { manager: 'example.com/other', trainingRuntimeSpec: { template } };
    const patches = (spec.runtimePatches ?? []) as Json[];
    spec.runtimePatches = r.maybe() ? [other, ...patches] : [...patches, other];
  }
  return made;
}

// commented puts a comment behind some lines and above others, and returns the comments.
export function commented(r: Random, text: string): { text: string; comments: string[] } {
  const comments: string[] = [];
  let inBlock = -1;
  const lines = text.split('\n').flatMap((line) => {
    const depth = /^ */.exec(line)?.[0].length ?? 0;
    if (inBlock >= 0 && (line.trim() === '' || depth > inBlock)) return [line];
    inBlock = /[|>][-+0-9]*$/.test(line) ? depth : -1;
    const quoted = /["'].*["']|["'][^"']*$|^[^:]*"$/.test(line);
    if (line.trim() === '' || inBlock >= 0 || r.int(3) > 0 || quoted) return [line];
    const comment = `# note ${comments.length + 1} of ${r.int(1_000_000)}`;
    comments.push(comment);
    return r.maybe() ? [`${line} ${comment}`] : [`${' '.repeat(depth)}${comment}`, line];
  });
  return { text: lines.join('\n'), comments };
}
