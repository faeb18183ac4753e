// What the form refuses by itself, in the words of the command line. The API server judges the rest.
import { filesDir, type FieldName, type Form, type TextFile } from './form';
import type { Runtime } from './server';

export type Problems = Partial<Record<FieldName, string>>;

const label = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const variable = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;
const quantity = /^(\d+|\d*\.\d+|\d+\.)([kMGTPE]i?|Ki|m|[eE]\d{1,2})?$/;
const native = /^(cpu|memory|ephemeral-storage|hugepages-\w+)$/;
const device = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const platform = /^\/(opt\/lockstep|run\/lockstep|etc|proc|sys|var\/run\/secrets)(\/|$)|^\/(opt|run|var|var\/run)$/;
// Characters that some reader of YAML takes for the end of a line, or for none.
const hidden = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\p{Surrogate}/u;

export const mostBytes = 128 << 10;
export const mostFiles = 256;
const longest = 44; // pkg/mpi/job, MaxNameLength
const bytesOf = (text: string) => new TextEncoder().encode(text).length;
export const sizeOf = (files: TextFile[]) => files.reduce((n, f) => n + bytesOf(f.path) + bytesOf(f.text), 0);

const twice = (names: string[]) => names.find((n, i) => names.indexOf(n) < i);

// accelerators are the devices of a node: `nvidia.com/gpu 4` of `cpu 2, nvidia.com/gpu 4`.
export function accelerators(runtime: Runtime | undefined, form: Form): { name: string; count: number } | undefined {
  const counts = /gpu|accelerator|habana|neuron|tpu/i;
  const asked = form.resources.find((r) => r.name.includes('/') && counts.test(r.name));
  const [name, count] = asked ? [asked.name, asked.amount]
    : (runtime?.resources ?? '').split(', ').find((p) => p.includes('/') && counts.test(p))?.split(' ') ?? [];
  return name && Number(count) > 0 ? { name, count: Number(count) } : undefined;
}

// sizeWarning compares accelerators with slots: each is used by one rank as a rule.
export function sizeWarning(runtime: Runtime | undefined, form: Form): string {
  const has = accelerators(runtime, form);
  const slots = form.slots ?? runtime?.slotsPerNode;
  if (!has || !slots || has.count === slots) return '';
  return has.count > slots
    ? `Each node has ${has.count} ${has.name} and ${slots} slots: ${has.count - slots} would have no rank of their own.`
    : `Each node has ${has.count} ${has.name} and ${slots} slots: some ranks share one.`;
}

const units: Record<string, number> = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 };
const valueOf = (amount: string) => {
  const [, number, unit = ''] = /^([\d.]+(?:[eE]\d+)?)([a-zA-Z]*)$/.exec(amount) ?? [];
  return Number(number) * (unit ? units[unit] ?? NaN : 1);
};

// mostOf returns the most that a node may request of a resource, as the card of the runtime shows it.
const mostOf = (runtime: Runtime | undefined, name: string) => (!runtime?.most ? undefined
  : runtime.most.split(', ').find((p) => p.startsWith(`${name} `))?.slice(name.length + 1) ?? '0');

