/**
 * Options of a build that fails at each warning. A slow machine is not one: rolldown warns by default when plugins take
 * long.
 */
export const failOnWarnings = (what: string) => ({
  checks: { bundlerTimings: false },
  onLog: (level: string, { message }: { readonly message: string }): void => {
    if (level === 'warn') throw new Error(`${what}: ${message}`);
  },
});
