import { Breadcrumb, BreadcrumbItem, Button, PageSection, Title, Tooltip } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Link, useParams, useSearchParams } from 'react-router';
import { createPath, get, pageOf, Problem } from '../api/client';
import type { Job } from '../api/types';
import { Marks, range } from '../create/steps';
import { useSession } from '../parts/Frame';
import { Grid, Part } from '../parts/Grid';
import { LightState, Loading, Text, Trouble, useNow, useTitle, Withheld, Word } from '../parts/parts';
import { missing } from '../cluster/cluster';
import { shown, since } from '../words/format';
import type { Term } from '../words/help';
import { mpiOf } from './RuntimesPage';
import { runtimeApi, type RuntimeDetail } from './server';
import { Preview, Result } from './TestPart';

// RuntimePage shows one runtime, who may use it, where it ran, and tests it.
export function RuntimePage() {
  const { name = '' } = useParams();
  const [query, setQuery] = useSearchParams();
  const session = useSession().data;
  const namespace = query.get('ns') ?? session?.namespace ?? '';
  const kind = query.get('kind') ?? 'ClusterTrainingRuntime';
  const test = query.get('test');
  const [asked, setAsked] = useState(false);
  useTitle(name);
  const { data, error } = useQuery({
    enabled: namespace !== '', queryKey: ['runtime', kind, namespace, name],
    queryFn: ({ signal }) => get<RuntimeDetail>(runtimeApi(name, kind, namespace), signal),
  });
  const follow = (job: string) => { setAsked(false); setQuery({ ...Object.fromEntries(query), test: job }); };
  return (
    <PageSection isFilled className="sheet">
      <Breadcrumb>
        <BreadcrumbItem><Link to={`/runtimes?ns=${encodeURIComponent(namespace)}`}>Runtimes</Link></BreadcrumbItem>
        <BreadcrumbItem isActive><Text most={120}>{name}</Text></BreadcrumbItem>
      </Breadcrumb>
      <div className="heading">
        <Title headingLevel="h1"><Text most={120}>{name}</Text></Title>
        {data && <Marks of={data} />}
        {data && (
          <div className="actions">
            <Link className="pf-v6-c-button pf-m-primary" to={createPath(namespace, name)}>Create a job</Link>
            <TestButton of={data} ask={() => setAsked(true)} />
          </div>
        )}
      </div>
      {error instanceof Problem && <Trouble problem={error} />}
      {!data && !error && namespace && <Loading what="the runtime" />}
      {data && (
        <>
          {data.description && <p><Text most={500}>{data.description}</Text></p>}
          <Withheld items={data.withheld?.filter((w) => w.what === 'jobs of other namespaces')} />
          {asked && (
            <Part term="Test">
              <Preview path={runtimeApi(name, kind, namespace, '/probe')} namespace={namespace} started={follow}
                cancel={() => setAsked(false)} />
            </Part>
          )}
          {test && !asked && <Part term="Test"><Result namespace={namespace} name={test} /></Part>}
          <Facts of={data} />
          <Jobs jobs={data.jobs} of={data} />
        </>
      )}
    </PageSection>
  );
}

function TestButton({ of, ask }: { of: RuntimeDetail; ask: () => void }) {
  const why = of.test.allowed ? of.implementation ? '' : 'Only runtimes of MPI can be tested.' : of.test.missing;
  const button = (
    <Button variant="secondary" isAriaDisabled={!!why} onClick={() => { if (!why) ask(); }}>Test</Button>
  );
  return why ? <Tooltip content={shown(why, 300)}>{button}</Tooltip> : button;
}

function Facts({ of: r }: { of: RuntimeDetail }) {
  const users = missing(r.withheld, 'namespaces that may use it');
  const facts: [Term, ReactNode][] = [
    ['MPI', <Text most={60}>{mpiOf(r)}</Text>], ['Framework', <Text most={60}>{r.framework}</Text>],
    ['Image', <Text most={300}>{r.image}</Text>], ['Nodes', range(r)],
    ['Slots', `${r.slotsPerNode ?? 'not known'} per node`], ['A node gets', <Text most={200}>{r.resources}</Text>],
    ['At most', <Text most={200}>{r.most}</Text>], ['Profile', <Text most={80}>{r.profile}</Text>],
    ['Price', r.price ? `${shown(r.price, 40)} per node and hour` : 'none'],
    ['Restarts of a job', r.restarts ? `up to ${shown(r.restarts, 10)}` : 'none'],
    ['Certified', r.certification ? <Text most={300}>{r.certification}</Text> : 'never on this cluster'],
    ['May use it', users ? <Text most={500}>{users.why}</Text>
      : <Text most={1_000}>{r.namespaces.join(', ') || 'all, nothing limits it'}</Text>],
    ['Documentation', /^https?:\/\//i.test(r.documentation ?? '')
      ? <a href={r.documentation} target="_blank" rel="noreferrer">{shown(r.documentation, 200)}</a> : 'none'],
  ];
  if (r.deprecated) {
    facts.push(['Successor', <Text most={80}>{r.successor}</Text>],
      ['Goes away', <Text most={300}>{[r.retireOn, r.reason].filter(Boolean).join(': ')}</Text>]);
  }
  return (
    <dl className="facts known">
      {facts.map(([term, value]) => <div key={term}><dt><Word term={term} /></dt><dd>{value}</dd></div>)}
    </dl>
  );
}

function Jobs({ jobs, of }: { jobs: Job[]; of: RuntimeDetail }) {
  const now = useNow(10_000);
  const [query] = useSearchParams();
  const testOf = (j: Job) => {
    const to = new URLSearchParams(query);
    to.set('test', j.name);
    to.set('ns', j.namespace);
    return `?${to}`;
  };
  return (
    <Part term="Where it ran" missing={missing(of.withheld, 'jobs of the runtime')}
      empty={jobs.length === 0 && 'No job that you may see has this runtime.'}>
      <Grid label="Where it ran" rows={jobs} keyOf={(j) => j.uid} columns={[
        { term: 'Name', cell: (j) => (
          <><Link to={pageOf(j.namespace, j.name)}><Text most={80}>{j.name}</Text></Link>
            {j.name.startsWith('certify-') && <>{' '}<Link to={testOf(j)}>result of the test</Link></>}</>
        ) },
        { term: 'Namespace', cell: (j) => <Text most={80}>{j.namespace}</Text> },
        { term: 'Owner', cell: (j) => <Text most={80}>{j.user}</Text> },
        { term: 'State', cell: (j) => <LightState phase={j.phase} /> },
        { term: 'Slots', cell: (j) => j.world?.slots ?? '–', number: true },
        { term: 'Age', cell: (j) => since(j.times.created, undefined, now), number: true },
      ]} />
    </Part>
  );
}