export function problemsOf(form: Form, runtime: Runtime | undefined): Problems {
  const found: Problems = {};
  const refuse = (field: FieldName, wrong: boolean, why: string) => { if (wrong) found[field] ??= why; };
  refuse('name', !label.test(form.name) || form.name.length > longest,
    `A name has lower-case letters, digits and “-”, begins with a letter, and has at most ${longest} characters.`);
  refuse('runtime', !subdomain.test(form.runtime), 'Choose a runtime.');
  const [least, most] = [runtime?.minNodes ?? 1, runtime?.maxNodes ?? 5_000];
  refuse('nodes', form.nodes !== undefined && (form.nodes < least || form.nodes > most),
    `This runtime takes ${least} to ${most} nodes.`);
  refuse('slots', form.slots !== undefined && (form.slots < 1 || form.slots > 4_096), 'A node has 1 to 4096 slots.');
  refuse('image', /\s/.test(form.image) || hidden.test(form.image), 'The name of an image has no spaces.');
  refuse('command', form.command.length === 0, 'Give a command, such as “mpirun python train.py”.');
  refuse('command', form.command.some((w) => hidden.test(w)),
    'A word of the command has a character that cannot be seen.');
  refuse('command', form.command.some((w) => bytesOf(w) >= mostBytes), 'A word of the command has 128 KiB or more.');
  for (const v of form.env.filter((e) => e.raw === undefined)) {
    refuse('env', !variable.test(v.name), `“${v.name}” is no name of a variable: letters, digits and “_”.`);
    refuse('env', hidden.test(v.value ?? ''), `The value of ${v.name} has a character that cannot be seen.`);
    refuse('env', bytesOf(`${v.name}=${v.value ?? ''}`) >= mostBytes, `${v.name} has 128 KiB or more.`);
    refuse('env', v.secret !== undefined && !(subdomain.test(v.secret) && /^[-._a-zA-Z0-9]{1,253}$/.test(v.key ?? '')),
      `${v.name} needs the name of a Secret and one of its keys.`);
  }
  const again = twice(form.env.map((v) => v.name));
  refuse('env', again !== undefined, `${again} is given twice.`);
  for (const { name, amount } of form.resources) {
    refuse('resources', !native.test(name) && !device.test(name),
      `There is no resource “${name}”: cpu, memory, or one with a domain.`);
    refuse('resources', !quantity.test(amount) || Number.parseFloat(amount) === 0,
      `“${amount}” is no amount of ${name}: write 4, 500m or 16Gi.`);
    refuse('resources', name === 'memory' && (/m$/.test(amount) || (/^[\d.]+$/.test(amount) &&
      Number(amount) < 6 << 20)),
      `${amount} bytes are too little memory: write ${Number.parseFloat(amount)}Gi.`);
    const limit = mostOf(runtime, name);
    refuse('resources', limit !== undefined && valueOf(amount) > valueOf(limit),
      limit === '0' ? `The machines of this runtime have no ${name}.`
        : `A node of this runtime has at most ${limit} ${name}.`);
    refuse('resources', name.includes('/') && !/^\d+$/.test(amount), `${name} is counted: write a whole number.`);
  }
  const double = twice(form.resources.map((r) => r.name));
  refuse('resources', double !== undefined, `${double} is given twice.`);
  for (const { name, path } of form.claims) {
    refuse('claims', !subdomain.test(name), name ? `“${name}” is no name of a claim.` : 'Choose a claim.');
    refuse('claims', !/^(\/(?!\.{1,2}(\/|$))[^/\s:]+)+$/.test(path) || hidden.test(path),
      `“${path}” is no folder: it begins with “/”, such as /data.`);
    refuse('claims', form.files.length > 0 && `${path}/`.startsWith(`${filesDir}/`),
      `${filesDir} has the files of the job.`);
    refuse('claims', platform.test(path),
      `${path} is the platform's: choose another folder.`);
  }
  for (const names of [form.claims.map((c) => c.name), form.claims.map((c) => c.path)]) {
    refuse('claims', twice(names) !== undefined, `${twice(names)} is given twice.`);
  }
  refuse('files', form.files.length > mostFiles, `A job takes at most ${mostFiles} files along.`);
  refuse('files', sizeOf(form.files) > mostBytes,
    'The files have more than 128 KiB: use a claim or an image for data.');
  const binary = form.files.find((f) => hidden.test(f.text) || hidden.test(f.path));
  refuse('files', !!binary, `${binary?.path} is no plain text: use a claim or an image for it.`);
  refuse('files', form.files.some((f) => f.path.split('/').some((p) => p === '' || p === '.' || p === '..')),
    'A path of a file is relative, without “..”.');
  return found;
}
