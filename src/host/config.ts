/**
 * Configuration of a plane: flag > GOV_* environment > plane.json > default. Every value is checked, and an
 * error names the layer it came from. Proven by `test/host/config.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { GovError } from '../contract/problems.ts';
import { exact, nullable } from '../contract/shapes.ts';
import { explain, type JsonSchema } from '../service/explain.ts';
import { logLevels, type LogLevel } from './log.ts';

const address = Type.String({ maxLength: 255 });
const origin = Type.String({ minLength: 1, maxLength: 255 });

/** `plane.json`, as `plane init` writes it. */
export const PlaneFile = exact({
  listen: address,
  metricsListen: nullable(address),
  projectId: Type.String({ pattern: '^prj_[0-7][0-9a-hjkmnp-tv-z]{25}$' }),
  organizationId: Type.String({ pattern: '^org_[0-7][0-9a-hjkmnp-tv-z]{25}$' }),
  environment: Type.Union([Type.Literal('production'), Type.Literal('sandbox')]),
  origin,
  meteringOrigin: origin,
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  problemBase: Type.Optional(Type.String({ pattern: '^https?://[^\\s]+$', maxLength: 255 })),
  logLevel: Type.Optional(Type.Union(logLevels.map((level) => Type.Literal(level)))),
  memoryMiB: Type.Optional(Type.Integer({ minimum: 128, maximum: 1_048_576 })),
});
export type PlaneFile = Static<typeof PlaneFile>;

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
    if (given !== undefined) return { text: given, from: `--${flag.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}` };
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
  const [fault] = explain(PlaneFile as JsonSchema, value, { in: 'body' }).errors;
  if (fault !== undefined) throw invalid(`${path} ${fault.pointer}`, fault.detail.replace(/^expected /, ''));
  return value as PlaneFile;
}

const addressForm = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s/]+)):([0-9]{1,5})$/;

/** `host:port`, with brackets around an IPv6 address. Port 0 lets the system choose. */
export function parseAddress(text: string, from: string): Address {
  const [, v6, name, digits] = addressForm.exec(text) ?? [];
  const host = v6 ?? name;
  const port = Number(digits);
  if (host === undefined || port > 65_535) throw invalid(from, `host:port, such as 127.0.0.1:7460, got ${text}`);
  return { host, port };
}
