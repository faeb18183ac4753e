import { PageSection, Title } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import { get, Problem } from '../api/client';
import type { Items } from '../api/types';
import type { Runtime } from '../create/server';
import { Marks, range } from '../create/steps';
import { useSession } from '../parts/Frame';
import { Grid } from '../parts/Grid';
import { Empty, Loading, Text, Trouble, useTitle, Withheld } from '../parts/parts';
import { runtimePath } from './server';

// RuntimesPage lists the runtimes that jobs of a namespace may have.
export function RuntimesPage() {
  useTitle('Runtimes');
  const [query] = useSearchParams();
  const session = useSession().data;
  const namespace = query.get('ns') ?? session?.namespace ?? '';
  const { data, error } = useQuery({
    enabled: namespace !== '', queryKey: ['runtimes', namespace],
    queryFn: ({ signal }) => get<Items<Runtime>>(`/api/v1/runtimes?namespace=${encodeURIComponent(namespace)}`, signal),
  });
  return (
    <PageSection isFilled className="sheet">
      <div className="heading">
        <Title headingLevel="h1">Runtimes</Title>
        {namespace && <span className="total">for jobs in <Text most={80}>{namespace}</Text></span>}
        <Link className="pf-v6-c-button pf-m-secondary pf-m-small" to="/new-runtime">New runtime</Link>
      </div>
      {error instanceof Problem && <Trouble problem={error} />}
      {session && !namespace && <p>Choose a namespace: add ?ns=NAME to the address.</p>}
      {namespace && !data && !error && <Loading what="the runtimes" />}
      <Withheld items={data?.withheld} />
      {data?.items.length === 0 && (
        <Empty title="No runtimes">There is no runtime that you may use here: ask the platform team.</Empty>
      )}
      {!!data?.items.length && (
        <Grid label="Runtimes" rows={data.items} keyOf={(r) => `${r.kind}/${r.name}`} columns={[
          { term: 'Runtime', cell: (r) => (
            <><Link to={runtimePath(r.name, r.kind, namespace)}><Text most={80}>{r.name}</Text></Link>
              <Marks of={r} />
              {r.description && <div className="small"><Text most={300}>{r.description}</Text></div>}</>
          ) },
          { term: 'MPI', cell: (r) => <Text most={60}>{mpiOf(r)}</Text> },
          { term: 'Nodes', cell: range },
          { term: 'Slots', cell: (r) => r.slotsPerNode ?? '–', number: true },
          { term: 'A node gets', cell: (r) => <Text most={200}>{r.resources}</Text> },
          { term: 'At most', cell: (r) => <Text most={200}>{r.most}</Text> },
        ]} />
      )}
    </PageSection>
  );
}

export const mpiOf = (r: Runtime) => [r.implementation, r.version].filter(Boolean).join(' ') || r.framework;
