/**
 * Structured logs on stderr, one JSON object per line. The log contains no keys: it removes known members, and
 * cuts every text that looks like a token or secret of gov out of the line (ASVS 16.2.5). Proven by
 * `test/host/process/log.test.ts`.
 */
import { pino } from 'pino';
import { escapedLine } from '../../core/visible.ts';
import type { Log } from '../../service/call/log.ts';
import type { MigrationStep } from '../../store/file/migrate.ts';
import type { LogLevel } from '../config/layers.ts';

/** Each pattern keeps the prefix and removes the rest. A JWT keeps its header. */
const tokens =
  /\b(gov_(?:run|req)_key_\w{26}\.)[\w.-]+|\b(gov_(?:live|test|hyb|enr|shr|cli)_|whsec_|__Host-gov_session=|gov_session_[0-9a-f]{8}=)[\w+/=-]+|\b(eyJ[\w-]*\.)[\w-]+(?:\.[\w-]*)?/g;

/** Returns the line without keys, sessions and ID tokens. */
export const scrub = (line: string): string => line.replace(tokens, '$1$2$3[redacted]');

const secretMembers = [
  'authorization',
  'cookie',
  '["x-api-key"]',
  '["x-telemetry-signature"]',
  '["x-cron-secret"]',
];

export function createLog(
  level: LogLevel,
  write: (line: string) => void = (line) => void process.stderr.write(line),
): Log {
  const headers = secretMembers.map((name) => (name.startsWith('[') ? `headers${name}` : `headers.${name}`));
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: headers, censor: '[redacted]' },
    },
    // JSON escapes the controls of ASCII alone
    { write: (line: string) => write(`${scrub(escapedLine(line.trimEnd()))}\n`) },
  );
}

/** The log of a command that does the work of a server for a moment: warnings alone. */
export const commandLog = (): Log => createLog('warn');

/** Reports a database that is migrated. A warning, because an older release refuses the database afterwards. */
export const migrationLog =
  (log: Log) =>
  (step: MigrationStep): void =>
    log.warn({ ...step }, step.ms === undefined ? 'migrating a database' : 'migrated a database');
