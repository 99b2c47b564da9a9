/** A plane, and the tool against it, in a folder with files. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startPlane, type StartOptions, type TestPlane } from '../../support/serving.ts';
import { emptyDirectory, govHere } from './tool.ts';
import type { InProcessOptions, Result } from './tool.ts';

export interface PolicyPlane extends TestPlane {
  readonly folder: string;
  /** Runs the tool in the folder. */
  gov(line: string, options?: InProcessOptions): Promise<Result>;
  /** Runs the tool with -o json; expects exit 0. */
  json(line: string): Promise<any>; // oxlint-disable-line typescript/no-explicit-any -- each test says what it expects
  write(name: string, content: unknown): void;
}

/** Writes into `folder`: texts as they are, the rest as JSON. */
export function writeInto(folder: string, name: string, content: unknown): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
}

export async function startPolicyPlane(options: StartOptions = {}): Promise<PolicyPlane> {
  const plane = await startPlane(options);
  const folder = emptyDirectory();
  const gov: PolicyPlane['gov'] = (line, { env, ...more } = {}) =>
    govHere(words(line), {
      cwd: folder,
      now: Date.now(),
      ...more,
      env: { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key, NO_COLOR: '1', ...env },
    });
  return {
    ...plane,
    folder,
    gov,
    json: async (line) => {
      const result = await gov(`${line} -o json`);
      if (result.code !== 0) throw new Error(`gov ${line}: expected exit code 0, got ${result.stderr}`);
      return JSON.parse(result.stdout);
    },
    write: (name, content) => writeInto(folder, name, content),
  };
}

/** Words of a line; quotes hold blanks together. */
const words = (line: string): string[] =>
  (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'(.*)'$/, '$1'));
