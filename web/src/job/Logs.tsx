import { Button, SearchInput, Switch, ToggleGroup, ToggleGroupItem } from '@patternfly/react-core';
import { AngleDownIcon } from '@patternfly/react-icons/dist/esm/icons/angle-down-icon';
import { AngleUpIcon } from '@patternfly/react-icons/dist/esm/icons/angle-up-icon';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { useSearchParams } from 'react-router';
import type { Problem } from '../api/client';
import { listen } from '../api/stream';
import type { JobDetail, LogLine } from '../api/types';
import { Choice } from '../parts/Choice';
import { Empty, Trouble } from '../parts/parts';
import { clip, clock, visible } from '../words/format';
import { LogStore, patternOf, pieces, type Line } from './logStore';
import { podsOf } from './pods';

const spans: [string, string][] = [['', 'From the start'], ['1m', 'Last minute'], ['10m', 'Last 10 minutes'],
  ['1h', 'Last hour'], ['24h', 'Last day']];
const tails: [string, string][] = [['1000', 'Last 1,000 lines per pod'], ['10000', 'Last 10,000 lines per pod'],
  ['all', 'All lines']];

// Logs merges the output of launcher and nodes in order of time. What is chosen is in the URL.
export function Logs({ detail, path }: { detail: JobDetail; path: string }) {
  const [query, setQuery] = useSearchParams();
  const set = useCallback((name: string, value: string) => setQuery((before) => {
    const next = new URLSearchParams(before);
    if (value) next.set(name, value); else next.delete(name);
    return next;
  }, { replace: true }), [setQuery]);
  const text = query.get('find') ?? '';
  const { pattern, wrong } = useMemo(() => patternOf(text), [text]);
  const [, draw] = useState(0);
  const [trouble, setTrouble] = useState<Problem>();
  const [follow, setFollow] = useState(true);
  const [current, setCurrent] = useState(-1);
  const times = query.get('times') === '1';
  const wrap = query.get('wrap') === '1';
  const asked = logQuery(query);
  const address = `${path}/logs?${asked}`;
  const newStore = () => ({ address, store: new LogStore(() => draw((n) => n + 1)) });
  const [held, setHeld] = useState(newStore);
  // Another choice begins with an empty log, from the first frame on.
  if (held.address !== address) setHeld(newStore());
  const { store } = held;
  useEffect(() => {
    let seen = '';
    let close: () => void = () => undefined;
    close = listen(address, {
      lines: (batch) => {
        if (!Array.isArray(batch)) return;
        // After a lost connection the server starts over.
        if (seen === 'lost') store.clear();
        seen = 'lines';
        setTrouble(undefined);
        store.add(batch as LogLine[]);
      },
      note: (n) => store.set({ note: String((n as { message?: string }).message ?? '') }),
      end: () => { store.set({ ended: true }); close(); },
    }, (problem) => { seen = 'lost'; setTrouble(problem); });
    return () => { close(); store.close(); };
  }, [address, store]);
  useEffect(() => { store.find(pattern); }, [store, pattern]);
  const hit = Math.min(current, store.hits.length - 1);
  const step = (by: number) => {
    if (store.hits.length === 0) return;
    setFollow(false);
    setCurrent((hit + by + store.hits.length) % store.hits.length);
  };
  const pods = podsOf(detail.job);
  const attempts = [['', 'Latest attempt'], ...Array.from({ length: Math.min(detail.job.restarts ?? 0, 100) },
    (_, i) => [`${i}`, `Attempt ${i + 1}`])] as [string, string][];
  const slots = Math.min(detail.job.world?.slots ?? 0, 4_096);
  const ranks = Array.from({ length: slots }, (_, i): [string, string] => [`${i}`, `Rank ${i}`]);
  return (
    <div className="log-page">
      <div className="log-bar">
        <SearchInput className="find" aria-label="Search the log by a regular expression" value={text}
          placeholder="Search: regular expression"
          onChange={(_, v) => { setCurrent(0); set('find', v); }} onClear={() => set('find', '')}
          onKeyDown={(e: KeyboardEvent) => { if (e.key === 'Enter') step(e.shiftKey ? -1 : 1); }} />
        <span className="hits" role="status">{wrong ? <span className="wrong">{wrong}</span>
          : pattern && `${store.hits.length ? `${hit + 1} of ` : ''}${store.hits.length.toLocaleString('en')}`}</span>
        <Button variant="plain" size="sm" aria-label="Previous match" isDisabled={!store.hits.length}
          onClick={() => step(-1)} icon={<AngleUpIcon />} />
        <Button variant="plain" size="sm" aria-label="Next match" isDisabled={!store.hits.length}
          onClick={() => step(1)} icon={<AngleDownIcon />} />
        <Choice name="Role" options={[['', 'All roles'], ['launcher', 'Launcher'], ['node', 'Nodes']]}
          chosen={[query.get('role') ?? '']} choose={([v]) => set('role', v ?? '')} />
        <Choice name="Rank" options={[['', 'All ranks'], ...ranks]} chosen={[query.get('rank') ?? '']}
          choose={([v]) => set('rank', v ?? '')} />
        <Choice name="Pod" options={[['', 'All pods'], ...pods.map((p): [string, string] => [p.name, p.name])]}
          chosen={[query.get('pod') ?? '']} choose={([v]) => set('pod', v ?? '')} />
        {attempts.length > 1 && (
          <Choice name="Attempt" options={attempts} chosen={[query.get('attempt') ?? '']}
            choose={([v]) => set('attempt', v ?? '')} />
        )}
        <Choice name="Since" options={spans} chosen={[query.get('since') ?? '']}
          choose={([v]) => set('since', v ?? '')} />
        <Choice name="Lines" options={tails} chosen={[query.get('tail') ?? '1000']}
          choose={([v]) => set('tail', v === '1000' ? '' : v ?? '')} />
        <ToggleGroup isCompact aria-label="Display">
          <ToggleGroupItem text="Wrap" isSelected={wrap} onChange={() => set('wrap', wrap ? '' : '1')} />
          <ToggleGroupItem text="Times" isSelected={times} onChange={() => set('times', times ? '' : '1')} />
        </ToggleGroup>
        <Switch label="Follow" isChecked={follow} onChange={(_, v) => setFollow(v)} />
        <Button component="a" variant="secondary" size="sm" download
          href={`${path}/logs?${whole(asked)}&timestamps=${times}`}>Download</Button>
      </div>
      {trouble && trouble.code !== 0 && trouble.code !== 401 && <Trouble problem={trouble} />}
      {store.note && <p className="note">{visible(clip(store.note))}</p>}
      {store.lines.length > 0
        ? <LogView store={store} pattern={pattern} target={store.hits[hit]} follow={follow} setFollow={setFollow}
          wrap={wrap} times={times} />
        : !trouble && <Empty title={store.ended ? 'No lines' : 'Waiting for the first line'}>
          {store.ended ? 'No line matches what is chosen, or the pods are gone and with them their logs.'
            : 'Lines appear here two to three seconds after they were printed.'}</Empty>}
      <p className="small log-foot" role="status">
        {store.lines.length.toLocaleString('en')} lines
        {store.dropped > 0 && `; the first ${store.dropped.toLocaleString('en')} are not kept here: download the log`}
        {store.ended && '; end of the log'}
      </p>
    </div>
  );
}

