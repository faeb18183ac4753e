import { Button, Checkbox, FormSelect, FormSelectOption, PageSection, Title } from '@patternfly/react-core';
import { useId, useState, type ReactNode } from 'react';
import { Field, FieldHelp, TextField } from '../create/fields';
import type { FieldTerm } from '../create/help';
import { save } from '../job/save';
import { useTitle } from '../parts/parts';
import { visible } from '../words/format';
import {
  commandsOf, emptyRuntime, frameworks, implementations, pathOf, problemsOf, specOf, type RuntimeForm,
} from './spec';

const fields: [FieldTerm, keyof RuntimeForm][][] = [
  [['Runtime name', 'name'], ['Description', 'description'], ['Documentation', 'documentation']],
  [['MPI version', 'version'], ['Runtime image', 'image'], ['Profile', 'profile']],
  [['Least nodes', 'least'], ['Most nodes', 'most'], ['Usual nodes', 'usual'], ['Slots', 'slots']],
  [['CPU per node', 'cpu'], ['Memory per node', 'memory']],
];

// NewRuntimePage writes the file of a new runtime and the commands of its pull request. Git decides what exists: the
// page writes nothing to a cluster.
export function NewRuntimePage() {
  useTitle('New runtime');
  const [form, setForm] = useState<RuntimeForm>(emptyRuntime);
  const [touched, setTouched] = useState<Partial<Record<keyof RuntimeForm, boolean>>>({});
  const id = useId();
  const set = (change: Partial<RuntimeForm>) => {
    setForm((f) => ({ ...f, ...change }));
    setTouched((t) => ({ ...t, ...Object.fromEntries(Object.keys(change).map((k) => [k, true])) }));
  };
  const problems = problemsOf(form);
  const ready = Object.keys(problems).length === 0;
  const choice = (term: FieldTerm, field: 'framework' | 'implementation', options: string[]) => (
    <Field term={term} id={`${id}-${field}`}>
      <FormSelect id={`${id}-${field}`} value={form[field]} onChange={(_, v) => set({ [field]: v })}>
        {options.map((o) => <FormSelectOption key={o} value={o} label={o} />)}
      </FormSelect>
    </Field>
  );
  const row = (i: number) => (
    <div className="pair">
      {fields[i]?.map(([term, field]) => (
        <TextField key={field} term={term} value={String(form[field])} set={(v) => set({ [field]: v })}
          problem={touched[field] ? problems[field] : undefined} />
      ))}
    </div>
  );
  return (
    <PageSection isFilled className="create sheet">
      <Title headingLevel="h1">New runtime</Title>
      <p>Git decides which runtimes exist. This form writes the file for the platform’s repository, and nothing to a
        cluster.</p>
      <div className="beside">
        <form className="guided" aria-label="Runtime" onSubmit={(e) => e.preventDefault()}>
          {row(0)}
          <div className="pair">
            {choice('Framework', 'framework', frameworks)}{choice('MPI library', 'implementation', implementations)}
          </div>
          {row(1)}{row(2)}{row(3)}
          <div className="pair">
            <Checkbox id={`${id}-launcher`} label="The launcher runs ranks" isChecked={form.launcherRunsRanks}
              onChange={(_, on) => set({ launcherRunsRanks: on })} />
            <FieldHelp term="Launcher" />
          </div>
        </form>
        <div className="guided">
          <Text title={ready ? pathOf(form) : 'The file'} text={specOf(form)}>
            <Button variant="primary"
              onClick={() => { if (ready) save(specOf(form), `${form.name}.yaml`); else setTouched(all); }}>
              Save the file
            </Button>
          </Text>
          {ready ? <Text title="The pull request" text={commandsOf(form)} />
            : <p role="status">{Object.keys(problems).length} fields are missing or wrong.</p>}
          {ready && (
            <p className="small">After the merge, test it on its page or by kubectl mpi certify {form.name}.</p>
          )}
        </div>
      </div>
    </PageSection>
  );
}

const all = Object.fromEntries(Object.keys(emptyRuntime).map((k) => [k, true]));

function Text({ title, text, children }: { title: string; text: string; children?: ReactNode }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <pre className="code same" tabIndex={0} role="region" aria-label={`Text of ${title}`}>
        <code>{visible(text)}</code></pre>
      {children}
    </section>
  );
}
