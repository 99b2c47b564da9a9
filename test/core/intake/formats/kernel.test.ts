import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { auditAddress, auditLine, auditText } from '../../../../src/core/intake/pieces/audit-line.ts';
import type { ImportedRun } from '../../../../src/core/intake/run.ts';
import { expectToFit, importText, importValue } from '../fits.ts';

const corpus = (name: string): ImportedRun[] =>
  importText(readFileSync(join(import.meta.dirname, '../corpus', name), 'utf8'), { sourceName: name });
const eventsOf = (runs: readonly ImportedRun[]) => {
  expectToFit(runs);
  return runs.flatMap(({ events }) => events);
};

describe('kernel events of other programs', () => {
  it('Falco: a program with its joined words, a connection, and another alert as it is', () => {
    const [exec, connect, other] = eventsOf(corpus('falco.jsonl'));
    expect(exec).toMatchObject({
      eventType: 'x.kernel.exec',
      resource: { name: 'busybox', type: 'program' },
      timestamp: '2026-07-10T18:36:30.058507097Z',
      metadata: {
        recordedBy: 'kernel',
        importer: 'falco',
        pid: 4242,
        ppid: 4100,
        path: '/bin/busybox',
        commandLine: 'sh -c uptime',
        rule: 'Terminal shell',
      },
    });
    expect(exec?.metadata).not.toHaveProperty('argv');
    expect(connect).toMatchObject({
      eventType: 'x.kernel.connect',
      metadata: { host: '93.184.216.34', port: 443, pid: 4243 },
    });
    expect(other).toMatchObject({
      eventType: 'x.kernel.other',
      metadata: { kind: 'openat', record: { rule: 'Read sensitive file untrusted' } },
    });
  });

  it('Falco: an alert whose rule prints no words, or no address, is kept as it is', () => {
    const alert = (fields: object) => ({
      rule: 'r',
      priority: 'Notice',
      time: '2026-01-01T00:00:00Z',
      output_fields: fields,
    });
    const runs = importValue([alert({ 'evt.type': 'execve' }), alert({ 'evt.type': 'connect' }), alert({})]);
    expect(eventsOf(runs).map(({ eventType, metadata }) => [eventType, metadata?.['kind']])).toEqual([
      ['x.kernel.other', 'execve'],
      ['x.kernel.other', 'connect'],
      ['x.kernel.other', 'alert'],
    ]);
  });

  it('Tetragon: a program with its parent, a connection of tcp_connect, and an exit', () => {
    const [exec, connect, exit] = eventsOf(corpus('tetragon.jsonl'));
    expect(exec).toMatchObject({
      eventType: 'x.kernel.exec',
      metadata: {
        recordedBy: 'kernel',
        importer: 'tetragon',
        pid: 41233,
        ppid: 41230,
        path: '/bin/sh',
        commandLine: '/bin/sh -c "rm -rf build"',
        cwd: '/w/app',
        node: 'node-1',
      },
    });
    expect(connect).toMatchObject({
      eventType: 'x.kernel.connect',
      metadata: { host: '93.184.216.34', port: 443, pid: 41240, path: '/usr/bin/curl' },
    });
    expect(exit).toMatchObject({ eventType: 'x.kernel.other', metadata: { kind: 'process_exit' } });
  });

  it('auditd: the exact words of a program, a connection, and another record', () => {
    const [exec, connect, login] = eventsOf(corpus('auditd.txt'));
    expect(exec).toMatchObject({
      eventType: 'x.kernel.exec',
      timestamp: '2026-08-30T10:00:07.123Z',
      metadata: {
        recordedBy: 'kernel',
        importer: 'auditd',
        pid: 4411,
        ppid: 4400,
        path: '/usr/bin/rm',
        argv: ['rm', '-rf', 'build out'],
        cwd: '/w/app',
        success: 'yes',
        rule: 'exec',
      },
    });
    expect(connect).toMatchObject({
      eventType: 'x.kernel.connect',
      metadata: { host: '93.184.216.34', port: 443, pid: 4412, path: '/usr/bin/curl' },
    });
    expect(login).toMatchObject({ eventType: 'x.kernel.other', metadata: { kind: 'USER_LOGIN' } });
  });

  it('auditd: records of one event that others interrupt are one event, also of two machines', () => {
    const of = (node: string, pid: number) => [
      `node=${node} type=SYSCALL msg=audit(1.000:7): syscall=59 pid=${pid} ppid=1 exe="/bin/a"`,
      `node=${node} type=EXECVE msg=audit(1.000:7): argc=2 a0="a" a1_len=6 a1[0]="bcd" a1[1]="efg"`,
    ];
    const [a = '', aWords = ''] = of('a', 1);
    const [b = '', bWords = ''] = of('b', 2);
    const events = eventsOf(importText([a, b, aWords, bWords].join('\n'), { sourceName: 'audit.log' }));
    expect(events.map(({ metadata }) => [metadata?.['node'], metadata?.['pid'], metadata?.['argv']])).toEqual(
      [
        ['a', 1, ['a', 'bcdefg']],
        ['b', 2, ['a', 'bcdefg']],
      ],
    );
  });

  it('auditd: a hostile number of a word makes no huge list', () => {
    const line = 'type=EXECVE msg=audit(1.000:7): argc=1 a0="a" a99999999="b"';
    const call = 'type=SYSCALL msg=audit(1.000:7): syscall=59 pid=1 ppid=1 exe="/bin/a"';
    const [event] = eventsOf(importText(`${call}\n${line}`, { sourceName: 'audit.log' }));
    expect(event?.metadata?.['argv']).toEqual(['a']);
  });

  it('reads values and addresses as the kernel writes them', () => {
    expect(auditText('"a b"')).toBe('a b');
    expect(auditText('6120620A')).toBe('a b\n');
    expect(auditText('(null)')).toBeUndefined();
    expect(auditAddress('0A0001BB0000000020010DB8000000000000000000000001000000')).toEqual({
      host: '2001:db8:0:0:0:0:0:1',
      port: 443,
    });
    expect(auditAddress('01002F72756E2F')).toBeNull();
    expect(auditAddress('02')).toBeNull();
    expect(auditLine('type=EXECVE msg=audit(x): a0="a"')).toBeNull();
  });
});
