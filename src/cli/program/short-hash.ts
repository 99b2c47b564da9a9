/**
 * Returns the first 12 hex digits of the SHA-256 of a text (UTF-8). node:crypto takes 5 ms to load, and every command
 * loads this file, so it loads on first use. Tested by `test/cli/terminal/clipped.test.ts`.
 */
export const shortHash = (text: string): string =>
  process.getBuiltinModule('node:crypto').hash('sha256', text, 'hex').slice(0, 12);
