/**
 * The audit log of Linux (`/var/log/audit/audit.log`, or `ausearch --raw`): records of one serial number are one event. A SYSCALL with
 * an EXECVE is a program, with its exact words; one with an internet SOCKADDR is a connection. Tested by
 * `test/core/intake/formats/kernel.test.ts`.
 */
import type { Format } from '../format.ts';
import { auditAddress, auditText, isAuditLine } from '../pieces/audit-line.ts';
import { KernelWriter } from '../pieces/kernel-events.ts';
import { isSource, type ImportContext, type ImportedRun, type Source } from '../run.ts';
import { readTime } from '../time.ts';

const name = 'auditd';

const isLog = (value: unknown): value is readonly Source[] =>
  Array.isArray(value) && value.length > 0 && value.every(isAuditLine);

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const lines = isLog(document) ? document : isAuditLine(document) ? [document] : [];
  const writer = new KernelWriter(name, { opening: lines[0] }, context);
  const groups = Map.groupBy(lines, (line) => {
    const { time, serial, node = '' } = part(line, 'audit');
    return `${String(node)} ${String(time)}:${String(serial)}`;
  });
  for (const [id, records] of groups) write(id, records, writer);
  yield writer.finish(lines.length);
}

const part = (of: Source | undefined, member: string): Source => {
  const value = of?.[member];
  return isSource(value) ? value : {};
};

function write(id: string, records: readonly Source[], writer: KernelWriter): void {
  const of = (type: string): Source[] =>
    records
      .filter((record) => part(record, 'audit')['type'] === type)
      .map((record) => part(record, 'fields'));
  const { time, node } = part(records[0], 'audit');
  const [call] = of('SYSCALL');
  const at = readTime(time);
  const key = id.trim().replaceAll(' ', '-');
  const pid = digits(call?.['pid']);
  const more = {
    node,
    success: call?.['success'],
    uid: digits(call?.['uid']),
    cwd: auditText(of('CWD')[0]?.['cwd']),
    rule: auditText(call?.['key']),
  };
  const path = auditText(call?.['exe']);
  const words = of('EXECVE');
  if (call !== undefined && words.length > 0)
    return writer.started({ at, key, pid, ppid: digits(call['ppid']), path, argv: argvOf(words), more });
  const address = of('SOCKADDR')
    .map(({ saddr }) => auditAddress(saddr))
    .find((each) => each !== null);
  // bind, accept and the like have an address too
  const isConnect = call?.['syscall'] === (call?.['arch'] === 'c00000b7' ? '203' : '42');
  if (address !== undefined && isConnect)
    return writer.connected({ at, key, ...address, pid, more: { path, ...more } });
  writer.other(String(part(records[0], 'audit')['type']), records, { at, key });
}

const digits = (value: unknown): number | undefined =>
  typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : undefined;

/** The words of all EXECVE records of an event: a long word comes in pieces, `a1[0]`, `a1[1]`. */
function argvOf(records: readonly Source[]): string[] {
  const words: string[] = [];
  for (const [name, value] of records.flatMap((record) => Object.entries(record))) {
    const [, at] = /^a(\d+)(?:\[\d+\])?$/.exec(name) ?? [];
    if (at === undefined || Number(at) >= mostWords) continue;
    words[Number(at)] = `${words[Number(at)] ?? ''}${auditText(value) ?? ''}`;
  }
  return Array.from(words, (word) => word ?? '');
}

/** The kernel keeps at most so many words of a program apart. */
const mostWords = 100_000;

export const auditd: Format = {
  name,
  about: 'The audit log of Linux',
  expects: 'lines such as type=EXECVE msg=audit(SECONDS:SERIAL): …',
  maps: [
    ['SYSCALL with EXECVE', 'x.kernel.exec'],
    ['SYSCALL connect with an internet SOCKADDR', 'x.kernel.connect'],
    ['any other event', 'x.kernel.other'],
  ],
  example: [
    {
      audit: { type: 'SYSCALL', time: 1361852594621, serial: '48' },
      fields: { ppid: '1464', pid: '1631', exe: '"/bin/ping"' },
    },
    {
      audit: { type: 'EXECVE', time: 1361852594621, serial: '48' },
      fields: { argc: '2', a0: '"ping"', a1: '"host"' },
    },
  ],
  detect: (document) => (isLog(document) || isAuditLine(document) ? 'records of audit' : undefined),
  isLine: isAuditLine,
  runs,
};
