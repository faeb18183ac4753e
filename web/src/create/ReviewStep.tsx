import { Button, Checkbox, ToggleGroup, ToggleGroupItem } from '@patternfly/react-core';
import { useState } from 'react';
import { save } from '../job/save';
import { counted, shown, visible } from '../words/format';
import { FieldHelp } from './fields';
import type { Commands } from './server';
import type { StepProps } from './steps';
import { fileOf } from './template';

const records: [string, string][] = [['traffic', 'Traffic between ranks (Open MPI)'], ['waiting',
  'Time that ranks wait in MPI']];

interface Props extends StepProps { text: string; commands?: Commands }
export function ReviewStep({ form, locked, set, runtime, text, commands }: Props) {
  const nodes = form.nodes ?? runtime?.nodes;
  const slots = form.slots ?? runtime?.slotsPerNode;
  const line = [
    form.runtime, nodes && slots ? `${nodes} nodes × ${slots} slots` : '',
    form.files.length > 0 && counted(form.files.length, 'file'),
    form.claims.length > 0 && counted(form.claims.length, 'claim'),
  ].filter(Boolean).join(' · ');
  return (
    <>
      <p><strong>{shown(form.name, 80)}</strong>: {shown(line, 300)}</p>
      <fieldset className="options">
        <legend>Record <FieldHelp term="Record" /></legend>
        {records.map(([name, label]) => (
          <Checkbox key={name} id={`record-${name}`} label={label} isChecked={form.trace.includes(name)}
            isDisabled={!!locked.trace}
            onChange={(_, on) => set({ trace: on ? [...form.trace, name] : form.trace.filter((t) => t !== name) })} />
        ))}
      </fieldset>
      <div className="pair">
        <Checkbox id="suspended" isChecked={form.suspend} isDisabled={!!locked.suspend} label="Create it suspended"
          onChange={(_, suspend) => set({ suspend })} />
        <FieldHelp term="Suspended" />
      </div>
      <div className="pair">
        <Button variant="secondary" size="sm"
          onClick={() => save(fileOf(text), `${form.name}.yaml`)}>Save as template</Button>
        <span className="small">to commit as templates/{shown(form.name, 80)}.yaml</span>
        <FieldHelp term="Template" />
      </div>
      {commands && <Same commands={commands} />}
    </>
  );
}

const ways = [['submit', 'Command line', 'submitLacks'], ['python', 'Python', 'pythonLacks']] as const;

// Same shows the same job in other languages.
function Same({ commands }: { commands: Commands }) {
  const [way, setWay] = useState<(typeof ways)[number]>(ways[0]);
  const [copied, setCopied] = useState(false);
  const text = commands[way[0]];
  const lacks = commands[way[2]] ?? [];
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <section aria-label="The same job elsewhere">
      <div className="code-bar">
        <h3>The same job as</h3>
        <ToggleGroup aria-label="Language">
          {ways.map((w) => (
            <ToggleGroupItem key={w[0]} text={w[1]} isSelected={way === w} onChange={() => setWay(w)} />
          ))}
        </ToggleGroup>
        <Button variant="secondary" size="sm" onClick={() => void copy()}>{copied ? 'Copied' : 'Copy'}</Button>
      </div>
      <pre className="code same" tabIndex={0} aria-label={way[1]} role="region"><code>{visible(text)}</code></pre>
      {lacks.length > 0 && (
        <p className="small">This leaves out {shown(lacks.join(', '), 300)}: keep the YAML,
          and use kubectl mpi create -f FILE.</p>
      )}
    </section>
  );
}
