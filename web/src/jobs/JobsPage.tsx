import {
  Button, Label, LabelGroup, PageSection, SearchInput, TextInput, Title, Toolbar, ToolbarContent, ToolbarItem,
} from '@patternfly/react-core';
import { CubesIcon } from '@patternfly/react-icons/dist/esm/icons/cubes-icon';
import { SearchIcon } from '@patternfly/react-icons/dist/esm/icons/search-icon';
import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useMemo, useRef, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { createPath, get, listStreamPath } from '../api/client';
import { useStream, type Reducers } from '../api/stream';
import type { Items, Job, JobList, Phase } from '../api/types';
import { Choice } from '../parts/Choice';
import { useSession } from '../parts/Frame';
import { Empty, Loading, Trouble, useNow, useTitle, Withheld } from '../parts/parts';
import { shown } from '../words/format';
import { allPhases } from '../words/phases';
import { apply, frameworkOf, ownerOf, readView, writeView, type View } from './filter';
import { JobsTable } from './JobsTable';

type Jobs = { byUID: Map<string, Job>; withheld: JobList['withheld'] };
const reducers: Reducers<Jobs> = {
  snapshot: (_, list: JobList) => ({ byUID: new Map(list.items.map((j) => [j.uid, j])), withheld: list.withheld }),
  change: (before, { items, gone }: { items?: Job[]; gone?: string[] }) => {
    const byUID = new Map(before?.byUID);
    for (const j of items ?? []) byUID.set(j.uid, j);
    for (const uid of gone ?? []) byUID.delete(uid);
    return { byUID, withheld: before?.withheld };
  },
};

const created: [string, string][] = [['', 'Created at any time'], ['1h', 'Created in the last hour'],
  ['24h', 'Created in the last day'], ['7d', 'Created in the last week'], ['30d', 'Created in the last month']];

const facets = (jobs: Job[], of: (j: Job) => string) =>
  [...new Set(jobs.map(of))].sort().map((v): [string, string] => [v, v || 'unknown']);

// JobsPage lists all jobs that the user may read. Every choice is in the URL.
export function JobsPage() {
  useTitle('Jobs');
  const [query, setQuery] = useSearchParams();
  const view = useMemo(() => readView(query), [query]);
  const set = (change: Partial<View>) => setQuery(writeView({ ...view, ...change }), { replace: true });
  const now = useNow();
  const session = useSession().data;
  const spaces = useQuery({
    queryKey: ['namespaces'], queryFn: ({ signal }) => get<Items<string>>('/api/v1/namespaces', signal),
  }).data;
  const namespace = view.namespace === '*' ? '' : view.namespace || undefined;
  const { data, trouble } = useStream<Jobs>(listStreamPath(namespace), reducers);
  const all = useMemo(() => [...(data?.byUID.values() ?? [])], [data]);
  const text = useDeferredValue(view.text);
  // Sorting by time must not run each second: the order by age and by duration changes slowly.
  const slow = Math.floor(now / 10_000) * 10_000;
  const rows = useMemo(() => apply(all, { ...view, text }, slow), [all, view, text, slow]);
  const search = useRef<HTMLInputElement>(null);
  const options: [string, string][] = [['*', 'All namespaces'],
    ...(spaces?.items ?? []).map((n): [string, string] => [n, n])];
  const filtered = view.text + view.created !== '' || view.state.length + view.framework.length + view.owner.length > 0;
  const clear = () => set({ text: '', created: '', state: [], framework: [], owner: [] });
  const counts = useMemo(() => countPhases(all), [all]);
  return (
    <PageSection isFilled className="jobs">
      <div className="heading">
        <Title headingLevel="h1">Jobs</Title>
        <span className="total" role="status">
          {data && `${filtered ? `${rows.length} of ` : ''}${all.length} ${all.length === 1 ? 'job' : 'jobs'}`}
          {data && !trouble && <span className="live">live</span>}
        </span>
        <Link className="pf-v6-c-button pf-m-primary pf-m-small" to={createPath(namespace ?? session?.namespace)}>
          Create a job
        </Link>
        <ul className="counts" aria-label="Jobs by state">
          {counts.map(([phase, n]) => (
            <li key={phase}>
              <Button variant="plain" className="count-button" aria-pressed={view.state.includes(phase)}
                onClick={() => set({ state: view.state.includes(phase) ? [] : [phase] })}>
                <span className={`dot ${phase}`} />{n} {shown(phase, 40)}
              </Button>
            </li>
          ))}
        </ul>
      </div>
      {trouble && <Trouble problem={trouble} />}
      {!data && session?.namespace === '' && <AskNamespace choose={(ns) => set({ namespace: ns })} />}
      <Withheld items={data?.withheld} />
      <Toolbar className="filters" inset={{ default: 'insetNone' }}>
        <ToolbarContent>
          <ToolbarItem className="search">
            <SearchInput ref={search} aria-label="Search jobs" placeholder="Name, reason, owner, queue…"
              value={view.text} onChange={(_, v) => set({ text: v })} onClear={() => set({ text: '' })} />
          </ToolbarItem>
          <ToolbarItem>
            <Choice name="Namespace" options={options} chosen={[view.namespace || session?.namespace || '*']}
              note={spaces?.withheld?.[0]?.why} choose={([ns]) => set({ namespace: ns ?? '' })} />
          </ToolbarItem>
          <ToolbarItem>
            <Choice many name="State" options={allPhases.map((p) => [p, p])} chosen={view.state}
              choose={(state) => set({ state })} />
          </ToolbarItem>
          <ToolbarItem>
            <Choice many name="Framework" options={facets(all, frameworkOf)} chosen={view.framework}
              choose={(framework) => set({ framework })} />
          </ToolbarItem>
          <ToolbarItem>
            <Choice many name="Owner" options={facets(all, ownerOf)} chosen={view.owner}
              choose={(owner) => set({ owner })} />
          </ToolbarItem>
          <ToolbarItem>
            <Choice name="Created" options={created} chosen={[view.created]}
              choose={([age]) => set({ created: age ?? '' })} />
          </ToolbarItem>
          {filtered && <ToolbarItem><Button variant="link" onClick={clear}>Clear filters</Button></ToolbarItem>}
        </ToolbarContent>
      </Toolbar>
      <Chosen view={view} set={set} />
      {!data && !trouble && <Loading what="jobs" />}
      {data && rows.length > 0 && <JobsTable jobs={rows} view={view} now={now} set={set} />}
      {data && rows.length === 0 && all.length > 0 && (
        <Empty title="No job matches" icon={SearchIcon}>
          <p>{all.length} jobs are here, and the filters hide all of them.</p>
          <Button variant="primary" onClick={clear}>Clear filters</Button>
        </Empty>
      )}
      {data && all.length === 0 && (
        <NoJobs namespace={namespace ?? session?.namespace} withheld={!!data.withheld?.length} />
      )}
    </PageSection>
  );
}

