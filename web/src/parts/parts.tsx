import {
  Alert, Button, Content, EmptyState, EmptyStateBody, Label, Popover, Spinner, Tooltip,
} from '@patternfly/react-core';
import { CheckCircleIcon } from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import { ClockIcon } from '@patternfly/react-icons/dist/esm/icons/clock-icon';
import { ExclamationCircleIcon } from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import { HelpIcon } from '@patternfly/react-icons/dist/esm/icons/help-icon';
import { InProgressIcon } from '@patternfly/react-icons/dist/esm/icons/in-progress-icon';
import { PauseCircleIcon } from '@patternfly/react-icons/dist/esm/icons/pause-circle-icon';
import { SyncAltIcon } from '@patternfly/react-icons/dist/esm/icons/sync-alt-icon';
import { Component, useEffect, useState, type ReactNode } from 'react';
import { Problem } from '../api/client';
import type { Phase, Withheld as WithheldItem } from '../api/types';
import { shown } from '../words/format';
import { help, type Term } from '../words/help';
import { isFinal, phaseWords } from '../words/phases';

const icons: Partial<Record<Phase, typeof ClockIcon>> = {
  Complete: CheckCircleIcon, Failed: ExclamationCircleIcon, Refused: ExclamationCircleIcon, Queued: ClockIcon,
  Suspended: PauseCircleIcon, Restarting: SyncAltIcon, Preempted: ClockIcon,
};

// State shows a phase by colour, icon and word, with its meaning as a tooltip.
export function State({ phase }: { phase: Phase }) {
  const words = phaseWords(phase);
  const Icon = icons[phase] ?? InProgressIcon;
  const tip = `${words.meaning} ${isFinal(phase) ? '' : `Usually: ${words.usual} `}Next: ${words.next}`;
  return (
    <Tooltip content={tip}>
      <Label color={words.tone} icon={<Icon />} isCompact className="state" tabIndex={0}>{shown(phase, 40)}</Label>
    </Tooltip>
  );
}

// LightState is State for rows of long tables: the same look from plain elements, which are drawn many times faster.
export function LightState({ phase }: { phase: Phase }) {
  const words = phaseWords(phase);
  const Icon = icons[phase] ?? InProgressIcon;
  return (
    <span className={`tone tone-${words.tone}`} title={`${words.meaning} ${words.next}`}>
      <Icon />{shown(phase, 40)}
    </span>
  );
}

// Word is a term with its explanation as a tooltip.
export function Word({ term }: { term: Term }) {
  return <Tooltip content={help[term]}><span className="word" tabIndex={0}>{term}</span></Tooltip>;
}

// Help is a question mark behind the title of a part.
export function Help({ term }: { term: Term }) {
  return (
    <Popover headerContent={term} bodyContent={help[term]} aria-label={`Help: ${term}`}>
      <Button variant="plain" size="sm" className="help" aria-label={`What is ${term}?`} icon={<HelpIcon />} />
    </Popover>
  );
}

// Text is text from a cluster, made harmless.
export function Text({ children, most }: { children: string | undefined; most?: number }) {
  return <bdi className="foreign">{children ? shown(children, most) : '–'}</bdi>;
}

export function Trouble({ problem }: { problem: Problem }) {
  const live = problem.reason === 'Trouble' || problem.reason === 'Unreachable';
  return (
    <Alert variant={live ? 'warning' : 'danger'} isInline title={shown(problem.message)} component="p">
      {problem.remedy ? <p>{shown(problem.remedy)}</p> : live && <p>The page comes back by itself.</p>}
    </Alert>
  );
}

// Withheld names each right that is missing.
export function Withheld({ items }: { items?: WithheldItem[] }) {
  if (!items?.length) return null;
  return (
    <Alert variant="info" isInline component="p"
      title={items.length === 1 ? 'One part is not shown' : `${items.length} parts are not shown`}>
      <ul className="withheld">
        {items.slice(0, 20).map((w) => (
          <li key={w.what}>
            <strong>{shown(w.what, 100)}</strong>: {shown(w.why, 500)}
          </li>
        ))}
        {items.length > 20 && <li>… and {items.length - 20} more</li>}
      </ul>
    </Alert>
  );
}

export function Loading({ what }: { what: string }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 5_000);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="loading" role="status">
      <Spinner size="lg" aria-label={`Loading ${what}`} />
      <p>Loading {what}…{late && ' The API server takes longer than usual.'}</p>
    </div>
  );
}

// Empty is a page or a part of one without content; `page` makes its title the heading of the page.
interface EmptyProps { title: string; children?: ReactNode; icon?: typeof ClockIcon; page?: boolean }
export function Empty({ title, children, icon, page }: EmptyProps) {
  return (
    <EmptyState titleText={title} headingLevel={page ? 'h1' : 'h2'} icon={icon} variant="sm">
      <EmptyStateBody><Content>{children}</Content></EmptyStateBody>
    </EmptyState>
  );
}

// Catch keeps a fault in one part of the page from taking the rest with it.
export class Catch extends Component<{ children: ReactNode }, { failed?: Error }> {
  state: { failed?: Error } = {};
  static getDerivedStateFromError(failed: Error) { return { failed }; }
  render() {
    const { failed } = this.state;
    if (!failed) return this.props.children;
    return (
      <Alert variant="danger" isInline title="This part of the page failed" component="p">
        <p>{shown(failed.message)}</p>
        <Button variant="link" isInline onClick={() => this.setState({ failed: undefined })}>Try again</Button>
      </Alert>
    );
  }
}

// useNow ticks while the page is visible.
export function useNow(every = 1_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) setNow(Date.now()); }, every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

export function useTitle(title: string) {
  useEffect(() => { document.title = `${title} · Lockstep`; }, [title]);
}
