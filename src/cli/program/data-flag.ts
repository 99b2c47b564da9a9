/** The flag `--data` of commands that open a data directory. Tested by `test/cli/program/manifest.test.ts`. */
export const data = {
  type: 'string',
  value: 'DIR',
  description: 'Data directory; default: that of the chosen context',
} as const;