function logQuery(query: URLSearchParams): string {
  const asked = new URLSearchParams({ follow: 'true' });
  for (const name of ['pod', 'role', 'rank', 'since', 'attempt']) {
    const value = query.get(name);
    if (value) asked.set(name, value);
  }
  const tail = query.get('tail') ?? '1000';
  if (tail !== 'all') asked.set('tail', tail);
  return asked.toString();
}

// whole asks for all lines of a choice, as a file.
function whole(asked: string): string {
  const query = new URLSearchParams(asked);
  query.delete('follow');
  query.delete('tail');
  query.set('download', 'true');
  return query.toString();
}

interface ViewProps {
  store: LogStore; pattern?: RegExp; target?: number; follow: boolean; wrap: boolean; times: boolean;
  setFollow: (follow: boolean) => void;
}

// block is how many lines are laid out as one: at each change the layout goes through all that there are.
const block = 50;
const lineHeight = 20;

// LogView draws only the lines in sight.
function LogView({ store, pattern, target, follow, setFollow, wrap, times }: ViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const first = Math.floor(store.dropped / block);
  const end = store.dropped + store.lines.length;
  // A new function would make it measure all blocks again, many times a second.
  const getItemKey = useCallback((i: number) => first + i, [first]);
  const rows = useVirtualizer({
    count: Math.ceil(end / block) - first, getScrollElement: () => box.current,
    estimateSize: () => block * lineHeight, overscan: 1, getItemKey,
  });
  const height = rows.getTotalSize();
  useLayoutEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [follow, end, height]);
  useEffect(() => {
    if (target === undefined || follow || !box.current) return undefined;
    const start = rows.getOffsetForIndex(Math.floor(target / block) - first, 'start')?.[0] ?? 0;
    rows.scrollToOffset(start + (target % block) * lineHeight - box.current.clientHeight / 2);
    // Wrapped lines are higher: where the line is shows once it is drawn.
    const timer = setTimeout(() => box.current?.querySelector('.target')?.scrollIntoView({ block: 'nearest' }), 50);
    return () => clearTimeout(timer);
  }, [target, follow, rows, first]);
  const stop = () => setFollow(false);
  return (
    <div className={`log ${wrap ? 'wrap' : ''}`} ref={box} tabIndex={0} role="log" aria-label="Log of the job"
      aria-live="off" onWheel={(e) => { if (e.deltaY < 0 && follow) stop(); }}
      onKeyDown={(e) => { if (follow && ['ArrowUp', 'PageUp', 'Home'].includes(e.key)) stop(); }}>
      <div style={{ height, position: 'relative' }}>
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const from = (first + index) * block - store.dropped;
          return (
            <div key={key} data-index={index} ref={rows.measureElement} className="block"
              style={{ transform: `translateY(${start}px)` }}>
              {store.lines.slice(Math.max(0, from), from + block).map((line) => (
                <div key={line.id} className={`line ${line.id === target ? 'target' : ''}`}>
                  <LineText line={line} pattern={pattern} times={times} />
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

// sourceOf names the writer of a line as short as possible: `rank 3`, `launcher`, `node 1`.
function sourceOf(line: Line): { name: string; colour: number } {
  if (typeof line.rank === 'number') return { name: `rank ${line.rank}`, colour: line.rank % 8 };
  const index = /-(\d+)-\d+(-[a-z0-9]+)?$/.exec(line.pod ?? '')?.[1];
  if (line.role === 'launcher') return { name: 'launcher', colour: 8 };
  return { name: index === undefined ? clip(line.pod ?? '', 24) : `node ${index}`, colour: 9 };
}

const LineText = memo(function LineText({ line, pattern, times }: { line: Line; pattern?: RegExp; times: boolean }) {
  const { name, colour } = sourceOf(line);
  const text = visible(clip(line.text));
  return (
    <>
      {times && <span className="time">{clock(line.time).slice(11)}</span>}
      <span className={`source rank-${colour}`} title={visible(clip(line.pod ?? '', 200))}>{visible(name)}</span>
      <bdi className="text" dir="ltr">
        {pieces(text, pattern).map((p, i) => (i % 2 ? <mark key={i}>{p}</mark> : p))}
      </bdi>
    </>
  );
});
