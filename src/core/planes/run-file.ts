/**
 * The file `run.json` of a data directory: what the serving process states about itself. It is there while the process
 * serves, and after a crash until the next start. Proven by `test/core/planes/run-file.test.ts`.
 */
export const runFileName = 'run.json';

/** A member that is absent, or has another type, is left out. */
export interface RunFile {
  readonly pid?: number;
  /** With the prefix of the interface: `http://127.0.0.1:7460/api/v1`. */
  readonly baseUrl?: string;
  /** Null if the process serves no metrics. */
  readonly metricsUrl?: string | null;
  readonly startedAt?: string;
  readonly version?: string;
  readonly configHash?: string;
}

const texts = ['baseUrl', 'metricsUrl', 'startedAt', 'version', 'configHash'] as const;

/** Never throws: a text that is not JSON, such as a half-written one, has no members. */
export function parseRunFile(text: string): RunFile {
  const found = membersOf(text);
  const known = texts.flatMap((name) => (typeof found[name] === 'string' ? [[name, found[name]]] : []));
  return {
    ...(Number.isSafeInteger(found['pid']) ? { pid: Number(found['pid']) } : {}),
    ...(found['metricsUrl'] === null ? { metricsUrl: null } : {}),
    ...Object.fromEntries(known),
  };
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
