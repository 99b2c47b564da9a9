/** Commands of the noun report, as data. Tested by `test/cli/commands/report/run.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { reportFormats } from '../../../contract/report-parts.ts';
import { command, flag } from '../../program/spec.ts';
import { demanded, memory, trusted } from '../../program/trusted.ts';

const executionId = { name: 'executionId', description: 'Report, such as rex_…' } as const;
const shareId = { name: 'shareId', description: 'Share link, such as shr_…' } as const;

const output = {
  out: flag.text(
    'FILE',
    'Write to this file; - is standard output. Default: TEMPLATE-REPORT.FORMAT in this folder',
    { short: 'O' },
  ),
  force: flag.on('Replace an existing file'),
  open: flag.on('Open the file once it is here'),
} as const;

const waitCodes = {
  1: 'the report failed',
  8: 'not complete within --timeout; it continues at the service',
} as const;

export const reportCreate = command({
  name: 'report create',
  prints: '=createExecution|getExecution',
  summary: 'Create a report of a period',
  changes: true,
  details: [
    'With --wait the command returns after the report is complete, at most after --timeout. With -O or --open it also downloads the report, in its first format.',
    'gov report templates lists the templates; gov report templates create makes your own.',
  ],
  args: [{ name: 'template', description: 'Template, such as executive-summary' }],
  flags: {
    since: flag.time('TIME', 'Start of the period: 2026-01-31T09:00:00Z, or 7d ago; default: 30 days ago'),
    until: flag.time('TIME', 'End of the period; default: now'),
    run: flag.text('RUN', 'Only this run'),
    format: flag.list('FORMAT', 'pdf (default), csv, json; several with commas', {
      choices: reportFormats,
      separator: ',',
    }),
    title: flag.text('TEXT', 'Default: that of the template', { maxLength: limits.reportTitleChars }),
    timezone: flag.text('ZONE', 'IANA name, for times in print; default UTC'),
    locale: flag.text('TAG', 'For numbers and dates in print; default en'),
    deliver: flag.list(
      'TO',
      'Deliver it: FORMAT:email:ADDRESS, FORMAT:webhook:URL or FORMAT:file:NAME; repeatable',
    ),
    wait: flag.on('Wait until it is complete, at most --timeout'),
    ...output,
  },
  examples: [
    'gov report create executive-summary --since 90d --wait -O summary.pdf',
    'gov report create run-evidence --run checkout-42 --format pdf,json --open',
    'gov report create policy-changes --since 30d --format csv -O - | head',
  ],
  exitCodes: { ...waitCodes, 2: 'the file exists' },
});

export const reportDownload = command({
  name: 'report download',
  prints: 'executionId file signature? sizeBytes:integer sha256',
  summary: 'Download an artifact of a report',
  args: [executionId],
  details: [
    'Beside a JSON report gov writes its signature by the log: report.json and report.dsse.json.',
    'gov continues an interrupted download. The file gets its name once it is complete and has the SHA-256 that the service sent.',
  ],
  flags: {
    format: flag.text('FORMAT', 'Default: the first of the report', { choices: reportFormats }),
    ...output,
  },
  examples: [
    'gov report download rex_01jq3v5k8hf7wb3c9x2m4n6p8r -O report.pdf',
    'gov report download rex_01jq3v5k8hf7wb3c9x2m4n6p8r --format csv -O - | head',
  ],
  exitCodes: { 1: 'the report failed', 2: 'the file exists', 5: 'it has expired', 6: 'not complete yet' },
});

export const reportShare = command({
  name: 'report share',
  prints: '=createShare',
  summary: 'Create a link to a report that needs no credential',
  changes: true,
  args: [executionId],
  details: ['Anybody with the link can download the artifact. The link is shown only this once.'],
  flags: {
    format: flag.text('FORMAT', 'Default: the first of the report', { choices: reportFormats }),
    expires: flag.duration('TIME', 'How long it works, from 1m to 30d; default 7d', {
      minimum: limits.shareSecondsMin * 1000,
      maximum: limits.shareSecondsMax * 1000,
    }),
    downloads: flag.integer('N', 'How often it works; default: no limit', {
      minimum: 1,
      maximum: limits.shareDownloadsMax,
    }),
  },
  examples: [
    'gov report share rex_01jq3v5k8hf7wb3c9x2m4n6p8r',
    'gov report share rex_01jq3v5k8hf7wb3c9x2m4n6p8r --format csv --expires 1d --downloads 3',
  ],
});

export const reportUnshare = command({
  name: 'report unshare',
  prints: 'none',
  summary: 'Revoke a share link',
  changes: true,
  args: [executionId, shareId],
  examples: ['gov report unshare rex_01jq3v5k8hf7wb3c9x2m4n6p8r shr_01jq3v5k8hf7wb3c9x2m4n6p8r --yes'],
});

export const reportBrandingGet = command({
  name: 'report branding get',
  prints: '=getBranding',
  summary: 'Show name, colors, logo and paper of reports',
  examples: ['gov report branding get', 'gov report branding get -o json'],
  exitCodes: { 5: 'the project has no branding yet' },
});

export const reportBrandingSet = command({
  name: 'report branding set',
  prints: '=putBranding',
  summary: 'Set name, colors, footer and paper of reports',
  changes: true,
  details: ['Members without a flag keep their values. An empty text removes a name or a footer.'],
  flags: {
    company: flag.text('NAME', 'Company name', { maxLength: limits.brandingNameChars }),
    primary: flag.text('#RRGGBB', 'Color of headings and lines'),
    accent: flag.text('#RRGGBB', 'Color of charts'),
    footer: flag.text('TEXT', 'Text in the foot of each page', { maxLength: limits.brandingFooterChars }),
    paper: flag.text('SIZE', 'Size of the pages', { choices: ['a4', 'letter'] }),
  },
  examples: [
    "gov report branding set --company 'Analytical Engines' --primary '#1f3a5f'",
    'gov report branding set --paper letter',
  ],
});

export const reportLogo = command({
  name: 'report logo',
  prints: '=uploadLogo',
  summary: 'Upload the logo of reports: PNG, JPEG or lossy WebP',
  changes: true,
  args: [{ name: 'file', description: 'Picture' }],
  details: [
    `At most ${limits.logoBytes / 1024 / 1024} MiB and ${limits.logoPixels} × ${limits.logoPixels} pixels. The service keeps its pixels alone.`,
  ],
  examples: ['gov report logo logo.png'],
});

export const reportVerify = command({
  name: 'report verify',
  prints:
    'verified:boolean code:string|null artifact:string|null dataHash:string|null executionId:string|null title:string|null reportTemplateId:string|null template:object|null startTime:string|null endTime:string|null origin:string|null treeSize:integer|null files:array proofs:array answers:array completeness:object notShown:array mainTableShown:boolean checks:array notes?:array witnesses?:integer signatures?:array missingAlgorithms?:array trustedOrigin:string|null trustFrom:string|null history?:object',
  summary: 'Verify a report, PDF or JSON, without the service',
  details: [
    'gov verifies the file, or standard input with -, on this machine alone: without network or store. It takes the attachments out, checks every hash, the signature of the log, the signed checkpoint and each attached proof bundle, and renders the pages again from the attached data to compare them.',
    'Trusted keys come from --key, --trust or the trust file of the chosen context; never from the report.',
    'The log signs the data hash. A report of an earlier version has no signature: require the data hash that you have from another source, such as gov report get or a letter, with --hash.',
    'Pages that another version of gov wrote may come out otherwise. Then gov says that they were not compared, and the report is not verified. Use the version that the file names, or judge the attached data alone: --data-only.',
    '"none missing" speaks of what the attached answers and proofs list, in the words of gov proofs verify, and of the weakest of them. It does not speak of tables that the report marks NOT SHOWN; they are named. --require-completeness refuses less, a report whose first table is NOT SHOWN, and a JSON report, which has no files.',
  ],
  args: [{ name: 'report', description: 'File of a report, PDF or JSON, or - for standard input' }],
  flags: {
    ...trusted,
    ...demanded,
    ...memory,
    hash: flag.text('HASH', 'Require this data hash', { pattern: '^(?:sha256:)?[0-9a-f]{64}$' }),
    signature: flag.text(
      'FILE',
      'Signature of a JSON report; default: REPORT.dsse.json beside REPORT.json. A PDF contains it',
    ),
    fonts: flag.text('DIR', 'Folder with the fonts for other scripts that the report was set in'),
    dataOnly: flag.on('Judge the attached data alone, not the printed pages'),
  },
  examples: [
    'gov report verify report.pdf',
    'gov report verify report.pdf --trust auditor.trust --hash 6ee0eb490ff832101cf82a3d387c35f29e4230be786978f7acf9e811febf6723',
    'gov report verify report.json --key gov.local/prj_x/audit+2f1c8a90+AUj…',
  ],
  exitCodes: {
    0: 'verified',
    2: 'no key is trusted, or the file could not be read as a report',
    3: 'changed, not authentic, not signed and without --hash, its pages were not compared, the log signed two histories, or less than --require-completeness shows that nothing is missing',
    11: 'authentic, but an attached proof shows that its run broke a policy',
  },
});