// AskNamespace is for users who may not list namespaces, in a cluster that cannot know theirs.
function AskNamespace({ choose }: { choose: (namespace: string) => void }) {
  const [name, setName] = useState('');
  return (
    <form className="ask" onSubmit={(e) => { e.preventDefault(); choose(name.trim()); }}>
      <TextInput aria-label="Namespace" placeholder="Namespace of your team" value={name}
        onChange={(_, v) => setName(v)} />
      <Button type="submit" isDisabled={!name.trim()}>Show its jobs</Button>
    </form>
  );
}

function countPhases(all: Job[]): [Phase, number][] {
  const counts = new Map<Phase, number>();
  for (const j of all) counts.set(j.phase, (counts.get(j.phase) ?? 0) + 1);
  return allPhases.flatMap((p): [Phase, number][] => (counts.has(p) ? [[p, counts.get(p) ?? 0]] : []));
}

function Chosen({ view, set }: { view: View; set: (change: Partial<View>) => void }) {
  const groups = (['state', 'framework', 'owner'] as const).filter((g) => view[g].length > 0);
  if (groups.length === 0) return null;
  return (
    <div className="chosen">
      {groups.map((group) => (
        <LabelGroup key={group} categoryName={{ state: 'State', framework: 'Framework', owner: 'Owner' }[group]}>
          {view[group].map((v) => (
            <Label key={v} variant="outline" onClose={() => set({ [group]: view[group].filter((x) => x !== v) })}
              closeBtnAriaLabel={`Remove ${v || 'unknown'}`}>{shown(v, 60) || 'unknown'}</Label>
          ))}
        </LabelGroup>
      ))}
    </div>
  );
}

function NoJobs({ namespace, withheld }: { namespace?: string; withheld: boolean }) {
  if (withheld) {
    return <Empty title="Nothing that you may see">The rights above decide what this list shows.</Empty>;
  }
  return (
    <Empty title={namespace ? `No jobs in ${shown(namespace, 80)}` : 'No jobs yet'} icon={CubesIcon}>
      <p>New jobs appear here at once, without a reload. <Link to={createPath(namespace)}>Create a job</Link>, or in a
        terminal:</p>
      <pre className="command">kubectl mpi submit first --runtime RUNTIME --nodes 2 -- mpirun ./program</pre>
      <p><code>kubectl mpi runtimes</code> lists the runtimes.</p>
    </Empty>
  );
}

