import { useEffect, useState } from 'react';
import { ask, Problem } from '../api/client';
import type { Permission, Withheld } from '../api/types';

export interface Runtime {
  kind: string; name: string; description?: string; documentation?: string; framework?: string; implementation?: string;
  version?: string; default?: boolean; deprecated?: boolean; certified?: string; nodes?: number; minNodes?: number;
  maxNodes?: number; slotsPerNode?: number; image?: string; resources?: string; most?: string;
}
export interface Choices {
  namespace: string; create: Permission; queue?: string; queues: string[]; claims: string[]; secrets: string[];
  withheld?: Withheld[];
}
export interface Finding { line: number; column: number; message: string; help?: string }
export interface Outlook {
  verdict: 'fits' | 'waits' | 'never'; position?: number; largestNodes?: number; unseen?: string[];
  findings: { about: string; verdict: string; reason?: string; text: string }[];
}
export interface Commands { submit: string; python: string; submitLacks?: string[]; pythonLacks?: string[] }
export interface Check {
  findings: Finding[]; warnings?: Finding[]; outlook?: Outlook; summary?: string; commands?: Commands;
}

const post = <T,>(namespace: string, text: string, dryRun: boolean, signal?: AbortSignal) =>
  ask<T>(`/api/v1/trainjobs?namespace=${encodeURIComponent(namespace)}${dryRun ? '&dryRun=true' : ''}`, {
    method: 'POST', headers: { 'X-Lockstep-Action': '1', 'Content-Type': 'application/yaml' }, body: text, signal,
  });

export const create = (namespace: string, text: string) =>
  post<{ namespace: string; name: string; uid: string }>(namespace, text, false);

// Live is the answer about a text, or why there is none. `of` is the text that it is about.
export interface Live { of: string; check?: Check; problem?: Problem }

const pause = 400;

// useCheck asks what would become of a text after each change: a moment after the last key, and for the last text only.
export function useCheck(namespace: string, text: string, wanted: boolean): Live | undefined {
  const [live, setLive] = useState<Live>();
  useEffect(() => {
    if (!wanted) return undefined;
    const control = new AbortController();
    const timer = setTimeout(() => {
      post<{ check: Check }>(namespace, text, true, control.signal).then(
        ({ check }) => setLive({ of: text, check }),
        (reason: unknown) => {
          if (control.signal.aborted) return;
          setLive({ of: text, problem: reason instanceof Problem ? reason : new Problem(0, 'Error', String(reason)) });
        });
    }, pause);
    return () => { clearTimeout(timer); control.abort(); };
  }, [namespace, text, wanted]);
  return live;
}
