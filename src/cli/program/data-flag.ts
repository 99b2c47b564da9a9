/** The flag `--data` of commands that open a data directory. */
export const data = {
  type: 'string',
  value: 'DIR',
  description: 'Data directory; default that of the chosen context',
} as const;
