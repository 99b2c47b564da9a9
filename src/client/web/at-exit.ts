/** Other runtimes do not say when they end: close the recorder. Tested by `test/client/web/edge.test.ts`. */
export const atExit = (): (() => void) => () => {};
