import { defineConfig } from 'vitest/config';

// The tests in test/ open the page in a real browser. test/e2e/dashboard_test.go starts them, beside a real cluster.
export default defineConfig({
  test: {
    environment: 'node', fileParallelism: false, testTimeout: 300_000,
    include: [process.env.LOCKSTEP_PAGE_NUMBERS ? 'test/**/*.bench.ts'
      : process.env.LOCKSTEP_PAGE_STOCK ? 'test/**/*.stock.ts' : 'test/**/*.test.ts'],
    hookTimeout: 120_000, reporters: ['verbose'],
  },
});
