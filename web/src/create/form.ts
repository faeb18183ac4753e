// The fields of the form, and where they stand in a TrainJob. Both ways are pure: JSON in, JSON out.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Tree = { [key: string]: Json };

// Variable has a value, or comes from a Secret, or, kept as it is, from elsewhere.
export interface Variable { name: string; value?: string; secret?: string; key?: string; raw?: Json }
export interface Claim { name: string; path: string; readOnly: boolean }
export interface TextFile { path: string; text: string }
export interface Amount { name: string; amount: string }

// Form holds the fields. Undefined nodes and slots, and empty texts, are the runtime's.
export interface Form {
  name: string; runtime: string; kind: string; nodes?: number; slots?: number; image: string; queue: string;
  command: string[]; env: Variable[]; resources: Amount[]; claims: Claim[]; files: TextFile[]; trace: string[];
  suspend: boolean;
}
export type FieldName = keyof Form;

// Read is a form, with the fields that the YAML has in a way that the form cannot show. These only the YAML changes.
export interface Read { form: Form; locked: Partial<Record<FieldName, string>> }

const group = 'trainer.kubeflow.org';
const queueLabel = 'kueue.x-k8s.io/queue-name';
const traceAnnotation = 'lockstep.dev/trace';
const manager = 'lockstep.dev/kubectl-mpi';
export const filesDir = '/workspace';
const among = ['sh', '-c', `cd ${filesDir} && exec "$@"`, 'sh'];

export const isTree = (v: Json | undefined): v is Tree => typeof v === 'object' && v !== null && !Array.isArray(v);
const tree = (v: Json | undefined): Tree => (isTree(v) ? v : {});
const list = (v: Json | undefined): Json[] => (Array.isArray(v) ? v : []);
const text = (v: Json | undefined) => (typeof v === 'string' ? v : '');

const without = <V,>(from: Record<string, V>, key: string) =>
  Object.fromEntries(Object.entries(from).filter(([k]) => k !== key));

