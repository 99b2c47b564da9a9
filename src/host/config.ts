/**
 * Configuration of a plane: flag > GOV_* environment > plane.json > default. Every value is checked, and an
 * error names the layer it came from. Proven by `test/host/config.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GovError } from '../contract/problems.ts';
import { explain, type JsonSchema } from '../service/explain.ts';
import { logLevels, type LogLevel } from './log.ts';

/** `plane.json`, as `plane init` writes it. */
export interface PlaneFile {
  readonly listen: string;
  readonly metricsListen: string | null;
  readonly projectId: string;
  readonly organizationId: string;
  readonly environment: 'production' | 'sandbox';
  readonly origin: string;
  readonly meteringOrigin: string;
  readonly name?: string;
  /** Where problem pages can be read, if not at the plane itself. */
  readonly problemBase?: string;
  readonly logLevel?: LogLevel;
  readonly memoryMiB?: number;
}

const text = (maxLength: number): JsonSchema => ({ type: 'string', minLength: 1, maxLength });
const typeIdOf = (prefix: string): JsonSchema => ({
  type: 'string',
  pattern: `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`,
});
const oneOf = (values: readonly string[]): JsonSchema => ({
  anyOf: values.map((value) => ({ const: value })),
});

const planeFileSchema: JsonSchema = {
  type: 'object',
  required: [
    'listen',
    'metricsListen',
    'projectId',
    'organizationId',
    'environment',
    'origin',
    'meteringOrigin',
  ],
  properties: {
    listen: text(255),
    metricsListen: { anyOf: [text(255), { type: 'null' }] },
    projectId: typeIdOf('prj'),
    organizationId: typeIdOf('org'),
    environment: oneOf(['production', 'sandbox']),
    origin: text(255),
    meteringOrigin: text(255),
    name: text(100),
    problemBase: { type: 'string', pattern: '^https?://[^\\s]+$', maxLength: 255 },
    logLevel: oneOf(logLevels),
    memoryMiB: { type: 'integer', minimum: 128, maximum: 1_048_576 },
  },
  additionalProperties: false,
};

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface PlaneConfig extends Omit<PlaneFile, 'listen' | 'metricsListen' | 'logLevel'> {
  readonly dataDir: string;
  readonly listen: Address;
  readonly metricsListen: Address | null;
  readonly logLevel: LogLevel;
}

/** What flags may set. `metricsListen: 'off'` serves no metrics. */
export interface PlaneFlags {
  readonly listen?: string | undefined;
  readonly metricsListen?: string | undefined;
  readonly logLevel?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

const invalid = (from: string, expected: string, cause?: unknown): GovError =>
  new GovError('VALIDATION_ERROR', `${from}: expected ${expected}`, { cause });

/** Reads and checks the configuration; VALIDATION_ERROR names the file, variable or flag at fault. */
export function readPlaneConfig(dataDir: string, flags: PlaneFlags, env: Environment): PlaneConfig {
  const path = join(dataDir, 'plane.json');
  const file = readPlaneFile(path);
  const pick = (flag: keyof PlaneFlags, name: string, fallback: string): { text: string; from: string } => {
    const given = flags[flag];
    if (given !== undefined)
      return { text: given, from: `--${flag.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}` };
    const set = env[name];
    return set === undefined || set === '' ? { text: fallback, from: path } : { text: set, from: name };
  };
  const listen = pick('listen', 'GOV_LISTEN', file.listen);
  const metrics = pick('metricsListen', 'GOV_METRICS_LISTEN', file.metricsListen ?? 'off');
  const level = pick('logLevel', 'GOV_LOG_LEVEL', file.logLevel ?? 'info');
  const logLevel = logLevels.find((known) => known === level.text);
  if (logLevel === undefined) throw invalid(level.from, `one of ${logLevels.join(', ')}, got ${level.text}`);
  return {
    ...file,
    dataDir,
    listen: parseAddress(listen.text, listen.from),
    metricsListen: metrics.text === 'off' ? null : parseAddress(metrics.text, metrics.from),
    logLevel,
  };
}

/** Reads `plane.json`; NOT_FOUND where there is none. */
export function readPlaneFile(path: string): PlaneFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new GovError('NOT_FOUND', `expected a plane at ${path}; make one with gov plane init`, { cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(path, 'JSON', cause);
  }
  const [fault] = explain(planeFileSchema, value, { in: 'body' }).errors;
  if (fault !== undefined) throw invalid(`${path} ${fault.pointer}`, fault.detail.replace(/^expected /, ''));
  return value as PlaneFile;
}

const addressForm = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s/]+)):([0-9]{1,5})$/;

/** `host:port`, with brackets around an IPv6 address. Port 0 lets the system choose. */
export function parseAddress(text: string, from: string): Address {
  const [, v6, name, digits] = addressForm.exec(text) ?? [];
  const host = v6 ?? name;
  const port = Number(digits);
  if (host === undefined || port > 65_535)
    throw invalid(from, `host:port, such as 127.0.0.1:7460, got ${text}`);
  return { host, port };
}
