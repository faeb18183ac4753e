import { Alert, Button, PageSection, Title } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useMemo, useRef, useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { get, jobPath, pageOf, Problem } from '../api/client';
import type { Items, JobList } from '../api/types';
import { Choice } from '../parts/Choice';
import { useSession } from '../parts/Frame';
import { Catch, Loading, Trouble, useTitle, Withheld } from '../parts/parts';
import { shown } from '../words/format';
import { TextField } from './fields';
import { emptyJob, write, type FieldName, type Form } from './form';
import { OutlookPart } from './OutlookPart';
import { ReviewStep } from './ReviewStep';
import { problemsOf, type Problems } from './rules';
import { create, useCheck, type Choices, type Runtime } from './server';
import { DataStep, ProgramStep, RuntimeStep, SizeStep } from './steps';
import { wrongOf, type Template } from './template';
import { change, parse, textOf } from './text';

const YamlEditor = lazy(() => import('./YamlEditor'));

const steps: { title: string; fields: FieldName[] }[] = [
  { title: 'Runtime', fields: ['name', 'runtime'] }, { title: 'Size', fields: ['nodes', 'slots', 'resources',
    'queue'] },
  { title: 'Program', fields: ['command', 'files', 'env', 'image'] }, { title: 'Data', fields: ['claims'] },
  { title: 'Review', fields: [] },
];

const latest = 10;

// CreatePage makes a job: by a form, by YAML beside it, or by both. It begins with the job `from`, with the `template`
// of the namespace, or empty with the `runtime`.
export function CreatePage() {
  const [query, setQuery] = useSearchParams();
  const session = useSession().data;
  const from = /^([^/]+)\/([^/]+)$/.exec(query.get('from') ?? '');
  const namespace = from?.[1] ?? query.get('ns') ?? session?.namespace ?? '';
  useTitle(from ? `Repeat ${from[2]}` : 'Create a job');
  const at = `?namespace=${encodeURIComponent(namespace)}`;
  const known = { enabled: namespace !== '', staleTime: 30_000 };
  const runtimes = useQuery({ ...known, queryKey: ['runtimes', namespace],
    queryFn: ({ signal }) => get<Items<Runtime>>(`/api/v1/runtimes${at}`, signal) });
  const choices = useQuery({ ...known, queryKey: ['choices', namespace],
    queryFn: ({ signal }) => get<Choices>(`/api/v1/choices${at}`, signal) });
  const old = useQuery({ enabled: !!from, staleTime: Infinity, queryKey: ['clone', query.get('from')],
    queryFn: ({ signal }) => get<{ yaml: string }>(jobPath(from?.[1] ?? '', from?.[2] ?? '', '/clone'), signal) });
  const spaces = useQuery({ queryKey: ['namespaces'],
    queryFn: ({ signal }) => get<Items<string>>('/api/v1/namespaces', signal) }).data;
  const templates = useQuery({ ...known, queryKey: ['templates', namespace],
    queryFn: ({ signal }) => get<Items<Template>>(`/api/v1/templates${at}`, signal) }).data;
  const runs = useQuery({ ...known, queryKey: ['runs', namespace],
    queryFn: ({ signal }) => get<JobList>(`/api/v1/trainjobs${at}`, signal) }).data;
  const right = templates?.items.filter((t) => t.findings.length === 0) ?? [];
  const chosen = query.get('template');
  const template = right.find((t) => t.name === chosen);
  const start: [string, string][] = [['', 'An empty form'],
    ...right.map((t): [string, string] => [`template=${t.name}`, `Template ${t.name}`]),
    ...(runs?.items ?? []).filter((j) => j.user === session?.user).slice(0, latest)
      .map((j): [string, string] => [`from=${j.namespace}/${j.name}`, `My run ${j.name}`])];
  const begun = from ? `from=${query.get('from')}` : chosen ? `template=${chosen}` : '';
  const problem = [runtimes.error, choices.error, old.error].find((e) => e instanceof Problem);
  const ready = runtimes.data && choices.data && (!from || old.data) && (!chosen || templates);
  return (
    <PageSection isFilled className="create">
      <div className="heading">
        <Title headingLevel="h1">{from ? `Repeat ${shown(from[2], 80)}` : 'Create a job'}</Title>
        {!from && (
          <Choice name="Namespace" options={(spaces?.items ?? []).map((n) => [n, n])} chosen={[namespace]}
            note={spaces?.withheld?.[0]?.why} choose={([ns]) => setQuery({ ns: ns ?? '' })} />
        )}
        {start.length > 1 && (
          <Choice name="Begin with" options={start} chosen={[begun]} note={templates?.withheld?.[0]?.why}
            choose={([value]) => setQuery(`ns=${encodeURIComponent(namespace)}&${value ?? ''}`)} />
        )}
      </div>
      <Withheld items={wrongOf(templates?.items ?? [])} />
      {chosen && templates && !template && (
        <Alert variant="warning" isInline component="p"
          title={`There is no template ${shown(chosen, 80)} to begin with`} />
      )}
      {problem && <Trouble problem={problem as Problem} />}
      {session && !namespace && <p>Choose a namespace: a job is in one.</p>}
      {namespace && !ready && !problem && <Loading what="the form" />}
      {ready && !choices.data.create.allowed && (
        <Alert variant="warning" isInline component="p" title={shown(choices.data.create.missing, 300)}>
          Ask an admin of the tenant for the right, or choose another namespace.
        </Alert>
      )}
      {ready && choices.data.create.allowed && (
        <Editor key={`${namespace} ${begun}`} namespace={namespace} runtimes={runtimes.data} choices={choices.data}
          old={old.data?.yaml ?? template?.yaml} wanted={query.get('runtime') ?? ''} />
      )}
    </PageSection>
  );
}

