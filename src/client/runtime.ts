/** What the client asks of Node; the build for browsers and edge runtimes uses `web/runtime.ts`. Tested by `test/client/create.test.ts`. */
import { version } from './version.ts';

/** Milliseconds of a clock that never runs backwards. Not `performance`: its first use loads a module. */
export const elapsedMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** The header that names this client to the service. */
export const agentHeaders = ({ userAgent }: { readonly userAgent?: string }): Record<string, string> => ({
  'user-agent': userAgent ?? `gov/${version} node/${process.versions.node}`,
});
