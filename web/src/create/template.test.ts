import { expect, test } from 'vitest';
import { emptyJob, write } from './form';
import { fileOf, wrongOf } from './template';
import { parse, textOf } from './text';

test('a job saved as a template is the same job, with its comments and without its namespace', () => {
  const text = `# mine\n${textOf(write(emptyJob('train', 'team-vision'), { runtime: 'openmpi5-cpu',
    command: ['mpirun', 'sh', '-c', 'echo "a: b" # c'], nodes: 2 }))}`;
  const saved = fileOf(text);
  expect(saved).toContain('# mine');
  expect(saved).not.toContain('team-vision');
  const [before, after] = [parse(text), parse(saved)];
  expect('form' in after && { ...after.form, namespace: '' }).toEqual('form' in before && { ...before.form,
    namespace: '' });
});

test('wrong templates are named', () => {
  const finding = { line: 3, column: 1, message: 'no' };
  expect(wrongOf([{ name: 'a', yaml: '', findings: [] }, { name: 'b', yaml: '', findings: [finding, finding] }]))
    .toEqual([{ what: 'template b', why: 'line 3: no; line 3: no' }]);
});
