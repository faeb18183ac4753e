import js from '@eslint/js';
import hooks from 'eslint-plugin-react-hooks';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['node_modules'] },
  js.configs.recommended,
  ...ts.configs.strict,
  hooks.configs.flat.recommended,
  {
    rules: {
      'max-len': ['error', { code: 120, ignoreUrls: true }],
      'no-control-regex': 'off',
      // TanStack Virtual returns functions that must not be memoised.
      'react-hooks/incompatible-library': 'off',
      'no-restricted-properties': ['error', { property: 'innerHTML' }, { property: 'dangerouslySetInnerHTML' }],
      'no-restricted-syntax': ['error', {
        selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]', message: 'text from a cluster is never HTML',
      }],
    },
  },
);
