import { Button, PageSection, TextInput, Title } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { get, pageOf, Problem } from '../api/client';
import type { Job, JobList, Metric } from '../api/types';
import { timelineOf } from '../job/timeline';
import { Empty, Loading, State, Text, Trouble, useNow, useTitle } from '../parts/parts';
import { shown, since, span } from '../words/format';

interface Row { what: string; values: string[]; differs: boolean[] }
interface Comparison { jobs: Job[]; rows: Row[]; equal: string[]; unknown?: string[] }

const most = 8;

// ComparePage has runs side by side: what differed in what was asked for and in what ran, and how they went.
export function ComparePage() {
  const [query, setQuery] = useSearchParams();
  const asked = [...new Set(query.getAll('job'))];
  useTitle('Compare');
  const set = (jobs: string[]) => setQuery(jobs.map((j): [string, string] => ['job', j]));
  const { data, error } = useQuery({
    enabled: asked.length > 1, queryKey: ['compare', ...asked],
    queryFn: ({ signal }) => get<Comparison>(
      `/api/v1/compare?${asked.map((j) => `job=${encodeURIComponent(j)}`).join('&')}`, signal),
  });
  return (
    <PageSection isFilled className="compare">
      <Title headingLevel="h1">Compare runs</Title>
      <Choose asked={asked} set={set} />
      {error instanceof Problem && <Trouble problem={error} />}
      {asked.length < 2 && <Empty title="Choose two runs or more">Type the names of jobs above, or choose them.</Empty>}
      {asked.length > 1 && !data && !error && <Loading what="the runs" />}
      {data && <Compared {...data} />}
    </PageSection>
  );
}

// Choose adds and removes runs. The first one is what the others are compared with.
function Choose({ asked, set }: { asked: string[]; set: (jobs: string[]) => void }) {
  const [text, setText] = useState('');
  const namespace = asked[0]?.split('/')[0];
  const known = useQuery({
    queryKey: ['names', namespace], staleTime: 30_000,
    queryFn: ({ signal }) => get<JobList>(
      `/api/v1/trainjobs${namespace ? `?namespace=${encodeURIComponent(namespace)}` : ''}`, signal),
  }).data;
  const all = (known?.items ?? []).map((j) => `${j.namespace}/${j.name}`).filter((j) => !asked.includes(j));
  const wanted = text.includes('/') || !namespace ? text.trim() : `${namespace}/${text.trim()}`;
  const right = /^[^/\s]+\/[^/\s]+$/.test(wanted) && asked.length < most;
  return (
    <>
      <ul className="chosen plain">
        {asked.map((job) => (
          <li key={job}>
            <Text most={120}>{job}</Text>{' '}
            <Button variant="link" size="sm" aria-label={`Remove ${job}`}
              onClick={() => set(asked.filter((j) => j !== job))}>
              Remove
            </Button>
          </li>
        ))}
      </ul>
      <form className="ask" onSubmit={(e) => {
        e.preventDefault();
        if (right) { set([...asked, wanted]); setText(''); }
      }}>
        <TextInput aria-label="Job to compare" placeholder="Name of a job" value={text} list="jobs-to-compare"
          onChange={(_, v) => setText(v)} />
        <datalist id="jobs-to-compare">{all.slice(0, 500).map((j) => <option key={j} value={j} />)}</datalist>
        <Button type="submit" variant="secondary" isDisabled={!right}>Add</Button>
      </form>
    </>
  );
}

function Compared({ jobs, rows, equal, unknown }: Comparison) {
  const now = useNow(10_000);
  const head = (
    <thead>
      <tr>
        <th scope="col">What</th>
        {jobs.map((j) => (
          <th key={j.uid} scope="col"><Link to={pageOf(j.namespace, j.name)}><Text most={80}>{j.name}</Text></Link></th>
        ))}
      </tr>
    </thead>
  );
  const line = (what: string, values: (string | undefined)[], differs?: boolean[]) => (
    <tr key={what}>
      <th scope="row">{shown(what, 120)}</th>
      {values.map((v, i) => (
        <td key={i} className={differs?.[i] ? 'other' : undefined}>{shown(v, 600) || '–'}</td>
      ))}
    </tr>
  );
  const times = jobs.map((j) => new Map(timelineOf(j, now).map((p) => [p.name, span((p.to - p.from) / 1_000)])));
  const parts = [...new Set(times.flatMap((t) => [...t.keys()]))];
  const metrics = jobs.map((j) => new Map((j.progress?.metrics ?? []).map((m: Metric) => [m.name, m.value])));
  const names = [...new Set(metrics.flatMap((m) => [...m.keys()]))];
  return (
    <>
      <section className="compared" aria-label="How they went" tabIndex={0}>
        <h2>How they went</h2>
        <table>
          {head}
          <tbody>
            <tr><th scope="row">State</th>{jobs.map((j) => <td key={j.uid}><State phase={j.phase} /></td>)}</tr>
            {line('Reason', jobs.map((j) => j.cause?.reason))}
            {line('Duration', jobs.map((j) => since(j.times.started, j.times.ended, now)))}
            {parts.map((part) => line(part, times.map((t) => t.get(part))))}
            {line('Slots', jobs.map((j) => j.world && String(j.world.slots)))}
            {names.map((name) => line(name, metrics.map((m) => m.get(name))))}
          </tbody>
        </table>
      </section>
      <section className="compared" aria-label="What differs" tabIndex={0}>
        <h2>What differs</h2>
        {rows.length === 0 ? <p>Nothing differs, of {equal.length} things that were compared.</p> : (
          <table>{head}<tbody>{rows.map((r) => line(r.what, r.values, r.differs))}</tbody></table>
        )}
      </section>
      <details className="small">
        <summary>{equal.length} things are equal</summary>
        <p>{shown(equal.join(', '), 2_000)}</p>
      </details>
      {unknown?.map((u) => <p key={u} className="small">{shown(u, 300)}</p>)}
    </>
  );
}
