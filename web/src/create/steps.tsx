import { Alert, Checkbox, Label, Radio, Tooltip } from '@patternfly/react-core';
import { useRef, useState } from 'react';
import { bytes, counted, shown } from '../words/format';
import { Text } from '../parts/parts';
import { Cell, DraftField, Field, Rows, TextField } from './fields';
import type { FieldName, Form, Read, TextFile } from './form';
import { mostBytes, sizeOf, sizeWarning, type Problems } from './rules';
import type { Choices, Runtime } from './server';
import { lineOf, wantsShell, wordsOf } from './words';

export interface StepProps {
  form: Form; locked: Read['locked']; problems: Problems; runtimes: Runtime[]; runtime?: Runtime; choices: Choices;
  set: (change: Partial<Form>) => void; broken: (field: FieldName, wrong: boolean) => void;
}

export function RuntimeStep({ form, problems, runtimes, set }: StepProps) {
  return (
    <div role="radiogroup" aria-label="Runtime" className="runtimes">
      {runtimes.map((r) => {
        const chosen = r.name === form.runtime && r.kind === form.kind;
        return (
          <div key={`${r.kind}/${r.name}`} className={`runtime${chosen ? ' chosen' : ''}`}>
            <Radio id={`runtime-${r.kind}-${r.name}`} name="runtime" isChecked={chosen}
              onChange={() => set({ runtime: r.name, kind: r.kind })}
              label={<strong><Text most={80}>{r.name}</Text></strong>}
              description={r.description && <Text most={300}>{r.description}</Text>} />
            <Marks of={r} />
            <dl className="facts">
              <dt>MPI</dt><dd>{[r.implementation, r.version].filter(Boolean).join(' ') || 'none'}</dd>
              {r.framework && <><dt>Framework</dt><dd>{shown(r.framework, 40)}</dd></>}
              <dt>Nodes</dt><dd>{range(r)}</dd>
              <dt>Slots</dt><dd>{r.slotsPerNode ?? 'not known'} per node</dd>
              {r.resources && <><dt>A node gets</dt><dd><Text most={200}>{r.resources}</Text></dd></>}
              {r.most && r.most !== r.resources && <><dt>At most</dt><dd><Text most={200}>{r.most}</Text></dd></>}
            </dl>
            {/^https?:\/\//i.test(r.documentation ?? '') && (
              <a href={r.documentation} target="_blank" rel="noreferrer">Documentation of {shown(r.name, 80)}</a>
            )}
          </div>
        );
      })}
      {runtimes.length === 0 && <p>There is no runtime that you may use here: ask the platform team.</p>}
      {problems.runtime && form.runtime && <p className="wrong">{problems.runtime}</p>}
    </div>
  );
}

// Marks are what the platform says of a runtime.
export function Marks({ of: r }: { of: Runtime }) {
  return (
    <div className="marks">
      {r.default && <Mark color="blue" text="default" tip="A job that names no runtime gets this one." />}
      {r.deprecated && <Mark color="orange" text="deprecated" tip="It will go: choose another one." />}
      {r.certified === 'stale' && <Mark color="orange" text="certification is stale"
        tip="Its pods have changed since it was tested on this cluster." />}
      {r.certified && r.certified !== 'stale' && <Mark color="green" text={`certified ${r.certified}`}
        tip="On this day all its pairs of nodes were tested on this cluster." />}
    </div>
  );
}

export const range = (r: Runtime) => (r.maxNodes ? `${r.minNodes ?? 1} to ${r.maxNodes}` : 'not limited') +
  (r.nodes ? `, ${r.nodes} unless you choose` : '');

function Mark({ color, text, tip }: { color: 'blue' | 'orange' | 'green'; text: string; tip: string }) {
  return <Tooltip content={tip}><Label color={color} isCompact tabIndex={0}>{shown(text, 60)}</Label></Tooltip>;
}

const showCount = (n: number | undefined) => (n === undefined ? '' : String(n));
const parseCount = (t: string) => (t.trim() === '' ? { n: undefined } : /^\s*\d{1,6}\s*$/.test(t) ? { n: Number(t) }
  : undefined);

