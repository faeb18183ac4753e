import {
  Alert, Breadcrumb, BreadcrumbItem, PageSection, Tab, Tabs, TabTitleText, Title,
} from '@patternfly/react-core';
import { lazy, Suspense } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { jobPath, pageOf } from '../api/client';
import { useStream, type Reducers } from '../api/stream';
import type { JobDetail } from '../api/types';
import { Catch, Empty, Loading, State, Text, Trouble, useNow, useTitle, Withheld } from '../parts/parts';
import { since } from '../words/format';
import { Actions } from './Actions';
import { Overview } from './Overview';

const Configuration = lazy(() => import('./Configuration').then((m) => ({ default: m.Configuration })));
const Workers = lazy(() => import('./Workers').then((m) => ({ default: m.Workers })));
const Logs = lazy(() => import('./Logs').then((m) => ({ default: m.Logs })));
const Metrics = lazy(() => import('./Metrics').then((m) => ({ default: m.Metrics })));
const Events = lazy(() => import('./Events').then((m) => ({ default: m.Events })));

const tabs = ['overview', 'configuration', 'workers', 'logs', 'metrics', 'events'] as const;
type TabName = (typeof tabs)[number];
const reducers: Reducers<JobDetail> = {
  job: (_, value: JobDetail) => value,
  gone: () => undefined,
};

// JobPage shows one job in six tabs, live.
export function JobPage() {
  const { namespace = '', name = '', tab } = useParams();
  const active: TabName = tabs.find((t) => t === tab) ?? 'overview';
  const path = jobPath(namespace, name);
  const { data, trouble, gone } = useStream<JobDetail>(`${path}/stream`, reducers);
  const now = useNow();
  const go = useNavigate();
  useTitle(`${name} ${active === 'overview' ? '' : active}`);
  const title = (t: TabName) => t[0]?.toUpperCase() + t.slice(1);
  return (
    <PageSection isFilled className="job">
      <Breadcrumb>
        <BreadcrumbItem><Link to="/jobs">Jobs</Link></BreadcrumbItem>
        <BreadcrumbItem>
          <Link to={`/jobs?ns=${encodeURIComponent(namespace)}`}><Text most={80}>{namespace}</Text></Link>
        </BreadcrumbItem>
        <BreadcrumbItem isActive><Text most={120}>{name}</Text></BreadcrumbItem>
      </Breadcrumb>
      <div className="heading">
        <Title headingLevel="h1"><Text most={120}>{name}</Text></Title>
        {data && <State phase={data.job.phase} />}
        {data && <span className="since">{data.job.since && `for ${since(data.job.since, undefined, now)}`}</span>}
        {data && !data.kept && <Actions detail={data} />}
      </div>
      {trouble && (data || trouble.code !== 404) && <Trouble problem={trouble} />}
      {data?.kept && (
        <Alert variant="info" isInline component="p"
          title="This job was deleted: the page shows what the history keeps" />
      )}
      <Withheld items={data?.withheld} />
      {!data && !trouble && !gone && <Loading what="the job" />}
      {!data && (gone || trouble?.code === 404) && (
        <Empty title={gone ? 'The job was deleted' : 'There is no such job'}>
          <p>{gone ? 'Its objects are gone. Logs may be kept by the platform.'
            : 'It was deleted, or its name or namespace differs.'}</p>
          <Link to={`/jobs?ns=${encodeURIComponent(namespace)}`}>Jobs of the namespace</Link>
        </Empty>
      )}
      {data && (
        <>
          <Tabs activeKey={active} aria-label="Parts of the job" component="nav" className="tabs"
            onSelect={(event, key) => { event.preventDefault(); void go(pageOf(namespace, name, String(key))); }}>
            {tabs.map((t) => (
              <Tab key={t} eventKey={t} href={pageOf(namespace, name, t)} tabContentId={`tab-${t}`}
                title={<TabTitleText>{title(t)}</TabTitleText>} />
            ))}
          </Tabs>
          <section className={`tab ${active}`} id={`tab-${active}`} role="tabpanel" aria-label={title(active)}>
            <Catch key={active}>
              <Suspense fallback={<Loading what={active} />}>
                {active === 'overview' && <Overview detail={data} now={now} />}
                {active === 'configuration' && <Configuration path={path} name={name} />}
                {active === 'workers' && <Workers detail={data} path={path} />}
                {active === 'logs' && <Logs detail={data} path={path} />}
                {active === 'metrics' && <Metrics detail={data} path={path} />}
                {active === 'events' && <Events path={path} phase={data.job.phase} />}
              </Suspense>
            </Catch>
          </section>
        </>
      )}
    </PageSection>
  );
}
