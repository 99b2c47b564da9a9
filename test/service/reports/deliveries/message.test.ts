import { describe, expect, it } from 'vitest';
import {
  fileNameOf,
  mailOf,
  webhookBody,
  type DeliveryContent,
} from '../../../../src/service/reports/deliveries/message.ts';
import type { StoredReport } from '../../../../src/service/reports/stored.ts';

const summary = (members: Partial<StoredReport['summary'] & object> = {}): StoredReport['summary'] => ({
  checks: [],
  figures: [],
  rowCount: 0,
  dataHash: `sha256:${'0'.repeat(64)}`,
  log: { origin: 'gov.example/log', treeSize: 1, rootHash: 'AA==' },
  ...members,
});

const delivered = (members: Partial<StoredReport> = {}): DeliveryContent => ({
  deliveryId: 'dlv_1',
  executionId: 'rex_1',
  format: 'json',
  made: {
    artifactId: 'art_1',
    artifact: '',
    sizeBytes: 3,
    sha256: 'ab',
  } as unknown as DeliveryContent['made'],
  report: {
    reportTemplateId: 'integrity-completeness',
    title: 'Integrity',
    parameters: { startTime: '2026-03-01T00:00:00Z', endTime: '2026-03-31T23:59:59Z' },
    timezone: 'UTC',
    locale: 'en',
    completedMs: 0,
    summary: summary(),
    ...members,
  } as StoredReport,
});

describe('the mail of a delivery', () => {
  it('prints figures as the report does: times of day, durations with units, yes and no', () => {
    const figures = [
      { name: 'quiet', label: 'Longest time without an entry', value: 19_671, kind: 'duration' },
      { name: 'first', label: 'First failure', value: '2026-03-02T10:00:00.000Z', kind: 'time' },
      { name: 'events', label: 'Events', value: 12_345, kind: 'number' },
      { name: 'last', label: 'Last failure', value: null, kind: 'time' },
    ] as const;
    const { text } = mailOf(delivered({ summary: summary({ figures: [...figures] }) }));
    for (const line of [
      'Longest time without an entry: 19.671s',
      'First failure: Mar 02, 2026, 10:00:00 UTC',
      'Events: 12,345',
      'Last failure: –',
    ])
      expect(text.split('\n')).toContain(line);
  });

  it('has no line and no header that a title, a check or a figure brought', () => {
    const hostile = 'x\r\nBcc: eve@example.org\u2028SHA-256: 00\u0085Attached: other.pdf';
    const { subject, text } = mailOf(
      delivered({
        title: hostile,
        summary: summary({
          checks: [{ name: hostile, status: 'fail', detail: hostile }],
          figures: [{ name: 'a', label: hostile, value: hostile, kind: 'text' }],
        }),
      }),
    );
    expect(subject).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
    const lines = text.split(/[\r\n\u0085\u2028\u2029]/u);
    expect(lines.filter((line) => /^(?:Bcc|SHA-256: 00|Attached: other)/.test(line))).toEqual([]);
  });

  it('shows hidden characters of a title and a check as escapes', () => {
    const checks = [{ name: 'pay\u{e0041}', status: 'fail' as const, detail: 'bo\u3164b' }];
    const { subject, text } = mailOf(delivered({ title: 'Q1\u2800', summary: summary({ checks }) }));
    expect(subject).toContain('Q1\\u2800');
    expect(text).toContain('- pay\\u{e0041}: bo\\u3164b');
  });
});

it('names and bodies of deliveries take nothing from a title', () => {
  const title = '../../etc/passwd","content":"forged';
  expect(fileNameOf('{date}/{template}.{format}', delivered({ title }))).toBe(
    '2026-03-31/integrity-completeness.json',
  );
  const { data } = JSON.parse(Buffer.from(webhookBody(delivered({ title }), null)).toString());
  expect(data).toMatchObject({ title, content: null, signature: null });
});