export function SizeStep(p: StepProps) {
  const { form, locked, problems, runtime, choices, set, broken } = p;
  const nodes = form.nodes ?? runtime?.nodes;
  const slots = form.slots ?? runtime?.slotsPerNode;
  const warning = sizeWarning(runtime, form);
  const count = (term: 'Nodes' | 'Slots per node', field: 'nodes' | 'slots', ofRuntime: number | undefined) => (
    <DraftField term={term} value={{ n: form[field] }} show={({ n }) => showCount(n)} parse={parseCount}
      wrong="Write a whole number, or nothing." locked={locked[field]} problem={problems[field]}
      placeholder={ofRuntime ? `${ofRuntime}, from the runtime` : 'from the runtime'}
      set={({ n }) => set({ [field]: n })} broken={(wrong) => broken(field, wrong)} />
  );
  return (
    <>
      <div className="pair">
        {count('Nodes', 'nodes', runtime?.nodes)}
        {count('Slots per node', 'slots', runtime?.slotsPerNode)}
      </div>
      <p className="sum" role="status">
        {nodes && slots ? <>{nodes} × {slots} = <strong>{nodes * slots} slots</strong>: mpirun starts as many ranks.</>
          : 'The runtime decides how many ranks there are.'}
      </p>
      {warning && <Alert variant="warning" isInline component="p" title={warning} />}
      <Field term="Resources" id="resources" locked={locked.resources} problem={problems.resources}
        note={runtime?.resources ? `A node gets ${runtime.resources} from the runtime.` : undefined}>
        <Rows rows={form.resources} one="resource" make={() => nextResource(form)} disabled={!!locked.resources}
          set={(resources) => set({ resources })} row={(r, change, i) => (
            <>
              <Cell label={`Resource ${i + 1}`} value={r.name} options={['cpu', 'memory', 'nvidia.com/gpu']}
                set={(name) => change({ name })} />
              <Cell label={`Amount ${i + 1}`} value={r.amount} placeholder="4 or 16Gi"
                set={(amount) => change({ amount })} />
            </>
          )} />
      </Field>
      {choices.queues.length > 0 && (
        <TextField term="Queue" value={form.queue} options={choices.queues} locked={locked.queue}
          set={(queue) => set({ queue })} />
      )}
    </>
  );
}

const nextResource = (form: Form) => {
  const free = (['cpu', 'memory'] as const).find((n) => !form.resources.some((r) => r.name === n));
  return { name: free ?? '', amount: free === 'cpu' ? '1' : free === 'memory' ? '1Gi' : '' };
};

export function ProgramStep({ form, locked, problems, choices, runtime, set, broken }: StepProps) {
  return (
    <>
      <DraftField term="Command" value={form.command} show={lineOf} parse={wordsOf} mono wrong="A quote is not closed."
        placeholder="mpirun python train.py" locked={locked.command} problem={problems.command}
        set={(command) => set({ command })} broken={(wrong) => broken('command', wrong)}
        note={form.files.length > 0 ? 'It runs in /workspace, among the files.' : undefined} />
      {wantsShell(form.command) && (
        <Alert variant="warning" isInline component="p" title="No shell reads the command">
          Redirections and variables stay as they are. If you need them, write <code>bash -c &apos;…&apos;</code>.
        </Alert>
      )}
      <Files files={form.files} locked={locked.files} problem={problems.files} set={(files) => set({ files })} />
      <Field term="Variables" id="variables" locked={locked.env} problem={problems.env}>
        <Rows rows={form.env} one="variable" make={() => ({ name: '', value: '' })} disabled={!!locked.env}
          set={(env) => set({ env })} row={(v, change, i) => (v.raw !== undefined ? (
            <span className="small"><code>{shown(v.name, 80)}</code> comes from elsewhere: change it in the YAML.</span>
          ) : (
            <>
              <Cell label={`Variable ${i + 1}`} value={v.name} placeholder="NAME" set={(name) => change({ name })} />
              {v.secret === undefined
                ? <Cell label={`Value ${i + 1}`} value={v.value ?? ''} placeholder="Value"
                  set={(value) => change({ value })} />
                : (
                  <>
                    <Cell label={`Secret ${i + 1}`} value={v.secret} options={choices.secrets} placeholder="Secret"
                      set={(secret) => change({ secret })} />
                    <Cell label={`Key ${i + 1}`} value={v.key ?? ''} placeholder="Key" set={(key) => change({ key })} />
                  </>
                )}
              <Checkbox id={`from-secret-${i}`} label="from a Secret" isChecked={v.secret !== undefined}
                onChange={(_, on) => change(on ? { value: undefined, secret: '', key: '' }
                  : { value: '', secret: undefined, key: undefined })} />
            </>
          ))} />
      </Field>
      <TextField term="Image" value={form.image} placeholder={shown(runtime?.image, 120) || 'from the runtime'}
        problem={problems.image} locked={locked.image} set={(image) => set({ image })} />
    </>
  );
}

