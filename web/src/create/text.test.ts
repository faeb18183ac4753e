import { expect, test } from 'vitest';
import { parseDocument, type Scalar, type YAMLMap } from 'yaml';
import { emptyJob, write, type FieldName, type Form } from './form';
import { commented, odd, random, someForm, someRest } from './some';
import { change, parse, textOf } from './text';
import { lineOf, wantsShell, wordsOf } from './words';

const times = 300;

const right = (text: string) => {
  const found = parse(text);
  if (found.wrong !== undefined) throw new Error(`${found.wrong}\n${text}`);
  return found;
};
const again = (form: Form): Form => ({ ...form, files: [...form.files].sort((a, b) => (a.path < b.path ? -1 : 1)) });

test('a form survives the YAML, whatever its texts are', () => {
  for (let seed = 0; seed < times; seed++) {
    const form = someForm(random(seed));
    const text = textOf(write(emptyJob('', 'team'), form));
    const found = right(text);
    expect(found.locked, text).toEqual({});
    expect(found.form, text).toEqual(again(form));
    expect(right(change(textOf(emptyJob('', 'team')), form)).form).toEqual(again(form));
  }
});

test('each field changes alone: comments, order and unknown fields stay', () => {
  for (let seed = 0; seed < times; seed++) {
    const r = random(seed);
    const job = someRest(r, write(emptyJob('', 'team'), someForm(r)));
    const { text, comments } = commented(r, textOf(job));
    const before = right(text);
    expect(before.job, text).toEqual(job);
    const form = someForm(r);
    const field = r.pick(Object.keys(form) as FieldName[]);
    const changed = change(text, { [field]: form[field] });
    const after = right(changed);
    expect(after.job, `${field}\n${text}\n→\n${changed}`).toEqual(write(job, { [field]: form[field] }));
    const lost = comments.filter((c) => !changed.includes(c));
    const own = linesOf(text, field);
    for (const comment of lost) {
      const line = text.slice(0, text.indexOf(comment)).split('\n').length;
      expect(own.some(([from, to]) => from <= line && line <= to),
        `${field}: ${comment}\n${text}\n→\n${changed}`).toBe(true);
    }
    if (JSON.stringify(before.form[field]) === JSON.stringify(form[field])) expect(changed).toBe(text);
    // Nothing is written twice: writing what was read changes nothing.
    expect(change(text, before.form)).toBe(text);
  }
});

const patches = ['spec', 'runtimePatches'];
const places: Record<FieldName, string[][]> = {
  name: [], runtime: [], kind: [], nodes: [['spec', 'trainer', 'numNodes']], slots: [['spec', 'trainer',
    'numProcPerNode']],
  image: [['spec', 'trainer', 'image']], queue: [['metadata', 'labels']], command: [['spec', 'trainer', 'command']],
  env: [['spec', 'trainer', 'env']], resources: [['spec', 'trainer', 'resourcesPerNode']], claims: [patches],
  files: [patches, ['spec', 'trainer', 'command']], trace: [['metadata', 'annotations']], suspend: [['spec',
    'suspend']],
};

// linesOf are the lines of a field, with those of comments above it: a comment goes with the value that goes.
function linesOf(text: string, field: FieldName): [number, number][] {
  const document = parseDocument(text);
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length;
  return places[field].flatMap((path): [number, number][] => {
    const parent = document.getIn(path.slice(0, -1)) as YAMLMap | undefined;
    const pair = parent?.items.find((p) => (p.key as Scalar).value === path.at(-1));
    if (!pair) return [];
    let from = lineAt((pair.key as Scalar).range?.[0] ?? 0);
    while (/^\s*#/.test(text.split('\n')[from - 2] ?? '')) from--;
    return [[from, lineAt((pair.value as Scalar).range?.[1] ?? 0)]];
  });
}

test('what the form cannot show is locked, and stays', () => {
  const text = `kind: TrainJob # mine
metadata: {name: a}
spec:
  runtimeRef: {name: r}
  trainer:
    numNodes: two
    args: [x]
    env:
    - {name: A, valueFrom: {configMapKeyRef: {name: m, key: k}}} # from a map
    resourcesPerNode: {requests: {cpu: 1}, limits: {cpu: 2}}
`;
  const { form, locked } = right(text);
  expect(Object.keys(locked).sort()).toEqual(['command', 'nodes', 'resources']);
  expect(form.env).toEqual([{ name: 'A', raw: { name: 'A', valueFrom: { configMapKeyRef: { name: 'm',
    key: 'k' } } } }]);
  const more = change(text, { env: [...form.env, { name: 'B', value: 'yes' }], slots: 2 });
  expect(more).toContain('# from a map');
  expect(more).toContain('numNodes: two');
  expect(more).toContain('value: "yes"');
});

test('anchors and comments of a value that changes', () => {
  const text = 'metadata: {name: &n a} # top\nspec:\n  runtimeRef: {name: *n}\n';
  const after = right(change(text, { name: 'b' }));
  expect([after.form.name, after.form.runtime]).toEqual(['b', 'a']);
  expect(change('a: [', { name: 'b' })).toBe('a: [');
  expect(parse('a: [')).toMatchObject({ line: 1 });
  expect(parse('- a')).toMatchObject({ wrong: expect.stringContaining('no object') });
  const bomb = ['a: &a [x,x]', ...'bcdefghij'.split('').map((c,
    i) => `${c}: &${c} [${`*${'abcdefghij'[i]},`.repeat(9)}]`)];
  expect(parse(bomb.join('\n'))).toMatchObject({ line: 1 });
  expect(parseDocument(change('metadata:\n  # why\n  name: a\n', { name: 'yes' })).toString()).toBe(
    'metadata:\n  # why\n  name: "yes"\n');
});

test('a line of words is read as it was written', () => {
  for (let seed = 0; seed < 500; seed++) {
    const r = random(seed);
    const words = Array.from({ length: r.int(6) }, () => r.pick(odd));
    expect(wordsOf(lineOf(words))).toEqual(words);
  }
  expect(wordsOf('mpirun -np 2 "a \\" b" \'c d\' e\\ f ""')).toEqual(['mpirun', '-np', '2', 'a " b', 'c d', 'e f', '']);
  expect([wordsOf("a 'b"), wordsOf('a "b'), wordsOf('a\\')]).toEqual([undefined, undefined, undefined]);
  expect(wantsShell(wordsOf('mpirun a > out') ?? [])).toBe(true);
  expect(wantsShell(wordsOf("bash -c 'a > out'") ?? [])).toBe(false);
});
