/**
 * A line of the audit log of Linux: `type=EXECVE msg=audit(1361852594.621:48): argc=2 a0="ping" a1="host"`. Values are plain, in
 * quotes, or hexadecimal where they have blanks, quotes or control characters. Shape: audit.log(5), and `audit_log_execve_info` of the
 * kernel (kernel/auditsc.c). Tested by `test/core/intake/formats/kernel.test.ts`.
 */
import { isSource, type Source } from '../run.ts';

const shape = /^(?:node=(\S+) )?type=([A-Z0-9_]+) msg=audit\((\d{1,12})\.(\d{3}):(\d+)\):(.*)$/;

/** Returns the line as an object: `{audit: {type, time, serial, node}, fields}`; null for other texts. */
export function auditLine(text: string): Source | null {
  const [, node, type, seconds, milliseconds, serial, rest] = shape.exec(text.trimEnd()) ?? [];
  if (type === undefined || rest === undefined) return null;
  const fields: Record<string, string> = {};
  // what the daemon adds with names for numbers follows a group separator
  const [own = ''] = rest.split('\x1d', 1);
  for (const [, name = '', quoted, plain = ''] of own.matchAll(/([A-Za-z0-9_[\]-]+)=(?:"([^"]*)"|(\S*))/g))
    fields[name] = quoted === undefined ? plain : `"${quoted}"`;
  return { audit: { type, time: Number(`${seconds}${milliseconds}`), serial, node }, fields };
}

export const isAuditLine = (value: unknown): value is Source =>
  isSource(value) &&
  isSource(value['audit']) &&
  typeof value['audit']['type'] === 'string' &&
  isSource(value['fields']);

/** Returns a value that a program chose. */
export function auditText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '(null)' || value === '?') return undefined;
  if (value.startsWith('"')) return value.slice(1, -1);
  return /^(?:[0-9A-Fa-f]{2})+$/.test(value) ? Buffer.from(value, 'hex').toString() : value;
}

/** Returns the address in a `saddr` of the internet: family, port and address as in `struct sockaddr`. */
export function auditAddress(value: unknown): { readonly host: string; readonly port: number } | null {
  const bytes =
    typeof value === 'string' && /^(?:[0-9A-Fa-f]{2})+$/.test(value) ? Buffer.from(value, 'hex') : null;
  // the family is in the byte order of the machine; both that gov knows are little-endian
  const family = bytes !== null && bytes.length >= 8 ? bytes.readUInt16LE(0) : 0;
  if (bytes === null) return null;
  if (family === 2) return { host: bytes.subarray(4, 8).join('.'), port: bytes.readUInt16BE(2) };
  if (family !== 10 || bytes.length < 24) return null;
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(8 + 2 * at).toString(16));
  return { host: groups.join(':'), port: bytes.readUInt16BE(2) };
}