export function DataStep({ form, locked, problems, choices, set }: StepProps) {
  const hidden = choices.withheld?.find((w) => w.what === 'persistentvolumeclaims');
  return (
    <Field term="Claims" id="claims" locked={locked.claims} problem={problems.claims}
      note={hidden ? `Names are not offered: ${hidden.why}`
        : choices.claims.length === 0 ? 'The namespace has no claims. A job needs none.' : undefined}>
      <Rows rows={form.claims} one="claim" disabled={!!locked.claims} set={(claims) => set({ claims })}
        make={() => ({ name: choices.claims.length === 1 ? choices.claims[0] ?? '' : '', path: '/data',
          readOnly: false })}
        row={(c, change, i) => (
          <>
            <Cell label={`Claim ${i + 1}`} value={c.name} options={choices.claims} placeholder="Claim"
              set={(name) => change({ name })} />
            <Cell label={`Folder ${i + 1}`} value={c.path} placeholder="/data" set={(path) => change({ path })} />
            <Checkbox id={`read-only-${i}`} label="Read only" isChecked={c.readOnly}
              onChange={(_, readOnly) => change({ readOnly })} />
          </>
        )} />
    </Field>
  );
}

// Files takes text files by drag and drop, or by a dialog.
interface FilesProps { files: TextFile[]; locked?: string; problem?: string; set: (files: TextFile[]) => void }
function Files({ files, locked, problem, set }: FilesProps) {
  const [over, setOver] = useState(false);
  const [refused, setRefused] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const take = async (chosen: { path: string; file: File }[]) => {
    const large = chosen.find(({ file }) => file.size > mostBytes);
    const wanted = chosen.filter(({ path }) => !path.split('/').some((p) => p.startsWith('.') || p === '__pycache__'));
    if (large || wanted.length > 256) {
      setRefused(large ? `${large.path} has ${bytes(large.file.size)}: the files may have 128 KiB together.`
        : `There are ${wanted.length} files: a job takes at most 256 along.`);
      return;
    }
    const read = await Promise.all(wanted.map(async ({ path, file }) => ({ path, text: await file.text() })));
    setRefused('');
    set([...files.filter((f) => !read.some((n) => n.path === f.path)), ...read].sort((a, b) => (a.path < b.path ? -1
      : 1)));
  };
  return (
    <Field term="Files" id="files" locked={locked} problem={refused || problem}
      note={files.length > 0 ? `${counted(files.length, 'file')}, ${bytes(sizeOf(files))} of 128 KiB` : undefined}>
      {!locked && (
        <div className={`drop${over ? ' over' : ''}`} onDragOver={(e) => { e.preventDefault(); setOver(true); }}
          onDragLeave={() => setOver(false)}
          onDrop={(e) => {
            e.preventDefault();
            setOver(false);
            void entriesOf(e.dataTransfer).then(take);
          }}>
          <label htmlFor="files">Drop files or a folder here, or choose files: </label>
          <input id="files" ref={input} type="file" multiple onChange={(e) => {
            void take([...(e.target.files ?? [])].map((file) => ({ path: file.name, file }))).then(() => {
              if (input.current) input.current.value = '';
            });
          }} />
        </div>
      )}
      <ul className="plain">
        {files.map((f) => (
          <li key={f.path}>
            <code>{shown(f.path, 120)}</code> {bytes(new TextEncoder().encode(f.text).length)}{' '}
            <button type="button" className="pf-v6-c-button pf-m-link pf-m-small" aria-label={`Remove ${f.path}`}
              onClick={() => set(files.filter((o) => o.path !== f.path))}>Remove</button>
          </li>
        ))}
      </ul>
    </Field>
  );
}

// entriesOf reads dropped files. Paths in a dropped folder are relative to it, as with `--files`.
async function entriesOf(data: DataTransfer): Promise<{ path: string; file: File }[]> {
  const found: { path: string; file: File }[] = [];
  const walk = async (entry: FileSystemEntry, path: string): Promise<void> => {
    if (found.length > 1_000) return;
    if (entry.isFile) {
      found.push({ path: path || entry.name, file: await new Promise<File>((done, fail) => {
        (entry as FileSystemFileEntry).file(done, fail);
      }) });
      return;
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((done, fail) => { reader.readEntries(done, fail); });
      if (some.length === 0) return;
      for (const e of some) await walk(e, path ? `${path}/${e.name}` : e.name);
    }
  };
  const entries = [...data.items].map((item) => item.webkitGetAsEntry());
  for (const entry of entries) if (entry) await walk(entry, '');
  return found;
}
