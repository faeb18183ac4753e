import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import type { ReactNode } from 'react';
import type { Withheld as WithheldItem } from '../api/types';
import type { Term } from '../words/help';
import { Help, Withheld, Word } from './parts';

export interface Column<R> { term: Term; cell: (row: R) => ReactNode; number?: boolean }
interface Props<R> { label: string; rows: R[]; keyOf: (row: R) => string; columns: Column<R>[] }

// Grid is a table whose headings explain themselves. On a narrow screen each row is a card.
export function Grid<R>({ label, rows, keyOf, columns }: Props<R>) {
  return (
    <Table aria-label={label} variant="compact" gridBreakPoint="grid-lg">
      <Thead><Tr>{columns.map((c) => <Th key={c.term} modifier="wrap"><Word term={c.term} /></Th>)}</Tr></Thead>
      <Tbody>{rows.map((row) => (
        <Tr key={keyOf(row)}>{columns.map((c) => (
          <Td key={c.term} dataLabel={c.term} className={c.number ? 'number' : undefined}>{c.cell(row)}</Td>
        ))}</Tr>
      ))}</Tbody>
    </Table>
  );
}

// Part is a titled part of a page. A right that is missing is named in its place; nothing to show is a sentence.
interface PartProps { term: Term; missing?: WithheldItem; empty?: string | false; children?: ReactNode }
export function Part({ term, missing, empty, children }: PartProps) {
  return (
    <section className="titled" aria-label={term}>
      <h2>{term} <Help term={term} /></h2>
      {missing ? <Withheld items={[missing]} /> : empty ? <p className="small">{empty}</p> : children}
    </section>
  );
}
