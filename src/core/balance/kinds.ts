/** The kinds of facts that a recording holds. Tested by `test/core/balance/scan.test.ts`. */
export const kinds = ['calls', 'results', 'prompts', 'outputs'] as const;
export type Kind = (typeof kinds)[number];
