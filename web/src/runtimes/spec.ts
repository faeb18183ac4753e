// A new runtime as a file for git, as `runtime-compiler fmt` writes it. The compiler judges it in the pull request.
import { Document, isScalar, visit } from 'yaml';

export interface RuntimeForm {
  name: string; description: string; documentation: string; framework: string; implementation: string;
  version: string; image: string; profile: string; least: string; most: string; usual: string; slots: string;
  cpu: string; memory: string; launcherRunsRanks: boolean;
}

export const emptyRuntime: RuntimeForm = {
  name: '', description: '', documentation: '', framework: 'MPI', implementation: 'OpenMPI', version: '', image: '',
  profile: '', least: '', most: '', usual: '', slots: '', cpu: '', memory: '', launcherRunsRanks: false,
};
export const frameworks = ['MPI', 'Horovod', 'DeepSpeed', 'PyTorch', 'TensorFlow'];
export const implementations = ['OpenMPI', 'IntelMPI', 'MPICH'];

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const count = /^[1-9]\d{0,3}$/;
const quantity = /^\d+(\.\d+)?(m|k|[MGT]i?)?$/;

// problemsOf returns what is wrong with fields. Empty optional fields are right.
export function problemsOf(form: RuntimeForm): Partial<Record<keyof RuntimeForm, string>> {
  const wrong: Partial<Record<keyof RuntimeForm, string>> = {};
  const name = 'Write lower-case letters, digits and “-”, at most 63 of them.';
  const number = (most: number, text: string) => text !== '' && !(count.test(text) && Number(text) <= most);
  if (!label.test(form.name)) wrong.name = name;
  if (!label.test(form.profile)) wrong.profile = name;
  if (form.documentation && !/^https:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(form.documentation)) {
    wrong.documentation = 'Write an address that begins with https:// and has no query.';
  }
  if (!/^\d+(\.\d+){0,3}$/.test(form.version)) wrong.version = 'Write a version such as 5.0.7.';
  if (!/^\S+$/.test(form.image)) wrong.image = 'Write the name of an image, best with its digest.';
  for (const field of ['least', 'most', 'usual'] as const) {
    if (number(1000, form[field])) wrong[field] = 'Write a whole number from 1 to 1000, or nothing.';
  }
  if (!wrong.least && !wrong.most && Number(form.least || 1) > Number(form.most || 100)) {
    wrong.most = 'The greatest number is below the least.';
  }
  const usual = Number(form.usual || form.least || 1);
  if (!wrong.usual && form.usual && (usual < Number(form.least || 1) || usual > Number(form.most || 100))) {
    wrong.usual = 'The number is not between the least and the greatest.';
  }
  if (form.slots !== 'auto' && number(1024, form.slots)) {
    wrong.slots = 'Write a whole number from 1 to 1024, auto for one per accelerator, or nothing.';
  }
  if (form.cpu && !quantity.test(form.cpu)) wrong.cpu = 'Write an amount such as 4 or 500m, or nothing.';
  if (form.memory && !quantity.test(form.memory)) wrong.memory = 'Write an amount such as 16Gi, or nothing.';
  return wrong;
}

export const pathOf = (form: RuntimeForm) => `catalog/runtimes/${form.name}.yaml`;

type Tree = { [key: string]: string | number | boolean | Tree | undefined };

// specOf returns the file.
export function specOf(form: RuntimeForm): string {
  const number = (text: string) => (count.test(text) ? Number(text) : text || undefined);
  const spec: Tree = {
    description: form.description.replace(/[\s\p{C}]+/gu, ' ').trim() || undefined,
    documentation: form.documentation || undefined,
    framework: form.framework === 'MPI' ? undefined : form.framework,
    mpi: { implementation: form.implementation, version: form.version }, image: form.image, profile: form.profile,
    nodes: { default: number(form.usual), min: number(form.least), max: number(form.most) },
    slotsPerNode: number(form.slots),
    resourcesPerNode: { cpu: number(form.cpu), memory: form.memory || undefined },
    launcher: form.launcherRunsRanks ? { runsRanks: true } : undefined,
  };
  const document = new Document(clean({
    apiVersion: 'lockstep.dev/v1alpha1', kind: 'MPIRuntime', metadata: { name: form.name }, spec,
  }), { compat: 'yaml-1.1', version: '1.2' } as const);
  visit(document, { Pair: (_, pair) => {
    // Version 5.0 is no number.
    if (isScalar(pair.key) && pair.key.value === 'version' && isScalar(pair.value)) pair.value.type = 'QUOTE_DOUBLE';
  } });
  // The compiler has no backslash before a quote.
  return document.toString({ lineWidth: 0 }).replace(/^( {2}description: )(".*\\".*")$/m,
    (_, key: string, text: string) => `${key}'${(JSON.parse(text) as string).replaceAll("'", "''")}'`);
}

// clean leaves out what is empty.
function clean(tree: Tree): Tree {
  const kept: Tree = {};
  for (const [key, value] of Object.entries(tree)) {
    const v = typeof value === 'object' ? clean(value) : value;
    if (v !== undefined && !(typeof v === 'object' && Object.keys(v).length === 0)) kept[key] = v;
  }
  return kept;
}

// commandsOf are the commands of the pull request, from a checkout of the platform's repository.
export const commandsOf = (form: RuntimeForm) => [
  `git switch -c runtime-${form.name}`,
  `mv ~/Downloads/${form.name}.yaml ${pathOf(form)}`,
  'runtime-compiler fmt', 'runtime-compiler check', 'runtime-compiler diff',
  `git add ${pathOf(form)}`,
  `git commit -m "catalog: add ${form.name}"`,
  `git push -u origin runtime-${form.name}`,
].join('\n');