export function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((v, i) => equal(v, b[i]));
  if (!isTree(a) || !isTree(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((k) => k in b && equal(a[k], b[k]));
}

// emptyJob is the TrainJob of a new form.
export const emptyJob = (name: string, namespace: string): Tree => ({
  apiVersion: `${group}/v1alpha1`, kind: 'TrainJob', metadata: { name, namespace }, spec: { runtimeRef: { name: '' } },
});

// read returns the form of a TrainJob.
export function read(job: Tree): Read {
  const meta = tree(job.metadata);
  const spec = tree(job.spec);
  const trainer = tree(spec.trainer);
  const ref = tree(spec.runtimeRef);
  const locked: Read['locked'] = {};
  const lock = (field: FieldName, right: boolean, why: string) => { if (!right) locked[field] = why; };
  const count = (field: 'nodes' | 'slots', v: Json | undefined) => {
    const right = v === undefined || (typeof v === 'number' && Number.isInteger(v));
    lock(field, right, 'is no whole number in the YAML');
    return right ? (v as number | undefined) : undefined;
  };
  const word = (field: FieldName, v: Json | undefined) => {
    lock(field, v === undefined || typeof v === 'string', 'is no text in the YAML');
    return text(v);
  };
  const { claims, files, why } = readPatch(spec);
  if (why) locked.claims = locked.files = why;
  let command = list(trainer.command);
  if (files.length > 0 && equal(command.slice(0, among.length), among)) command = command.slice(among.length);
  lock('command', trainer.command === undefined ||
    (Array.isArray(trainer.command) && command.every((w) => typeof w === 'string')), 'is no list of texts in the YAML');
  lock('command', trainer.args === undefined, 'has `args` in the YAML, which follow the command');
  const resources = readResources(trainer.resourcesPerNode);
  lock('resources', !!resources, 'differ between requests and limits in the YAML');
  const env = list(trainer.env).map(readVariable);
  lock('env', trainer.env === undefined || Array.isArray(trainer.env), 'are no list in the YAML');
  lock('suspend', spec.suspend === undefined || typeof spec.suspend === 'boolean',
    'is neither true nor false in the YAML');
  return {
    form: {
      name: word('name', meta.name), runtime: word('runtime', ref.name), kind: text(ref.kind) ||
        'ClusterTrainingRuntime',
      nodes: count('nodes', trainer.numNodes), slots: count('slots', trainer.numProcPerNode),
      image: word('image', trainer.image), queue: word('queue', tree(meta.labels)[queueLabel]),
      command: locked.command ? [] : (command as string[]), env, resources: resources ?? [], claims, files,
      trace: word('trace', tree(meta.annotations)[traceAnnotation]).split(',').filter(Boolean),
      suspend: spec.suspend === true,
    },
    locked,
  };
}

function readVariable(v: Json): Variable {
  const { name, value, valueFrom, ...rest } = tree(v);
  if (typeof name === 'string' && Object.keys(rest).length === 0) {
    if (valueFrom === undefined && (value === undefined || typeof value === 'string')) return { name, value: value ??
      '' };
    const from = tree(tree(valueFrom).secretKeyRef);
    const secret = text(from.name);
    const key = text(from.key);
    if (value === undefined && equal(valueFrom, { secretKeyRef: { name: secret, key } })) return { name, secret, key };
  }
  return { name: text(name), raw: v };
}

const writeVariable = ({ name, value, secret, key, raw }: Variable): Json => raw ?? (secret === undefined
  ? { name, ...(value ? { value } : {}) } : { name, valueFrom: { secretKeyRef: { name: secret, key: key ?? '' } } });

const amount = (v: Json) => (typeof v === 'string' || typeof v === 'number' ? String(v) : undefined);

function readResources(v: Json | undefined): Amount[] | undefined {
  if (v === undefined) return [];
  const { requests, limits, ...rest } = tree(v);
  const strings = (t: Json | undefined) =>
    Object.fromEntries(Object.entries(tree(t)).map(([k, a]) => [k, amount(a) ?? null]));
  const wanted = strings(requests);
  const right = Object.keys(rest).length === 0 && equal(without(wanted, 'cpu'), strings(limits)) &&
    Object.values(wanted).every((a) => a !== null);
  return right ? Object.entries(wanted).map(([name, a]) => ({ name, amount: String(a) })) : undefined;
}

// --- claims and files: a patch of the pods, as pkg/jobs/submit makes it ---

function readPatch(spec: Tree): { claims: Claim[]; files: TextFile[]; why?: string } {
  const none = { claims: [], files: [] };
  const patch = list(spec.runtimePatches).map(tree).find((p) => p.manager === manager);
  if (!patch) return { ...none, why: spec.runtimePatches === undefined || Array.isArray(spec.runtimePatches)
    ? undefined : 'have patches in the YAML that are no list' };
  const own = tree(patch.trainingRuntimeSpec);
  const pod = tree(tree(tree(tree(list(tree(tree(own.template).spec).replicatedJobs).map(tree)
    .find((j) => j.name === 'launcher')?.template).spec).template));
  const podSpec = tree(pod.spec);
  const mounts = list(tree(list(podSpec.containers)[0]).volumeMounts).map(tree);
  const claims: Claim[] = [];
  const files: TextFile[] = [];
  for (const volume of list(podSpec.volumes).map(tree)) {
    const claim = tree(volume.persistentVolumeClaim);
    const mount = mounts.find((m) => m.name === volume.name);
    if (volume.persistentVolumeClaim && mount) {
      claims.push({ name: text(claim.claimName), path: text(mount.mountPath), readOnly: mount.readOnly === true });
    }
    for (const item of list(tree(volume.downwardAPI).items).map(tree)) {
      const at = /^metadata\.annotations\['(.*)'\]$/.exec(text(tree(item.fieldRef).fieldPath))?.[1] ?? '';
      files.push({ path: text(item.path), text: text(tree(tree(pod.metadata).annotations)[at]) });
    }
  }
  return equal(own, writePatch(claims, files)) ? { claims, files } : { ...none, why: 'have other patches in the YAML' };
}

function writePatch(claims: Claim[], files: TextFile[]): Tree {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const readOnly = (c: Claim): Tree => (c.readOnly ? { readOnly: true } : {});
  const volumes: Json[] = claims.map((c, i) => ({
    name: `claim-${i}`, persistentVolumeClaim: { claimName: c.name, ...readOnly(c) },
  }));
  const volumeMounts: Json[] = claims.map((c, i) => ({ name: `claim-${i}`, mountPath: c.path, ...readOnly(c) }));
  if (files.length > 0) {
    volumes.push({ name: 'files', downwardAPI: { defaultMode: 0o555, items: sorted.map((f, i) => ({
      path: f.path, fieldRef: { apiVersion: 'v1', fieldPath: `metadata.annotations['file-${i}']` },
    })) } });
    volumeMounts.push({ name: 'files', mountPath: filesDir, readOnly: true });
  }
  const pod: Tree = { spec: { containers: [{ name: 'node', volumeMounts }], volumes } };
  if (files.length > 0) {
    pod.metadata = { annotations: Object.fromEntries(sorted.map((f, i) => [`file-${i}`, f.text])) };
  }
  return { template: { spec: { replicatedJobs: ['launcher', 'node'].map((name) => (
    { name, template: { spec: { template: pod } } })) } } };
}

// --- writing ---

// put sets a value at a path, or removes it with the empty objects around it.
function put(root: Tree, path: string[], value: Json | undefined) {
  const [key = '', ...rest] = path;
  if (rest.length === 0) {
    if (value === undefined) Reflect.deleteProperty(root, key);
    else root[key] = value;
    return;
  }
  if (!isTree(root[key])) {
    if (value === undefined) return;
    root[key] = {};
  }
  const inner = root[key] as Tree;
  put(inner, rest, value);
  if (value === undefined && Object.keys(inner).length === 0) Reflect.deleteProperty(root, key);
}

// write returns a TrainJob in which some fields of its form are others. All else stays.
export function write(job: Tree, change: Partial<Form>): Tree {
  const made = structuredClone(job);
  const { form } = read(job);
  const after = { ...form, ...change };
  const own = (field: string, value: Json | undefined) => put(made, ['spec', 'trainer', field], value);
  const has = (...fields: FieldName[]) => fields.some((f) => f in change);
  if (has('name')) put(made, ['metadata', 'name'], after.name);
  if (has('runtime')) put(made, ['spec', 'runtimeRef', 'name'], after.runtime);
  if (has('kind')) {
    put(made, ['spec', 'runtimeRef', 'kind'], after.kind);
    put(made, ['spec', 'runtimeRef', 'apiGroup'], group);
  }
  if (has('nodes')) own('numNodes', after.nodes);
  if (has('slots')) own('numProcPerNode', after.slots);
  if (has('image')) own('image', after.image || undefined);
  if (has('queue')) put(made, ['metadata', 'labels', queueLabel], after.queue || undefined);
  if (has('trace')) put(made, ['metadata', 'annotations', traceAnnotation], after.trace.join(',') || undefined);
  if (has('suspend')) put(made, ['spec', 'suspend'], after.suspend || undefined);
  if (has('env')) own('env', after.env.length > 0 ? after.env.map(writeVariable) : undefined);
  if (has('resources')) {
    const requests = Object.fromEntries(after.resources.map((r) => [r.name, r.amount]));
    const limits = without(requests, 'cpu');
    own('resourcesPerNode', after.resources.length === 0 ? undefined
      : { requests, ...(Object.keys(limits).length > 0 ? { limits } : {}) });
  }
  if (has('claims', 'files')) writePatches(made, after);
  if (has('command', 'files')) {
    const words = after.files.length > 0 && after.command.length > 0 ? [...among, ...after.command] : after.command;
    own('command', words.length > 0 ? words : undefined);
  }
  return made;
}

function writePatches(job: Tree, { claims, files }: Form) {
  const patches = list(tree(job.spec).runtimePatches);
  const at = patches.findIndex((p) => tree(p).manager === manager);
  const without = patches.filter((_, i) => i !== at);
  if (claims.length + files.length === 0) {
    put(job, ['spec', 'runtimePatches'], without.length > 0 ? without : undefined);
    return;
  }
  const patch = { ...tree(patches[at]), manager, trainingRuntimeSpec: writePatch(claims, files) };
  put(job, ['spec', 'runtimePatches'], at < 0 ? [...patches, patch] : patches.with(at, patch));
}