// begin returns the text of a new job: the default runtime, or the only one, and the queue of the platform.
function begin(namespace: string, runtimes: Runtime[], choices: Choices, wanted: string): string {
  const current = runtimes.filter((r) => !r.deprecated);
  const first = runtimes.find((r) => r.name === wanted) ?? runtimes.find((r) => r.default) ??
    (current.length === 1 ? current[0] : undefined);
  return textOf(write(emptyJob('my-job', namespace), {
    ...(first ? { runtime: first.name, kind: first.kind } : {}), queue: choices.queue ?? '',
  }));
}

interface EditorProps {
  namespace: string; runtimes: Items<Runtime>; choices: Choices; old?: string; wanted: string;
}
function Editor({ namespace, runtimes, choices, old, wanted }: EditorProps) {
  const [text, setText] = useState(() => old ?? begin(namespace, runtimes.items, choices, wanted));
  const [step, setStep] = useState(0);
  const [drafts, setDrafts] = useState<Problems>({});
  const [failed, setFailed] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const go = useNavigate();
  const parsed = useMemo(() => parse(text), [text]);
  const form = parsed.wrong === undefined ? parsed.form : undefined;
  const runtime = runtimes.items.find((r) => r.name === form?.runtime && r.kind === form.kind);
  const problems = useMemo(() => (form && parsed.wrong === undefined
    ? leaveOut({ ...problemsOf(form, runtime), ...leaveOut(drafts, {}) },
    parsed.locked) : {}), [form, runtime, drafts, parsed]);
  const first = Object.values(problems).find(Boolean);
  const live = useCheck(namespace, text, !first && !!form);
  const current = live?.of === text;
  const set = useCallback((fields: Partial<Form>) => setText((t) => change(t, fields)), []);
  const broken = useCallback((field: FieldName, wrong: boolean) => setDrafts((known) => (
    wrong || known[field] ? { ...known, [field]: wrong ? `${field}: what is typed cannot be read.` : undefined }
      : known)), []);
  const show = (to: number) => { setStep(to); setTimeout(() => heading.current?.focus()); };
  const wrong = live?.problem !== undefined || (live?.check?.findings.length ?? 0) > 0 ||
    live?.check?.outlook?.findings.some((f) => f.about === 'admission' || f.about === 'rights');
  const ok = form && !first && current && !wrong;
  const submit = async () => {
    setBusy(true);
    try {
      const made = await create(namespace, text);
      void go(pageOf(made.namespace, made.name));
    } catch (reason) {
      setFailed(reason instanceof Problem ? reason : new Problem(0, 'Error', String(reason)));
      setBusy(false);
    }
  };
  const waiting = parsed.wrong !== undefined ? `The YAML cannot be read, line ${parsed.line}: ${parsed.wrong}`
    : first ?? '';
  const props = form && parsed.wrong === undefined && {
    form, locked: parsed.locked, problems, runtimes: runtimes.items, runtime, choices, set, broken,
  };
  return (
    <div className="beside">
      <div className="guided">
        <nav aria-label="Steps">
          <ol className="steps">
            {steps.map(({ title, fields }, i) => {
              const bad = i < step && fields.some((f) => problems[f]);
              return (
                <li key={title}>
                  <Button variant={i === step ? 'primary' : 'tertiary'} size="sm" aria-current={i === step ? 'step'
                    : undefined}
                    isDanger={bad} onClick={() => show(i)}>{i + 1} {title}{bad && ' (!)'}</Button>
                </li>
              );
            })}
          </ol>
        </nav>
        <Catch>
          {!props ? (
            <Alert variant="warning" isInline component="p"
              title="The form waits until the YAML can be read">{waiting}</Alert>
          ) : (
            <section aria-label={steps[step]?.title} className="step">
              <h2 ref={heading} tabIndex={-1}>{steps[step]?.title}</h2>
              {step === 0 && (
                <>
                  <TextField term="Name" value={props.form.name} problem={problems.name} locked={props.locked.name}
                    set={(name) => set({ name })} />
                  <RuntimeStep {...props} />
                  <Withheld items={runtimes.withheld} />
                </>
              )}
              {step === 1 && <SizeStep {...props} />}
              {step === 2 && <ProgramStep {...props} />}
              {step === 3 && <DataStep {...props} />}
              {step === 4 && (
                <ReviewStep {...props} text={text} commands={current ? live.check?.commands : undefined} />
              )}
            </section>
          )}
        </Catch>
        {failed && <Trouble problem={failed} />}
        <div className="move">
          {step > 0 && <Button variant="secondary" onClick={() => show(step - 1)}>Back</Button>}
          {step < steps.length - 1 && (
            <Button variant="primary" onClick={() => show(step + 1)}>Next: {steps[step + 1]?.title}</Button>
          )}
          {step === steps.length - 1 && (
            <Button variant="primary" isAriaDisabled={!ok || busy} isLoading={busy} onClick={() => { if (ok &&
              !busy) void submit(); }}>
              Create {shown(form?.name, 60)}
            </Button>
          )}
        </div>
        <OutlookPart live={live} current={current} waiting={waiting} />
      </div>
      <section aria-label="YAML" className="yaml-side">
        <h2>YAML</h2>
        <p className="small">The form and this text are the same job: change either. Your comments stay.</p>
        <Suspense fallback={<Loading what="the editor" />}>
          <YamlEditor text={text} findings={current ? live.check?.findings ?? [] : []}
            change={(t) => { setText(t); setDrafts({}); }} />
        </Suspense>
      </section>
    </div>
  );
}

// leaveOut removes problems of fields that only the YAML can change: the server judges these.
const leaveOut = (problems: Problems, locked: Problems): Problems =>
  Object.fromEntries(Object.entries(problems).filter(([f, why]) => why && !locked[f as FieldName]));
