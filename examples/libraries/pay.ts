/** The tool of the examples: pays an amount, and answers with a receipt. */
export type Pay = (input: { amount: number }) => Promise<string>;
