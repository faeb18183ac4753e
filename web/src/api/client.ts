import type { ActionName, Job } from './types';

// Problem is an error of the server, or of the way to it, in words for people.
export class Problem extends Error {
  constructor(readonly code: number, readonly reason: string, message: string, readonly remedy?: string) {
    super(message);
  }
}

const lost = () => new Problem(0, 'Unreachable', 'The dashboard does not answer.',
  'Check that `kubectl mpi dashboard` still runs, or reload the page to log in again. It connects again by itself.');

// ask sends a request and returns its JSON. A failure is always a Problem.
export async function ask<T>(path: string, init?: RequestInit, begun?: (answer: Response) => void): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, headers: { Accept: 'application/json', ...init?.headers } });
  } catch (reason) {
    if (init?.signal?.aborted) throw reason;
    throw lost();
  }
  begun?.(answer);
  const body = await answer.json().catch(() => undefined);
  if (answer.ok && body !== undefined) return body as T;
  const error = body?.error;
  if (answer.status === 401) {
    throw new Problem(401, 'Unauthorized', error?.message ?? 'This session has ended.',
      error?.remedy ?? 'Reload the page to log in again.');
  }
  throw new Problem(answer.status, error?.reason ?? 'Error',
    error?.message ?? `The dashboard answered ${answer.status} without a reason.`, error?.remedy);
}

const part = encodeURIComponent;
export const get = <T,>(path: string, signal?: AbortSignal, begun?: (answer: Response) => void) =>
  ask<T>(path, { signal }, begun);
// Without a namespace the server takes the user's own, `` is all.
export const listStreamPath = (namespace?: string) =>
  `/api/v1/trainjobs/stream${namespace === undefined ? '' : `?namespace=${part(namespace)}`}`;
export const jobPath = (namespace: string, name: string, rest = '') =>
  `/api/v1/trainjobs/${part(namespace)}/${part(name)}${rest}`;
export const pageOf = (namespace: string, name: string, tab = '') =>
  `/jobs/${part(namespace)}/${part(name)}${tab && `/${tab}`}`;
export const createPath = (namespace?: string, runtime?: string) =>
  `/create${namespace ? `?ns=${part(namespace)}` : ''}${runtime ? `&runtime=${part(runtime)}` : ''}`;
export const repeatPath = (namespace: string, name: string) => `/create?from=${part(namespace)}/${part(name)}`;
export const comparePath = (namespace: string, name: string) => `/compare?job=${part(namespace)}/${part(name)}`;
export const reasonPage = (reason: string) => `/docs/failures/${part(reason)}`;

// act asks for an action. The header keeps other sites from doing the same.
export const act = (job: Job, action: ActionName) =>
  ask<{ message?: string }>(jobPath(job.namespace, job.name, `/actions/${action}?uid=${part(job.uid)}`), {
    method: 'POST', headers: { 'X-Lockstep-Action': '1' },
  });
