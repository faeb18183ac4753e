import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { environment: 'node', include: ['test/*.browser.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
});
