import { defineConfig } from 'vitest/config';

// The tests in test/ open the page in a real browser. test/e2e/dashboard_test.go starts them, beside a real cluster.
export default defineConfig({
  test: {
    environment: 'node', include: ['test/**/*.test.ts'], fileParallelism: false, testTimeout: 120_000,
    hookTimeout: 120_000, reporters: ['verbose'],
  },
});
