/**
 * The settings that a configuration file may have, and the form of their values.
 * Tested by `test/cli/context/explain.test.ts`.
 */
import { CliError } from '../program/exit.ts';
import { readFlag } from '../program/flags.ts';
import { formats, globalFlags } from '../program/globals.ts';
import type { FlagSpec } from '../program/spec.ts';
import type { storable } from './config.ts';

export type Storable = (typeof storable)[number];

const specs: Readonly<Record<Storable, FlagSpec>> = {
  output: { ...globalFlags.output, choices: formats },
  color: { ...globalFlags.color, choices: ['auto', 'always', 'never'] },
  timeout: globalFlags.timeout,
  retries: globalFlags.retries,
  updateNotice: {
    type: 'string',
    choices: ['true', 'false'],
    description: 'Say once a day on a terminal that a newer release is available',
  },
  updateRegistry: {
    type: 'string',
    value: 'URL',
    pattern: '^https?://[^\\s/@?#]+(?:/[^\\s@?#]*)?$',
    description: 'Address of the npm registry to ask',
  },
};

/** Returns the value. Errors: exit 2, with the name of the setting. */
export const readSetting = (key: Storable, text: string, now: number): unknown =>
  readFlag({ flag: key, spec: specs[key], text, now });

/** Says why gov does not use a value that a file has; null: it does. A common format alone is ignored without an error. */
export function faultIn(key: Storable, text: string, now: number): string | null {
  try {
    readSetting(key, text, now);
    return null;
  } catch (cause) {
    if (!(cause instanceof CliError)) throw cause;
    return `${key === 'output' ? 'ignored' : 'refused'}: ${cause.message.replace(`${key}: `, '')}`;
  }
}
