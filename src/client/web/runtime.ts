/** What the client asks of a runtime without Node. Tested by `test/client/web/edge.test.ts`. */

export const elapsedMs = (): number => performance.now();

/** Browsers name themselves. */
export const agentHeaders = ({ userAgent }: { readonly userAgent?: string }): Record<string, string> =>
  userAgent === undefined ? {} : { 'user-agent': userAgent };
