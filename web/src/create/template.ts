// Templates: jobs to begin with, and a job as a file that makes it one.
import { isMap, parseDocument } from 'yaml';
import type { Finding } from './server';

export interface Template { name: string; yaml: string; findings: Finding[] }

// fileOf returns the job as it stands in the form, with its comments, and without the namespace: users choose it.
export function fileOf(text: string): string {
  const job = parseDocument(text, { compat: 'yaml-1.1', version: '1.2' } as const);
  const metadata = job.get('metadata');
  if (isMap(metadata)) metadata.delete('namespace');
  return job.toString({ lineWidth: 0, indentSeq: false, flowCollectionPadding: false });
}

// wrongOf names the templates that cannot be used, and why.
export const wrongOf = (templates: Template[]) => templates.filter((t) => t.findings.length > 0).map((t) => ({
  what: `template ${t.name}`, why: t.findings.map((f) => `line ${f.line}: ${f.message}`).join('; '),
}));
