import { Button, ToggleGroup, ToggleGroupItem } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get, Problem } from '../api/client';
import type { Configuration as Answer } from '../api/types';
import { Empty, Loading, Trouble, Withheld } from '../parts/parts';
import { visible } from '../words/format';
import { help } from '../words/help';
import { save } from './save';

const views = [['submitted', 'As submitted'], ['asRun', 'As run'], ['diff', 'Diff']] as const;

export function Configuration({ path, name }: { path: string; name: string }) {
  const [view, setView] = useState<(typeof views)[number]>(views[0]);
  const [copied, setCopied] = useState(false);
  const { data, error } = useQuery({
    queryKey: ['configuration', path], queryFn: ({ signal }) => get<Answer>(`${path}/configuration`, signal),
  });
  if (error instanceof Problem) return <Trouble problem={error} />;
  if (!data) return <Loading what="the configuration" />;
  const text = data[view[0]];
  const copy = async () => {
    await navigator.clipboard.writeText(text ?? '');
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <>
      <Withheld items={data.withheld} />
      <div className="code-bar">
        <ToggleGroup aria-label="Which configuration">
          {views.map((v) => (
            <ToggleGroupItem key={v[0]} text={v[1]} isSelected={view === v} onChange={() => setView(v)} />
          ))}
        </ToggleGroup>
        <span className="small">{help[view[1]]}</span>
        <Button variant="secondary" size="sm" isDisabled={!text} onClick={() => void copy()}>
          {copied ? 'Copied' : 'Copy'}
        </Button>
        <Button variant="secondary" size="sm" isDisabled={!text}
          onClick={() => save(text ?? '', `${name}-${view[0]}.${view[0] === 'diff' ? 'diff' : 'yaml'}`)}>
          Download
        </Button>
      </div>
      {text ? <Code text={text} diff={view[0] === 'diff'} /> : (
        <Empty title={view[0] === 'diff' ? 'No difference' : 'Not available'}>
          {view[0] === 'diff' ? 'The job ran as its runtime defines, without patches.'
            : 'The runtime cannot be read, or is gone.'}
        </Empty>
      )}
    </>
  );
}

const mostLines = 5_000;

function Code({ text, diff }: { text: string; diff: boolean }) {
  const lines = text.split('\n');
  const kind = (l: string) => (!diff ? '' : l.startsWith('+') ? 'added' : l.startsWith('-') ? 'removed'
    : l.startsWith('@@') ? 'hunk' : '');
  return (
    <pre className="code" tabIndex={0} role="region" aria-label="Configuration">
      {lines.slice(0, mostLines).map((l, i) => (
        <code key={i} className={kind(l)}>{yaml(visible(l.slice(0, 4_000)), diff)}{'\n'}</code>
      ))}
      {lines.length > mostLines && <code>… {lines.length - mostLines} more lines: download</code>}
    </pre>
  );
}

// yaml marks the key of a line.
function yaml(line: string, diff: boolean) {
  const key = /^(?<head>[-+ ]?[\s-]*)(?<key>[\w./-]+)(?=:(\s|$))/.exec(line);
  if (!key?.groups || (diff && /^(\+\+\+|---|@@)/.test(line))) return line;
  const { head = '', key: name = '' } = key.groups;
  return <>{head}<span className="key">{name}</span>{line.slice(head.length + name.length)}</>;
}
