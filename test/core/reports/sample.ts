/** Reports of any size with a signed checkpoint and a proof bundle, for tests and for `scripts/look.ts`. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import type { NoteSigner } from '../../../src/core/note/signed.ts';
import { dataHash } from '../../../src/core/reports/artifacts.ts';
import type { ReportPaper } from '../../../src/contract/report-parts.ts';
import type { ReportAttachment, ReportFonts } from '../../../src/core/reports/inputs.ts';
import type { Report, ReportBranding, ReportCell, ReportTable } from '../../../src/core/reports/model.ts';
import { type PdfOptions, toPdf } from '../../../src/core/reports/pdf/render.ts';
import { presentationBytes } from '../../../src/core/reports/presentation.ts';
import { signReport } from '../../../src/core/reports/signature.ts';
import { projectRoot } from '../../paths.ts';
import { logSigner, origin } from '../proofs/log.ts';

/** The signature of the log over a report, with its pages where there are fonts. */
export function signatureOf(
  report: Report,
  { fonts = null, branding = plainBranding, paper = 'A4', signers = [logSigner] }: Partial<Signing> = {},
): Uint8Array {
  const { project, reportTemplateId, log } = report;
  const presentation = fonts === null ? null : presentationBytes({ paper, branding, fonts });
  const signed = {
    executionId: 'rex_01ke6p4zkfe009xvr000000000',
    projectId: project.projectId,
    reportTemplateId,
    checkpoint: log,
    dataHash: dataHash(report),
    presentationHash: presentation === null ? null : `sha256:${sha256(presentation).toString('hex')}`,
  };
  return Buffer.from(signReport(signed, signers));
}

interface Signing {
  readonly fonts: ReportFonts | null;
  readonly branding: ReportBranding;
  readonly paper: ReportPaper;
  readonly signers: readonly NoteSigner[];
}

/** The PDF of a report that its log signed. */
export async function signedPdf(
  report: Report,
  {
    fonts,
    branding = plainBranding,
    paper = 'A4',
    attachments = [proofBundle],
    ...more
  }: Partial<Signing & PdfOptions> & {
    readonly fonts: ReportFonts;
    readonly attachments?: readonly ReportAttachment[];
  },
): Promise<Buffer> {
  const { signature = signatureOf(report, { fonts, branding, paper, ...more }) } = more;
  return Buffer.from(await toPdf(report, branding, attachments, { ...more, paper, fonts, signature }));
}

export const plainBranding: ReportBranding = {
  companyName: null,
  primaryColor: '#1f3a5f',
  accentColor: '#b8860b',
  footerText: null,
  logo: null,
};

const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest();

/** The golden bundle of the log of `test/core/proofs/log.ts`. */
export const proofBundle: ReportAttachment = {
  name: 'run-1.govproof.json',
  bytes: readFileSync(join(projectRoot, 'test/golden/sample.govproof.json')),
};

const tools = ['search', 'payments.transfer', 'mail.send', 'files.read', 'shell'];
const names = [
  'agent-checkout',
  'Ελένη Παπαδοπούλου',
  'Дмитрий Соколов',
  'Łucja Żółkiewska',
  'نور الهدى',
  'שירה לוי',
  'a-very-long-agent-name-without-any-space-that-does-not-fit-into-one-cell-of-the-table',
  '=cmd|calc',
];

function callsTable(count: number): ReportTable {
  const exceptions = Math.min(count, Math.ceil(count / 40));
  const rows = Array.from({ length: count }, (_, at): ReportCell[] => {
    const isException = at < exceptions;
    // every 45 minutes from the night in which Europe's clocks change
    const time = new Date(Date.UTC(2026, 9, 24, 22) + at * 45 * 60_000).toISOString();
    return [
      time,
      `evt_01ke6p4zkfe009xvr${String(at).padStart(9, '0')}`,
      names[at % names.length] ?? null,
      tools[(at * 7) % tools.length] ?? null,
      isException ? (at % 2 === 0 ? 'deny' : 'escalate') : 'allow',
      at % 9 === 0 ? null : (at * 137) % 90_000,
      Math.round(((at * 7919) % 1000) * 12.5) / 100,
    ];
  });
  return {
    id: 'tool-calls',
    title: 'Tool calls',
    columns: [
      { name: 'serverTimestamp', title: 'Recorded', kind: 'time' },
      { name: 'eventId', title: 'Event', kind: 'hash' },
      { name: 'actor', title: 'Actor', kind: 'text' },
      { name: 'tool', title: 'Tool', kind: 'text' },
      { name: 'decision', title: 'Decision', kind: 'status' },
      { name: 'durationMs', title: 'Took', kind: 'duration' },
      { name: 'amount', title: 'Amount', kind: 'number' },
    ],
    population: count,
    scope: 'Every tool call that the log recorded in the period. Calls of other projects are not listed.',
    omitted: null,
    exceptions,
    rows,
    completeness: {
      status: 'proven',
      detail: 'the index of the log lists as many calls as the table has rows',
    },
  };
}

