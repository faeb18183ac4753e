import {
  Button, Modal, ModalBody, ModalFooter, ModalHeader, Tooltip,
} from '@patternfly/react-core';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { act, comparePath, jobPath, Problem, repeatPath } from '../api/client';
import type { ActionName, Job, JobDetail } from '../api/types';
import { Trouble } from '../parts/parts';
import { shown } from '../words/format';
import { isFinal } from '../words/phases';

const words: Record<ActionName, { verb: string; consequence: (j: Job) => string }> = {
  suspend: { verb: 'Suspend', consequence: (j) => `All pods of the job are stopped${j.world
    ? `, ${j.world.slots} slots become free` : ''}, and what the program has not saved is lost. Its logs go with the ` +
    'pods. Resuming starts the command from the beginning.' },
  resume: { verb: 'Resume', consequence: (j) => (j.queue
    ? `The job joins the queue ${j.queue.name} and starts when it is admitted.`
    : 'The job starts again from the beginning of its command, as soon as machines are free.') },
  delete: { verb: 'Delete', consequence: (j) => `The job and its pods are removed, with their logs and events${
    isFinal(j.phase) ? '' : '; the program is stopped, and what it has not saved is lost'}. This cannot be undone.` },
};

const held = (j: Job) => j.phase === 'Suspended' || j.phase === 'Queued' || j.phase === 'Preempted';

// blocked returns why an action cannot be taken now, or nothing.
function blocked(action: ActionName, { job, actions }: JobDetail): string {
  const permission = actions?.[action];
  if (permission && !permission.allowed) return permission.missing ?? 'Not allowed';
  if (action === 'resume' && job.phase === 'Queued') return 'The job already waits in its queue.';
  return '';
}

// Actions are the buttons of a job. Each one names its consequence before it acts.
export function Actions({ detail }: { detail: JobDetail }) {
  const [asked, ask] = useState<ActionName>();
  const first: ActionName = held(detail.job) ? 'resume' : 'suspend';
  return (
    <div className="actions">
      {([first, 'delete'] as const).map((action) => {
        const why = blocked(action, detail);
        const button = (
          <Button key={action} variant="secondary" size="sm"
            isDanger={action === 'delete'} isAriaDisabled={!!why} onClick={() => ask(action)}>
            {words[action].verb}
          </Button>
        );
        return why ? <Tooltip key={action} content={shown(why, 400)}>{button}</Tooltip> : button;
      })}
      <Tooltip content="Open the form with this job in it, under a new name: change what you like, and create it.">
        <Link className="pf-v6-c-button pf-m-secondary pf-m-small"
          to={repeatPath(detail.job.namespace, detail.job.name)}>
          Repeat
        </Link>
      </Tooltip>
      <Tooltip content="See what differed between this run and others, and how each went.">
        <Link className="pf-v6-c-button pf-m-secondary pf-m-small"
          to={comparePath(detail.job.namespace, detail.job.name)}>
          Compare
        </Link>
      </Tooltip>
      <Tooltip content="Download an archive with the objects, events and last lines of the job, for a person who helps.
        It has no Secrets. Look through it before you pass it on.">
        <Button component="a" variant="secondary" size="sm" download
          href={jobPath(detail.job.namespace, detail.job.name, '/bundle')}>Support bundle</Button>
      </Tooltip>
      {asked && <Confirm action={asked} job={detail.job} close={() => ask(undefined)} />}
    </div>
  );
}

function Confirm({ action, job, close }: { action: ActionName; job: Job; close: () => void }) {
  const go = useNavigate();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const { verb, consequence } = words[action];
  const confirm = async () => {
    setBusy(true);
    try {
      await act(job, action);
      close();
      if (action === 'delete') void go(`/jobs?ns=${encodeURIComponent(job.namespace)}`);
    } catch (reason) {
      setProblem(reason instanceof Problem ? reason : new Problem(0, 'Error', String(reason)));
      setBusy(false);
    }
  };
  return (
    <Modal isOpen variant="small" onClose={close} aria-labelledby="confirm-title" aria-describedby="confirm-body">
      <ModalHeader title={`${verb} ${shown(job.name, 80)}?`} labelId="confirm-title"
        titleIconVariant={action === 'delete' ? 'warning' : undefined} />
      <ModalBody id="confirm-body">
        <p>{shown(consequence(job), 600)}</p>
        {problem && <Trouble problem={problem} />}
      </ModalBody>
      <ModalFooter>
        <Button variant={action === 'delete' ? 'danger' : 'primary'} isLoading={busy} isDisabled={busy}
          onClick={() => void confirm()}>{verb}</Button>
        <Button variant="link" onClick={close}>Cancel</Button>
      </ModalFooter>
    </Modal>
  );
}
