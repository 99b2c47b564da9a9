/**
 * Who starts the scheduled work of reports: a timer of the process, or calls from outside with a secret (contract B17,
 * P11). Proven by `test/host/process/scheduling.test.ts`.
 */
import { resolve } from 'node:path';
import { limits } from '../../contract/limits.ts';
import type { JsonSchema } from '../../service/call/explain.ts';
import { cronSecretOf, type CronSecret } from '../../service/hosting/cron-secret.ts';
import { secretFile, secretOf } from '../config/secrets.ts';
import { filePath, invalid, oneOf, type Variables } from '../config/layers.ts';

const schedulers = ['timer', 'cron'] as const;

/** Members of plane.json and service.json. */
export interface SchedulingFile {
  /** `timer`, the default: the process itself. `cron`: only calls of `POST /cron/reporting/…`. */
  readonly scheduler?: (typeof schedulers)[number];
  /** Path of a file with the secret of those calls, relative to the data directory. */
  readonly cronSecretFile?: string;
}

export const schedulingMembers = {
  scheduler: oneOf(schedulers),
  cronSecretFile: filePath,
} satisfies Readonly<Record<keyof SchedulingFile, JsonSchema>>;

export interface SchedulingOptions {
  readonly hasTimer: boolean;
  readonly cronSecret: CronSecret;
}

/**
 * GOV_SCHEDULER and GOV_CRON_SECRET or GOV_CRON_SECRET_FILE, else the members of the file. VALIDATION_ERROR, which does
 * not show the secret; also for `cron` without a secret, since then nothing would ever run.
 */
export function schedulingOf(
  file: SchedulingFile,
  { dataDir, path, env }: { readonly dataDir: string; readonly path: string; readonly env: Variables },
): SchedulingOptions {
  const set = env['GOV_SCHEDULER'];
  const isSet = set !== undefined && set !== '';
  const scheduler = isSet ? set : (file.scheduler ?? 'timer');
  if (scheduler !== 'timer' && scheduler !== 'cron')
    throw invalid('GOV_SCHEDULER', `one of ${schedulers.join(', ')}, got ${scheduler}`);
  const inFile = file.cronSecretFile;
  const secret =
    secretOf(env, 'GOV_CRON_SECRET') ?? (inFile === undefined ? null : secretFile(resolve(dataDir, inFile)));
  if (secret !== null && !new RegExp(`^[\\x21-\\x7e]{${limits.cronSecretChars},}$`).test(secret.value)) {
    const expected = `at least ${limits.cronSecretChars} visible ASCII characters without spaces`;
    throw invalid(secret.from, `${expected}, got another text; make one with openssl rand -hex 32`);
  }
  if (scheduler === 'cron' && secret === null) {
    const from = isSet ? 'GOV_SCHEDULER' : `${path} /scheduler`;
    throw invalid(from, 'a secret in GOV_CRON_SECRET or cronSecretFile for cron, got none');
  }
  return { hasTimer: scheduler === 'timer', cronSecret: cronSecretOf(secret?.value ?? null) };
}