const policies: ReportTable = {
  id: 'policies',
  title: 'Policies in force',
  columns: [
    { name: 'policyId', title: 'Policy', kind: 'text' },
    { name: 'policyHash', title: 'Hash', kind: 'hash' },
    { name: 'since', title: 'In force since', kind: 'time' },
    { name: 'status', title: 'Status', kind: 'status' },
  ],
  population: 2,
  scope: 'Policies that were in force at any time of the period.',
  omitted: 'one draft, because it never was in force',
  exceptions: 0,
  rows: [
    ['payments-limit', `sha256:${sha256('a').toString('hex')}`, '2026-10-01T08:00:00.000Z', 'active'],
    ['no-shell', `sha256:${sha256('b').toString('hex')}`, '2026-10-12T16:30:00.000Z', 'active'],
  ],
  completeness: { status: 'not_shown', detail: 'the attached proof covers tool calls only' },
};

const checks: Report['checks'] = [
  {
    name: 'Records are complete',
    status: 'pass',
    detail: 'A signed index of the log lists every call of the period.',
  },
  {
    name: 'Policies were obeyed',
    status: 'fail',
    detail: 'Two calls ran although a policy denied them; see the exceptions of “Tool calls”.',
  },
  {
    name: 'Witnesses cosigned',
    status: 'not_shown',
    detail: 'No witness is configured for this log.',
  },
];

const days = ['24 Oct', '25 Oct', '26 Oct', '27 Oct', '28 Oct', '29 Oct', '30 Oct'];

function sections(count: number): Report['sections'] {
  return [
    {
      title: 'What the agents did',
      blocks: [
        {
          text: 'This section counts every tool call that the log recorded in the period, whoever made it. A call is an exception where a policy denied it, or sent it to a person.\n\nDurations are those that the calling program reported. The log does not measure them.',
        },
        {
          facts: [
            { label: 'First call', value: count === 0 ? null : '2026-10-24T22:00:00.000Z', kind: 'time' },
            { label: 'Longest call', value: count === 0 ? null : 5_412_345, kind: 'duration' },
            {
              label: 'Policy set',
              value: `sha256:${sha256('set').toString('hex')}`,
              kind: 'hash',
            },
            { label: 'Result', value: 'fail', kind: 'status' },
          ],
        },
        {
          chart: {
            kind: 'bars',
            title: 'Calls a day, by decision',
            text:
              count === 0
                ? 'There was no call in the period.'
                : 'Calls rose from 120 on 24 October to 310 on 27 October and fell to 90 on 30 October. Denials stayed below 12 a day.',
            labels: days,
            series: [
              {
                name: 'Allowed',
                values: count === 0 ? days.map(() => 0) : [120, 180, 240, 310, 260, 140, 90],
              },
              { name: 'Escalated', values: count === 0 ? days.map(() => 0) : [4, 9, 11, 30, 12, 3, 1] },
              { name: 'Denied', values: count === 0 ? days.map(() => 0) : [2, 5, 7, 11, 8, 2, 0] },
            ],
          },
        },
        {
          chart: {
            kind: 'line',
            title: 'Median duration of a call, in milliseconds',
            text: 'The median stayed between 180 and 420 milliseconds.',
            labels: days,
            series: [{ name: 'Median', values: [180, 220, 260, 420, 380, 240, 210] }],
          },
        },
        { table: 'tool-calls' },
      ],
    },
    { title: 'What the agents were allowed to do', blocks: [{ table: 'policies' }] },
  ];
}

export interface SampleOptions {
  readonly rows?: number;
  readonly timezone?: string;
  readonly locale?: string;
  readonly title?: string;
  readonly attachments?: readonly ReportAttachment[];
}

export function sampleReport({
  rows = 40,
  timezone = 'Europe/Berlin',
  locale = 'en-GB',
  title = 'Tool access of the checkout agents',
  attachments = [proofBundle],
}: SampleOptions = {}): Report {
  const root = Buffer.from('ULRm2oBkq0r4csATd6cPhVB2OGJ8XRbvWJKuMUEQUP4=', 'base64');
  return {
    schemaVersion: '1.0',
    reportTemplateId: 'tool-access',
    title,
    organization: 'Musterhandel AG',
    project: { projectId: 'prj_01jq3v5k8hf7wb3c9x2m4n6p8r', name: 'checkout' },
    parameters: { startTime: '2026-10-24T22:00:00.000Z', endTime: '2026-10-31T23:00:00.000Z' },
    timezone,
    locale,
    generatedAt: '2026-11-02T09:15:00.000Z',
    log: {
      origin,
      treeSize: 14,
      rootHash: root.toString('base64'),
      checkpoint: signCheckpoint({ origin, size: 14, root, extensions: [] }, [logSigner]),
    },
    attachments: Object.fromEntries(
      attachments.map(({ name, bytes }) => [name, sha256(bytes).toString('hex')]),
    ),
    checks,
    figures: [
      { name: 'calls', label: 'Tool calls', value: rows, kind: 'number' },
      { name: 'denied', label: 'Denied', value: Math.floor(rows / 80), kind: 'number' },
      { name: 'escalated', label: 'Sent to a person', value: Math.floor(rows / 80), kind: 'number' },
      { name: 'answered', label: 'Median time open', value: 272_000, kind: 'duration' },
      { name: 'lastCall', label: 'Last call', value: '2026-10-31T22:14:00.000Z', kind: 'time' },
      { name: 'policies', label: 'Policies obeyed', value: 'fail', kind: 'status' },
    ],
    sections: sections(rows),
    tables: [callsTable(rows), policies],
  };
}
