import type { Job, Permission, Withheld } from '../api/types';
import type { Runtime } from '../create/server';

export interface RuntimeDetail extends Runtime {
  profile?: string; machine?: string; price?: string; restarts?: string; certification?: string; fingerprint?: string;
  successor?: string; retireOn?: string; reason?: string; namespaces: string[]; withheld?: Withheld[];
  test: Permission; jobs: Job[];
}

const part = encodeURIComponent;
const queryOf = (kind: string, namespace: string) => `?kind=${part(kind)}&namespace=${part(namespace)}`;
export const runtimeApi = (name: string, kind: string, namespace: string, rest = '') =>
  `/api/v1/runtimes/${part(name)}${rest}${queryOf(kind, namespace)}`;
export const runtimePath = (name: string, kind: string, namespace: string) =>
  `/runtimes/${part(name)}?ns=${part(namespace)}${kind === 'TrainingRuntime' ? `&kind=${kind}` : ''}`;
