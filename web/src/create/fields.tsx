import { Button, FormGroup, FormHelperText, HelperText, HelperTextItem, Popover,
  TextInput } from '@patternfly/react-core';
import { HelpIcon } from '@patternfly/react-icons/dist/esm/icons/help-icon';
import { useId, useState, type ReactNode } from 'react';
import { shown } from '../words/format';
import { fieldHelp, type FieldTerm } from './help';

export function FieldHelp({ term }: { term: FieldTerm }) {
  return (
    <Popover headerContent={term} bodyContent={fieldHelp[term]} aria-label={`Help: ${term}`}>
      <Button variant="plain" size="sm" className="help" aria-label={`What is ${term}?`} icon={<HelpIcon />} />
    </Popover>
  );
}

interface FieldProps {
  term: FieldTerm; id: string; problem?: string; locked?: string; note?: string; children: ReactNode;
}

// Field is a label with its help, an input, and what is wrong with it.
export function Field({ term, id, problem, locked, note, children }: FieldProps) {
  const text = locked ? `${term} ${locked}: change it there.` : problem ?? note;
  return (
    <FormGroup label={term} fieldId={id} labelHelp={<FieldHelp term={term} />}>
      {children}
      {text && (
        <FormHelperText>
          <HelperText id={`${id}-text`}>
            <HelperTextItem variant={locked ? 'indeterminate' : problem ? 'error' : 'default'}>{shown(text,
              300)}</HelperTextItem>
          </HelperText>
        </FormHelperText>
      )}
    </FormGroup>
  );
}

interface TextProps {
  term: FieldTerm; value: string; set: (value: string) => void; problem?: string; locked?: string; note?: string;
  placeholder?: string; options?: string[]; mono?: boolean;
}

// TextField is a text, with names to choose from if there are some.
export function TextField({ term, value, set, problem, locked, note, placeholder, options, mono }: TextProps) {
  const id = useId();
  return (
    <Field term={term} id={id} problem={problem} locked={locked} note={note}>
      <TextInput id={id} value={value} isDisabled={!!locked} placeholder={placeholder} className={mono ? 'mono'
        : undefined}
        validated={problem && !locked ? 'error' : 'default'} aria-describedby={`${id}-text`} spellCheck={false}
        autoComplete="off" list={options?.length ? `${id}-list` : undefined} onChange={(_, v) => set(v)} />
      {options && options.length > 0 && (
        <datalist id={`${id}-list`}>{options.slice(0, 500).map((o) => <option key={o} value={o} />)}</datalist>
      )}
    </Field>
  );
}

// Draft is a text that stands for a value: while it is typed it may stand for none.
interface DraftProps<V> extends Omit<TextProps, 'value' | 'set'> {
  value: V; show: (value: V) => string; parse: (text: string) => V | undefined; wrong: string; set: (value: V) => void;
  broken: (wrong: boolean) => void;
}
export function DraftField<V>({ value, show, parse, wrong, set, broken, ...rest }: DraftProps<V>) {
  const [draft, setDraft] = useState<string>();
  const text = draft !== undefined && (parse(draft) === undefined || show(parse(draft) as V) === show(value))
    ? draft : show(value);
  const bad = parse(text) === undefined;
  return (
    <TextField {...rest} value={text} problem={bad ? wrong : rest.problem}
      set={(typed) => {
        setDraft(typed);
        const parsed = parse(typed);
        broken(parsed === undefined);
        if (parsed !== undefined) set(parsed);
      }} />
  );
}

// Rows are several things of a kind, which are added and removed.
interface RowsProps<R> {
  rows: R[]; one: string; make: () => R; set: (rows: R[]) => void; disabled?: boolean;
  row: (row: R, change: (change: Partial<R>) => void, at: number) => ReactNode;
}
export function Rows<R>({ rows, one, make, set, disabled, row }: RowsProps<R>) {
  return (
    <div className="rows">
      {rows.map((r, i) => (
        <div className="row" key={i} role="group" aria-label={`${one} ${i + 1}`}>
          {row(r, (c) => set(rows.with(i, { ...r, ...c })), i)}
          <Button variant="link" size="sm" isDisabled={disabled} onClick={() => set(rows.filter((_, j) => j !== i))}
            aria-label={`Remove ${one} ${i + 1}`}>Remove</Button>
        </div>
      ))}
      <Button variant="secondary" size="sm" isDisabled={disabled} onClick={() => set([...rows,
        make()])}>Add a {one}</Button>
    </div>
  );
}

// Cell is an input of a row.
interface CellProps {
  label: string; value: string; set: (value: string) => void; options?: string[]; disabled?: boolean;
  placeholder?: string;
}
export function Cell({ label, value, set, options, disabled, placeholder }: CellProps) {
  const id = useId();
  return (
    <>
      <TextInput aria-label={label} value={value} isDisabled={disabled} placeholder={placeholder ?? label}
        spellCheck={false}
        autoComplete="off" list={options?.length ? id : undefined} onChange={(_, v) => set(v)} />
      {options && options.length > 0 && (
        <datalist id={id}>{options.slice(0, 500).map((o) => <option key={o} value={o} />)}</datalist>
      )}
    </>
  );
}
